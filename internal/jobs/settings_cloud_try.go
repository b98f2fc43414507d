package jobs

import (
	"context"
	"crypto"
	"crypto/rand"
	"crypto/rsa"
	"crypto/sha256"
	"crypto/tls"
	"crypto/x509"
	"encoding/base64"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/notify"
)

const cloudTimeout = 15 * time.Second // of one call

// get asks for a JSON document.
func (c clouds) get(ctx context.Context, service, at string, header http.Header, secrets []string, out any) error {
	return notify.Do(ctx, c.client, notify.Request{Service: service, Method: http.MethodGet, URL: at, Header: header, Secrets: secrets}, out)
}

func bearer(token string) http.Header { return http.Header{"Authorization": {"Bearer " + token}} }

// digitalOcean asks for the account.
func (c clouds) digitalOcean(ctx context.Context, b block) (string, error) {
	var answer struct {
		Account struct{ Email, Status string }
	}
	token := b["digitalocean_token"]
	err := c.get(ctx, "DigitalOcean", b.base("https://api.digitalocean.com")+"/v2/account", bearer(token), []string{token}, &answer)
	return "the account of " + answer.Account.Email + " is " + answer.Account.Status, err
}

// cloudflare asks whether the token is good or, for a key, for its user.
func (c clouds) cloudflare(ctx context.Context, b block) (string, error) {
	header, secrets := cloudflareKeys(b)
	path := "/client/v4/user/tokens/verify"
	if b["api_token"] == "" {
		path = "/client/v4/user"
	}
	var answer struct {
		Success bool
		Result  struct{ Status string }
	}
	err := c.get(ctx, "Cloudflare", b.base("https://api.cloudflare.com")+path, header, secrets, &answer)
	switch {
	case err != nil:
		return "", err
	case !answer.Success || answer.Result.Status != "" && answer.Result.Status != "active":
		return "", fmt.Errorf("the token is %.40s", strings.TrimSpace(answer.Result.Status+" not active"))
	}
	return "the credentials are good", nil
}

// cloudflareKeys are the header that logs in, and what of it is secret.
func cloudflareKeys(b block) (http.Header, []string) {
	secrets := []string{b["api_token"], b["api_key"]}
	if b["api_token"] == "" {
		return http.Header{"X-Auth-Email": {b["email"]}, "X-Auth-Key": {b["api_key"]}}, secrets
	}
	return bearer(b["api_token"]), secrets
}

// kubernetes asks for the cluster's version: a token that is wrong is refused even there.
func (c clouds) kubernetes(ctx context.Context, b block) (string, error) {
	k, err := readKubeconfig(b["kubeconfig_encoded"], b["context"])
	if err != nil {
		return "", err
	}
	client, err := k.client(c.guard)
	if err != nil {
		return "", err
	}
	var answer struct {
		Version string `json:"gitVersion"`
	}
	err = notify.Do(ctx, client, notify.Request{
		Service: "The cluster", Method: http.MethodGet, URL: strings.TrimRight(b.base(k.server), "/") + "/version", Header: bearer(k.token), Secrets: []string{k.token},
	}, &answer)
	return "the cluster runs " + answer.Version, err
}

// client is one that trusts the cluster's own authority, where it has one.
func (k cluster) client(guard *netguard.Guard) (*http.Client, error) {
	client := guard.Client(cloudTimeout)
	if k.authority == nil {
		return client, nil
	}
	roots := x509.NewCertPool()
	if !roots.AppendCertsFromPEM(k.authority) {
		return nil, errors.New("its certificate-authority-data has no certificate")
	}
	client.Transport = &http.Transport{
		DialContext: guard.Dial, TLSClientConfig: &tls.Config{MinVersion: tls.VersionTLS12, RootCAs: roots},
		TLSHandshakeTimeout: cloudTimeout, MaxResponseHeaderBytes: 64 << 10, DisableKeepAlives: true,
	}
	return client, nil
}

// signClaim makes a JSON web token under an RSA key in PEM (RS256).
func signClaim(key string, claim map[string]any) (string, error) {
	block, _ := pem.Decode([]byte(key))
	if block == nil {
		return "", errors.New("the private key is not PEM")
	}
	parsed, err := x509.ParsePKCS8PrivateKey(block.Bytes)
	private, ok := parsed.(*rsa.PrivateKey)
	if err != nil || !ok {
		return "", errors.New("the private key is not an RSA key")
	}
	body, err := json.Marshal(claim)
	if err != nil {
		return "", err
	}
	encode := base64.RawURLEncoding.EncodeToString
	text := encode([]byte(`{"alg":"RS256","typ":"JWT"}`)) + "." + encode(body)
	sum := sha256.Sum256([]byte(text))
	signature, err := rsa.SignPKCS1v15(rand.Reader, private, crypto.SHA256, sum[:])
	return text + "." + encode(signature), err
}

// grant asks for an access token (RFC 6749).
func (c clouds) grant(ctx context.Context, service, at string, secrets []string, form url.Values) (token string, err error) {
	request := func() (*http.Request, error) {
		req, err := http.NewRequestWithContext(ctx, http.MethodPost, at, strings.NewReader(form.Encode()))
		if err == nil {
			req.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		}
		return req, err
	}
	var answer struct {
		Token string `json:"access_token"`
	}
	err = c.ask(ctx, service, secrets, request, func(text []byte) error { return json.Unmarshal(text, &answer) })
	if err == nil && answer.Token == "" {
		err = &notify.Error{Service: service, Status: http.StatusOK, Said: "it gave no token"}
	}
	return answer.Token, err
}
