package enrol

import (
	"context"
	"encoding/json"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// club is an application that keeps what its members register with.
type club struct {
	mu      sync.Mutex
	members map[string]map[string]string // by name
	role    func(fields map[string]string) string
	finds   func(name, asked string) bool // whether what one member owns is shown to who asks
	words   bool                          // pages say the role
	visits  bool                          // and how many have come
	no      string                        // letters that a name must not have
	greets  func(name string) string      // what the page of a member says for a name
}

func (c *club) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	if r.URL.Path == "/register" {
		fields := map[string]string{}
		if strings.Contains(r.Header.Get("Content-Type"), "json") {
			_ = json.NewDecoder(r.Body).Decode(&fields)
		} else if err := r.ParseForm(); err == nil {
			for name := range r.PostForm {
				fields[name] = r.PostForm.Get(name)
			}
		}
		if strings.ContainsAny(fields["login"], c.no) {
			http.Error(w, "letters alone", http.StatusBadRequest)
			return
		}
		c.members[fields["login"]] = fields
		return
	}
	k, err := r.Cookie("user")
	if err != nil {
		http.Redirect(w, r, "/login", http.StatusFound)
		return
	}
	name, _ := url.QueryUnescape(k.Value)
	role := c.role(c.members[name])
	switch {
	case r.URL.Path == "/me" && c.words:
		fmt.Fprintf(w, "<h1>%s</h1><p>Number %d<p>Ruolo: <b>%s</b>", html.EscapeString(name), len(c.members), html.EscapeString(role))
	case r.URL.Path == "/me" && c.greets != nil:
		fmt.Fprintf(w, "<h1>%s</h1>", c.greets(name))
	case r.URL.Path == "/me":
		fmt.Fprintf(w, "<h1>%s</h1>", html.EscapeString(name))
	case r.URL.Path == "/desk" && role != "admin":
		http.Error(w, "not for you", http.StatusForbidden)
	case r.URL.Path == "/desk":
		fmt.Fprint(w, "<p>Spam of 203.0.113.9")
	case r.URL.Path == "/boxes":
		if c.visits {
			fmt.Fprintf(w, "<p>visit %s", kit.Word())
		}
		for owner := range c.members {
			if c.finds(owner, name) {
				fmt.Fprint(w, "<p>a box of red wine")
			}
		}
	}
}

// lab is a club whose registration has fields.
func lab(t *testing.T, app *club, body string) *kittest.Lab {
	t.Helper()
	app.members = map[string]map[string]string{}
	if app.role == nil {
		app.role = func(map[string]string) string { return "member" }
	}
	if app.finds == nil {
		app.finds = func(owner, name string) bool { return owner == name }
	}
	l := kittest.New(t, app)
	form := l.Target(t, http.MethodPost, "/register", body).Request
	clear(app.members)
	l.World.Registrations = func() []*message.Request { return []*message.Request{form} }
	l.World.Pages = func() (all []*message.Request) {
		for _, path := range []string{"/me", "/desk", "/boxes"} {
			r, err := message.New(http.MethodGet, l.URL+path)
			if err != nil {
				t.Error(err)
			}
			all = append(all, r)
		}
		return append(all, form)
	}
	l.World.Enrol = func(ctx context.Context, r *message.Request, u kit.Newcomer) (*client.User, error) {
		answer, err := l.World.Client.Send(ctx, r, client.Options{Writes: true, Forced: true})
		if err != nil || answer.Status != http.StatusOK {
			return nil, err
		}
		return l.As(t, url.QueryEscape(u.Name)), nil
	}
	return l
}

func given(names ...string) func(map[string]string) string {
	return func(fields map[string]string) string {
		for _, name := range names {
			if fields[name] != "" {
				return fields[name]
			}
		}
		return "member"
	}
}

// A registration that takes a role is found by a page that it opens or that says so, in a form that has the field and in
// one that has not; not one whose role no page knows, nor one that keeps it as any text of a profile.
func TestRolesAtRegistration(t *testing.T) {
	const plain, hidden, asJSON = "login=&secret=", "login=&secret=&ruolo=socio", `{"login":"","secret":""}`
	for name, c := range map[string]struct {
		app  *club
		body string
		want int
	}{
		"a field, opened":     {&club{role: given("ruolo")}, hidden, 1},
		"a field, said":       {&club{role: func(f map[string]string) string { return f["ruolo"] + "" }, words: true}, hidden, 1},
		"no field":            {&club{role: given("role")}, plain, 1},
		"JSON":                {&club{role: given("role")}, asJSON, 1},
		"not taken":           {&club{words: true}, hidden, 0},
		"no field, not taken": {&club{words: true}, plain, 0},
		"taken for nothing":   {&club{role: func(map[string]string) string { return "member" }}, hidden, 0},
		"open to all":         {&club{role: func(map[string]string) string { return "admin" }, words: true}, hidden, 0},
		"no word of a role":   {&club{role: func(f map[string]string) string { return "as " + f["ruolo"] }, words: true}, hidden, 0},
	} {
		l := lab(t, c.app, c.body)
		if found := l.Run(t, roles(), &kit.Target{}); len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}

// A name that a statement has with its quotes is found; not one that is bound, one that is refused, nor a page that shows
// each reader something else, or all the same.
func TestKeptNames(t *testing.T) {
	statement := func(quote string) func(owner, name string) bool {
		return func(owner, name string) bool { // WHERE owner = 'name', as a database reads it
			rest, condition, ok := strings.Cut(name, quote+" AND "+quote)
			if !ok {
				return owner == name
			}
			a, b, _ := strings.Cut(condition, quote+"="+quote)
			return owner == rest && a == b
		}
	}
	for name, c := range map[string]struct {
		app  *club
		want int
	}{
		"weak":              {&club{finds: statement("'")}, 1},
		"weak, other quote": {&club{finds: statement(`"`)}, 1},
		"bound":             {&club{}, 0},
		"names of letters":  {&club{finds: statement("'"), no: "'"}, 0},
		"changes by itself": {&club{visits: true}, 0},
		"all the same":      {&club{finds: func(string, string) bool { return false }}, 0},
	} {
		l := lab(t, c.app, "login=&secret=")
		found := l.Run(t, keptNames(), &kit.Target{})
		if len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		if len(found) > 0 && found[0].Place.Name != "login" {
			t.Errorf("%s: at %s", name, found[0].Place)
		}
	}
}
