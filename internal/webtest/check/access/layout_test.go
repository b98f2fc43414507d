package access

import (
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// In a layout of many lines a sentence that refuses is not the page that it refuses.
func TestRefusalInALayout(t *testing.T) {
	layout := strings.Repeat("<p>A line of the layout.</p>\n<p>And one more of it.</p>\n", 1)
	for i := range 40 {
		layout += "<li>entry " + strings.Repeat("x", i) + "</li>\n"
	}
	for name, strict := range map[string]bool{"weak": false, "strict": true} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			k, err := r.Cookie("user")
			if err != nil {
				http.Error(w, "log in first", http.StatusForbidden)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			of := map[string]string{"7001": "alice", "7002": "bob"}
			body := "<p>There is no such statement of yours.</p>"
			if r.URL.Path == "/" {
				body = "<p>hello</p>"
				for id, who := range of {
					if who == k.Value {
						body += "<a href='/statement?account=" + id + "'>statement</a>"
					}
				}
			} else if who := of[r.FormValue("account")]; who != "" && (!strict || who == k.Value) {
				body = "<p>" + who + " holds 512</p>"
			}
			_, _ = w.Write([]byte("<html>" + layout + body + "</html>"))
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice"), lab.As(t, "bob")}
		lab.World.Pages = func() (all []*message.Request) {
			for _, path := range []string{"/", "/statement?account=7001"} {
				r, err := message.New(http.MethodGet, lab.URL+path)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, r)
			}
			return all
		}
		found := lab.Run(t, kittest.Named(t, Checks(), "access-of-others"), &kit.Target{})
		if strict != (len(found) == 0) || !strict && found[0].Class != "bola" {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}

// An object that a random value names, which nothing shows to the other, is probable alone; one that a digest of a
// number or of its owner names is proved.
func TestObjectsOfRandomNames(t *testing.T) {
	digest := func(text string) string { sum := md5.Sum([]byte(text)); return hex.EncodeToString(sum[:]) }
	for id, want := range map[string]kit.Confidence{
		digest("17"): kit.Proved, digest("alice"): kit.Proved, digest("a long and secret text"): kit.Probable,
		"5f0c2a9e-77d1-4b3e-9c60-1d2e3f405162": kit.Probable, "7001": kit.Proved,
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			k, err := r.Cookie("user")
			w.Header().Set("Content-Type", "text/html")
			switch {
			case err != nil:
				http.Error(w, "log in first", http.StatusForbidden)
			case r.URL.Path == "/cards/"+id:
				_, _ = w.Write([]byte("<p>The card of alice has 512 points.</p>"))
			case r.URL.Path == "/" && k.Value == "alice":
				_, _ = w.Write([]byte("<a href='/cards/" + id + "'>your card</a>"))
			case r.URL.Path == "/":
				_, _ = w.Write([]byte("<p>You have no card.</p>"))
			default:
				http.Error(w, "there is no such card", http.StatusNotFound)
			}
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice"), lab.As(t, "bob")}
		lab.World.Pages = func() (all []*message.Request) {
			for _, path := range []string{"/", "/cards/" + id} {
				r, err := message.New(http.MethodGet, lab.URL+path)
				if err != nil {
					t.Fatal(err)
				}
				all = append(all, r)
			}
			return all
		}
		found := lab.Run(t, kittest.Named(t, Checks(), "access-of-others"), &kit.Target{})
		if len(found) != 1 || found[0].Class != "bola" || found[0].Confidence != want {
			t.Errorf("%s: %s", id, kittest.Titles(found))
		}
	}
}
