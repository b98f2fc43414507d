package access

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A cookie that is written from a name or a number and opens a session is found; not one that a random one stands
// beside, nor one that is signed, nor one whose number the application does not look at.
func TestSessionsOfUsers(t *testing.T) {
	encode := func(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }
	for name, c := range map[string]struct {
		alice, bob string
		beside     bool // another cookie is the session
		any        bool // each value opens the page
		want       int
	}{
		"name in base64":       {alice: url.QueryEscape(encode("alice")), bob: encode("bob"), want: 1},
		"digest of a number":   {alice: digests[32](11), bob: digests[32](12), want: 1},
		"counter":              {alice: "41", bob: "42", want: 1},
		"random":               {alice: "9f8e7d6c5b4a3928", bob: "1716f5e4d3c2b1a0"},
		"signed":               {alice: "41.9f8e7d6c5b4a3928", bob: "42.1716f5e4d3c2b1a0"},
		"beside a session":     {alice: "41", bob: "42", beside: true},
		"not looked at at all": {alice: "41", bob: "42", any: true},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			who := ""
			if k, err := r.Cookie("account"); err == nil {
				switch {
				case k.Value == c.alice:
					who = "alice"
				case k.Value == c.bob || k.Value == url.QueryEscape(c.bob) || c.any:
					who = "bob"
				}
			}
			if k, err := r.Cookie("user"); c.beside && (err != nil || k.Value != who) {
				who = ""
			}
			if who == "" {
				http.Redirect(w, r, "/login", http.StatusFound)
				return
			}
			fmt.Fprintf(w, "<h1>Account</h1><p>%s, %s@example.org</p>", who, who)
		}))
		at := lab.Target(t, http.MethodGet, "/account", "").Request
		alice, bob := lab.As(t, "alice"), lab.As(t, "bob")
		alice.SetCookies(at.URL, []*http.Cookie{{Name: "account", Value: c.alice, Path: "/"}})
		bob.SetCookies(at.URL, []*http.Cookie{{Name: "account", Value: url.QueryEscape(c.bob), Path: "/"}})
		lab.World.Users = []*client.User{alice, bob}
		lab.World.Pages = func() []*message.Request { return []*message.Request{at} }
		found := lab.Run(t, kittest.Named(t, Checks(), "session-of-user"), lab.Target(t, http.MethodGet, "/account", ""))
		if len(found) != c.want {
			t.Errorf("%s: found %s, want %d", name, kittest.Titles(found), c.want)
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
