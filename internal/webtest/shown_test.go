package webtest_test

import (
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest"
)

// club lets those in who know a password, and shows text on its front page.
func club(text string, lets func(user, password string) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		k, err := r.Cookie("member")
		in := err == nil && k.Value == "yes"
		switch {
		case r.URL.Path == "/login" && r.Method == http.MethodPost && lets(r.FormValue("user"), r.FormValue("pass")):
			http.SetCookie(w, &http.Cookie{Name: "member", Value: "yes", Path: "/"})
			http.Redirect(w, r, "/home", http.StatusSeeOther)
		case r.URL.Path == "/login":
			fmt.Fprint(w, `<form method="post"><input name="user"><input type="password" name="pass"></form>`)
		case r.URL.Path == "/home" && in:
			fmt.Fprint(w, `<p>Members</p><a href="/search?q=a">search</a> <a href="/logout">Log out</a>`)
		case r.URL.Path == "/search" && in:
			fmt.Fprint(w, "<h1>"+r.URL.Query().Get("q")+"</h1>")
		case r.URL.Path == "/":
			fmt.Fprint(w, `<h1>Club</h1>`+text+` <a href="/login">Log in</a> <a href="/home">Members</a>`)
		case in:
			http.NotFound(w, r)
		default:
			http.Redirect(w, r, "/login", http.StatusFound)
		}
	}
}

// Credentials that a page shows are reported when they log in, and what is behind the login is tested; not those of a
// user who is refused, nor where any password does.
func TestShownCredentials(t *testing.T) {
	is := func(user, password string) func(string, string) bool {
		return func(u, p string) bool { return u == user && p == password }
	}
	for name, c := range map[string]struct {
		text string
		lets func(user, password string) bool
		want bool
	}{
		"a comment":     {"<!-- TODO: remove the test account carla:s3cret-9 -->", is("carla", "s3cret-9"), true},
		"labels":        {"<p>Demo. Username: <b>carla</b>, password: <code>s3cret-9</code></p>", is("carla", "s3cret-9"), true},
		"a script":      {`<script>const demo = {"username": "carla", "password": "s3cret-9"};</script>`, is("carla", "s3cret-9"), true},
		"a sentence":    {"<p>Log in as guest / welcome1 to look around.</p>", is("guest", "welcome1"), true},
		"old":           {"<!-- test account carla:s3cret-9 -->", is("carla", "another"), false},
		"any password":  {"<!-- test account carla:s3cret-9 -->", func(string, string) bool { return true }, false},
		"nothing shown": {"<p>Open every day: test:ing is at 10:30.</p>", is("carla", "s3cret-9"), false},
	} {
		report, err := webtest.Run(t.Context(), serve(t, webtest.Config{}, club(c.text, c.lets)))
		if err != nil {
			t.Fatal(err)
		}
		got := slices.ContainsFunc(report.Findings, func(f webtest.Finding) bool { return f.Check == "shown-credentials" })
		behind := slices.ContainsFunc(places(report), func(p string) bool { return strings.HasPrefix(p, "echo GET /search") })
		if got != c.want || behind != c.want {
			t.Errorf("%s: reported %v, behind the login %v, want %v; %q, %q", name, got, behind, c.want, places(report), report.Notes)
		}
	}
}

// Behind a well-known password, where these may be tried, the application is tested as that user.
func TestBehindAGuessedPassword(t *testing.T) {
	for guess, want := range map[bool]bool{true: true, false: false} {
		lets := func(u, p string) bool { return u == "admin" && p == "password" }
		report, err := webtest.Run(t.Context(), serve(t, webtest.Config{Guess: guess}, club("", lets)))
		if err != nil {
			t.Fatal(err)
		}
		if got := slices.ContainsFunc(places(report), func(p string) bool { return strings.HasPrefix(p, "echo GET /search") }); got != want {
			t.Errorf("allowed: %v, tested behind the login: %v; %q", guess, got, report.Notes)
		}
	}
}

// What only the login leads to is mapped: the front page shows the form to whoever is logged in, too.
func TestWhatALoginLeadsTo(t *testing.T) {
	report, err := webtest.Run(t.Context(), serve(t, webtest.Config{Guess: true}, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		k, err := r.Cookie("who")
		switch {
		case r.URL.Path == "/" && r.FormValue("user") == "admin" && r.FormValue("pass") == "admin":
			http.SetCookie(w, &http.Cookie{Name: "who", Value: "admin", Path: "/"})
			http.Redirect(w, r, "/panel", http.StatusSeeOther)
		case r.URL.Path == "/":
			fmt.Fprint(w, `<form method="post"><input name="user"><input type="password" name="pass"></form>`)
		case err != nil || k.Value != "admin":
			http.Redirect(w, r, "/", http.StatusFound)
		case r.URL.Path == "/panel":
			fmt.Fprint(w, `<form action="/log"><input name="day" value="monday"></form>`)
		default:
			fmt.Fprint(w, "<p>"+r.FormValue("day")+"</p>")
		}
	}))
	if err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(places(report), func(p string) bool { return strings.HasPrefix(p, "echo GET /log") }) {
		t.Errorf("%q, %q", places(report), report.Notes)
	}
}
