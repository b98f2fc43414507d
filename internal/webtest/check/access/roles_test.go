package access

import (
	"encoding/base64"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// ward has a page and a form of managers; may says who is one.
func ward(may func(r *http.Request, who string) bool) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		k, err := r.Cookie("user")
		switch {
		case err != nil:
			http.Error(w, "log in", http.StatusUnauthorized)
		case r.URL.Path == "/" && k.Value == "alice":
			fmt.Fprint(w, `<p>hello</p><form method="post" action="/staff/hire"><input name="who"></form>`)
		case r.URL.Path == "/":
			fmt.Fprint(w, `<p>hello</p>`)
		case !may(r, k.Value):
			http.Error(w, "not for you", http.StatusForbidden)
		case r.Method == http.MethodPost:
			fmt.Fprint(w, "<p>Hired.</p>")
		default:
			fmt.Fprint(w, "<table><tr><td>carol</td><td>3100</td></tr></table>")
		}
	})
}

func cookieIs(name string, of func(string) bool) func(*http.Request, string) bool {
	return func(r *http.Request, _ string) bool {
		k, err := r.Cookie(name)
		return err == nil && of(k.Value)
	}
}

// A role that a cookie says is found, plain and encoded; none where the session decides, or any change of the cookie
// is as good as another.
func TestRoleOfClient(t *testing.T) {
	is := func(want string) func(string) bool { return func(v string) bool { return v == want } }
	coded := base64.StdEncoding.EncodeToString
	has := func(text string) func(string) bool {
		return func(v string) bool {
			raw, err := base64.StdEncoding.DecodeString(v)
			if plain, bad := url.QueryUnescape(v); err != nil && bad == nil {
				raw = []byte(plain)
			}
			return strings.Contains(string(raw), text)
		}
	}
	for name, c := range map[string]struct {
		cookie, value string
		may           func(*http.Request, string) bool
		want          int
	}{
		"a word":    {"role", "customer", cookieIs("role", is("admin")), 2},
		"a flag":    {"isAdmin", "false", cookieIs("isAdmin", is("true")), 2},
		"encoded":   {"acl", coded([]byte("guest")), cookieIs("acl", is(coded([]byte("admin")))), 2},
		"session":   {"role", "customer", func(_ *http.Request, who string) bool { return who == "alice" }, 0},
		"any other": {"role", "customer", cookieIs("role", func(v string) bool { return v != "customer" }), 0},
		"a right":   {"me", coded([]byte(`{"name":"bob","treasurer":false}`)), cookieIs("me", has(`treasurer":true`)), 2},
		"escaped":   {"me", url.QueryEscape(`{"u":"bob","hr":false}`), cookieIs("me", has(`"hr":true`)), 2},
		"a member":  {"me", url.QueryEscape(`{"rank":"clerk"}`), cookieIs("me", has(`:"admin"`)), 2},
		"of nobody": {"me", coded([]byte(`{"lang":"de","treasurer":false}`)), cookieIs("me", has(`treasurer":true`)), 0},
		"agreed to": {"me", coded([]byte(`{"name":"bob","termsAccepted":false}`)), cookieIs("me", has(`Accepted":true`)), 0},
		"not read": {"me", coded([]byte(`{"name":"bob","treasurer":false}`)),
			func(_ *http.Request, who string) bool { return who == "alice" }, 0},
		"no role": {"colour", "blue", cookieIs("colour", is("admin")), 0},
	} {
		lab := kittest.New(t, ward(c.may))
		lab.World.Level = client.Active
		bob := lab.As(t, "bob")
		at, err := url.Parse(lab.URL)
		if err != nil {
			t.Fatal(err)
		}
		bob.SetCookies(at, []*http.Cookie{{Name: c.cookie, Value: c.value}})
		lab.World.Users = []*client.User{bob}
		lab.World.Pages = func() []*message.Request { return wardPages(t, lab) }
		found := lab.Run(t, kittest.Named(t, Checks(), "role-of-client"), &kit.Target{})
		if len(found) != c.want {
			t.Errorf("%s: %d found", name, len(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

func wardPages(t *testing.T, lab *kittest.Lab) (pages []*message.Request) {
	t.Helper()
	for _, path := range []string{"/", "/staff/list"} {
		r, err := message.New(http.MethodGet, lab.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		pages = append(pages, r)
	}
	hire, err := message.New(http.MethodPost, lab.URL+"/staff/hire")
	if err != nil {
		t.Fatal(err)
	}
	hire.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	hire.Body = []byte("who=dora")
	return append(pages, hire)
}

// A form that only one user is shown, and the other can send.
func TestFunctionsOfOthers(t *testing.T) {
	anybody := func(*http.Request, string) bool { return true }
	manager := func(_ *http.Request, who string) bool { return who == "alice" }
	for name, c := range map[string]struct {
		may   func(*http.Request, string) bool
		level client.Level
		want  int
	}{"weak": {anybody, client.Active, 1}, "sound": {manager, client.Active, 0}, "not at level safe": {anybody, client.Safe, 0}} {
		lab := kittest.New(t, ward(c.may))
		lab.World.Level = c.level
		lab.World.Users = []*client.User{lab.As(t, "alice"), lab.As(t, "bob")}
		lab.World.Pages = func() []*message.Request { return wardPages(t, lab) }
		found := lab.Run(t, kittest.Named(t, Checks(), "access-of-others"), &kit.Target{})
		if len(found) != c.want {
			t.Errorf("%s: %d found", name, len(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

// A form that stands on a page which a role in a cookie opens is in no map.
func TestFormsBehindRoles(t *testing.T) {
	admin := cookieIs("role", func(v string) bool { return v == "admin" })
	for name, c := range map[string]struct {
		page, form func(*http.Request, string) bool
		level      client.Level
		want       int
	}{
		"both by the cookie":       {admin, admin, client.Active, 2},
		"the session for the form": {admin, func(_ *http.Request, who string) bool { return who == "alice" }, client.Active, 1},
		"the form is for all":      {admin, func(*http.Request, string) bool { return true }, client.Active, 1},
		"not at level safe":        {admin, admin, client.Safe, 1},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			k, err := r.Cookie("user")
			may := c.page
			if r.Method == http.MethodPost {
				may = c.form
			}
			switch {
			case err != nil:
				http.Error(w, "log in", http.StatusUnauthorized)
			case !may(r, k.Value) || r.Method == http.MethodPost && r.FormValue("token") != "t9":
				http.Error(w, "not for you", http.StatusForbidden)
			case r.Method == http.MethodPost:
				fmt.Fprint(w, "<p>Hired.</p>")
			default:
				fmt.Fprint(w, `<p>carol, 3100</p><form method=post action="/staff/hire"><input name=who value=dora>`+
					`<input type=hidden name=token value=t9></form>`)
			}
		}))
		lab.World.Level = c.level
		bob := lab.As(t, "bob")
		at, err := url.Parse(lab.URL)
		if err != nil {
			t.Fatal(err)
		}
		bob.SetCookies(at, []*http.Cookie{{Name: "role", Value: "customer"}})
		lab.World.Users = []*client.User{bob}
		page, err := message.New(http.MethodGet, lab.URL+"/staff/list")
		if err != nil {
			t.Fatal(err)
		}
		lab.World.Pages = func() []*message.Request { return []*message.Request{page} }
		if found := lab.Run(t, kittest.Named(t, Checks(), "role-of-client"), &kit.Target{}); len(found) != c.want {
			t.Errorf("%s: %s, want %d", name, kittest.Titles(found), c.want)
		}
	}
}
