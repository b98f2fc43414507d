package access

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A registration that takes the role of its hidden field is found; not one that gives all the same.
func TestRoleThatAFormAsksFor(t *testing.T) {
	for _, takes := range []bool{true, false} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			role := "customer"
			if takes {
				role = r.FormValue("user.type")
			}
			fmt.Fprintf(w, "<dl><dt>Name</dt><dd>%s</dd><dt>Type</dt><dd>%s</dd></dl>", r.FormValue("nickname"), role)
		}))
		form, err := message.New(http.MethodPost, lab.URL+"/join")
		if err != nil {
			t.Fatal(err)
		}
		form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		form.Body = []byte("nickname=a&password=b&user.type=customer")
		lab.World.Pages = func() []*message.Request { return []*message.Request{form} }
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		found := lab.Run(t, kittest.Named(t, Checks(), "mass-assignment"), &kit.Target{Request: form})
		if (len(found) == 1) != takes {
			t.Errorf("it takes it: %v, found %s", takes, kittest.Titles(found))
		}
	}
}

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
		target.User.SetCookies(target.Request.URL, []*http.Cookie{{Name: "user", Value: "bob", Path: "/"}}) //nolint:gosec // it is sent, not set
		lab.World.Users = []*client.User{target.User}
		found := lab.Run(t, kittest.Named(t, Checks(), "csrf"), target)
		if (len(found) == 1) == asks || len(found) == 1 && found[0].Confidence != kit.Proved || nick != "bobby" {
			t.Errorf("it asks for the type: %v, found %s, leaves %s", asks, kittest.Titles(found), nick)
		}
	}
}
