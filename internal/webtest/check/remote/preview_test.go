package remote

import (
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// part is what an expression finds in the page at an address; otherwise, if there is none.
func part(address, expression, otherwise string) string {
	if m := regexp.MustCompile(expression).FindStringSubmatch(get(address)); m != nil {
		return m[1]
	}
	return otherwise
}

// A preview shows one text of what it has read. Where pages share their title with the preview, the error page tells
// that the address is read, or another heading does; an application that knows its own addresses reads none.
func TestPreviews(t *testing.T) {
	page := func(body string) string {
		return "<html><head><title>tiny.example</title></head><body><h1>tiny.example</h1>" + body + "</body></html>"
	}
	// Pages have one title; the error page has another.
	shortener := func(title func(address string) string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/", "/terms":
				fmt.Fprint(w, page("<p>A page at "+r.URL.Path+" of this site</p>"+strings.Repeat("<ul><li>x</ul>", len(r.URL.Path)/2)))
			case "/make":
				to := r.FormValue("target")
				fmt.Fprint(w, page("<p>"+html.EscapeString(to)+" leads to &ldquo;"+html.EscapeString(title(to))+"&rdquo;</p>"))
			default:
				w.WriteHeader(http.StatusNotFound)
				fmt.Fprint(w, "<html><title>Nothing here</title></html>")
			}
		}
	}
	// Pages differ in what they say of themselves, which a card of JSON shows; the error page has no text.
	cards := func(about func(address string) string) func(http.ResponseWriter, *http.Request) {
		return func(w http.ResponseWriter, r *http.Request) {
			switch r.URL.Path {
			case "/", "/terms":
				fmt.Fprintf(w, `<html><title>Cards</title><meta property="og:description" content="All of part %d"><p>Some words of it</p></html>`,
					len(r.URL.Path))
			case "/make":
				w.Header().Set("Content-Type", "application/json")
				_ = json.NewEncoder(w).Encode(map[string]string{"site": "Cards", "about": about(r.FormValue("target"))})
			default:
				http.NotFound(w, r)
			}
		}
	}
	const titleOf, aboutOf = `<title>([^<]+)`, `content="([^"]+)`
	for name, c := range map[string]struct {
		app  func(http.ResponseWriter, *http.Request)
		want string
	}{
		"title": {shortener(func(a string) string { return part(a, titleOf, "untitled") }), "{a}"},
		"title, the usual address is refused": {shortener(func(a string) string {
			if strings.HasPrefix(a, "http://127.0.0.1") {
				return "refused"
			}
			return part(a, titleOf, "untitled")
		}), "{m}"},
		"what it says of itself": {cards(func(a string) string { return part(a, aboutOf, "nothing") }), "{a}"},
		"refused":                {shortener(func(string) string { return "refused" }), ""},
		"the name of the site, which is not read": {shortener(func(a string) string {
			if u, err := url.Parse(a); err == nil && u.Hostname() == "127.0.0.1" {
				return "tiny.example"
			}
			return "untitled"
		}), ""},
		"the address itself": {cards(func(a string) string { return a }), ""},
		"two pages of one text that are known": {shortener(func(a string) string {
			if u, err := url.Parse(a); err == nil && u.Hostname() == "127.0.0.1" && len(u.Path) < 8 {
				return "tiny.example"
			}
			return "untitled"
		}), ""},
		"pages that are known, and the front for all others": {cards(func(a string) string {
			if u, err := url.Parse(a); err != nil || u.Hostname() != "127.0.0.1" {
				return "nothing"
			}
			if strings.HasSuffix(a, "/terms") {
				return "All of part 6"
			}
			return "All of part 1"
		}), ""},
		"always the text of the front": {cards(func(string) string { return "All of part 1" }), ""},
	} {
		lab := kittest.New(t, http.HandlerFunc(c.app))
		lab.World.Pages = func() []*message.Request {
			r, err := message.New(http.MethodGet, lab.URL+"/terms")
			if err != nil {
				t.Fatal(err)
			}
			return []*message.Request{r}
		}
		found := lab.Run(t, kittest.Named(t, Checks(), "ssrf"), lab.Target(t, http.MethodPost, "/make", "target=https://a.example/"))
		switch {
		case c.want == "" && len(found) > 0:
			t.Errorf("%s: reports %s", name, kittest.Titles(found))
		case c.want != "" && (len(found) != 1 || found[0].Variant != c.want || found[0].Confidence != kit.Proved ||
			found[0].Class != "ssrf"):
			t.Errorf("%s: found %s, want %s", name, kittest.Titles(found), c.want)
		case c.want != "":
			lab.Holds(t, found[0])
		}
	}
}
