package access

import (
	"fmt"
	"maps"
	"net/http"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// slips are pages under short names; the front page leads to those of the user.
func slips(folder string, owners map[string]string, strict bool, page func(name string) string) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		k, err := r.Cookie("user")
		if err != nil {
			http.Redirect(w, r, "/login", http.StatusFound)
			return
		}
		name := strings.TrimPrefix(r.URL.Path, folder)
		switch {
		case r.URL.Path == "/":
			fmt.Fprint(w, "<p>Yours</p>")
			for _, name := range slices.Sorted(maps.Keys(owners)) {
				if owners[name] == k.Value {
					fmt.Fprintf(w, `<a href="%s%s">slip</a>`, folder, name)
				}
			}
		case owners[name] == "" || strict && owners[name] != k.Value:
			http.NotFound(w, r)
		default:
			fmt.Fprint(w, page(name))
		}
	})
}

// An object whose name is a short code is one of somebody, as one with a number is; a page with a name of its own is a
// function of the user.
func TestObjectsWithCodes(t *testing.T) {
	alike := func(name string) string { return "<h3>Slip " + name + "</h3><p>door code of " + name + "</p>" }
	own := func(name string) string {
		return strings.Repeat("<i>"+name+"</i>", len(name)) + "<b>" + name + "</b><hr>"
	}
	codes := map[string]string{"rruh": "alice", "rruj": "alice", "rrui": "bob", "rruk": "bob"}
	for name, c := range map[string]struct {
		app  http.Handler
		want string
	}{
		"codes":             {slips("/p/", codes, false, alike), "bola"},
		"codes of capitals": {slips("/t/", map[string]string{"K7XQ2": "alice", "K7XQ3": "alice", "K7XQ4": "bob"}, false, alike), "bola"},
		"pages of one word": {slips("/", map[string]string{"reports": "alice", "keys": "alice", "mail": "bob"}, false, own), "bfla"},
		"looked at":         {slips("/p/", codes, true, alike), ""},
	} {
		lab := kittest.New(t, c.app)
		lab.World.Users = []*client.User{lab.As(t, "alice"), lab.As(t, "bob")}
		pages := []*message.Request{lab.Target(t, http.MethodGet, "/", "").Request}
		for _, path := range []string{"/p/rruh", "/p/rruj", "/p/rrui", "/p/rruk", "/t/K7XQ2", "/t/K7XQ3", "/t/K7XQ4", "/reports", "/keys", "/mail"} {
			pages = append(pages, lab.Target(t, http.MethodGet, path, "").Request)
		}
		lab.World.Pages = func() []*message.Request { return pages }
		found := lab.Run(t, kittest.Named(t, Checks(), "access-of-others"), &kit.Target{})
		if (c.want == "") != (len(found) == 0) {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		isOf := func(f kit.Finding) bool { return f.Class == c.want }
		if len(found) > 0 && !slices.ContainsFunc(found, isOf) {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
