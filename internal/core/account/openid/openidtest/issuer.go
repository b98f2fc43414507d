// Package openidtest is an OpenID issuer for tests: discovery, keys, the authorization code flow with PKCE, and tokens
// signed by a real RSA key.
package openidtest

import (
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"maps"
	"math/big"
	"net/http"
	"net/http/httptest"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
)

// ClientID and Secret are the client that the issuer knows.
const (
	ClientID = "vedette-console"
	Secret   = "s3cret/with:colon"
)

// Issuer is the issuer. Its exported fields say how it behaves; a test sets them between requests.
type Issuer struct {
	URL    string
	Key    *rsa.PrivateKey
	Claims jwt.MapClaims // of the next tokens, over the usual ones; nil deletes one
	Signer crypto.Signer // of the next tokens; nil: Key
	Lax    bool          // a code may be used again

	mu    sync.Mutex
	codes map[string]url.Values // the requests that they answer
	asked int                   // at the token endpoint
}

// New starts an issuer, until the test ends.
func New(t *testing.T) *Issuer {
	t.Helper()
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	i := &Issuer{Key: key, codes: map[string]url.Values{}}
	mux := http.NewServeMux()
	mux.HandleFunc("GET /.well-known/openid-configuration", i.discovery)
	mux.HandleFunc("GET /keys", i.keys)
	mux.HandleFunc("GET /auth", i.authorize)
	mux.HandleFunc("POST /token", i.token)
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	i.URL = server.URL
	return i
}

// Asked is how often a code was exchanged, or tried to be.
func (i *Issuer) Asked() int {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.asked
}

// Token is a token of the issuer with the usual claims of Ada and these.
func (i *Issuer) Token(audience string, claims jwt.MapClaims) (string, error) {
	now := time.Now()
	all := jwt.MapClaims{"iss": i.URL, "aud": audience, "sub": "ada-1", "iat": now.Unix(),
		"exp": now.Add(time.Hour).Unix(), "email": "Ada@example.com", "email_verified": true}
	maps.Copy(all, claims)
	maps.DeleteFunc(all, func(_ string, value any) bool { return value == nil })
	token := jwt.NewWithClaims(jwt.SigningMethodRS256, all)
	token.Header["kid"] = "1"
	var key crypto.Signer = i.Key
	if i.Signer != nil {
		key = i.Signer
	}
	return token.SignedString(key)
}

func (i *Issuer) discovery(w http.ResponseWriter, _ *http.Request) {
	answer(w, http.StatusOK, map[string]any{
		"issuer": i.URL, "jwks_uri": i.URL + "/keys", "authorization_endpoint": i.URL + "/auth",
		"token_endpoint": i.URL + "/token", "id_token_signing_alg_values_supported": []string{"RS256"},
	})
}

func (i *Issuer) keys(w http.ResponseWriter, _ *http.Request) {
	b64 := base64.RawURLEncoding.EncodeToString
	answer(w, http.StatusOK, map[string]any{"keys": []any{map[string]string{
		"kty": "RSA", "kid": "1", "alg": "RS256", "use": "sig", "n": b64(i.Key.N.Bytes()),
		"e": b64(big.NewInt(int64(i.Key.E)).Bytes()),
	}}})
}

// authorize signs everybody in at once and sends them back with a code.
func (i *Issuer) authorize(w http.ResponseWriter, r *http.Request) {
	q := r.URL.Query()
	if q.Get("client_id") != ClientID || q.Get("response_type") != "code" || q.Get("code_challenge_method") != "S256" ||
		q.Get("scope") != "openid email" || len(q.Get("state")) < 32 || len(q.Get("nonce")) < 32 {
		http.Error(w, "a bad request: "+r.URL.RawQuery, http.StatusBadRequest)
		return
	}
	i.mu.Lock()
	code := fmt.Sprintf("code-%d", len(i.codes))
	i.codes[code] = q
	i.mu.Unlock()
	back := url.Values{"code": {code}, "state": {q.Get("state")}, "iss": {i.URL}}
	w.Header().Set("Location", q.Get("redirect_uri")+"?"+back.Encode())
	w.WriteHeader(http.StatusFound)
}

// token gives a token for a code, once.
func (i *Issuer) token(w http.ResponseWriter, r *http.Request) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.asked++
	id, secret, _ := r.BasicAuth()
	id, _ = url.QueryUnescape(id)
	secret, _ = url.QueryUnescape(secret)
	q, ok := i.codes[r.PostFormValue("code")]
	challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
	switch {
	case id != ClientID || secret != Secret:
		answer(w, http.StatusUnauthorized, map[string]string{"error": "invalid_client"})
		return
	case !ok || q == nil || r.PostFormValue("redirect_uri") != q.Get("redirect_uri") ||
		base64.RawURLEncoding.EncodeToString(challenge[:]) != q.Get("code_challenge"):
		answer(w, http.StatusBadRequest, map[string]string{"error": "invalid_grant"})
		return
	}
	if !i.Lax {
		i.codes[r.PostFormValue("code")] = nil
	}
	claims := jwt.MapClaims{"nonce": q.Get("nonce")}
	maps.Copy(claims, i.Claims)
	token, err := i.Token(ClientID, claims)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	answer(w, http.StatusOK, map[string]any{"access_token": "opaque", "token_type": "Bearer", "id_token": token})
}

func answer(w http.ResponseWriter, status int, document any) {
	text, err := json.Marshal(document)
	if err != nil {
		panic(err) // maps of texts and lists
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(text) // the client may have disconnected
}
