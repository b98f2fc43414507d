package exposure

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
)

// The keys of people that everybody is told are found, in an interface of REST and one of GraphQL; not those of who asks,
// of things, or those that are hidden, made anew, sent, or described.
func TestKeysOfPeople(t *testing.T) {
	const query, change = `{"query":"query { observers { name email apiKey } }","variables":{}}`,
		`{"query":"mutation { signUp(email: \"a@club.example\") { email apiKey } }"}`
	const keys = `{"data":{"observers":[{"name":"U. Graf","email":"graf@club.example","apiKey":"cl-51e0-shrike"}]}}`
	const list = `[{"id":7,"username":"ann","ssn":"078-05-1120"}]`
	for name, c := range map[string]struct {
		method, path, body, answer, as string
		want                           int
	}{
		"GraphQL":       {http.MethodPost, "/graphql", query, keys, "", 1},
		"REST":          {http.MethodGet, "/api/members", "", list, "", 1},
		"of who asks":   {http.MethodGet, "/api/members", "", list, "ann", 0},
		"a change":      {http.MethodPost, "/graphql", change, keys, "", 0},
		"of a thing":    {http.MethodGet, "/api/maps", "", `{"name":"map of the town","apiKey":"pk-77aa88bb"}`, "", 0},
		"an imprint":    {http.MethodGet, "/api/contact", "", `{"email":"club@club.example","iban":"FR1420041010050500013M02606"}`, "", 0},
		"hidden":        {http.MethodGet, "/api/members", "", `[{"username":"ann","ssn":"***-**-1120"}]`, "", 0},
		"nothing there": {http.MethodGet, "/api/members", "", `[{"username":"ann","ssn":null,"apiKey":""}]`, "", 0},
		"made anew":     {http.MethodGet, "/api/guest", "", `{"username":"guest","sessionToken":"%d-5b1f0a77c2"}`, "", 0},
		"was sent":      {http.MethodGet, "/api/invited?reset_token=aa77bb88cc", "", `{"email":"ann@club.example","reset_token":"aa77bb88cc"}`, "", 0},
		"a description": {http.MethodGet, "/openapi.json", "", `{"openapi":"3.0","example":` + list + `}`, "", 0},
	} {
		asked := 0
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			asked++
			w.Header().Set("Content-Type", "application/json")
			if name == "made anew" {
				fmt.Fprintf(w, c.answer, asked)
				return
			}
			fmt.Fprint(w, c.answer)
		}))
		target := lab.Target(t, c.method, c.path, c.body)
		if c.as != "" {
			target.User = lab.As(t, c.as)
		}
		found := lab.Run(t, kittest.Named(t, Checks(), "keys-of-people"), target)
		if len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
