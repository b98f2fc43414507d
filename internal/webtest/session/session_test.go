package session_test

import (
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/session"
)

// site is an application with logins; sessions are those that it knows.
type site struct {
	mu       sync.Mutex
	sessions map[string]bool
	logins   int
}

func (s *site) end() {
	s.mu.Lock()
	defer s.mu.Unlock()
	clear(s.sessions)
}

func (s *site) begin() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.logins++
	id := fmt.Sprintf("session-number-%d", s.logins)
	s.sessions[id] = true
	return id
}

func (s *site) knows(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.sessions[id]
}

// form is a site with a form and tokens against forged requests, whose login is not on its start page.
func (s *site) form(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	cookie, _ := r.Cookie("sid")
	in := cookie != nil && s.knows(cookie.Value)
	switch {
	case r.URL.Path == "/enter" && r.Method == http.MethodPost:
		if r.FormValue("name") != "bob" || r.FormValue("secret") != "pass word" || r.FormValue("_token") != "0123456789" {
			fmt.Fprint(w, "wrong", loginForm)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: s.begin(), Path: "/"})
		http.Redirect(w, r, "/home", http.StatusFound)
	case r.URL.Path == "/enter":
		fmt.Fprint(w, loginForm)
	case !in:
		http.Redirect(w, r, "/enter", http.StatusFound)
	default:
		fmt.Fprint(w, `<a href="/logout">Log out</a>`)
	}
}

const loginForm = `<form method=post><input type=hidden name=_token value=0123456789><input name=name><input type=password name=secret><button>Enter</button></form>`

// api is a site whose login answers with a token.
func (s *site) api(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/":
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, `<script>fetch("/v2/session/login-user", {method: "POST"})</script>`)
	case "/v2/session/login-user":
		var body map[string]string
		_ = json.NewDecoder(r.Body).Decode(&body)
		w.Header().Set("Content-Type", "application/json")
		if body["username"] != "bob" || body["password"] != "pass word" {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprintf(w, `{"data":{"accessToken":%q}}`, s.begin())
	case "/me":
		if !s.knows(strings.TrimPrefix(r.Header.Get("Authorization"), "Bearer ")) {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		fmt.Fprint(w, "bob")
	default:
		http.NotFound(w, r)
	}
}

func (s *site) basic(w http.ResponseWriter, r *http.Request) {
	if user, password, ok := r.BasicAuth(); !ok || user != "bob" || password != "pass word" {
		w.Header().Set("WWW-Authenticate", `Basic realm="x"`)
		w.WriteHeader(http.StatusUnauthorized)
		return
	}
	fmt.Fprint(w, "hello")
}

func open(t *testing.T, h http.HandlerFunc, a session.Account) (*session.Session, *client.Client, string, error) {
	t.Helper()
	s := httptest.NewServer(h)
	t.Cleanup(s.Close)
	target, err := netguard.ParseTarget(s.URL)
	if err != nil {
		t.Fatal(err)
	}
	scope, err := netguard.NewScope([]netguard.Target{target}, netguard.Limits{})
	if err != nil {
		t.Fatal(err)
	}
	c := client.New(client.Config{Dial: scope.Dial, Level: client.Safe})
	t.Cleanup(c.Close)
	u, _ := url.Parse(s.URL + "/")
	for i, r := range a.Seeds {
		made, _ := message.New(r.Method, s.URL+r.URL.Path)
		made.Header, made.Body = r.Header, r.Body
		a.Seeds[i] = made
	}
	opened, err := session.Open(t.Context(), c, []*url.URL{u}, a)
	return opened, c, s.URL, err
}

func TestLoginByItself(t *testing.T) {
	me, _ := message.New(http.MethodGet, "http://x/me")
	for name, serve := range map[string]func(*site) http.HandlerFunc{
		"form":  func(s *site) http.HandlerFunc { return s.form },
		"api":   func(s *site) http.HandlerFunc { return s.api },
		"basic": func(s *site) http.HandlerFunc { return s.basic },
	} {
		t.Run(name, func(t *testing.T) {
			s := &site{sessions: map[string]bool{}}
			a := session.Account{User: "bob", Password: "pass word", Seeds: []*message.Request{me}}
			opened, _, _, err := open(t, serve(s), a)
			if err != nil {
				t.Fatal(err)
			}
			if alive, err := opened.Alive(t.Context()); err != nil || !alive {
				t.Errorf("it is not alive: %v", err)
			}
			if !strings.Contains(opened.Describe(), "known by") {
				t.Error(opened.Describe())
			}
			if name != "basic" {
				s.end()
				if alive, err := opened.Alive(t.Context()); err != nil || alive {
					t.Errorf("its end is not noticed: %v, %s", err, opened.Describe())
				}
				if err := opened.Renew(t.Context()); err != nil {
					t.Error(err)
				}
				if alive, _ := opened.Alive(t.Context()); !alive || s.logins != 2 {
					t.Errorf("it was not renewed; %d logins", s.logins)
				}
			}
			a.Password = "wrong"
			if _, _, _, err := open(t, serve(s), a); !errors.Is(err, session.ErrRefused) {
				t.Errorf("a wrong password: %v", err)
			}
		})
	}
}

// A form in the head of each page, whose address a script sets, takes no login: the one of the page for it does.
func TestLoginBesidesAFormOfAScript(t *testing.T) {
	me, _ := message.New(http.MethodGet, "http://x/me")
	for _, status := range []int{http.StatusMethodNotAllowed, http.StatusNotFound} {
		s := &site{sessions: map[string]bool{}}
		opened, _, _, err := open(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path != "/":
				s.form(w, r)
			case r.Method == http.MethodPost:
				w.WriteHeader(status)
			default:
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, `<form method=post><input name=who><input type=password name=word></form><a href="/login">in</a>`)
			}
		}, session.Account{User: "bob", Password: "pass word", Seeds: []*message.Request{me}})
		if err != nil {
			t.Errorf("%d: %v", status, err)
			continue
		}
		if alive, err := opened.Alive(t.Context()); err != nil || !alive || s.logins != 1 {
			t.Errorf("%d: not logged in: %v", status, err)
		}
	}
}

// A form that would put the password into an address is sent by a script of its page; where no call takes the user, the
// login is refused.
func TestLoginByTheScriptOfAForm(t *testing.T) {
	for _, password := range []string{"pass word", "wrong"} {
		s := &site{sessions: map[string]bool{}}
		_, _, _, err := open(t, func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/gate/auth.php" && r.Method == http.MethodPost:
				var in struct{ Username, Password string }
				if json.NewDecoder(r.Body).Decode(&in) != nil || in.Password != "pass word" {
					w.WriteHeader(http.StatusUnauthorized)
					return
				}
				http.SetCookie(w, &http.Cookie{Name: "sid", Value: s.begin(), Path: "/"})
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"name": "bob"}`)
			case r.URL.Path == "/login":
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, `<form id="f"><input name="username"><input type="password" name="password"></form>
<script>document.getElementById("f").onsubmit = () => fetch("/gate/auth.php", {method: "POST"})</script>`)
			default:
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, `<a href="/login">in</a>`)
			}
		}, session.Account{User: "bob", Password: password})
		if password == "wrong" && !errors.Is(err, session.ErrRefused) || password != "wrong" && (err != nil || s.logins != 1) {
			t.Errorf("%s: %d logins, %v", password, s.logins, err)
		}
	}
}

func TestNoLogin(t *testing.T) {
	_, _, _, err := open(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprint(w, "<form><input name=q></form>")
	}, session.Account{User: "bob", Password: "x"})
	if !errors.Is(err, session.ErrNoLogin) {
		t.Error(err)
	}
}

func TestGivenSession(t *testing.T) {
	s := &site{sessions: map[string]bool{"given": true}}
	opened, _, _, err := open(t, s.form, session.Account{Cookie: "sid=given; lang=en"})
	if err != nil || !opened.Cookies["sid"] || !strings.Contains(opened.Describe(), "known by") {
		t.Fatalf("%v %+v", err, opened)
	}
	s.end()
	if alive, err := opened.Alive(t.Context()); alive || err != nil {
		t.Error("its end is not noticed", err)
	}
	if err := opened.Renew(t.Context()); !errors.Is(err, session.ErrRefused) {
		t.Error(err)
	}
}

func TestSecondFactor(t *testing.T) {
	opened, _, _, err := open(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		cookie, _ := r.Cookie("sid")
		switch {
		case cookie != nil && cookie.Value == "in":
			fmt.Fprint(w, `<a href="/logout">Sign out</a>`)
		case r.Method == http.MethodPost && r.URL.Path == "/code" && len(r.FormValue("otp_code")) == 6:
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: "in", Path: "/"})
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case r.Method == http.MethodPost:
			fmt.Fprint(w, `<form method=post action="/code"><input name=otp_code></form>`)
		default:
			fmt.Fprint(w, loginForm)
		}
	}, session.Account{User: "bob", Password: "x", TOTP: "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ"})
	if err != nil || !strings.Contains(opened.Describe(), "known by") {
		t.Fatal(err, opened)
	}
}

// tokens is an API whose tokens another address gives, by OAuth 2.
func (s *site) tokens(w http.ResponseWriter, r *http.Request) {
	switch r.URL.Path {
	case "/oauth/token":
		id, secret, _ := r.BasicAuth()
		if id == "" {
			id, secret = r.FormValue("client_id"), r.FormValue("client_secret")
		}
		user := r.FormValue("grant_type") == "password" && r.FormValue("username") == "bob" && r.FormValue("password") == "pass word"
		w.Header().Set("Content-Type", "application/json")
		if id != "app" || secret != "key" || !user && r.FormValue("grant_type") != "client_credentials" {
			w.WriteHeader(http.StatusBadRequest)
			fmt.Fprint(w, `{"error":"invalid_grant"}`)
			return
		}
		fmt.Fprintf(w, `{"access_token":%q,"token_type":"bearer","expires_in":60}`, s.begin())
	default:
		s.api(w, r)
	}
}

func TestOAuth(t *testing.T) {
	for name, a := range map[string]session.Account{
		"password": {User: "bob", Password: "pass word"}, "client": {}, "wrong password": {User: "bob", Password: "x"},
	} {
		t.Run(name, func(t *testing.T) {
			s := &site{sessions: map[string]bool{}}
			server := httptest.NewServer(http.HandlerFunc(s.tokens))
			defer server.Close()
			me, _ := message.New(http.MethodGet, server.URL+"/me")
			at, _ := url.Parse(server.URL + "/oauth/token")
			start, _ := url.Parse(server.URL + "/")
			a.Seeds, a.OAuth = []*message.Request{me}, &session.OAuth{Token: at, ClientID: "app", ClientSecret: "key"}
			target, err := netguard.ParseTarget(server.URL)
			if err != nil {
				t.Fatal(err)
			}
			scope, err := netguard.NewScope([]netguard.Target{target}, netguard.Limits{})
			if err != nil {
				t.Fatal(err)
			}
			c := client.New(client.Config{Dial: scope.Dial, Level: client.Safe})
			defer c.Close()
			opened, err := session.Open(t.Context(), c, []*url.URL{start}, a)
			if name == "wrong password" {
				if !errors.Is(err, session.ErrRefused) || !strings.Contains(err.Error(), "invalid_grant") {
					t.Errorf("a wrong password: %v", err)
				}
				return
			}
			if err != nil || !strings.Contains(opened.Describe(), "known by") {
				t.Fatalf("%v %+v", err, opened)
			}
			s.end()
			if alive, err := opened.Alive(t.Context()); err != nil || alive {
				t.Errorf("its end is not noticed: %v", err)
			}
			if err := opened.Renew(t.Context()); err != nil || s.logins != 2 {
				t.Errorf("it was not renewed: %v, %d tokens", err, s.logins)
			}
		})
	}
}

// What was given for the application does not go to another host that gives its tokens.
func TestTokensOfAnotherHost(t *testing.T) {
	s := &site{sessions: map[string]bool{}}
	var leaked []string
	tokens := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		leaked = append(leaked, r.Header.Get("X-Api-Key")+r.Header.Get("Cookie"))
		s.tokens(w, r)
	}))
	defer tokens.Close()
	server := httptest.NewServer(http.HandlerFunc(s.tokens))
	defer server.Close()
	me, _ := message.New(http.MethodGet, server.URL+"/me")
	at, _ := url.Parse(tokens.URL + "/oauth/token")
	start, _ := url.Parse(server.URL + "/")
	c := client.New(client.Config{Dial: (&net.Dialer{}).DialContext, Level: client.Safe,
		Header: http.Header{"X-Api-Key": {"key-of-the-application"}, "Cookie": {"sid=1"}}})
	defer c.Close()
	if _, err := session.Open(t.Context(), c, []*url.URL{start}, session.Account{
		Seeds: []*message.Request{me}, OAuth: &session.OAuth{Token: at, ClientID: "app", ClientSecret: "key"},
	}); err != nil {
		t.Fatal(err)
	}
	if !slices.Equal(leaked, []string{""}) {
		t.Errorf("the host of tokens got %q", leaked)
	}
}

// A login that leaves the identifier of the session as it was is noted; one that makes a new one is not.
func TestKeptSession(t *testing.T) {
	for _, fixed := range []bool{true, false} {
		in := map[string]bool{}
		opened, _, _, err := open(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			cookie, _ := r.Cookie("sid")
			switch {
			case r.Method == http.MethodPost && fixed && cookie != nil:
				in[cookie.Value] = true
				fmt.Fprint(w, `<a href="/logout">Log out</a>`)
			case r.Method == http.MethodPost:
				in["new-session"] = true
				http.SetCookie(w, &http.Cookie{Name: "sid", Value: "new-session", Path: "/"})
				fmt.Fprint(w, `<a href="/logout">Log out</a>`)
			case cookie != nil && in[cookie.Value]:
				fmt.Fprint(w, `<a href="/logout">Log out</a>`)
			default:
				if cookie == nil {
					http.SetCookie(w, &http.Cookie{Name: "sid", Value: "from-before", Path: "/"})
				}
				fmt.Fprint(w, loginForm)
			}
		}, session.Account{User: "bob", Password: "x"})
		if err != nil {
			t.Fatal(err)
		}
		if kept := opened.Kept()["sid"]; (kept == "from-before") != fixed {
			t.Errorf("fixed %v: kept %q", fixed, kept)
		}
	}
}

// Cookies that are given besides a login are sent with it, in place of those of the application, but for its session.
func TestCookiesBesidesALogin(t *testing.T) {
	var mu sync.Mutex
	got := ""
	opened, c, address, err := open(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		cookie, _ := r.Cookie("sid")
		switch {
		case r.Method == http.MethodPost:
			http.SetCookie(w, &http.Cookie{Name: "sid", Value: "of-the-login", Path: "/"})
			http.SetCookie(w, &http.Cookie{Name: "level", Value: "high", Path: "/"})
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case cookie != nil && cookie.Value == "of-the-login":
			mu.Lock()
			got = r.Header.Get("Cookie")
			mu.Unlock()
			fmt.Fprint(w, `<a href="/logout">Log out</a>`)
		default:
			fmt.Fprint(w, loginForm)
		}
	}, session.Account{User: "bob", Password: "x", Cookie: "level=low; sid=stale"})
	if err != nil || !strings.Contains(opened.Describe(), "known by") {
		t.Fatal(err, opened)
	}
	r, _ := message.New(http.MethodGet, address+"/")
	if _, err := c.Send(t.Context(), r, client.Options{As: opened.User}); err != nil {
		t.Fatal(err)
	}
	mu.Lock()
	defer mu.Unlock()
	if !strings.Contains(got, "level=low") || strings.Contains(got, "stale") || strings.Contains(got, "high") {
		t.Errorf("cookies %q", got)
	}
}

// A call that answers without JSON, with a cookie, has logged in where another password is answered otherwise.
func TestLoginByACallWithACookie(t *testing.T) {
	for name, c := range map[string]struct {
		good, bad func(w http.ResponseWriter, r *http.Request)
		want      error
	}{
		"no content": {func(w http.ResponseWriter, _ *http.Request) { w.WriteHeader(http.StatusNoContent) },
			func(w http.ResponseWriter, _ *http.Request) { http.Error(w, "no", http.StatusTeapot) }, nil},
		"sent on": {func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/home", http.StatusFound) },
			func(w http.ResponseWriter, r *http.Request) { http.Redirect(w, r, "/?wrong", http.StatusFound) }, nil},
		"a text": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "hello") },
			func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "wrong") }, nil},
		"anybody": {func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "thanks") },
			func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "thanks") }, session.ErrNoLogin},
	} {
		_, _, _, err := open(t, func(w http.ResponseWriter, r *http.Request) {
			http.SetCookie(w, &http.Cookie{Name: "visit", Value: "1", Path: "/"})
			switch {
			case r.URL.Path == "/":
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, `<script>fetch("/api/login", {method: "POST"})</script>`)
			case r.URL.Path == "/api/login" && r.Method == http.MethodPost:
				var sent struct{ Username, Password string }
				if json.NewDecoder(r.Body).Decode(&sent) == nil && sent.Username == "bob" && sent.Password == "pass word" {
					c.good(w, r)
				} else {
					c.bad(w, r)
				}
			default:
				http.NotFound(w, r)
			}
		}, session.Account{User: "bob", Password: "pass word"})
		if !errors.Is(err, c.want) {
			t.Errorf("%s: %v, want %v", name, err, c.want)
		}
	}
}
