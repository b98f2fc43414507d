package refusal

import (
	"fmt"
	"net/http"
	"net/url"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A parameter that nothing names and that shows more of a page is found; not one of which any value does, one that is
// only shown, nor a page that changes by itself.
func TestParameterOfRole(t *testing.T) {
	n, root := 0, map[bool]string{true: "<li>root@lab</li>"}
	for name, c := range map[string]struct {
		more func(r *http.Request) string
		want int
	}{
		"flag":  {func(r *http.Request) string { return root[r.FormValue("admin") == "1"] }, 1},
		"role":  {func(r *http.Request) string { return root[r.FormValue("role") == "admin"] }, 1},
		"any":   {func(r *http.Request) string { return root[r.FormValue("admin") != ""] }, 0},
		"shown": {func(r *http.Request) string { return "<a href='?" + r.URL.RawQuery + "&page=2'>next</a>" }, 0},
		"about": {func(*http.Request) string { return "<li>PhoneAdmin 1.2 and its admin, 1 page</li>" }, 0},
		"news":  {func(*http.Request) string { n++; return fmt.Sprintf("<li>entry %d</li>", n) }, 0},
	} {
		lab, found := run(t, "parameter-of-role", func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			fmt.Fprint(w, "<h1>Panel</h1>"+c.more(r))
		}, "/panel")
		if len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			holds(t, name, lab, f)
		}
	}
}

// A page is asked for in other ways as the user who is refused, be that the first or the last, and with parameters.
func TestBypassByAUser(t *testing.T) {
	lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		k, err := r.Cookie("user")
		may := err == nil && (k.Value == "chief" || r.URL.Query().Get("is_admin") == "true")
		shop(func(r *http.Request) bool { return r.URL.Path == "/wages" && !may },
			func(r *http.Request) bool { return r.URL.Path == "/wages" })(w, r)
	}))
	at, err := url.Parse(lab.URL + "/wages")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"clerk", "chief"} {
		u := client.NewUser(name)
		u.SetCookies(at, []*http.Cookie{{Name: "user", Value: name}})
		lab.World.Users = append(lab.World.Users, u)
	}
	lab.World.Pages = func() []*message.Request { return []*message.Request{message.From(http.MethodGet, at)} }
	found := lab.Run(t, kittest.Named(t, Checks(), "access-bypass"), &kit.Target{})
	if len(found) != 1 || found[0].Detail != "it is given with the parameter is_admin=true" {
		t.Error(kittest.Titles(found))
	}
}
