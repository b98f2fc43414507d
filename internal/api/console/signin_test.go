package console

import (
	"crypto/rand"
	"crypto/rsa"
	"log/slog"

	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/golang-jwt/jwt/v5"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/account/factor"
	"github.com/vedette-sec/vedette/internal/core/account/openid"
	"github.com/vedette-sec/vedette/internal/core/account/openid/openidtest"
	"github.com/vedette-sec/vedette/internal/core/audit"
	"github.com/vedette-sec/vedette/internal/core/membership"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/seal"
)

// site is a server whose people sign in at an issuer.
type site struct {
	*account.Accounts
	url    string
	issuer *openidtest.Issuer
	now    time.Time
}

func openSite(t *testing.T, d *db.DB, change func(*account.Config)) *site {
	t.Helper()
	box, err := seal.Open(filepath.Join(t.TempDir(), "secret.key"))
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewUnstartedServer(nil)
	t.Cleanup(server.Close)
	s := &site{issuer: openidtest.New(t), url: "http://" + server.Listener.Addr().String(), now: time.Now()}
	c := account.Config{
		OIDCIssuer: s.issuer.URL, OIDCClientID: openidtest.ClientID, OIDCClientSecret: openidtest.Secret, Box: box,
		PublicURL: s.url, Now: func() time.Time { return s.now },
	}
	if change != nil {
		change(&c)
	}
	if s.Accounts, err = account.Open(t.Context(), d, c); err != nil {
		t.Fatal(err)
	}
	log := audit.New(d, nil, 0, time.Now, slog.New(slog.DiscardHandler))
	server.Config.Handler = New(s.Accounts, log, membership.New(d, s.Accounts, log, ""), slog.New(slog.DiscardHandler))
	server.Start()
	for _, name := range []string{"ada", "bob"} {
		_, err := s.CreateUser(t.Context(), account.NewUser{Email: name + "@example.com", Team: name, Admin: true})
		if err != nil {
			t.Fatal(err)
		}
	}
	return s
}

// browser keeps cookies and follows no redirect.
type browser struct {
	*http.Client
	t *testing.T
}

func newBrowser(t *testing.T) browser {
	t.Helper()
	jar, err := cookiejar.New(nil)
	if err != nil {
		t.Fatal(err)
	}
	return browser{&http.Client{Jar: jar, CheckRedirect: func(*http.Request, []*http.Request) error {
		return http.ErrUseLastResponse
	}}, t}
}

// get is the status of a page, and where it sends the browser.
func (b browser) get(address string) (status int, location string) {
	b.t.Helper()
	r, err := http.NewRequestWithContext(b.t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		b.t.Fatal(err)
	}
	resp, err := b.Do(r)
	if err != nil {
		b.t.Fatal(err)
	}
	resp.Body.Close()
	return resp.StatusCode, resp.Header.Get("Location")
}

// toCallback begins a sign-in, and is the address to which the issuer sends the browser back.
func (b browser) toCallback(s *site) string {
	b.t.Helper()
	status, address := b.get(s.url + account.SignInPath)
	if status != http.StatusSeeOther || !strings.HasPrefix(address, s.issuer.URL) {
		b.t.Fatalf("the beginning: %d, %s", status, address)
	}
	status, back := b.get(address)
	if status != http.StatusFound || !strings.HasPrefix(back, s.url+account.CallbackPath) {
		b.t.Fatalf("the issuer: %d, %s", status, back)
	}
	return back
}

// signIn is the status of the last step, with these claims over the usual ones.
func (b browser) signIn(s *site, claims jwt.MapClaims) int {
	b.t.Helper()
	back := b.toCallback(s)
	s.issuer.Claims = claims
	defer func() { s.issuer.Claims = nil }()
	status, _ := b.get(back)
	return status
}

// caller is whose session the browser has; empty: none that is valid.
func (b browser) caller(s *site) string {
	b.t.Helper()
	u, err := url.Parse(s.url)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, c := range b.Jar.Cookies(u) {
		if c.Name == "vedette-session" {
			if caller, err := s.ByBearer(b.t.Context(), c.Value); err == nil {
				return caller.Email
			}
		}
	}
	return ""
}

func TestSignInAtTheIssuer(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := openSite(t, d, nil)
		b := newBrowser(t)
		if status := b.signIn(s, nil); status != http.StatusSeeOther || b.caller(s) != "ada@example.com" {
			t.Fatalf("%d, a session of %q", status, b.caller(s))
		}
		action, err := db.Value[string](t.Context(), d, `SELECT action FROM audit_entry WHERE email = 'ada@example.com'`)
		if err != nil || action != "sign-in-oidc" {
			t.Errorf("in the audit log: %q, %v", action, err)
		}
		// From now on the subject is Ada, whatever address it has, verified or not.
		for _, claims := range []jwt.MapClaims{{"email": "bob@example.com"}, {"email": nil}, {"email_verified": false}} {
			again := newBrowser(t)
			if status := again.signIn(s, claims); status != http.StatusSeeOther || again.caller(s) != "ada@example.com" {
				t.Errorf("%v: %d, a session of %q", claims, status, again.caller(s))
			}
		}
		// A second account of the issuer with her address is not she.
		other := newBrowser(t)
		if status := other.signIn(s, jwt.MapClaims{"sub": "eve-1"}); status != http.StatusForbidden || other.caller(s) != "" {
			t.Errorf("another subject: %d, a session of %q", status, other.caller(s))
		}
		if err := s.Unlink(t.Context(), "ada@example.com"); err != nil {
			t.Fatal(err)
		}
		if b.caller(s) != "" {
			t.Error("the session goes on after unlinking")
		}
		if status := other.signIn(s, jwt.MapClaims{"sub": "ada-2"}); status != http.StatusSeeOther {
			t.Errorf("her new subject after unlinking: %d", status)
		}
		if status := b.signIn(s, nil); status != http.StatusForbidden {
			t.Errorf("her old subject after unlinking: %d", status)
		}
	})
}

// TestSignInsThatAreRefused: none opens a session, and none binds a subject.
func TestSignInsThatAreRefused(t *testing.T) {
	s := openSite(t, dbtest.Open(t, "sqlite"), nil)
	now := time.Now()
	for name, claims := range map[string]jwt.MapClaims{
		"another nonce":             {"nonce": "another"},
		"no nonce":                  {"nonce": nil},
		"expired":                   {"exp": now.Add(-time.Minute).Unix()},
		"not yet":                   {"nbf": now.Add(2 * time.Minute).Unix()},
		"another audience":          {"aud": "another"},
		"no audience":               {"aud": nil},
		"more audiences":            {"aud": []string{openidtest.ClientID, "another"}},
		"made for another":          {"aud": []string{openidtest.ClientID, "another"}, "azp": "another"},
		"another issuer":            {"iss": "https://issuer.example"},
		"an unverified address":     {"email_verified": false},
		"no address":                {"email": nil},
		"no subject":                {"sub": ""},
		"nobody here":               {"email": "eve@example.com"},
		"a name that is no address": {"email": "deleted-1"},
	} {
		b := newBrowser(t)
		if status := b.signIn(s, claims); status != http.StatusForbidden || b.caller(s) != "" {
			t.Errorf("%s: %d, a session of %q", name, status, b.caller(s))
		}
	}
	foreign, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		t.Fatal(err)
	}
	s.issuer.Signer = foreign
	if status := newBrowser(t).signIn(s, nil); status != http.StatusForbidden {
		t.Errorf("signed with another key: %d", status)
	}
	s.issuer.Signer = nil
	if status := newBrowser(t).signIn(s, jwt.MapClaims{"aud": []string{openidtest.ClientID, "another"},
		"azp": openidtest.ClientID}); status != http.StatusSeeOther {
		t.Errorf("made for this client, of several audiences: %d", status)
	}
}

// TestTheAnswerBelongsToItsSignIn: state, code and browser fit together, once, and for a while.
func TestTheAnswerBelongsToItsSignIn(t *testing.T) {
	s := openSite(t, dbtest.Open(t, "sqlite"), nil)
	with := func(back, name, value string) string {
		u, err := url.Parse(back)
		if err != nil {
			t.Fatal(err)
		}
		q := u.Query()
		q.Set(name, value)
		u.RawQuery = q.Encode()
		return u.String()
	}
	b, victim := newBrowser(t), newBrowser(t)
	back := b.toCallback(s)
	asked := s.issuer.Asked()
	for name, address := range map[string]string{
		"another state": with(back, "state", strings.Repeat("x", 40)), "no state": with(back, "state", ""),
		"no code": with(back, "code", ""), "an error": with(back, "error", "access_denied"),
		"another issuer": with(back, "iss", "https://issuer.example"), "a long code": with(back, "code", strings.Repeat("x", 4000)),
	} {
		again := newBrowser(t)
		u, err := url.Parse(s.url)
		if err != nil {
			t.Fatal(err)
		}
		again.Jar.SetCookies(u, b.Jar.Cookies(u))
		if status, _ := again.get(address); status < 400 || status > 403 || again.caller(s) != "" {
			t.Errorf("%s: %d, a session of %q", name, status, again.caller(s))
		}
	}
	if status, _ := victim.get(back); status != http.StatusForbidden || victim.caller(s) != "" {
		t.Errorf("in a browser that has begun nothing: %d", status)
	}
	victim.toCallback(s)
	if status, _ := victim.get(back); status != http.StatusForbidden || victim.caller(s) != "" {
		t.Errorf("in a browser that has begun another one: %d", status)
	}
	if s.issuer.Asked() > asked+1 { // the long code is one that an issuer might make
		t.Errorf("the issuer was asked %d times", s.issuer.Asked()-asked)
	}
	// The code of another sign-in, put into one's own answer: PKCE makes the issuer refuse it.
	stolen, err := url.Parse(newBrowser(t).toCallback(s))
	if err != nil {
		t.Fatal(err)
	}
	if status, _ := b.get(with(b.toCallback(s), "code", stolen.Query().Get("code"))); status != http.StatusForbidden {
		t.Errorf("the code of another sign-in: %d", status)
	}
	late := b.toCallback(s)
	s.now = s.now.Add(openid.SignInTTL)
	if status, _ := b.get(late); status != http.StatusForbidden || b.caller(s) != "" {
		t.Errorf("a late answer: %d", status)
	}
}

// TestASignInWorksOnce, also at an issuer that takes a code twice, and for a thief who copied all that the browser had.
func TestASignInWorksOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for _, lax := range []bool{false, true} {
			s := openSite(t, d, nil)
			s.issuer.Lax = lax
			b, thief := newBrowser(t), newBrowser(t)
			back := b.toCallback(s)
			u, err := url.Parse(s.url)
			if err != nil {
				t.Fatal(err)
			}
			thief.Jar.SetCookies(u, b.Jar.Cookies(u))
			if status, _ := b.get(back); status != http.StatusSeeOther {
				t.Fatalf("the first time: %d", status)
			}
			if status, _ := b.get(back); status != http.StatusForbidden {
				t.Errorf("again in the same browser: %d", status)
			}
			if status, _ := thief.get(back); status != http.StatusForbidden || thief.caller(s) != "" {
				t.Errorf("lax %v: a copy: %d, a session of %q", lax, status, thief.caller(s))
			}
			if lax && s.issuer.Asked() != 2 {
				t.Errorf("the issuer was asked %d times", s.issuer.Asked())
			}
			for _, email := range []string{"ada@example.com", "bob@example.com"} {
				if err := s.DeleteUser(t.Context(), email, true); err != nil {
					t.Fatal(err)
				}
			}
		}
	})
}

func TestWhoIsOutStaysOut(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		s := openSite(t, d, nil)
		b := newBrowser(t)
		if status := b.signIn(s, nil); status != http.StatusSeeOther {
			t.Fatal(status)
		}
		if err := s.SetDisabled(t.Context(), "ada@example.com", true); err != nil {
			t.Fatal(err)
		}
		if status := b.signIn(s, nil); status != http.StatusForbidden || b.caller(s) != "" {
			t.Errorf("disabled: %d, a session of %q", status, b.caller(s))
		}
		_, err := s.CreateUser(t.Context(), account.NewUser{Email: "ci@example.com", Team: "ada", Service: true})
		if err != nil {
			t.Fatal(err)
		}
		ci := jwt.MapClaims{"sub": "ci", "email": "ci@example.com"}
		if status := b.signIn(s, ci); status != http.StatusForbidden {
			t.Errorf("a service user: %d", status)
		}
		if err := s.DeleteUser(t.Context(), "bob@example.com", true); err != nil {
			t.Fatal(err)
		}
		bob := jwt.MapClaims{"sub": "bob", "email": "bob@example.com"}
		if status := b.signIn(s, bob); status != http.StatusForbidden {
			t.Errorf("a deleted user: %d", status)
		}
	})
}

// TestFailedSignInsBackOff: each costs a question to the issuer, so a network has a few of them.
func TestFailedSignInsBackOff(t *testing.T) {
	s := openSite(t, dbtest.Open(t, "sqlite"), nil)
	b := newBrowser(t)
	status, n := 0, 0
	for ; n < 100 && status != http.StatusTooManyRequests; n++ {
		status = b.signIn(s, jwt.MapClaims{"nonce": "another"})
	}
	if n > 40 || s.issuer.Asked() > n-1 {
		t.Errorf("%d failures, %d questions, the last is %d", n, s.issuer.Asked(), status)
	}
}

func TestSignOut(t *testing.T) {
	s := openSite(t, dbtest.Open(t, "sqlite"), nil)
	b := newBrowser(t)
	b.signIn(s, nil)
	post := func(site string) int {
		r, err := http.NewRequestWithContext(t.Context(), http.MethodPost, s.url+"/sign-out", http.NoBody)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Sec-Fetch-Site", site)
		resp, err := b.Do(r)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		return resp.StatusCode
	}
	if status := post("cross-site"); status != http.StatusForbidden || b.caller(s) == "" {
		t.Errorf("from another site: %d", status)
	}
	u, err := url.Parse(s.url)
	if err != nil {
		t.Fatal(err)
	}
	copied := b.Jar.Cookies(u)
	if status := post("same-origin"); status != http.StatusSeeOther || len(b.Jar.Cookies(u)) != 0 {
		t.Errorf("%d, %v", status, b.Jar.Cookies(u))
	}
	b.Jar.SetCookies(u, copied)
	if b.caller(s) != "" {
		t.Error("the session goes on")
	}
	if status := post("same-origin"); status != http.StatusSeeOther {
		t.Errorf("once more: %d", status)
	}
}

// TestOIDCOnly: passwords sign nobody in, and there is no way to get one.
func TestOIDCOnly(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	s := openSite(t, d, func(c *account.Config) { c.OIDCOnly = true })
	const email, password = "ada@example.com", "correct-horse"
	if err := s.SetPassword(t.Context(), email, password); err != nil {
		t.Fatal(err)
	}
	ada, err := s.IssueToken(t.Context(), email)
	if err != nil {
		t.Fatal(err)
	}
	c, err := s.ByBearer(t.Context(), ada.AccessToken)
	if err != nil {
		t.Fatal(err)
	}
	_, login := s.Login(t.Context(), email, password, account.Client{})
	_, _, second := s.FinishLogin(t.Context(), "x", factor.Proof{Code: "000000"}, account.Client{})
	_, reset := s.FinishReset(t.Context(), "x", password, "192.0.2.1")
	for name, err := range map[string]error{"login": login, "second step": second, "reset": reset,
		"change": s.ChangePassword(account.WithCaller(t.Context(), c), password, "another-horse", "192.0.2.1")} {
		if err == nil || !strings.Contains(err.Error(), "Passwords are off") {
			t.Errorf("%s: %v", name, err)
		}
	}
	if status := newBrowser(t).signIn(s, nil); status != http.StatusSeeOther {
		t.Errorf("at the issuer: %d", status)
	}
	fresh := openEmpty(t, account.Config{OIDCOnly: true})
	if token, err := fresh.SetupToken(t.Context()); token != "" || err != nil {
		t.Errorf("a setup link %q, %v", token, err)
	}
	if closed, err := fresh.SetupClosed(t.Context()); !closed || err != nil {
		t.Errorf("setup is open: %v", err)
	}
}

func openEmpty(t *testing.T, c account.Config) *account.Accounts {
	t.Helper()
	a, err := account.Open(t.Context(), dbtest.Open(t, "sqlite"), c)
	if err != nil {
		t.Fatal(err)
	}
	return a
}

// TestWithoutAnIssuer: the pages are not there; an issuer that does not answer is said so.
func TestWithoutAnIssuer(t *testing.T) {
	for name, c := range map[string]account.Config{"none": {}, "for tokens only": {OIDCIssuer: "http://127.0.0.1:9", OIDCAudience: "x"},
		"dead": {OIDCIssuer: "http://127.0.0.1:9", OIDCClientID: "x", PublicURL: "http://127.0.0.1"}} {
		server := httptest.NewServer(New(openEmpty(t, c), nil, nil, slog.New(slog.DiscardHandler)))
		t.Cleanup(server.Close)
		want := http.StatusNotFound
		if name == "dead" {
			want = http.StatusServiceUnavailable
		}
		if resp, _ := do(t, "GET", server.URL+account.SignInPath, "", ""); resp.StatusCode != want {
			t.Errorf("%s: %d, want %d", name, resp.StatusCode, want)
		}
		if resp, _ := do(t, "GET", server.URL+account.CallbackPath, "", ""); resp.StatusCode/100 != 4 {
			t.Errorf("%s: the way back: %d", name, resp.StatusCode)
		}
	}
}

// TestCookiesOfBrowsers: no script reads them, other sites' requests do not carry them, and over TLS only this host
// sets them.
func TestCookiesOfBrowsers(t *testing.T) {
	s := openSite(t, dbtest.Open(t, "sqlite"), nil)
	resp, _ := doRaw(t, s.url+account.SignInPath)
	if got := resp.Header.Get("Set-Cookie"); !strings.HasPrefix(got, "vedette-sign-in=") ||
		!strings.Contains(got, "Path=/; Max-Age=600; HttpOnly; SameSite=Lax") {
		t.Errorf("%s", got)
	}
	tls := openSite(t, dbtest.Open(t, "sqlite"), func(c *account.Config) { c.PublicURL = "https://vedette.example.com" })
	resp, _ = doRaw(t, tls.url+account.SignInPath)
	if got := resp.Header.Get("Set-Cookie"); !strings.HasPrefix(got, "__Host-vedette-sign-in=") ||
		!strings.Contains(got, "Path=/; Max-Age=600; HttpOnly; Secure; SameSite=Lax") || resp.Header.Get("Cache-Control") != "no-store" {
		t.Errorf("%s", got)
	}
}

func doRaw(t *testing.T, address string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, address, http.NoBody)
	if err != nil {
		t.Fatal(err)
	}
	resp, err := newBrowser(t).Do(r)
	if err != nil {
		t.Fatal(err)
	}
	return resp, resp.Body.Close()
}
