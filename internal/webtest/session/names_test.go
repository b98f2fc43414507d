package session_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/session"
)

// A login is found by what its link says, where its address says nothing.
func TestLoginByTheTextOfALink(t *testing.T) {
	s := &site{sessions: map[string]bool{}}
	got, _, _, err := open(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/" || r.URL.Path == "/home" {
			if k, err := r.Cookie("sid"); err == nil && s.knows(k.Value) {
				fmt.Fprint(w, "<p>Hello bob</p>")
				return
			}
			fmt.Fprint(w, `<a href="/about">About</a> <a href="/enter">Sign in</a>`)
			return
		}
		if r.URL.Path != "/enter" {
			http.NotFound(w, r)
			return
		}
		s.form(w, r)
	}, session.Account{User: "bob", Password: "pass word"})
	if err != nil || got == nil {
		t.Fatal(err)
	}
}

// A session is known by the form that only others get, in any language. A login that gives no cookie, and a page without
// a form, has refused.
func TestSessionByTheFormOfOthers(t *testing.T) {
	for name, c := range map[string]struct {
		password string
		want     bool
	}{"right": {"pass word", true}, "wrong": {"other", false}} {
		left := 0
		got, _, _, err := open(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			k, err := r.Cookie("tl")
			switch {
			case r.URL.Path == "/end":
				left++
			case r.Method == http.MethodPost && r.FormValue("psw") == "pass word":
				http.SetCookie(w, &http.Cookie{Name: "tl", Value: "1", Path: "/"})
				http.Redirect(w, r, "/", http.StatusFound)
			case r.Method == http.MethodPost:
				fmt.Fprint(w, "<p>Nem jó.</p>")
			case err == nil && k.Value == "1":
				fmt.Fprint(w, `<p>21 C</p><a href="/end">Vége</a>`)
			case r.URL.Path == "/":
				fmt.Fprint(w, `<form method="post"><input name="usr"><input name="psw" type="password"></form>`)
			default:
				http.NotFound(w, r)
			}
		}, session.Account{User: "bob", Password: c.password})
		if (err == nil) != c.want || c.want && !strings.Contains(got.Describe(), "the form to log in") || left > 0 {
			t.Errorf("%s: %v, left %d times", name, err, left)
		}
		if c.want {
			if alive, err := got.Alive(t.Context()); !alive || err != nil {
				t.Errorf("it is not alive: %v", err)
			}
		}
	}
}

// A call that is known logs in under its own names, where it takes a name and a secret and nothing else, or its address
// says so; one that registers, or sets a password, is not sent.
func TestLoginByOwnNames(t *testing.T) {
	for name, c := range map[string]struct {
		path, body string
		want       bool
	}{
		"names":     {"/v3/sign-in", `{"login":"x","secret":"y"}`, true},
		"pair":      {"/v2/desk", `{"badge":"x","pin":"y"}`, true},
		"registers": {"/v2/members", `{"handle":"x","password":"y"}`, false},
		"more":      {"/v2/desk", `{"badge":"x","pin":"y","amount":"3"}`, false},
	} {
		var sent []map[string]string
		account := session.Account{User: "bob", Password: "pass word"}
		_, _, _, err := open(t, func(w http.ResponseWriter, r *http.Request) {
			in := map[string]string{}
			if r.Method == http.MethodPost && r.URL.Path == c.path {
				_ = json.NewDecoder(r.Body).Decode(&in)
				sent = append(sent, in)
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"token":"0123456789abcdef0123"}`)
				return
			}
			w.WriteHeader(http.StatusNotFound)
		}, withSeed(t, account, c.path, c.body))
		if (err == nil) != c.want || (len(sent) > 0) != c.want {
			t.Errorf("%s: %v, sent %v", name, err, sent)
		}
	}
}

// withSeed is an account that knows a call; its host is set when the site is there.
func withSeed(t *testing.T, a session.Account, path, body string) session.Account {
	t.Helper()
	r, err := message.New(http.MethodPost, "http://site.test"+path)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/json")
	r.Body = []byte(body)
	a.Seeds = []*message.Request{r}
	return a
}

// A login is found behind any link of the start page, in a language that is not known, and a page that registers is not
// taken for one.
func TestLoginBehindAnyLink(t *testing.T) {
	s := &site{sessions: map[string]bool{}}
	registered := false
	got, _, _, err := open(t, func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/":
			fmt.Fprint(w, `<a href="/register">Uj</a> <a href="/hirek">Hirek</a> <a href="/belepes">Belepes</a>`)
		case "/register":
			registered = registered || r.Method == http.MethodPost
			fmt.Fprint(w, loginForm)
		case "/belepes":
			r.URL.Path = "/enter"
			s.form(w, r)
		case "/home":
			s.form(w, r)
		default:
			http.NotFound(w, r)
		}
	}, session.Account{User: "bob", Password: "pass word"})
	if err != nil || got == nil || registered {
		t.Fatal(err, registered)
	}
}

// The call that a script makes to log in is found with the address that it puts together, and with its own names.
func TestLoginThatAScriptPutsTogether(t *testing.T) {
	_, _, _, err := open(t, func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/" {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, `<div id="root"></div><script>const base = "/svc/7"; function post(path, body) {
				return fetch(base + path, { method: "POST", headers: { "Content-Type": "application/json" }, body: JSON.stringify(body) }) }
				b.onclick = () => fetch(base + "/desk", { method: "POST", body: JSON.stringify({ badge: f.get("b"), pin: f.get("p") }) })</script>`)
			return
		}
		in := map[string]string{}
		_ = json.NewDecoder(r.Body).Decode(&in)
		if r.URL.Path != "/svc/7/desk" || in["badge"] != "bob" || in["pin"] != "pass word" {
			w.WriteHeader(http.StatusNotFound)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		fmt.Fprint(w, `{"token":"0123456789abcdef0123"}`)
	}, session.Account{User: "bob", Password: "pass word"})
	if err != nil {
		t.Fatal(err)
	}
}

// A form that registers has the fields of a login, and is none, in any language that its address speaks.
func TestRegistrationBesideALogin(t *testing.T) {
	for _, path := range []string{"/inschrijven", "/rejestracja", "/inscription"} {
		s, sent := &site{sessions: map[string]bool{}}, 0
		got, _, _, err := open(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			switch r.URL.Path {
			case "/", "/home":
				if k, err := r.Cookie("sid"); err == nil && s.knows(k.Value) {
					fmt.Fprint(w, "<p>Hello bob</p>")
					return
				}
				fmt.Fprintf(w, `<a href="%s">A</a> <a href="/enter">B</a>`, path)
			case path:
				if r.Method == http.MethodPost {
					sent++
				}
				fmt.Fprint(w, `<form method="post"><input name="user"><input name="word" type="password"></form>`)
			case "/enter":
				s.form(w, r)
			default:
				http.NotFound(w, r)
			}
		}, session.Account{User: "bob", Password: "pass word"})
		if err != nil || got == nil || sent > 0 {
			t.Errorf("%s: %v, %d users registered", path, err, sent)
		}
	}
}
