package owned

import (
	"fmt"
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Objects of others with a secret, under values that a list gives to all, are found; not where the application asks
// whose they are, where they have no secret, where everybody reads them, or where no list has the values.
func TestListedIdentifiers(t *testing.T) {
	ids := map[string]string{"3f0c2a9e77d14b3e": "alice", "41aa00bb77d14b3f": "bob"}
	for name, c := range map[string]struct {
		closed, public, unlisted bool
		member                   string
		want                     int
	}{
		"open":     {member: "salary", want: 1},
		"closed":   {closed: true, member: "salary"},
		"public":   {public: true, member: "salary"},
		"unlisted": {unlisted: true, member: "salary"},
		"card":     {member: "extension"},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			k, err := r.Cookie("user")
			id, isPerson := strings.CutPrefix(r.URL.Path, "/staff/")
			switch {
			case err != nil && !(c.public && isPerson):
				w.WriteHeader(http.StatusUnauthorized)
			case r.URL.Path == "/shifts" && c.unlisted:
				fmt.Fprint(w, `[{"day":"Monday"}]`)
			case r.URL.Path == "/shifts":
				fmt.Fprint(w, `{"shifts":[{"day":"Monday","by":"3f0c2a9e77d14b3e"},{"day":"Friday","by":"41aa00bb77d14b3f"}]}`)
			case ids[id] == "" || c.closed && ids[id] != k.Value:
				http.Error(w, `{"error":"there is no such person"}`, http.StatusNotFound)
			default:
				fmt.Fprintf(w, `{"user_name":%q,%q:"9%s-%d"}`, ids[id], c.member, id[:4], len(ids[id]))
			}
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		lab.World.Pages = func() []*message.Request {
			return []*message.Request{lab.Target(t, http.MethodGet, "/shifts", "").Request,
				lab.Target(t, http.MethodGet, "/staff/1", "").Request}
		}
		found := lab.Run(t, kittest.Named(t, Checks(), "objects-of-listed-values"), &kit.Target{})
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
