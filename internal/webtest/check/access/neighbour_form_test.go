package access

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Objects that a form names, one button each, are those of neighbours where the answer names somebody else; not where
// the application asks whose they are, nor where everybody's pages have them.
func TestNeighboursOfForms(t *testing.T) {
	owners := map[string]string{"1": "mallory", "2": "mallory", "3": "alice", "4": "alice", "5": "bob"}
	for name, c := range map[string]struct {
		may  func(who, whose string) bool
		want int
	}{
		"anybody's": {func(string, string) bool { return true }, 1},
		"own alone": {func(who, whose string) bool { return who == whose }, 0},
	} { // the page of the login has the names in other words
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			k, err := r.Cookie("user")
			switch {
			case err != nil:
				fmt.Fprint(w, `<form method="post"><input type="password" name="b"><i>bobs and mallorys write to us</i></form>`)
			case r.URL.Path == "/":
				fmt.Fprintf(w, "<p>Parcels of %s</p>", k.Value)
				for _, n := range []string{"3", "4"} {
					fmt.Fprintf(w, `<form method="post" action="/open"><input type="hidden" name="parcel" value=%q><button>Open</button></form>`, n)
				}
			case owners[r.FormValue("parcel")] == "" || !c.may(k.Value, owners[r.FormValue("parcel")]):
				http.Error(w, "<p>There is no such parcel.</p>", http.StatusNotFound)
			default:
				fmt.Fprintf(w, "<h3>Parcel</h3><p>For: %s</p><pre>%s kg</pre>", owners[r.FormValue("parcel")], r.FormValue("parcel"))
			}
		}))
		lab.World.Level = client.Active
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		lab.World.Pages = func() []*message.Request {
			return []*message.Request{lab.Target(t, http.MethodGet, "/", "").Request,
				lab.Target(t, http.MethodPost, "/open", "parcel=3").Request}
		}
		found := lab.Run(t, kittest.Named(t, Checks(), "access-of-neighbours"), &kit.Target{})
		if len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
