package extension

import (
	"context"
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/vedette-sec/vedette/internal/agent/mcp"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// issuer is an MCP server with its authorization server, which registers clients, checks PKCE and gives each refresh
// token for one use.
type issuer struct {
	url     string
	refuses string // an error of the token endpoint

	mu        sync.Mutex
	challenge string
	access    string // the token that is good now
	refresh   string
	given     int
	revoked   []string
	registers bool
}

func issue(t *testing.T) *issuer {
	t.Helper()
	i := &issuer{registers: true}
	server := sdk.NewServer(&sdk.Implementation{Name: "shop", Version: "1"}, nil)
	offer(server, "find", "It finds.")
	handler := sdk.NewStreamableHTTPHandler(func(*http.Request) *sdk.Server { return server }, nil)
	mux := http.NewServeMux()
	answer := func(pattern string, f func(r *http.Request) (int, any)) {
		mux.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
			i.mu.Lock()
			status, doc := f(r)
			i.mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			w.WriteHeader(status)
			_ = json.NewEncoder(w).Encode(doc)
		})
	}
	mux.HandleFunc("/mcp", func(w http.ResponseWriter, r *http.Request) {
		i.mu.Lock()
		good := i.access != "" && r.Header.Get("Authorization") == "Bearer "+i.access
		i.mu.Unlock()
		if !good {
			w.Header().Set("WWW-Authenticate", `Bearer resource_metadata="`+i.url+`/meta", scope="tickets"`)
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		handler.ServeHTTP(w, r)
	})
	answer("/meta", func(*http.Request) (int, any) {
		return 200, map[string]any{"resource": i.url + "/mcp", "authorization_servers": []string{i.url}}
	})
	answer("/.well-known/oauth-authorization-server", func(*http.Request) (int, any) {
		doc := map[string]any{"issuer": i.url, "authorization_endpoint": i.url + "/authorize", "token_endpoint": i.url + "/token",
			"revocation_endpoint": i.url + "/revoke", "code_challenge_methods_supported": []string{"S256"},
			"scopes_supported": []string{"offline_access"}, "authorization_response_iss_parameter_supported": true}
		if i.registers {
			doc["registration_endpoint"] = i.url + "/register"
		}
		return 200, doc
	})
	answer("/register", func(r *http.Request) (int, any) {
		var doc map[string]any
		_ = json.NewDecoder(r.Body).Decode(&doc)
		doc["client_id"] = "registered"
		return 201, doc
	})
	answer("/revoke", func(r *http.Request) (int, any) {
		i.revoked = append(i.revoked, r.FormValue("token"))
		return 200, nil
	})
	answer("/token", func(r *http.Request) (int, any) {
		sum := sha256.Sum256([]byte(r.FormValue("code_verifier")))
		byCode := r.FormValue("grant_type") == "authorization_code" && r.FormValue("code") == "allowed" && r.FormValue("resource") == i.url+"/mcp" &&
			base64.RawURLEncoding.EncodeToString(sum[:]) == i.challenge
		if i.refuses != "" || !byCode && (r.FormValue("grant_type") != "refresh_token" || r.FormValue("refresh_token") != i.refresh) {
			return 400, map[string]any{"error": "invalid_grant", "error_description": "secret words of the server"}
		}
		i.given++
		i.access, i.refresh = fmt.Sprintf("access-token-%d", i.given), fmt.Sprintf("refresh-token-%d", i.given)
		return 200, map[string]any{"access_token": i.access, "token_type": "Bearer", "expires_in": 3600 * max(1, (i.given-1)*100), "refresh_token": i.refresh}
	})
	site := httptest.NewServer(mux)
	t.Cleanup(func() { site.CloseClientConnections(); site.Close() })
	i.url = site.URL
	return i
}

// allow is a person who follows the address.
func (i *issuer) allow(t *testing.T, begun Begun) (state string) {
	t.Helper()
	u, err := url.Parse(begun.URL)
	if err != nil {
		t.Fatal(err)
	}
	q := u.Query()
	i.mu.Lock()
	defer i.mu.Unlock()
	i.challenge = q.Get("code_challenge")
	if q.Get("code_challenge_method") != "S256" || q.Get("resource") != i.url+"/mcp" || q.Get("redirect_uri") != "https://vedette.example.com/mcp-authorized" ||
		q.Get("scope") != "tickets offline_access" {
		t.Errorf("the address asks for %v", q)
	}
	return q.Get("state")
}

func authorized(t *testing.T, o team, i *issuer) Server {
	t.Helper()
	o.PublicURL = "https://vedette.example.com"
	x, review, err := o.Connect(o.alice, NewServer{Name: "shop", URL: i.url + "/mcp", TrustedTools: []string{"find"}})
	if err != nil || review.Code != mcp.CodeCredentials {
		t.Fatalf("without an authorization: %+v, %v", review, err)
	}
	begun, err := o.Authorize(o.alice, x.ID, Client{})
	if err != nil {
		t.Fatal(err)
	}
	x, review, err = o.Authorized(o.alice, x.ID, i.allow(t, begun), "allowed", i.url)
	if err != nil || review.Status != Changed || x.Authorization.Issuer != i.url || x.Authorization.ClientID != "registered" || !x.Authorization.Renews {
		t.Fatalf("%+v, %+v, %v", x.Authorization, review, err)
	}
	if x, _, err = o.Accept(o.alice, x.ID, []string{review.Tools[0].Digest}); err != nil {
		t.Fatal(err)
	}
	return x
}

func TestServersAreAuthorized(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o, i := open(t, d), issue(t)
		now := time.Now()
		o.Now = func() time.Time { return now }
		x := authorized(t, o, i)
		call := func(want string) {
			t.Helper()
			set, err := o.ForTask(t.Context(), o.teamID, o.aliceID, nil)
			if err != nil || len(set.Offers) != 1 {
				t.Fatalf("%+v, %v", set, err)
			}
			defer set.Close()
			text, _, err := set.Offers[0].Call(t.Context(), json.RawMessage(`{}`))
			hidden := strings.Join(set.Hidden, " ")
			if err != nil || text != "find by Bearer "+want || !strings.Contains(hidden, want) || !strings.Contains(hidden, "refresh-token") {
				t.Errorf("%q, %v, hidden: %s", text, err, hidden)
			}
		}
		call("access-token-1")
		now = now.Add(2 * time.Hour) // it expires
		call("access-token-2")
		call("access-token-2")
		i.mu.Lock()
		i.access = "revoked" // before its end
		i.mu.Unlock()
		call("access-token-3")
		i.mu.Lock()
		i.refuses, i.access = "yes", "revoked"
		i.mu.Unlock()
		if _, review, err := o.Validate(o.alice, x.ID); err != nil || review.Code != mcp.CodeCredentials ||
			!strings.Contains(review.Fault, "invalid_grant: authorize") || strings.Contains(review.Fault, "secret words") {
			t.Errorf("after its end: %+v, %v", review, err)
		}
		rows, err := db.Value[string](t.Context(), d, `SELECT oauth FROM mcp_server WHERE id = ?`, x.ID)
		if err != nil || strings.Contains(rows, "token-") {
			t.Errorf("in plain: %s, %v", rows, err)
		}
		if err := o.Revoke(o.alice, x.ID); err != nil || len(i.revoked) != 2 {
			t.Errorf("revoked: %v, %v", i.revoked, err)
		}
		if x, err := o.Server(o.alice, x.ID); err != nil || x.Authorization.Issuer != "" || x.grant != nil {
			t.Errorf("%+v, %v", x.Authorization, err)
		}
	})
}

func TestTokensAreForTheirServer(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o, i := open(t, d), issue(t)
		x := authorized(t, o, i)
		var got []string
		other := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) {
			got = append(got, r.Header.Get("Authorization"))
		}))
		defer other.Close()
		elsewhere := other.URL + "/mcp"
		if x, err := o.UpdateServer(o.alice, x.ID, ServerChange{URL: &elsewhere}); err != nil || x.Authorization.Issuer != "" {
			t.Fatalf("%+v, %v", x.Authorization, err)
		}
		if _, _, err := o.Validate(o.alice, x.ID); err != nil || len(got) == 0 || strings.Join(got, "") != "" {
			t.Errorf("another server got %q, %v", got, err)
		}
	})
}

func TestAuthorizationsOfOthersAreRefused(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		o, i := open(t, d), issue(t)
		now := time.Now()
		o.Now = func() time.Time { return now }
		x, _, err := o.Connect(o.alice, NewServer{Name: "shop", URL: i.url + "/mcp", Shared: true})
		if err != nil {
			t.Fatal(err)
		}
		code := func(err error) string { return errs.From(err).Code }
		if _, err := o.Authorize(o.alice, x.ID, Client{}); code(err) != "public_url_missing" {
			t.Errorf("without a public URL: %v", err)
		}
		o.PublicURL = "https://vedette.example.com"
		for who, ctx := range map[string]context.Context{"not_the_owner": o.bob, "mcp_server_not_found": o.eve} {
			if _, err := o.Authorize(ctx, x.ID, Client{}); code(err) != who {
				t.Errorf("%s begins: %v", who, err)
			}
		}
		begin := func() string {
			begun, err := o.Authorize(o.alice, x.ID, Client{})
			if err != nil {
				t.Fatal(err)
			}
			return i.allow(t, begun)
		}
		finish := func(ctx context.Context, state, code, iss string) string {
			_, _, err := o.Authorized(ctx, x.ID, state, code, iss)
			return errs.From(err).Code
		}
		state := begin()
		if got := finish(o.bob, state, "allowed", i.url); got != "not_the_owner" {
			t.Errorf("another finishes it: %s", got)
		}
		if got := finish(o.alice, state+"x", "allowed", i.url); got != "authorization_not_begun" {
			t.Errorf("another state: %s", got)
		}
		if got := finish(o.alice, state, "allowed", "https://evil.example.com"); got != "invalid_iss" {
			t.Errorf("another authorization server: %s", got)
		}
		if got := finish(o.alice, state, "allowed", i.url); got != "authorization_not_begun" {
			t.Errorf("a second time: %s", got)
		}
		if got := finish(o.alice, begin(), "stolen", i.url); got != mcp.CodeOAuth {
			t.Errorf("another code: %s", got)
		}
		state = begin()
		now = now.Add(attemptTTL + time.Second)
		if got := finish(o.alice, state, "allowed", i.url); got != "authorization_not_begun" {
			t.Errorf("too late: %s", got)
		}
		i.mu.Lock()
		i.registers = false
		i.mu.Unlock()
		if _, err := o.Authorize(o.alice, x.ID, Client{}); code(err) != mcp.CodeOAuth || !strings.Contains(err.Error(), "client_id") {
			t.Errorf("without registration: %v", err)
		}
		if begun, err := o.Authorize(o.alice, x.ID, Client{ID: "mine"}); err != nil || !strings.Contains(begun.URL, "client_id=mine") {
			t.Errorf("with a client of one's own: %+v, %v", begun, err)
		}
		if i.given != 0 {
			t.Errorf("%d tokens were given", i.given)
		}
	})
}
