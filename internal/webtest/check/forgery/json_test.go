package forgery

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
)

// JSON that is taken as plain text can be sent by other sites; where it must say what it is, it cannot.
func TestForgeryOfJSON(t *testing.T) {
	for _, asks := range []bool{false, true} {
		var mu sync.Mutex
		nick := "bobby"
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if k, err := r.Cookie("user"); err != nil || k.Value != "bob" {
				http.Error(w, "log in", http.StatusForbidden)
				return
			}
			if r.Method == http.MethodPost {
				body := make([]byte, 200)
				n, _ := r.Body.Read(body)
				if asks && r.Header.Get("Content-Type") != "application/json" {
					http.Error(w, "send JSON", http.StatusUnsupportedMediaType)
					return
				}
				_, rest, _ := strings.Cut(string(body[:n]), `:"`)
				nick, _, _ = strings.Cut(rest, `"`)
			}
			fmt.Fprintf(w, `{"nick":"%s"}`, nick)
		}))
		target := lab.Target(t, http.MethodPost, "/settings/update", `{"nick":"bobby"}`)
		target.User = client.NewUser("bob")
		target.User.SetCookies(target.Request.URL, []*http.Cookie{{Name: "user", Value: "bob", Path: "/"}})
		lab.World.Users = []*client.User{target.User}
		found := lab.Run(t, kittest.Named(t, Checks(), "csrf"), target)
		if (len(found) == 1) == asks || len(found) == 1 && found[0].Confidence != kit.Proved || nick != "bobby" {
			t.Errorf("it asks for the type: %v, found %s, leaves %s", asks, kittest.Titles(found), nick)
		}
	}
}
