package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// club keeps a card of each member and the notes of members, by a REST API and by a form.
type club struct {
	mu       sync.Mutex
	open     bool                         // anybody who is logged in may write all
	cards    map[string]map[string]string // by name
	notes    map[string]map[string]string // by number
	inboxes  map[string][]string
	wiki     string
	password map[string]string
}

func newClub(open bool) *club {
	return &club{open: open, cards: map[string]map[string]string{"alice": {"name": "alice", "city": "Rome"},
		"bob": {"name": "bob", "city": "Oslo"}},
		notes: map[string]map[string]string{"31": {"of": "alice", "text": "milk"}, "32": {"of": "bob", "text": "bread"}},
		wiki:  "rules", inboxes: map[string][]string{}, password: map[string]string{"alice": "a", "bob": "b"}}
}

func (c *club) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	k, err := r.Cookie("user")
	if err != nil {
		http.Error(w, "log in", http.StatusUnauthorized)
		return
	}
	who := k.Value
	in := map[string]string{}
	if strings.Contains(r.Header.Get("Content-Type"), "json") {
		_ = json.NewDecoder(r.Body).Decode(&in)
	}
	part := strings.Split(strings.NewReplacer("/v1/", "/", "/v2/", "/").Replace(r.URL.Path)+"//", "/")[1:]
	reads := r.Method == http.MethodGet
	var of map[string]string
	owner := ""
	switch part[0] {
	case "users":
		owner, of = part[1], c.cards[part[1]]
	case "notes":
		if of = c.notes[part[1]]; of != nil {
			owner = of["of"]
		}
	case "card": // by form, with the name as a field
		owner = r.FormValue("username")
		if reads {
			owner = who
		}
		of = c.cards[owner]
		in["city"] = r.FormValue("city")
	case "mail": // everybody may write to everybody
		if !reads {
			c.inboxes[r.FormValue("user")] = append(c.inboxes[r.FormValue("user")], r.FormValue("text"))
		}
		fmt.Fprint(w, who, c.inboxes[who])
		return
	case "wiki": // of all
		if !reads {
			c.wiki = r.FormValue("text")
		}
		fmt.Fprint(w, c.wiki)
		return
	}
	switch {
	case of == nil:
		http.NotFound(w, r)
	case owner != who && (!c.open || reads):
		http.Error(w, "not yours", http.StatusForbidden)
	case !reads && part[2] == "password":
		c.password[owner] = in["password"]
	case !reads:
		for name := range of {
			if in[name] != "" && name != "of" && name != "name" {
				of[name] = in[name]
			}
		}
		fallthrough
	default:
		_ = json.NewEncoder(w).Encode(of)
	}
}

// What a user changes of another is found, whose page shows it: by the number of an object, by the other's name in the
// path or in a field, and by the password; not where it is refused, nor messages to others, nor what all may write.
func TestOverwriting(t *testing.T) {
	for name, c := range map[string]struct {
		method, at, body string
		pages            []string
		want             string
	}{
		"number":              {"PUT", "/notes/31", `{"text":"x"}`, nil, "bob has changed text of alice; it was put back"},
		"path":                {"PATCH", "/users/name1", `{"city":"x"}`, nil, "bob has changed city of alice; it was put back"},
		"field":               {"POST", "/card", "username=u&city=x", []string{"/card"}, "bob has changed city of alice; it was put back"},
		"password":            {"PUT", "/users/name1/password", `{"password":"x"}`, nil, "bob has changed the password of alice; it was put back"},
		"path with a version": {"PATCH", "/users/v1/name1", `{"city":"x"}`, nil, "bob has changed city of alice; it was put back"},
		"password at a path with a version": {"PUT", "/users/v2/name1/password", `{"password":"x"}`, nil,
			"bob has changed the password of alice; it was put back"},

		"a message": {"POST", "/mail", "user=u&text=x", []string{"/mail"}, ""},
		"of all":    {"POST", "/wiki?id=7", "text=x", []string{"/wiki"}, ""},
	} {
		for _, open := range []bool{true, false} {
			app := newClub(open)
			lab := kittest.New(t, app)
			request := func(method, at, body string) *message.Request {
				r, err := message.New(method, lab.URL+at)
				if err != nil {
					t.Fatal(err)
				}
				if r.Body = []byte(body); body != "" {
					r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				}
				if strings.HasPrefix(body, "{") {
					r.Header.Set("Content-Type", "application/json")
				}
				return r
			}
			lab.World.Pages = func() []*message.Request {
				all := []*message.Request{request(c.method, c.at, c.body)}
				for _, page := range c.pages {
					all = append(all, request("GET", page, ""))
				}
				return all
			}
			users := map[string]*client.User{}
			for _, name := range []string{"alice", "bob"} {
				u := client.NewUser(name)
				u.SetCookies(request("GET", "/", "").URL, []*http.Cookie{{Name: "user", Value: name}})
				users[name], lab.World.Users = u, append(lab.World.Users, u)
			}
			lab.World.Registered = map[string]string{"alice": "a", "bob": "b"}
			lab.World.LoginWith = func(_ context.Context, u *client.User, password string) error {
				app.mu.Lock()
				defer app.mu.Unlock()
				if app.password[u.Name] != password {
					return errors.New("wrong")
				}
				return nil
			}
			found := lab.Run(t, overwriting(), &kit.Target{})
			if c.want == "" || !open {
				if len(found) > 0 {
					t.Errorf("%s, %t: %s", name, open, found[0].Detail)
				}
				continue
			}
			if len(found) == 0 || found[0].Detail != c.want {
				t.Errorf("%s: %+v", name, found)
				continue
			}
			if app.cards["alice"]["city"] != "Rome" || app.notes["31"]["text"] != "milk" || app.password["alice"] != "a" {
				t.Errorf("%s: not put back: %v %v %v", name, app.cards, app.notes, app.password)
			}
			if f := found[0]; f.Proof != nil {
				runner := proof.Runner{Send: lab.World.Client.Send, Users: func(name string) *client.User { return users[name] }}
				if out, err := runner.Run(t.Context(), f.Proof); err != nil || !out.Holds {
					t.Errorf("%s: the proof does not hold: %s, %v", name, out.Failed, err)
				}
			}
		}
	}
}
