package access

import (
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// changeable is an application in which a user changes what is theirs, by PATCH or by a form that is bound to it.
func changeable(takes func(field string) bool, object map[string]any) http.Handler {
	var mu sync.Mutex
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		sent := map[string]any{}
		switch r.Method {
		case http.MethodPatch:
			_ = json.NewDecoder(r.Body).Decode(&sent)
		case http.MethodPost:
			_ = r.ParseForm()
			for name, values := range r.PostForm {
				if m := boundName.FindStringSubmatch(name); m != nil {
					sent[m[2]] = values[0]
				}
			}
		}
		for name, value := range sent {
			if takes(name) {
				object[name] = value
			}
		}
		if r.Method == http.MethodPost {
			http.Redirect(w, r, "/profile", http.StatusSeeOther)
			return
		}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(object)
	})
}

// A body that nothing describes has what the page shows, and is put back; the fields of a form that are bound to one object
// get one more. What is kept whatever it is, or is no right, is none.
func TestAssignmentToWhatIsShown(t *testing.T) {
	shown := func(name string) bool { return name == "city" || name == "phone" }
	for name, c := range map[string]struct {
		takes func(string) bool
		want  int
	}{
		"weak":            {func(n string) bool { return shown(n) || n == "tier" }, 1},
		"strict":          {shown, 0},
		"no right":        {func(n string) bool { return shown(n) || n == "theme" }, 0},
		"keeps all of it": {func(string) bool { return true }, 0},
	} {
		for _, method := range []string{http.MethodPatch, http.MethodPost} {
			first := map[string]any{"city": "Bern", "phone": "555", "tier": "basic", "theme": "dark", "id": "7"}
			object := maps.Clone(first)
			lab := kittest.New(t, changeable(c.takes, object))
			lab.World.Users = []*client.User{lab.As(t, "alice")}
			change, err := message.New(method, lab.URL+"/profile")
			if err != nil {
				t.Fatal(err)
			}
			change.Header.Set("Content-Type", "application/json")
			change.Body = []byte("{}")
			if method == http.MethodPost {
				change.Header.Set("Content-Type", "application/x-www-form-urlencoded")
				change.Body = []byte("me%5Bcity%5D=Bern&me%5Bphone%5D=555")
			}
			page := requests(t, lab, "/profile")()
			lab.World.Pages = func() []*message.Request { return append(page, change) }
			found := lab.Run(t, kittest.Named(t, Checks(), "mass-assignment"), &kit.Target{})
			if len(found) != c.want || c.want == 1 && found[0].Payload != "tier" {
				t.Errorf("%s: %s: %s", name, method, kittest.Titles(found))
			}
			place := map[string]string{http.MethodPatch: "json tier", http.MethodPost: "form me[tier]"}[method]
			if c.want == 1 && string(found[0].Place.Format)+" "+found[0].Place.Name != place {
				t.Errorf("%s: %s: it is at %v, not %s", name, method, found[0].Place, place)
			}
			if method == http.MethodPatch && name == "weak" && fmt.Sprint(object) != fmt.Sprint(first) {
				t.Errorf("it leaves %v", object)
			}
		}
	}
}

// Of several fields that are raised, each run names the same one.
func TestAssignmentNamesOneField(t *testing.T) {
	for _, c := range []struct {
		raised []string
		want   string
	}{{[]string{"tier", "role", "is_staff"}, "is_staff"}, {[]string{"tier", "role", "plan", "membership"}, "membership"}} {
		for range 12 {
			object := map[string]any{"city": "Bern", "id": "7"}
			for _, name := range c.raised {
				object[name] = "basic"
			}
			lab := kittest.New(t, changeable(func(n string) bool { return !strings.HasPrefix(n, "invented") }, object))
			lab.World.Users = []*client.User{lab.As(t, "alice")}
			change, err := message.New(http.MethodPatch, lab.URL+"/profile")
			if err != nil {
				t.Fatal(err)
			}
			change.Header.Set("Content-Type", "application/json")
			change.Body = []byte("{}")
			page := requests(t, lab, "/profile")()
			lab.World.Pages = func() []*message.Request { return append(page, change) }
			found := lab.Run(t, kittest.Named(t, Checks(), "mass-assignment"), &kit.Target{})
			if len(found) != 1 || found[0].Payload != c.want {
				t.Errorf("found %q, want %s", kittest.Titles(found), c.want)
			}
		}
	}
}

// An amount that an application counts for a person is raised, whether a change or the making of the account takes it, and
// put back where the account was there before. One of a thing is left alone, and so is one that does not stick.
func TestAssignmentOfAmounts(t *testing.T) {
	for name, c := range map[string]struct {
		method, body string
		object       map[string]any
		takes        func(string) bool
		want         string
	}{
		"credit, by PUT":         {http.MethodPut, `{"mail":"a@b.example"}`, map[string]any{"mail": "a@b.example", "credit": 5.0, "age": 30.0}, func(n string) bool { return n == "mail" || n == "credit" || n == "age" }, "credit"},
		"balance, by PATCH":      {http.MethodPatch, `{"nickname":"al"}`, map[string]any{"nickname": "al", "account_balance": 0.0}, func(n string) bool { return n == "nickname" || n == "account_balance" }, "account_balance"},
		"it is not taken":        {http.MethodPut, `{"mail":"a@b.example"}`, map[string]any{"mail": "a@b.example", "credit": 5.0}, func(n string) bool { return n == "mail" }, ""},
		"whatever is sent stays": {http.MethodPut, `{"mail":"a@b.example"}`, map[string]any{"mail": "a@b.example", "credit": 5.0}, func(string) bool { return true }, ""},
		"points of a game":       {http.MethodPut, `{"title":"go"}`, map[string]any{"title": "go", "points": 5.0}, func(n string) bool { return n == "title" || n == "points" }, ""},
		"what a person chooses":  {http.MethodPut, `{"mail":"a@b.example"}`, map[string]any{"mail": "a@b.example", "age": 30.0}, func(n string) bool { return n == "mail" || n == "age" }, ""},
		"it is asked for":        {http.MethodPut, `{"mail":"a@b.example","credit":5}`, map[string]any{"mail": "a@b.example", "credit": 5.0}, func(n string) bool { return n == "mail" || n == "credit" }, ""},
	} {
		object := maps.Clone(c.object)
		app := changeable(c.takes, object)
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if r.Method == http.MethodPut {
				r.Method = http.MethodPatch
			}
			app.ServeHTTP(w, r)
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		change := lab.Target(t, c.method, "/me", c.body).Request
		lab.World.Pages = func() []*message.Request { return []*message.Request{change} }
		found := lab.Run(t, kittest.Named(t, Checks(), "mass-assignment"), &kit.Target{})
		if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || found[0].Payload != c.want) {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for field, value := range c.object {
			if _, isAmount := value.(float64); isAmount && fmt.Sprint(object[field]) != fmt.Sprint(value) {
				t.Errorf("%s: %s is %v now", name, field, object[field])
			}
		}
	}
}
