package client_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// What may have changed data is counted, and not what reads, logs in or is refused.
func TestChanges(t *testing.T) {
	sender, at := open(t, client.Config{Level: client.Active}, func(w http.ResponseWriter, r *http.Request) {
		switch {
		case strings.HasSuffix(r.URL.Path, "/refused"):
			w.WriteHeader(http.StatusForbidden)
		case strings.HasSuffix(r.URL.Path, "/fault"):
			w.WriteHeader(http.StatusInternalServerError)
		}
	})
	for name, c := range map[string]struct {
		method, path, kind, body string
		writes                   bool // the caller says so
		changes                  int64
	}{
		"a page":                        {"GET", "/notes?page=2", "", "", false, 0},
		"the page of a form":            {"GET", "/notes/edit?id=3", "", "", false, 0},
		"a link that its caller knows":  {"GET", "/vote/3", "", "", true, 1},
		"a link with an action":         {"GET", "/posts?action=publish&id=3", "", "", false, 1},
		"a link with a token":           {"GET", "/posts?id=3&csrf_token=aa11", "", "", false, 1},
		"a form":                        {"POST", "/profile", "application/x-www-form-urlencoded", "city=Rome", false, 1},
		"a form that is refused":        {"POST", "/profile/refused", "application/x-www-form-urlencoded", "city=Rome", false, 0},
		"a form at which it breaks":     {"POST", "/profile/fault", "application/x-www-form-urlencoded", "city=Rome", false, 1},
		"an object":                     {"PUT", "/api/notes/3", "application/json", `{"text":"a"}`, false, 1},
		"a login":                       {"POST", "/login", "application/x-www-form-urlencoded", "user=a&password=b", false, 0},
		"a login of an interface":       {"POST", "/users/v1/login", "application/json", `{"username":"a","password":"b"}`, false, 0},
		"a registration at the login":   {"POST", "/login/register", "application/x-www-form-urlencoded", "user=a&password=b", false, 1},
		"a query of GraphQL":            {"POST", "/graphql", "application/json", `{"query":"{ notes { id } }"}`, false, 0},
		"a mutation of GraphQL":         {"POST", "/graphql", "application/json", `{"query":"mutation { add(id: 1) { id } }"}`, false, 1},
		"a query of something else":     {"POST", "/notes/find", "application/x-www-form-urlencoded", "query=notes", false, 1},
		"a form that only looks for it": {"POST", "/search", "application/x-www-form-urlencoded", "q=notes", false, 1},
	} {
		r, err := message.New(c.method, at+c.path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body = []byte(c.body)
		if c.kind != "" {
			r.Header.Set("Content-Type", c.kind)
		}
		before := sender.Changes()
		if _, err := sender.Send(t.Context(), r, client.Options{Writes: c.writes, Forced: true}); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if got := sender.Changes() - before; got != c.changes {
			t.Errorf("%s: %d changes, want %d", name, got, c.changes)
		}
	}
}
