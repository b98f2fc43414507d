package webtest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check/redirect"
	"github.com/vedette-sec/vedette/internal/webtest/coverage"
	"github.com/vedette-sec/vedette/internal/webtest/session"
)

// office shows a page with an input to its manager alone, and hides it from others; both have a file of their own.
func office(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/html")
	who := ""
	if k, err := r.Cookie("who"); err == nil {
		who = k.Value
	}
	switch {
	case r.URL.Path == "/" && who == "boss":
		fmt.Fprint(w, `<p>Hello boss</p><a href="/reports?text=a">Reports</a> <a href="/files/202">file</a>`)
	case r.URL.Path == "/" && who != "":
		fmt.Fprint(w, `<p>Hello clerk</p><a href="/files/101">file</a>`)
	case r.URL.Path == "/reports" && who == "boss":
		fmt.Fprint(w, "<h1>"+r.URL.Query().Get("text")+"</h1>")
	case strings.HasPrefix(r.URL.Path, "/files/") && who != "":
		fmt.Fprint(w, "<ul><li>paper</li></ul>")
	case r.URL.Path == "/":
		fmt.Fprint(w, "<form>log in</form>")
	default:
		w.WriteHeader(http.StatusForbidden)
	}
}

// What only the second user is shown is mapped, and tested as that user; their objects are known to tests of access, and
// are not tested again.
func TestPagesOfAnotherUserAreTested(t *testing.T) {
	clerk, boss := session.Account{Name: "clerk", Cookie: "who=clerk"}, session.Account{Name: "boss", Cookie: "who=boss"}
	for _, accounts := range [][]session.Account{{clerk, boss}, {boss, clerk}} {
		report, err := webtest.Run(t.Context(), serve(t, webtest.Config{Accounts: accounts}, office))
		if err != nil {
			t.Fatal(err)
		}
		if got := places(report); !slices.Contains(got, "echo GET /reports query parameter text") {
			t.Errorf("%s first: %q", accounts[0].Name, got)
		}
		if n := len(report.Map.Others); n != 1 {
			t.Errorf("%s first: %d objects of others", accounts[0].Name, n)
		}
	}
}

// An account for which there is no login, or which is refused, is left out: the others, or nobody, test the rest, and
// the report and the coverage say so.
func TestRunGoesOnWithoutAnAccount(t *testing.T) {
	lost, boss := session.Account{User: "clerk", Password: "x"}, session.Account{Name: "boss", Cookie: "who=boss"}
	for _, accounts := range [][]session.Account{{lost}, {lost, boss}} {
		report, err := webtest.Run(t.Context(), serve(t, webtest.Config{Accounts: accounts}, office))
		if err != nil {
			t.Fatal(err)
		}
		if len(report.Refused) != 1 || !strings.Contains(report.Refused[0], "logging in as clerk: ") || !report.Partial() ||
			!strings.HasPrefix(report.Notes[0], "The login failed: logging in as clerk") {
			t.Errorf("%d accounts: %q, partial %t, %q", len(accounts), report.Refused, report.Partial(), report.Notes)
		}
		_, why := report.Coverage.Reasons()
		if !slices.ContainsFunc(why, func(r coverage.Reason) bool { return strings.HasPrefix(r.Why, "the login failed: ") }) {
			t.Errorf("the coverage is silent: %v", why)
		}
		found := slices.Contains(places(report), "echo GET /reports query parameter text")
		if found != (len(accounts) == 2) {
			t.Errorf("%d accounts: %q", len(accounts), places(report))
		}
	}
}

// A login that leads to any host of its request when it has worked is found; one that leads to pages of its own, or
// anywhere only when it fails, is not. The password of the user is in no evidence.
func TestRedirectAfterLogin(t *testing.T) {
	for name, leads := range map[string]func(next string, in bool) string{
		"any host": func(next string, in bool) string {
			if in {
				return next
			}
			return "/enter?failed"
		},
		"own pages": func(next string, _ bool) string {
			if strings.HasPrefix(next, "/") && !strings.HasPrefix(next, "//") && !strings.Contains(next, `\`) {
				return next
			}
			return "/"
		},
		"a backslash": func(next string, _ bool) string {
			if strings.HasPrefix(next, "/") && !strings.HasPrefix(next, "//") {
				return next
			}
			return "/"
		},
		"when it fails": func(next string, in bool) string {
			if in {
				return "/"
			}
			return next
		},
	} {
		report, err := webtest.Run(t.Context(), serve(t, webtest.Config{Checks: redirect.Checks(),
			Accounts: []session.Account{{User: "bob", Password: "pass word"}}}, func(w http.ResponseWriter, r *http.Request) {
			_, err := r.Cookie("sid")
			w.Header().Set("Content-Type", "text/html")
			switch {
			case r.URL.Path == "/enter-login" && r.Method == http.MethodPost:
				in := r.PostFormValue("name") == "bob" && r.PostFormValue("secret") == "pass word"
				if in {
					http.SetCookie(w, &http.Cookie{Name: "sid", Value: "1", Path: "/"})
				}
				w.Header().Set("Location", leads(r.PostFormValue("return_to"), in))
				w.WriteHeader(http.StatusFound)
			case err != nil:
				fmt.Fprint(w, `<form method=post action="/enter-login"><input type=hidden name=return_to value="/">`+
					`<input name=name><input type=password name=secret></form>`)
			case r.URL.Path == "/":
				fmt.Fprint(w, `Welcome, bob. <a href="/logout">Log out</a><a href="/enter-login?return_to=%2F">again</a>`)
			default:
				http.NotFound(w, r)
			}
		}))
		if err != nil {
			t.Fatal(name, err)
		}
		found := 0
		for _, f := range report.Findings {
			if f.Check == "redirect-after-login" {
				found++
				for _, e := range f.Evidence {
					if text := e.Request.Text(); strings.Contains(text, "pass word") || strings.Contains(text, "pass+word") {
						t.Error("the password is in the evidence")
					}
				}
			}
		}
		if want := map[string]int{"any host": 1, "a backslash": 1}[name]; found != want {
			t.Errorf("%s: %d found: %v", name, found, places(report))
		}
	}
}
