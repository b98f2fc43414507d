package forgery

import (
	"fmt"
	"html"
	"net/http"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
)

// A form whose words do not say that it changes something, and that is answered by a page, is found where it has a token
// that may be left out, or takes an address of mail, and the page shows afterwards what another site has sent. A search
// that is kept does not count, nor what is shown in the answer alone.
func TestForgeryAnsweredByAPage(t *testing.T) {
	const mail, withToken, search = "email=bob%40lab.example", "csrf=right&nickname=Bobby", "q=teapots"
	for name, c := range map[string]struct {
		field, body string
		refuses     func(r *http.Request) bool
		keeps       bool
		want        int
	}{
		"a token that may be left out": {"nickname", withToken, func(r *http.Request) bool {
			return r.PostForm.Has("csrf") && r.PostFormValue("csrf") != "right"
		}, true, 1},
		"a mail address": {"email", mail, func(*http.Request) bool { return false }, true, 1},
		"a token": {"nickname", withToken, func(r *http.Request) bool {
			return r.PostFormValue("csrf") != "right"
		}, true, 0},
		"other sites are refused": {"email", mail, func(r *http.Request) bool {
			return r.Header.Get("Sec-Fetch-Site") == "cross-site"
		}, true, 0},
		"nothing is kept":       {"email", mail, func(*http.Request) bool { return false }, false, 0},
		"a search that is kept": {"q", search, func(*http.Request) bool { return false }, true, 0},
	} {
		var mu sync.Mutex
		kept := "first"
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if _, err := r.Cookie("user"); err != nil {
				http.Error(w, "log in", http.StatusUnauthorized)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			shown := kept
			if v := r.PostFormValue(c.field); v != "" && !c.refuses(r) {
				shown = v
				if c.keeps {
					kept = v
				}
			}
			fmt.Fprintf(w, "<p>Hello, this is your page, on which all is shown.</p><p>%s</p>", html.EscapeString(shown))
		}))
		target := lab.Target(t, http.MethodPost, "/index.php", c.body)
		target.User = lab.As(t, "bob")
		target.User.SetCookies(target.Request.URL, []*http.Cookie{{Name: "user", Value: "bob", Path: "/"}})
		target.From = lab.URL + "/"
		lab.World.Users = []*client.User{target.User}
		found := lab.Run(t, kittest.Named(t, Checks(), "csrf"), target)
		if len(found) != c.want || c.want == 1 && found[0].Confidence != kit.Proved {
			t.Errorf("%s: found %s, want %d", name, kittest.Titles(found), c.want)
		}
	}
}
