package access

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

// An inner object that is given below any outer one of the user is found; not where both are looked at, nor where the
// page says nothing of the inner one.
func TestNestedObjects(t *testing.T) {
	letters := map[string][2]string{"501": {"alice", "Rent for the flat in Mill Lane"}, "502": {"bob",
		"Boat in the harbour, two berths"}}
	shelves := map[string]string{"alice": "31", "bob": "32"}
	for name, c := range map[string]struct{ checks, same, want int }{"weak": {0, 0, 1}, "sound": {1, 0, 0}, "alike": {0,
		1, 0}} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			user := ""
			if k, err := r.Cookie("user"); err == nil {
				user = k.Value
			}
			parts := strings.Split(r.URL.Path, "/")
			l, known := letters[parts[4]]
			switch {
			case shelves[user] == "" || parts[2] != shelves[user]:
				http.Error(w, "refused", http.StatusForbidden)
			case !known || c.checks == 1 && l[0] != user:
				http.Error(w, "no such letter", http.StatusNotFound)
			case c.same == 1:
				fmt.Fprint(w, "<p>A letter of yours</p>")
			default:
				fmt.Fprintf(w, "<h1>Letter</h1>\n<p>%s</p>", l[1])
			}
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice"), lab.As(t, "bob")}
		lab.World.Pages = requests(t, lab, "/shelves/31/letters/501", "/shelves/32/letters/502")
		found := lab.Run(t, kittest.Named(t, Checks(), "access-of-nested"), &kit.Target{})
		if (len(found) > 0) != (c.want > 0) {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

// A form of another user that is refused, and given as a link, is found; not one that is refused both ways.
func TestFormAsLink(t *testing.T) {
	for _, both := range []bool{false, true} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			k, err := r.Cookie("user")
			isBoss := err == nil && k.Value == "boss"
			switch {
			case r.URL.Path == "/rota" && isBoss:
				fmt.Fprint(w, `<form action="/rota/close" method="post"><input name="day" value="1"></form>`)
			case r.URL.Path == "/rota/close" && (isBoss || r.Method == http.MethodGet && !both):
				fmt.Fprint(w, "<p>The rota of day ", r.FormValue("day"), " is closed for everybody.</p>")
			default:
				http.Error(w, "not for you", http.StatusForbidden)
			}
		}))
		form, err := message.New(http.MethodPost, lab.URL+"/rota/close")
		if err != nil {
			t.Fatal(err)
		}
		form.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		form.Body = []byte("day=1")
		page := requests(t, lab, "/rota")()
		lab.World.Users = []*client.User{lab.As(t, "alice"), lab.As(t, "boss")}
		lab.World.Pages = func() []*message.Request { return append(page, form) }
		found := lab.Run(t, kittest.Named(t, Checks(), "access-of-others"), &kit.Target{})
		if (len(found) == 1) == both {
			t.Errorf("both: %v, found %s", both, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
