package client_test

import (
	"errors"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
)

// An address that answers again and again that it is asked too often is let alone, but for what must be sent; others are
// asked, and so is one that answers otherwise in between.
func TestAskedTooOften(t *testing.T) {
	n := 0
	c, at := open(t, client.Config{}, func(w http.ResponseWriter, r *http.Request) {
		n++
		if r.URL.Path == "/never" || r.URL.Path == "/enter" || r.URL.Path == "/sometimes" && n%4 != 0 {
			w.Header().Set("Retry-After", "0")
			w.WriteHeader(http.StatusTooManyRequests)
		}
	})
	for path, want := range map[string]int{"/never?q=1": 8, "/sometimes?q=1": 20, "/always?q=1": 20, "/enter?password=1": 2} {
		sent := 0
		for range 20 {
			switch _, err := c.Send(t.Context(), get(t, at+path), client.Options{}); {
			case err == nil:
				sent++
			case !errors.Is(err, client.ErrScope):
				t.Fatal(err)
			}
		}
		if sent != want {
			t.Errorf("%s: %d were sent, want %d", path, sent, want)
		}
	}
	if _, err := c.Send(t.Context(), get(t, at+"/never"), client.Options{Forced: true}); err != nil {
		t.Error("what must be sent:", err)
	}
}

// What a link or a button says counts as its address does, when it is short.
func TestWhatLinksSay(t *testing.T) {
	for text, want := range map[string][2]bool{"Sign out": {true, false}, "Log off, anna": {true, false}, "Abmelden": {true, false},
		"Sign in": {false, true}, "Log in or register": {false, true}, "Design outlines": {false, false}, "Catalog": {false, false},
		"How to sign out of an application on all of your machines and phones": {false, false}} {
		if got := [2]bool{client.SaysLogout(text), client.SaysLogin(text)}; got != want {
			t.Errorf("%s: %v", text, got)
		}
	}
}

// An address that ends the session by what its link says is refused, with its query, and nothing else is.
func TestEnds(t *testing.T) {
	c, at := open(t, client.Config{}, func(http.ResponseWriter, *http.Request) {})
	c.Ends(get(t, at+"/go?to=7").URL)
	for path, want := range map[string]bool{"/go?to=7": true, "/go?to=8": false, "/go": false} {
		if _, err := c.Send(t.Context(), get(t, at+path), client.Options{}); errors.Is(err, client.ErrScope) != want {
			t.Errorf("%s: %v", path, err)
		}
	}
}

// A form that takes a new password twice sets one, whatever its fields are called.
func TestFormOfANewPassword(t *testing.T) {
	c, at := open(t, client.Config{Level: client.Active}, func(http.ResponseWriter, *http.Request) {})
	r := get(t, at+"/change?new=a&again=a")
	for n, want := range map[int]bool{0: false, 1: false, 2: true} {
		r.Passwords = n
		if err := c.Permit(r.Clone(), client.Options{}); errors.Is(err, client.ErrScope) != want {
			t.Errorf("%d: %v", n, err)
		}
	}
}
