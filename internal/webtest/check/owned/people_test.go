package owned

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
)

func TestListOfUsers(t *testing.T) {
	const (
		phones = `[{"id":1,"name":"anna","mail":"anna@lab.example","phone":"555-1","role":"customer"},` +
			`{"id":2,"name":"ben","mail":"ben@lab.example","phone":"555-2","role":"customer"},` +
			`{"id":3,"name":"root","mail":"root@lab.example","phone":"555-3","role":"admin"}]`
		digests = `{"items":[{"login":"anna","email":"a@lab.example","password_hash":"$2y$10$aaaaaaaa"},` +
			`{"login":"ben","email":"b@lab.example","password_hash":"$2y$10$bbbbbbbb"}]}`
		directory = `[{"name":"anna","mail":"anna@lab.example","role":"member"},{"name":"ben","mail":"ben@lab.example","role":"owner"}]`
		colleague = `[{"name":"anna","mail":"anna@lab.example","phone":"1"},{"name":"ben","mail":"ben@lab.example","phone":"2"}]`
		others    = `[{"name":"carl","mail":"c@lab.example","phone":"1","role":"customer"},{"name":"root","mail":"r@lab.example","phone":"2","role":"admin"}]`
		ofAdmin   = `[{"name":"anna","mail":"anna@lab.example","phone":"1","role":"admin"},{"name":"ben","mail":"ben@lab.example","phone":"2","role":"admin"}]`
		masked    = `[{"name":"anna","mail":"anna@lab.example","token":"********"},{"name":"ben","mail":"ben@lab.example","token":"*********"}]`
	)
	for name, c := range map[string]struct {
		body   string
		public bool
		found  bool
	}{
		"phones and roles":              {phones, false, true},
		"digests, in an object":         {digests, false, true},
		"what everybody gets":           {phones, true, false},
		"mails and roles of a team":     {directory, false, false},
		"a directory without roles":     {colleague, false, false},
		"who reads it is not in it":     {others, false, false},
		"who reads it runs it":          {ofAdmin, false, false},
		"secrets that are hidden":       {masked, false, false},
		"one object":                    {`{"name":"anna","mail":"anna@lab.example","role":"customer"}`, false, false},
		"no JSON":                       {`<p>anna@lab.example ben@lab.example`, false, false},
		"a list of texts":               {`["anna","ben"]`, false, false},
		"an empty list, and a long one": {`{"a":[],"b":[1,2,3]}`, false, false},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "application/json")
			if _, err := r.Cookie("user"); err != nil && !c.public {
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprint(w, `{"error":"log in"}`)
				return
			}
			fmt.Fprint(w, c.body)
		}))
		lab.World.Users = []*client.User{lab.As(t, "anna"), lab.As(t, "ben")}
		target := lab.Target(t, http.MethodGet, "/api/users", "")
		target.User = lab.World.Users[0]
		var err error
		if target.Response, err = lab.World.Ask(t.Context(), target.Request, target.User); err != nil {
			t.Fatal(err)
		}
		found := lab.Run(t, listOfUsers(), target)
		if len(found) > 0 != c.found {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

// Of several lists the longest has the objects, whatever the order of a map.
func TestItemsOf(t *testing.T) {
	for range 20 {
		items, ok := itemsOf([]byte(`{"links": ["/a"], "tags": [], "orders": [{"id": 1}, {"id": 2}], "zones": []}`))
		if !ok || len(items) != 2 || items[1]["id"] == nil {
			t.Fatalf("%v, %t", items, ok)
		}
	}
	if items, ok := itemsOf([]byte(`{"tags": []}`)); !ok || len(items) != 0 {
		t.Errorf("%v, %t", items, ok)
	}
	if _, ok := itemsOf([]byte(`{"id": 1}`)); ok {
		t.Error("an object is a list")
	}
}
