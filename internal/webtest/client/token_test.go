package client_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Nobody sends a form with a token as a visitor of its page, where that gives the token with a cookie: in a body or a
// query. A page whose token needs no cookie is asked once.
func TestTokensOfNobody(t *testing.T) {
	for name, c := range map[string]struct {
		method, format string
		cookie         bool
	}{"form": {http.MethodPost, "body", true}, "query": {http.MethodGet, "query", true}, "no cookie": {http.MethodPost, "body", false}} {
		var views atomic.Int64
		server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.URL.Path == "/form" {
				n := int64(1)
				if views.Add(1); c.cookie {
					n = views.Load()
					http.SetCookie(w, &http.Cookie{Name: "sid", Value: fmt.Sprint(n), Path: "/"})
				}
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprintf(w, `<form><input type="hidden" name="csrf_token" value="secret-%d"></form>`, n)
				return
			}
			id := "1"
			if k, err := r.Cookie("sid"); c.cookie {
				if id = "none"; err == nil {
					id = k.Value
				}
			}
			if r.FormValue("csrf_token") != "secret-"+id {
				http.Error(w, "expired", http.StatusForbidden)
			}
		}))
		defer server.Close()
		first := "secret-1" // what the map has seen
		if c.cookie {
			first = "secret-0"
		}
		own := client.New(client.Config{Level: client.Active})
		defer own.Close()
		page, err := message.New(http.MethodGet, server.URL+"/form")
		if err != nil {
			t.Fatal(err)
		}
		r, err := message.New(c.method, server.URL+"/send?"+map[string]string{"query": "csrf_token=" + first}[c.format])
		if err != nil {
			t.Fatal(err)
		}
		place := message.Place{Component: message.Query, Format: message.Form, Name: "csrf_token"}
		if c.format == "body" {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Body, place = []byte("csrf_token="+first), message.Place{Component: message.Body, Format: message.Form, Name: "csrf_token"}
		}
		r.Token = &message.Token{Field: "csrf_token", Value: first, Place: place, Page: page}
		for range 3 {
			answer, err := own.Send(t.Context(), r, client.Options{})
			if err != nil || answer.Status != http.StatusOK {
				t.Errorf("%s: %v %v", name, answer, err)
			}
		}
		if n := views.Load(); !c.cookie && n > 2 || c.cookie && n != 3 {
			t.Errorf("%s: the page was viewed %d times", name, n)
		}
		changed := r.Put(place, strings.Repeat("x", 8))
		if answer, err := own.Send(t.Context(), changed, client.Options{}); err != nil || answer.Status != http.StatusForbidden {
			t.Errorf("%s: a token that a test has changed: %v %v", name, answer, err)
		}
	}
}

// Two sessions of users of one name do not share a token, as those of a login and of the next one.
func TestTokensOfTwoSessions(t *testing.T) {
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k, err := r.Cookie("sid")
		if err != nil {
			http.Error(w, "log in", http.StatusUnauthorized)
			return
		}
		if r.Method == http.MethodPost && r.FormValue("csrf_token") != "token-of-"+k.Value {
			http.Error(w, "expired", http.StatusForbidden)
			return
		}
		fmt.Fprintf(w, `<input type="hidden" name="csrf_token" value="token-of-%s">`, k.Value)
	}))
	defer server.Close()
	own := client.New(client.Config{Level: client.Active})
	defer own.Close()
	page, err := message.New(http.MethodGet, server.URL+"/form")
	if err != nil {
		t.Fatal(err)
	}
	r := page.Clone()
	r.Method, r.Body = http.MethodPost, []byte("csrf_token=token-of-1")
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Token = &message.Token{Field: "csrf_token", Value: "token-of-1", Page: page,
		Place: message.Place{Component: message.Body, Format: message.Form, Name: "csrf_token"}}
	for _, id := range []string{"1", "2"} {
		u := client.NewUser("anna")
		u.SetCookies(page.URL, []*http.Cookie{{Name: "sid", Value: id, Path: "/"}})
		answer, err := own.Send(t.Context(), r, client.Options{As: u})
		if err != nil || answer.Status != http.StatusOK {
			t.Errorf("session %s: %v %v", id, answer, err)
		}
	}
}
