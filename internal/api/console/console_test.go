package console

import (
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// open serves the pages over a fresh database and returns the token of the setup link.
func open(t *testing.T, d *db.DB) (*account.Accounts, *httptest.Server, string) {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{Region: "us"})
	if err != nil {
		t.Fatal(err)
	}
	token, err := accounts.SetupToken(t.Context())
	if err != nil || token == "" {
		t.Fatal(token, err)
	}
	server := httptest.NewServer(New(accounts, nil, nil, slog.New(slog.DiscardHandler)))
	t.Cleanup(server.Close)
	return accounts, server, token
}

func do(t *testing.T, method, address, contentType, body string) (*http.Response, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, address, strings.NewReader(body))
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", contentType)
	resp, err := http.DefaultClient.Do(r)
	if err != nil {
		t.Fatal(err)
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	if err != nil {
		t.Fatal(err)
	}
	return resp, string(text)
}

const formType = "application/x-www-form-urlencoded"

func form(token, email, password string) string {
	return url.Values{"token": {token}, "email": {email}, "password": {password}}.Encode()
}

func TestSetupMakesTheFirstUserOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		accounts, server, token := open(t, d)
		if resp, text := do(t, "GET", server.URL+"/setup?token="+token, "", ""); resp.StatusCode != 200 ||
			!strings.Contains(text, `value="`+token+`"`) {
			t.Fatalf("the form: %d %s", resp.StatusCode, text)
		}
		for name, c := range map[string]struct {
			body   string
			status int
			says   string
		}{
			"a wrong token":      {form("wrong", "ada@example.com", "correct-horse"), 403, "not valid"},
			"no token":           {form("", "ada@example.com", "correct-horse"), 403, "not valid"},
			"a token of NUL":     {form("\x00", "ada@example.com", "correct-horse"), 403, "not valid"},
			"a token of garbage": {form("\xff\xfe", "ada@example.com", "correct-horse"), 403, "not valid"},
			"no email":           {form(token, "", "correct-horse"), 400, "email"},
			"an email of NUL":    {form(token, "a\x00@example.com", "correct-horse"), 400, "email"},
			"a bad email":        {form(token, "\xff@example.com", "correct-horse"), 400, "email"},
			"a short password":   {form(token, "ada@example.com", "short"), 400, "password"},
			"a long password":    {form(token, "ada@example.com", strings.Repeat("x", 2000)), 400, "password"},
			"a broken form":      {"token=%zz", 400, "could not be read"},
			"a large form":       {form(token, "ada@example.com", strings.Repeat("x", maxForm)), 413, "larger than"},
		} {
			resp, text := do(t, "POST", server.URL+"/setup", formType, c.body)
			if resp.StatusCode != c.status || !strings.Contains(text, c.says) || !strings.Contains(text, `role="alert"`) {
				t.Errorf("%s: %d %s", name, resp.StatusCode, text)
			}
		}
		if has, err := accounts.HasUsers(t.Context()); has || err != nil {
			t.Fatalf("a refused form made a user: %v", err)
		}
		resp, text := do(t, "POST", server.URL+"/setup", formType, form(token, "Ada@example.com", "correct-horse"))
		if resp.StatusCode != 201 || !strings.Contains(text, "can log in now") ||
			!strings.Contains(text, server.URL+"/api/v1/auth/login") {
			t.Fatalf("the first user: %d %s", resp.StatusCode, text)
		}
		if strings.Contains(text, "correct-horse") {
			t.Error("the page shows the password")
		}
		if _, err := accounts.Login(t.Context(), "ada@example.com", "correct-horse", account.Client{Address: "192.0.2.1"}); err != nil {
			t.Errorf("the first user's login: %v", err)
		}
		if resp, _ := do(t, "POST", server.URL+"/setup", formType,
			form(token, "eve@example.com", "correct-horse")); resp.StatusCode != 403 {
			t.Errorf("the link works a second time: %d", resp.StatusCode)
		}
		if resp, text := do(t, "GET", server.URL+"/setup?token="+token, "", ""); resp.StatusCode != 403 ||
			!strings.Contains(text, "has been set up") || strings.Contains(text, "<form") {
			t.Errorf("the form after setup: %d %s", resp.StatusCode, text)
		}
	})
}

func TestPagesEscapeWhatTheyShow(t *testing.T) {
	_, server, _ := open(t, dbtest.Open(t, "sqlite"))
	const evil = `"><script>alert(1)</script>`
	for name, get := range map[string]func() string{
		"the token in the link": func() string {
			_, text := do(t, "GET", server.URL+"/setup?token="+url.QueryEscape(evil), "", "")
			return text
		},
		"token and email in the form": func() string {
			_, text := do(t, "POST", server.URL+"/setup", formType, form(evil, evil, "correct-horse"))
			return text
		},
	} {
		if text := get(); strings.Contains(text, "<script") || !strings.Contains(text, "&lt;script&gt;") {
			t.Errorf("%s: %s", name, text)
		}
	}
}

func TestEveryPageIsGuarded(t *testing.T) {
	_, server, _ := open(t, dbtest.Open(t, "sqlite"))
	for _, c := range []struct {
		method, path string
		status       int
	}{
		{"GET", "/setup", 200}, {"HEAD", "/setup", 200}, {"POST", "/setup", 403},
		{"PUT", "/setup", 405}, {"DELETE", "/setup", 405}, {"OPTIONS", "/setup", 405},
		{"GET", "/nowhere", 404}, {"POST", "/", 404}, {"GET", "/setup/", 404}, {"GET", "/pages/setup.html", 404},
		{"GET", "/head.html", 404},
	} {
		resp, text := do(t, c.method, server.URL+c.path, formType, "")
		if resp.StatusCode != c.status {
			t.Errorf("%s %s answers %d, want %d", c.method, c.path, resp.StatusCode, c.status)
		}
		if c.status == 405 && resp.Header.Get("Allow") != "GET, HEAD, POST" {
			t.Errorf("%s %s: Allow is %q", c.method, c.path, resp.Header.Get("Allow"))
		}
		csp := resp.Header.Get("Content-Security-Policy")
		for _, part := range []string{"default-src 'none'", "frame-ancestors 'none'", "base-uri 'none'",
			"form-action 'self'"} {
			if !strings.Contains(csp, part) {
				t.Errorf("%s %s: the policy lacks %s", c.method, c.path, part)
			}
		}
		for header, want := range map[string]string{
			"Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff", "Cache-Control": "no-store",
			"Content-Type": "text/html; charset=utf-8",
		} {
			if got := resp.Header.Get(header); got != want {
				t.Errorf("%s %s: %s is %q", c.method, c.path, header, got)
			}
		}
		if c.method == "HEAD" {
			continue
		}
		if strings.Count(text, "<h1>") != 1 || !strings.Contains(text, `<html lang="en">`) ||
			!strings.HasSuffix(strings.TrimSpace(text), "</html>") || strings.Contains(text, "<script") ||
			strings.Contains(text, "http://") {
			t.Errorf("%s %s is no whole page of ours: …%.300s", c.method, c.path, text[max(0, len(text)-300):])
		}
	}
}

func TestInsideProblemsAreLoggedAndNotShown(t *testing.T) {
	d := dbtest.Open(t, "sqlite")
	accounts, _, token := open(t, d)
	var logs strings.Builder
	server := httptest.NewServer(New(accounts, nil, nil, slog.New(slog.NewTextHandler(&logs, nil))))
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	resp, text := do(t, "POST", server.URL+"/setup", formType, form(token, "ada@example.com", "correct-horse"))
	server.Close() // the log is written
	if resp.StatusCode != 500 || strings.Contains(text, "closed") || !strings.Contains(text, "Internal error.") ||
		!strings.Contains(logs.String(), "closed") {
		t.Errorf("%d %s\nlog: %s", resp.StatusCode, text, logs.String())
	}
}
