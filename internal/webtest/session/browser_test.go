package session_test

import (
	"crypto/sha256"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"html"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/browser"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/session"
)

// provider is an identity provider with the code flow of OpenID Connect: it asks for the user, then for the password in
// a form that a script makes, then for consent, and gives a token for each code, once.
type provider struct {
	*httptest.Server
	mu    sync.Mutex
	codes map[string]url.Values
	posts []string
}

func newProvider(t *testing.T) *provider {
	t.Helper()
	p := &provider{codes: map[string]url.Values{}}
	p.Server = httptest.NewServer(p)
	t.Cleanup(p.Close)
	return p
}

func (p *provider) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	p.mu.Lock()
	defer p.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	form := func(to, fields, button string) {
		fmt.Fprintf(w, `<form method="post" action="%s?%s">%s<button type="button">Cancel</button><button>%s</button></form>`,
			to, html.EscapeString(r.URL.RawQuery), fields, button)
	}
	if r.Method == http.MethodPost {
		p.posts = append(p.posts, r.URL.Path)
	}
	switch r.URL.Path {
	case "/authorize":
		form("/password", `<input name="identifier" autocomplete="username">`, "Next")
	case "/password":
		if r.PostFormValue("identifier") != "bob" {
			form("/password", `Unknown.<input name="identifier" autocomplete="username">`, "Next")
			return
		}
		fmt.Fprintf(w, `<div id=d></div><script>d.innerHTML = '<form method=post action="/consent?%s"><input type=password name=secret><input type=submit value="Sign in"></form>'</script>`,
			html.EscapeString(r.URL.RawQuery))
	case "/consent":
		if r.PostFormValue("secret") != "pass word" {
			form("/consent", `Wrong.<input type="password" name="secret">`, "Sign in")
			return
		}
		form("/agree", "", "Allow access")
	case "/agree":
		code := fmt.Sprintf("code-%d", len(p.codes))
		p.codes[code] = r.URL.Query()
		back := url.Values{"code": {code}, "state": {r.URL.Query().Get("state")}}
		http.Redirect(w, r, r.URL.Query().Get("redirect_uri")+"?"+back.Encode(), http.StatusSeeOther)
	case "/token":
		asked := p.codes[r.PostFormValue("code")]
		challenge := sha256.Sum256([]byte(r.PostFormValue("code_verifier")))
		w.Header().Set("Content-Type", "application/json")
		if asked == nil || asked.Get("redirect_uri") != r.PostFormValue("redirect_uri") || asked.Get("code_challenge") != "" &&
			asked.Get("code_challenge") != base64.RawURLEncoding.EncodeToString(challenge[:]) {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error": "invalid_grant"}`)
			return
		}
		p.codes[r.PostFormValue("code")] = nil
		_ = json.NewEncoder(w).Encode(map[string]string{"access_token": "token-of-bob-0123456789", "token_type": "Bearer"})
	default:
		http.NotFound(w, r)
	}
}

// relying is an application that sends its users to a provider and keeps a session, or takes a token.
func relying(t *testing.T, p *provider) *httptest.Server {
	t.Helper()
	known := &site{sessions: map[string]bool{}}
	var server *httptest.Server
	server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		cookie, _ := r.Cookie("sid")
		in := cookie != nil && known.knows(cookie.Value) || r.Header.Get("Authorization") == "Bearer token-of-bob-0123456789"
		w.Header().Set("Content-Type", "text/html")
		switch {
		case r.URL.Path == "/callback":
			answer, err := http.PostForm(p.URL+"/token", url.Values{"code": {r.FormValue("code")}, "redirect_uri": {server.URL + "/callback"}})
			if err != nil || answer.Body.Close() != nil || answer.StatusCode != http.StatusOK || r.FormValue("state") != "s-1" {
				http.Error(w, "no", http.StatusForbidden)
				return
			}
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: known.begin(), Path: "/", HttpOnly: true})
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case r.URL.Path == "/" && in:
			fmt.Fprint(w, `<p>Hello bob</p><a href="/logout">Log out</a>`)
		case r.URL.Path == "/":
			q := url.Values{"response_type": {"code"}, "client_id": {"app"}, "redirect_uri": {server.URL + "/callback"}, "state": {"s-1"}}
			http.Redirect(w, r, p.URL+"/authorize?"+q.Encode(), http.StatusFound)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(server.Close)
	return server
}

func pool(t *testing.T) *browser.Pool {
	t.Helper()
	if _, err := browser.Find(""); err != nil {
		t.Skip(err)
	}
	p := browser.New(browser.Config{Nobody: true})
	t.Cleanup(p.Close)
	return p
}

func parsed(t *testing.T, text string) *url.URL {
	t.Helper()
	u, err := url.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return u
}

// TestIdentityProvider logs in at another host, through three pages, and has the session of the application.
func TestIdentityProvider(t *testing.T) {
	browsers := pool(t)
	p := newProvider(t)
	app := relying(t, p)
	start := parsed(t, app.URL+"/")
	own := client.New(client.Config{Dial: new(net.Dialer).DialContext, Level: client.Safe})
	defer own.Close()
	bob := session.Account{User: "bob", Password: "pass word", Browser: browsers}
	s, err := session.Open(t.Context(), own, []*url.URL{start}, bob)
	if err != nil {
		t.Fatal(err)
	}
	if alive, err := s.Alive(t.Context()); !alive || err != nil || !s.Cookies["sid"] {
		t.Errorf("alive %v, %v; cookies %v", alive, err, s.Cookies)
	}
	if err := s.Renew(t.Context()); err != nil {
		t.Error(err)
	}
	for name, wrong := range map[string]session.Account{
		"password": {User: "bob", Password: "guess", Browser: browsers},
		"user":     {User: "eve", Password: "pass word", Browser: browsers}} {
		if _, err := session.Open(t.Context(), own, []*url.URL{start}, wrong); !errors.Is(err, session.ErrRefused) {
			t.Errorf("wrong %s: %v", name, err)
		}
	}
	// A provider that is not in scope gets nothing.
	before := len(p.posts)
	held := client.New(client.Config{Dial: new(net.Dialer).DialContext, Level: client.Safe,
		Allow: func(_ string, u *url.URL) error {
			if u.Host != start.Host {
				return errors.New("not in scope")
			}
			return nil
		}})
	defer held.Close()
	_, err = session.Open(t.Context(), held, []*url.URL{start}, bob)
	if err == nil || !strings.Contains(err.Error(), "not in scope") || len(p.posts) != before {
		t.Errorf("out of scope: %v, %d posts more", err, len(p.posts)-before)
	}
}

// TestAuthorisationCode gets a token with a code; the address that the code is sent to is not visited.
func TestAuthorisationCode(t *testing.T) {
	browsers := pool(t)
	p := newProvider(t)
	app := relying(t, p)
	own := client.New(client.Config{Dial: new(net.Dialer).DialContext, Level: client.Safe})
	defer own.Close()
	bob := session.Account{User: "bob", Password: "pass word", Browser: browsers, OAuth: &session.OAuth{ClientID: "spa",
		Token: parsed(t, p.URL+"/token"), Authorize: parsed(t, p.URL+"/authorize"), Redirect: parsed(t, "http://127.0.0.1:9/back")}}
	s, err := session.Open(t.Context(), own, []*url.URL{parsed(t, app.URL+"/")}, bob)
	if err != nil {
		t.Fatal(err)
	}
	if alive, err := s.Alive(t.Context()); !alive || err != nil || !strings.Contains(s.Describe(), "authorisation code") {
		t.Errorf("alive %v, %v: %s", alive, err, s.Describe())
	}
	bob.Password = "guess"
	if _, err := session.Open(t.Context(), own, []*url.URL{parsed(t, app.URL+"/")}, bob); !errors.Is(err, session.ErrRefused) {
		t.Errorf("wrong password: %v", err)
	}
	bob.Browser = nil
	if _, err := session.Open(t.Context(), own, []*url.URL{parsed(t, app.URL+"/")}, bob); err == nil ||
		!strings.Contains(err.Error(), "Chromium") {
		t.Errorf("without a browser: %v", err)
	}
}
