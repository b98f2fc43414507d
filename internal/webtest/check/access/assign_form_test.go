package access

import (
	"fmt"
	"net/http"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A form that sets whatever it is sent sets the role, which is put back; one that knows its fields does not, and one
// that takes only roles that exist is found with such a one.
func TestAssignmentByForm(t *testing.T) {
	for name, c := range map[string]struct {
		takes func(role string) bool
		html  string
		want  int
	}{
		"any":          {func(string) bool { return true }, "<p>Role: %s</p>", 1},
		"roles":        {func(role string) bool { return role == "admin" || role == "customer" }, "<dt>Role:</dt><dd>%s</dd>", 1},
		"roles, plain": {func(role string) bool { return role == "admin" || role == "customer" }, "<p>your role = %s</p>", 1},
		"sound":        {func(string) bool { return false }, "<p>Role: %s</p>", 0},
		"no role":      {func(string) bool { return true }, "<p><input type=\"customer\"> %s</p>", 0},
	} {
		var mu sync.Mutex
		role := "customer"
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("Content-Type", "text/html")
			if r.Method == http.MethodPost {
				if set := r.PostFormValue("role"); set != "" && c.takes(set) {
					role = set
				}
				http.Redirect(w, r, "/profile", http.StatusSeeOther)
				return
			}
			fmt.Fprintf(w, c.html, role)
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		form, err := message.New(http.MethodPost, lab.URL+"/profile")
		if err != nil {
			t.Fatal(err)
		}
		form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		form.Body = []byte("mail=a%40example.org")
		page := requests(t, lab, "/profile")()
		lab.World.Pages = func() []*message.Request { return append(page, form) }
		found := lab.Run(t, kittest.Named(t, Checks(), "mass-assignment"), &kit.Target{})
		if len(found) != c.want || role != "customer" {
			t.Errorf("%s: found %s, and leaves the role %s", name, kittest.Titles(found), role)
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
