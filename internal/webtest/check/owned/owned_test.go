package owned

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// library has books with a key, listed for all, and loans, listed for each member; open says that anybody reads all.
func library(open bool) http.Handler {
	books := map[string][2]string{"dune": {"alice", "key-771"}, "emma": {"bob", "key-772"}}
	loans := map[string]string{"51": "alice", "52": "bob"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		say := func(v any) { w.Header().Set("Content-Type", "application/json"); _ = json.NewEncoder(w).Encode(v) }
		k, err := r.Cookie("user")
		part := strings.Split(r.URL.Path, "/")
		if r.URL.Path == "/books" {
			say(map[string]any{"books": []map[string]string{{"title": "dune", "user": "alice"}, {"title": "emma", "user": "bob"}}})
			return
		}
		if err != nil {
			w.WriteHeader(http.StatusUnauthorized)
			return
		}
		switch {
		case r.URL.Path == "/loans":
			mine := []map[string]string{}
			for id, of := range loans {
				if of == k.Value {
					mine = append(mine, map[string]string{"id": id, "user": of})
				}
			}
			say(mine)
		case len(part) == 3 && part[1] == "books" && books[part[2]][0] != "" && (open || books[part[2]][0] == k.Value):
			say(map[string]any{"data": map[string]string{"title": part[2], "owner": books[part[2]][0], "secret": books[part[2]][1]}})
		case len(part) == 3 && part[1] == "loans" && loans[part[2]] != "" && (open || loans[part[2]] == k.Value):
			say(map[string]string{"id": part[2], "user": loans[part[2]], "until": "May"})
		case len(part) == 3 && part[1] == "authors":
			say(map[string]string{"name": part[2], "user": "bob", "born": "1920"}) // for all: it has no secret, and no list
		default:
			http.NotFound(w, r)
		}
	})
}

// Objects that say whose they are, and that another user reads, are found: by a secret that they have and a list of all
// names, or as the user's own list does not have them.
func TestObjectsOfOwners(t *testing.T) {
	for name, c := range map[string]struct {
		open bool
		want string
	}{"open": {true, "/books/emma /loans/52"}, "closed": {false, ""}} {
		lab := kittest.New(t, library(c.open))
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		var pages []*message.Request
		for _, path := range []string{"/books", "/books/dune", "/loans", "/loans/52", "/authors/frank"} {
			r, err := message.New(http.MethodGet, lab.URL+path)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, r)
		}
		lab.World.Pages = func() []*message.Request { return pages }
		var got []string
		for _, f := range lab.Run(t, kittest.Named(t, Checks(), "objects-of-owners"), &kit.Target{}) {
			got = append(got, f.Request.URL.Path)
			lab.Holds(t, f)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: found %v, want %s", name, got, c.want)
		}
	}
}

// A list that has no objects of another user is of its reader's own, although it does not say whose they are; one that
// all get, and one that has the object are not.
func TestListsOfTheirReader(t *testing.T) {
	for name, c := range map[string]struct {
		alice, bob string
		want       int
	}{
		"apart":          {`[{"id":51},{"id":53}]`, `[{"id":52}]`, 1},
		"other is empty": {`[{"id":51}]`, `[]`, 1},
		"of all":         {`[{"id":51}]`, `[{"id":51}]`, 0},
		"some are both":  {`[{"id":51},{"id":53}]`, `[{"id":53},{"id":52}]`, 0},
		"has it":         {`[{"id":51},{"id":52}]`, `[{"id":60}]`, 0},
		"is empty":       {`[]`, `[{"id":52}]`, 1},
		"names nothing":  {`[{"topic":"a"}]`, `[{"topic":"b"}]`, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			k, err := r.Cookie("user")
			switch {
			case err != nil:
				w.WriteHeader(http.StatusUnauthorized)
			case r.URL.Path == "/notes" && k.Value == "alice":
				_, _ = w.Write([]byte(c.alice))
			case r.URL.Path == "/notes":
				_, _ = w.Write([]byte(c.bob))
			case r.URL.Path == "/notes/52":
				_, _ = w.Write([]byte(`{"id":52,"by":"bob","text":"the safe is behind the picture"}`))
			default:
				http.NotFound(w, r)
			}
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice"), lab.As(t, "bob")}
		lab.World.Pages = func() (all []*message.Request) {
			for _, path := range []string{"/notes", "/notes/52"} {
				r, err := message.New(http.MethodGet, lab.URL+path)
				if err != nil {
					t.Error(err)
				}
				all = append(all, r)
			}
			return all
		}
		found := lab.Run(t, kittest.Named(t, Checks(), "objects-of-owners"), &kit.Target{})
		if len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
