package owned

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// What the description says is for those who run the application, and both users get, is found. Not what is refused to
// them, is for everybody, or is got by those who are said to run it; nor what is described otherwise.
func TestDescribedForStaff(t *testing.T) {
	for name, c := range map[string]struct {
		about, role      string
		closed, everyone bool
		want             int
		people           string // what a list of people has
	}{
		"chief":      {"All patients, for the chief", "clerk", false, false, 1, ""},
		"admin only": {"Export of invoices. Admin only.", "", false, false, 1, ""},
		"role":       {"Requires the role `manager`", "", false, false, 1, ""},
		"another runs it": {"Addresses of all, for administrators", "", false, false, 1,
			`{"users":[{"login":"alice","admin":false},{"login":"root","admin":true}]}`},
		"another has the role": {"Addresses of all. Staff only.", "clerk", false, false, 1,
			`[{"login":"alice","role":"clerk"},{"login":"bob","role":"clerk"},{"login":"carl","role":"manager"}]`},
		"a list says that one of them runs it": {"Addresses of all, for administrators", "", false, false, 0,
			`{"users":[{"of":{"login":"bob"},"admin":true},{"login":"alice","admin":false}]}`},
		"refused":  {"All patients, for the chief", "clerk", true, false, 0, ""},
		"public":   {"Admins only", "clerk", false, true, 0, ""},
		"both run": {"Admins only", "admin", false, false, 0, ""},
		"a report": {"What managers ask for most", "clerk", false, false, 0, ""},
		"nothing":  {"", "clerk", false, false, 0, ""},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			k, err := r.Cookie("user")
			switch {
			case err != nil && !c.everyone, r.URL.Path == "/all" && c.closed:
				w.WriteHeader(http.StatusForbidden)
			case r.URL.Path == "/me" && err == nil:
				fmt.Fprintf(w, `{"name":%q,"role":%q}`, k.Value, c.role)
			case r.URL.Path == "/people" && err == nil:
				fmt.Fprint(w, c.people)
			default:
				fmt.Fprint(w, `[{"login":"alice"},{"login":"bob"}]`)
			}
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice"), lab.As(t, "bob")}
		var pages []*message.Request
		for _, path := range []string{"/me", "/people", "/all"} {
			r, err := message.New(http.MethodGet, lab.URL+path)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, r)
		}
		lab.World.Pages = func() []*message.Request { return pages }
		lab.World.About = func(r *message.Request) string {
			if r.URL.Path == "/all" {
				return c.about
			}
			return ""
		}
		found := lab.Run(t, kittest.Named(t, Checks(), "described-for-staff"), &kit.Target{})
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
