package posted

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// canteen has children of two parents, in forms or in JSON.
type canteen struct {
	asJSON bool
	refers bool                          // every page names all children
	shows  func(kid, reader string) bool // whether the card of one child is shown to a reader
	card   func(kid string) string
	inList bool // the form has one list of children to choose from
}

var kids = map[string]string{"4101": "anna", "4102": "bert", "4103": "bert"}

func (c *canteen) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	reader := ""
	if k, err := r.Cookie("user"); err == nil {
		reader = k.Value
	}
	w.Header().Set("Content-Type", "text/html")
	if c.asJSON {
		w.Header().Set("Content-Type", "application/json")
	}
	if r.Method == http.MethodPost {
		kid := r.PostFormValue("kid")
		if c.asJSON {
			var in struct{ Kid json.Number }
			_ = json.NewDecoder(r.Body).Decode(&in) // "" where it is none
			kid = in.Kid.String()
		}
		if kids[kid] == "" || !c.shows(kid, reader) {
			http.Error(w, "no such child", http.StatusNotFound)
			return
		}
		if c.asJSON {
			fmt.Fprintf(w, `{"card":%q}`, c.card(kid))
		} else {
			fmt.Fprintf(w, `<p>%s</p>`, c.card(kid))
		}
		return
	}
	list := []map[string]any{}
	for _, kid := range []string{"4101", "4102", "4103"} {
		if kids[kid] != reader && !c.refers {
			continue
		}
		list = append(list, map[string]any{"kid": json.Number(kid)})
		if c.inList {
			fmt.Fprintf(w, `<form method="post" action="/card"><select class=wide name='kid'><option value=%s>%s</option></select></form>`, kid, kids[kid])
		} else if !c.asJSON {
			fmt.Fprintf(w, `<form method="post" action="/card"><input type="hidden" name="kid" value="%s"></form>`, kid)
		}
	}
	if c.asJSON {
		_ = json.NewEncoder(w).Encode(list)
	}
}

// An object in the body is found in a form and in JSON; not where its owner alone is shown it, where anybody is, where
// both users are led to it, or where the answer is the same for all objects.
func TestObjectsInBodies(t *testing.T) {
	health := func(kid string) string {
		return map[string]string{"4101": "nuts and milk", "4102": "epilepsy since May", "4103": "nothing known"}[kid]
	}
	done := func(string) string { return "thanks for the order" }
	users := func(_, reader string) bool { return reader != "" }
	owners := func(kid, reader string) bool { return kids[kid] == reader }
	anybody := func(string, string) bool { return true }
	for name, c := range map[string]struct {
		app  canteen
		want int
	}{
		"form":          {canteen{false, false, users, health, false}, 1},
		"list":          {canteen{false, false, users, health, true}, 1},
		"list, checked": {canteen{false, false, owners, health, true}, 0},
		"JSON":          {canteen{true, false, users, health, false}, 1},
		"form, checked": {canteen{false, false, owners, health, false}, 0},
		"JSON, checked": {canteen{true, false, owners, health, false}, 0},
		"public":        {canteen{false, false, anybody, health, false}, 0},
		"named to all":  {canteen{true, true, users, health, false}, 0},
		"says thanks":   {canteen{false, false, users, done, false}, 0},
	} {
		lab := kittest.New(t, &c.app)
		body := "kid=4101"
		if c.app.asJSON {
			body = `{"kid":1,"last":20}` // the script's value is not known
		}
		form := lab.Target(t, http.MethodPost, "/card", body).Request
		page := lab.Target(t, http.MethodGet, "/family", "").Request
		lab.World.Pages = func() []*message.Request { return []*message.Request{page, form} }
		lab.World.Users = []*client.User{lab.As(t, "anna"), lab.As(t, "bert")}
		found := lab.Run(t, objects(), &kit.Target{})
		if len(found) != c.want {
			t.Errorf("%s: found %q, want %d", name, kittest.Titles(found), c.want)
			continue
		}
		for _, f := range found {
			if f.Payload != "4101" || f.Place.Name != "kid" {
				t.Errorf("%s: %q at %s", name, f.Payload, f.Place)
			}
			lab.Holds(t, f)
		}
	}
}

// The values of a list are those of its field alone, as they are quoted.
func TestOptions(t *testing.T) {
	page := []byte(`<select name="room"><option value="7">x</option></select><SELECT id=a name=kid>
<option selected value='41'>a<option value="a&amp;b">b</option></SELECT><option value=9>`)
	if got := options(page, "kid"); len(got) != 2 || got[0] != "41" || got[1] != "a&b" {
		t.Errorf("%q", got)
	}
}
