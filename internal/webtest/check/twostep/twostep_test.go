package twostep

import (
	"fmt"
	"net/http"
	"strconv"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// visits are what an application keeps of its visitors.
type visits struct {
	mu  sync.Mutex
	all map[string]map[string]string
}

// of is what is kept of a visitor, who gets a cookie.
func (v *visits) of(w http.ResponseWriter, r *http.Request) map[string]string {
	v.mu.Lock()
	defer v.mu.Unlock()
	if k, err := r.Cookie("visit"); err == nil && v.all[k.Value] != nil {
		return v.all[k.Value]
	}
	name := strconv.Itoa(len(v.all) + 1)
	v.all[name] = map[string]string{}
	http.SetCookie(w, &http.Cookie{Name: "visit", Value: name, Path: "/"})
	return v.all[name]
}

const (
	forName     = `<form method="post" action="%s">Login <input name="%s"><button>Next</button></form>`
	forPassword = `<form method="post" action="%s">Password <input type="password" name="%s"><button>OK</button></form>`
)

// onOnePage asks for both on one page, and takes a pair that right accepts.
func onOnePage(right func(name, password string) bool) http.HandlerFunc {
	v := &visits{all: map[string]map[string]string{}}
	return func(w http.ResponseWriter, r *http.Request) {
		visit := v.of(w, r)
		w.Header().Set("Content-Type", "text/html")
		switch name, word := r.PostFormValue("login"), r.PostFormValue("word"); {
		case name != "":
			visit["name"] = name
		case word != "" && right(visit["name"], word):
			visit["in"] = "yes"
		case word != "":
			delete(visit, "name")
			w.WriteHeader(http.StatusUnauthorized)
			fmt.Fprint(w, "<p>Login incorrect.</p>")
		}
		switch {
		case visit["in"] != "":
			fmt.Fprint(w, "<p>Gate 1: open</p><p>Gate 2: closed</p>")
		case visit["name"] != "":
			fmt.Fprintf(w, forPassword, "/", "word")
		default:
			fmt.Fprintf(w, forName, "/", "login")
		}
	}
}

// onTwoPages leads from a page for the name to one for the password, and then to the front.
func onTwoPages(right func(name, password string) bool) http.HandlerFunc {
	v := &visits{all: map[string]map[string]string{}}
	return func(w http.ResponseWriter, r *http.Request) {
		visit := v.of(w, r)
		w.Header().Set("Content-Type", "text/html")
		switch r.URL.Path {
		case "/login/word":
			if r.Method == http.MethodGet {
				fmt.Fprintf(w, forPassword, "/login/word", "passwort")
				return
			}
			if right(visit["name"], r.PostFormValue("passwort")) {
				visit["in"] = "yes"
			}
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case "/name":
			visit["name"] = r.PostFormValue("wer")
			http.Redirect(w, r, "/login/word", http.StatusSeeOther)
		default:
			if visit["in"] == "" {
				fmt.Fprintf(w, forName, "/name", "wer")
				return
			}
			fmt.Fprintf(w, "<p>Hello %s, three reports wait.</p>", visit["name"])
		}
	}
}

// newPassword sets a new password for a name.
func newPassword(set *int) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		switch {
		case r.PostFormValue("login") != "":
			fmt.Fprintf(w, forPassword, "/next", "new_word")
		case r.Method == http.MethodPost:
			*set++
		default:
			fmt.Fprintf(w, forName, "/", "login")
		}
	}
}

// Nobody's password is set by what asks for a name first.
func TestForgottenPasswords(t *testing.T) {
	for _, path := range []string{"/", "/forgot-it"} {
		set := 0
		lab := kittest.New(t, newPassword(&set))
		lab.World.Defaults = true
		target := lab.Target(t, http.MethodPost, path, "login=tester")
		if found := lab.Run(t, kittest.Named(t, Checks(), "default-login-in-two-steps"), target); len(found) > 0 || set > 0 {
			t.Errorf("%s: found %s, set %d", path, kittest.Titles(found), set)
		}
	}
}

// A well-known pair is found at logins in two steps; not one that is refused, nor where everybody is let in, nor a form
// that asks for no password next. Without leave nothing is sent.
func TestDefaultsInTwoSteps(t *testing.T) {
	known := func(name, password string) bool { return name == "admin" && password == "admin123" }
	nobody := func(string, string) bool { return false }
	everybody := func(string, string) bool { return true }
	byName := func(name, _ string) bool { return name == "guest" }
	subscribe := func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		fmt.Fprintf(w, forName, "/", "login")
	}
	for name, c := range map[string]struct {
		app        http.HandlerFunc
		path, body string
		may        bool
		want       int
	}{
		"one page":                      {onOnePage(known), "/", "login=tester", true, 1},
		"two pages":                     {onTwoPages(known), "/name", "wer=test", true, 1},
		"one page, refused":             {onOnePage(nobody), "/", "login=tester", true, 0},
		"two pages, refused":            {onTwoPages(nobody), "/name", "wer=test", true, 0},
		"everybody":                     {onTwoPages(everybody), "/name", "wer=test", true, 0},
		"a name without any password":   {onOnePage(byName), "/", "login=tester", true, 0},
		"no password is asked for":      {subscribe, "/", "login=tester", true, 0},
		"not allowed":                   {onOnePage(known), "/", "login=tester", false, 0},
		"a password in the first step":  {onOnePage(known), "/", "login=tester&password=x", true, 0},
		"a form of more than one field": {onOnePage(known), "/", "title=a&text=b", true, 0},
	} {
		lab := kittest.New(t, c.app)
		lab.World.Defaults = c.may
		target := lab.Target(t, http.MethodPost, c.path, c.body)
		target.From = lab.URL + "/"
		before := lab.Sent.Load()
		found := lab.Run(t, kittest.Named(t, Checks(), "default-login-in-two-steps"), target)
		if len(found) != c.want || c.want > 0 && found[0].Payload != "admin with a well-known password" {
			t.Errorf("%s: found %s, want %d", name, kittest.Titles(found), c.want)
		}
		if sent := lab.Sent.Load() - before; !c.may && sent > 0 {
			t.Errorf("%s: %d requests", name, sent)
		}
	}
}
