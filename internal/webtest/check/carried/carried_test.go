package carried

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

var (
	ids  = map[string]string{"alice": "20418", "bob": "20417", "carol": "20419"} // by who is logged in
	data = map[string]string{"20417": "Divorce for beginners", "20418": "Gardens of the north", "20419": "Moby Dick again"}
)

// public are the pages that nobody needs a login for, each for the numbers that it is so for.
var public = map[string]func(id string) bool{
	"/open":      func(string) bool { return true },
	"/sample":    func(id string) bool { return id == "20418" },
	"/published": func(id string) bool { return id != "20418" },
}

// records shows the data of whom a request names, to those who are logged in by the cookie sid. may says whether a user
// may have those of a number; "" in asked is the user's own.
func records(asked func(r *http.Request) string, may func(who, id string) bool, about string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		who := ""
		if k, err := r.Cookie("sid"); err == nil && len(k.Value) > 20 {
			who = k.Value[20:]
		}
		w.Header().Set("Content-Type", "text/html")
		if r.URL.Path == "/" {
			fmt.Fprintf(w, "<p>Hello</p>%s", about)
			return
		}
		id := asked(r)
		if who == "" && (public[r.URL.Path] == nil || !public[r.URL.Path](id)) {
			http.Error(w, "<p>log in first</p>", http.StatusUnauthorized)
			return
		}
		if id == "" {
			id = ids[who]
		}
		if data[id] == "" || !may(who, id) {
			http.Error(w, "<p>there is none</p>", http.StatusNotFound)
			return
		}
		if r.URL.Path == "/api" {
			w.Header().Set("Content-Type", "application/json")
			_ = json.NewEncoder(w).Encode(map[string]any{"list": []any{map[string]string{"title": data[id]}}})
			return
		}
		fmt.Fprintf(w, "<h1>Loans</h1><li>%s</li>", data[id])
	}
}

// Data of others are found by a header and by a cookie beside the session, with one user and with two; not where they
// are the user's own, where everybody gets them, or where the value is no identifier of a person.
func TestIdentifiers(t *testing.T) {
	header := func(name string) func(*http.Request) string {
		return func(r *http.Request) string { return r.Header.Get(name) }
	}
	cookie := func(r *http.Request) string {
		k, err := r.Cookie("card")
		if err != nil {
			return ""
		}
		return k.Value
	}
	anybody := func(string, string) bool { return true }
	oneself := func(who, id string) bool { return ids[who] == id }
	for name, c := range map[string]struct {
		app    http.HandlerFunc
		path   string
		header string
		users  int
		want   string
	}{
		"a header":                    {records(header("X-Patient"), anybody, ""), "/api", "X-Patient", 1, "20417"},
		"a header, two users":         {records(header("X-Account"), anybody, ""), "/loans", "X-Account", 2, "20417"},
		"a cookie":                    {records(cookie, anybody, ""), "/loans", "", 1, "20417"},
		"a cookie, two users":         {records(cookie, anybody, ""), "/api", "", 3, "20417"},
		"only one's own":              {records(header("X-Patient"), oneself, ""), "/api", "X-Patient", 1, ""},
		"only one's own card":         {records(cookie, oneself, ""), "/loans", "", 2, ""},
		"it is not looked at":         {records(func(*http.Request) string { return "" }, anybody, ""), "/api", "X-Patient", 1, ""},
		"everybody gets it":           {records(header("X-Account"), anybody, ""), "/open", "X-Account", 1, ""},
		"everybody gets their own":    {records(header("X-Account"), anybody, ""), "/sample", "X-Account", 1, ""},
		"everybody gets all others":   {records(header("X-Account"), anybody, ""), "/published", "X-Account", 1, ""},
		"everybody gets the second's": {records(cookie, anybody, ""), "/published", "", 2, ""},
		"no person":                   {records(header("X-Shelf"), anybody, ""), "/api", "X-Shelf", 1, ""},
		"a version":                   {records(header("X-Client-Version"), anybody, ""), "/api", "X-Client-Version", 1, ""},
		"accounts of one's own":       {records(header("X-Account"), anybody, "<option>20417<option>20419"), "/api", "X-Account", 1, ""},
		"others are shown anyway": {records(header("X-Account"), anybody, "<p>Divorce for beginners</p><p>Moby Dick again</p>"),
			"/api", "X-Account", 1, ""},
	} {
		lab := kittest.New(t, c.app)
		at, err := url.Parse(lab.URL)
		if err != nil {
			t.Fatal(err)
		}
		for _, who := range []string{"alice", "bob", "carol"}[:min(c.users, 2)] {
			u := client.NewUser(who)
			cookies := []*http.Cookie{{Name: "sid", Value: kit.Word() + "abcdefghi" + who}}
			if c.header == "" {
				cookies = append(cookies, &http.Cookie{Name: "card", Value: ids[who]})
			}
			u.SetCookies(at, cookies)
			lab.World.Users = append(lab.World.Users, u)
		}
		front, err := message.New(http.MethodGet, lab.URL+"/")
		if err != nil {
			t.Fatal(err)
		}
		r, err := message.New(http.MethodGet, lab.URL+c.path)
		if err != nil {
			t.Fatal(err)
		}
		if c.header != "" {
			r.Header.Set(c.header, "20418")
		}
		lab.World.Pages = func() []*message.Request { return []*message.Request{front, r} }
		found := lab.Run(t, kittest.Named(t, Checks(), "carried-identifier"), &kit.Target{})
		if len(found) > 1 || len(found) == 0 && c.want != "" || len(found) == 1 && found[0].Payload != c.want {
			t.Errorf("%s: found %q, want %q", name, kittest.Titles(found), c.want)
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
