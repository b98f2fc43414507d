package access

import (
	"crypto/md5"
	"encoding/hex"
	"net/http"
	"slices"
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

// A menu that names more pages for one user than for another stands on all pages: a page that it leads to, and what that
// page reads, are found all the same. A page that says who may open it, with the layout of all others, is none.
func TestMenusThatDiffer(t *testing.T) {
	const admins, menu = "<a href='/staffing'>staffing</a>\n<a href='/setup'>setup</a>\n<p>Root tools</p>\n", "<a href='/a'>a</a>\n<a href='/b'>b</a>\n<a href='/c'>c</a>\n"
	for name, c := range map[string]struct {
		page, data, refusal string
		strict              bool
		want                []string
	}{
		"a page and its data": {"<p>All people</p><script>fetch('/data')</script>", `[{"name":"alice","pay":12},{"name":"bob","pay":9}]`, "", false,
			[]string{"/staffing", "/data"}},
		"a page alone":                              {"<h2>Salaries</h2><p>alice 12</p><p>bob 9</p>", "", "", false, []string{"/staffing"}},
		"refused with the title of the page":        {"<h2>Salaries</h2><p>alice 12</p><p>bob 9</p>", "", "<h2>Salaries</h2><p>You may not see them.</p>", true, nil},
		"nothing but a layout, and a refusal in it": {"", "", "<p>You may not see it.</p>", true, nil},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			k, err := r.Cookie("user")
			if err != nil {
				http.Redirect(w, r, "/login", http.StatusFound)
				return
			}
			w.Header().Set("Content-Type", "text/html")
			body := "<p>Page " + r.URL.Path + "</p>"
			switch {
			case r.URL.Path == "/data" && c.data != "":
				_, _ = w.Write([]byte(c.data))
				return
			case r.URL.Path == "/staffing" && c.strict && k.Value != "alice":
				body = c.refusal
			case r.URL.Path == "/staffing":
				body = c.page
			case r.URL.Path == "/setup" && k.Value != "alice":
				w.WriteHeader(http.StatusForbidden)
			}
			own := menu
			if k.Value == "alice" {
				own += admins
			}
			_, _ = w.Write([]byte("<html><nav>" + own + "</nav>" + body + "\n<p>You are " + k.Value + "</p></html>"))
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice"), lab.As(t, "bob")}
		lab.World.Pages = requests(t, lab, "/", "/a", "/b", "/c", "/setup", "/staffing", "/data")
		var got []string
		for _, f := range lab.Run(t, kittest.Named(t, Checks(), "access-of-others"), &kit.Target{}) {
			got = append(got, f.Request.URL.Path)
			lab.Holds(t, f)
			if f.Class != "bfla" || f.Confidence != kit.Proved {
				t.Errorf("%s: %s %s", name, f.Class, f.Confidence)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: found %v, want %v", name, got, c.want)
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
