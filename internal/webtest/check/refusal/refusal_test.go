package refusal

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

const staff = `<html><h1>Staff</h1><table><tr><td>carol</td><td>3100</td></tr><tr><td>dave</td><td>2900</td></tr></table>
<p>This page is for those who pay the wages, and has what they need to do so every month.</p></html>`

// run runs a check on an application whose map has the paths.
func run(t *testing.T, id string, app http.HandlerFunc, paths ...string) (*kittest.Lab, []kit.Finding) {
	t.Helper()
	lab := kittest.New(t, app)
	lab.World.Level = client.Safe
	lab.World.Pages = func() (all []*message.Request) {
		for _, p := range paths {
			at, err := url.Parse(lab.URL + p)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, message.From(http.MethodGet, at))
		}
		return all
	}
	return lab, lab.Run(t, kittest.Named(t, Checks(), id), &kit.Target{})
}

// shop has a page for staff that a rule refuses.
func shop(refuses func(r *http.Request) bool, serves func(r *http.Request) bool) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case refuses(r):
			http.Error(w, "Forbidden", http.StatusForbidden)
		case serves(r):
			fmt.Fprint(w, staff)
		case r.URL.Path == "/":
			fmt.Fprint(w, "<h1>Shop</h1><p>Welcome to the shop.</p>")
		default:
			http.NotFound(w, r)
		}
	}
}

func at(p string) func(*http.Request) bool {
	return func(r *http.Request) bool { return r.URL.Path == p }
}

// What a rule refuses by its method, its path or a header is found, with the way that opens it; a page that is refused
// in every way, a server that answers any path or method alike, and a rule that lets most of a kind through, are not.
func TestBypass(t *testing.T) {
	wages := at("/staff/wages")
	any3 := func(r *http.Request) bool { return strings.HasPrefix(r.URL.Path, "/staff/") }
	n := 0
	for name, c := range map[string]struct {
		app  http.HandlerFunc
		want string
	}{
		"method": {shop(func(r *http.Request) bool {
			return wages(r) && (r.Method == http.MethodGet || r.Method == http.MethodPost || r.Method == http.MethodHead)
		}, wages), "the method VIEW"},
		"slash": {shop(wages, func(r *http.Request) bool { return r.URL.Path == "/staff/wages/" }), "the path {dir}{name}/"},
		"capitals": {shop(wages, func(r *http.Request) bool {
			return strings.EqualFold(r.URL.Path, "/staff/wages")
		}), "the path {dir}{Name}"},
		"encoded": {shop(func(r *http.Request) bool { return strings.Contains(r.RequestURI, "/wages") }, wages),
			"the path {dir}{first}{rest}"},
		"address": {shop(func(r *http.Request) bool { return wages(r) && r.Header.Get("X-Forwarded-For") != "127.0.0.1" }, wages),
			"the header X-Forwarded-For"},
		"host": {shop(func(r *http.Request) bool { return wages(r) && r.Host != "localhost" }, wages), "the header Host"},
		"rewritten": {shop(func(r *http.Request) bool { return wages(r) && r.Header.Get("X-Original-URL") == "" },
			func(r *http.Request) bool { return r.Header.Get("X-Original-URL") == "/staff/wages" }), "the header X-Original-URL"},

		"small pages": {small("<p>Turbine 7</p>"), "the header X-Real-IP"},
		"small front": {small("<p>41.2 MW</p>"), ""},

		"refused":  {shop(any3, wages), ""},
		"any page": {shop(wages, func(r *http.Request) bool { return true }), ""},
		"any host": {shop(func(r *http.Request) bool { return wages(r) && r.Header.Get("X-Real-IP") == "" }, wages), ""},
		"in turns": {shop(func(r *http.Request) bool { n++; return any3(r) && n == 1 }, any3), ""},
		"login": {func(w http.ResponseWriter, r *http.Request) {
			if wages(r) {
				w.WriteHeader(http.StatusForbidden)
			}
			fmt.Fprint(w, `<form method="post">`, r.URL.Path, ` <input name="user"><input type="password" name="pass"></form>`)
		}, ""},
	} {
		lab, found := run(t, "access-bypass", c.app, "/", "/staff/wages")
		if c.want == "" {
			if len(found) > 0 {
				t.Errorf("%s: %s", name, found[0].Detail)
			}
			continue
		}
		if len(found) != 1 || found[0].Detail != "it is given with "+c.want {
			t.Errorf("%s: %d found, want %s: %+v", name, len(found), c.want, found)
			continue
		}
		holds(t, name, lab, found[0])
	}
}

// Where what was sent is refused, the page that takes it is no page behind the refusal; another object is.
func TestRefusedValues(t *testing.T) {
	const form = `<h1>Sign in</h1><form><input name="user"><input name="code"><button>Go</button></form>`
	for name, c := range map[string]struct {
		page string
		app  http.HandlerFunc
		want int
	}{
		"form": {"/enter?user=guest&code=guest", func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/enter" && r.URL.RawQuery != "":
				http.Error(w, "These do not match.", http.StatusUnauthorized)
			case r.URL.Path == "/enter" || r.URL.Path == "/enter/":
				fmt.Fprint(w, form)
			default:
				http.NotFound(w, r)
			}
		}, 0},
		"object": {"/wages?of=2", func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/wages" && r.URL.Query().Get("of") == "2":
				http.Error(w, "Forbidden", http.StatusForbidden)
			case r.URL.Path == "/wages/" && r.URL.Query().Get("of") == "2":
				fmt.Fprint(w, staff)
			case r.URL.Path == "/wages":
				fmt.Fprint(w, form)
			default:
				http.NotFound(w, r)
			}
		}, 1},
	} {
		if _, found := run(t, "access-bypass", c.app, "/", c.page); len(found) != c.want {
			t.Errorf("%s: %d found, want %d", name, len(found), c.want)
		}
	}
}

// small is an application whose pages share nearly all of their lines; a page opens from the inside, and shows what.
func small(what string) http.HandlerFunc {
	return func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path == "/staff/wages" && r.Header.Get("X-Real-IP") == "127.0.0.1":
		case r.URL.Path == "/staff/wages":
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, strings.Repeat("<p>wind</p>", 30)+"<p>From the inside only</p>")
			return
		case r.URL.Path != "/":
			http.NotFound(w, r)
			return
		default:
			fmt.Fprint(w, strings.Repeat("<p>wind</p>", 30)+"<p>41.2 MW</p>")
			return
		}
		fmt.Fprint(w, strings.Repeat("<p>wind</p>", 30)+what)
	}
}

// Pages that refuse with status 200 are asked for in other ways, too; articles about refusals are pages, and so are
// notes below what a page has.
func TestRefusedWithStatus200(t *testing.T) {
	long := "<h1>Errors</h1>" + strings.Repeat("<p>Access denied means that a rule does not let you in, for now.</p>", 40)
	for name, c := range map[string]struct {
		refused, opened string
		want            int
	}{
		"a sentence":        {"<nav><a href='/'>Home</a></nav><p>Sorry, this page can be reached from localhost only.</p>", staff, 1},
		"JSON":              {`{"status":"error","message":"You do not have permission to see this"}`, staff, 1},
		"refused in turn":   {"<p>Access denied.</p>", "<p>Access denied. Your address 127.0.0.1 is noted.</p>", 0},
		"an article":        {long, staff, 0},
		"no word of it":     {"<p>Nothing to see.</p>", staff, 0},
		"asks for a name":   {"<p>Access denied.</p>", `<form>Log in <input name="u"><input type="password" name="p"></form>` + staff, 0},
		"the front for all": {"<p>Access denied.</p>", "<h1>Shop</h1><p>Welcome to the shop.</p>", 0},
	} {
		lab, found := run(t, "access-bypass", func(w http.ResponseWriter, r *http.Request) {
			switch {
			case r.URL.Path == "/":
				fmt.Fprint(w, "<h1>Shop</h1><p>Welcome to the shop.</p>")
			case r.URL.Path != "/staff/wages":
				http.NotFound(w, r)
			case r.Header.Get("X-Forwarded-For") == "127.0.0.1":
				fmt.Fprint(w, c.opened)
			default:
				fmt.Fprint(w, c.refused)
			}
		}, "/", "/staff/wages")
		if len(found) != c.want {
			t.Errorf("%s: %d found", name, len(found))
		} else if c.want > 0 {
			holds(t, name, lab, found[0])
		}
	}
}

func holds(t *testing.T, name string, lab *kittest.Lab, f kit.Finding) {
	t.Helper()
	runner := proof.Runner{Send: lab.World.Client.Send, Users: func(string) *client.User { return lab.World.Users[0] }}
	if out, err := runner.Run(t.Context(), f.Proof); err != nil || !out.Holds {
		t.Errorf("%s: the proof does not hold: %s, %v", name, out.Failed, err)
	}
}

// An application that goes on after its redirect shows the page to those whom it sends away.
func TestPageBehindRedirect(t *testing.T) {
	stock := "<html><head><title>302 Found</title></head><body><h1>Found</h1>" + strings.Repeat("<!-- padding -->", 20) +
		`<table><tr><td>The document has moved <a href="/login">here</a></td></tr></table></body></html>`
	for name, c := range map[string]struct {
		body string // of the redirect of the page
		user bool
		want int
	}{
		"as the user": {staff, true, 1}, "for nobody": {staff, false, 1}, "the server's own": {stock, false, 0},
		"of a user, the server's own": {stock, true, 0}, "a login": {`<form><input type="password"></form>` + stock, false, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if k, err := r.Cookie("user"); err == nil && k.Value == "alice" {
				fmt.Fprint(w, staff)
				return
			}
			w.Header().Set("Location", "/login")
			w.WriteHeader(http.StatusFound)
			if r.URL.Path == "/staff" {
				fmt.Fprint(w, c.body)
			} else {
				fmt.Fprint(w, stock)
			}
		}))
		page, err := url.Parse(lab.URL + "/staff")
		if err != nil {
			t.Fatal(err)
		}
		lab.World.Pages = func() []*message.Request { return []*message.Request{message.From(http.MethodGet, page)} }
		if c.user {
			u := client.NewUser("alice")
			u.SetCookies(page, []*http.Cookie{{Name: "user", Value: "alice"}})
			lab.World.Users = []*client.User{u}
		}
		found := lab.Run(t, kittest.Named(t, Checks(), "access-bypass"), &kit.Target{})
		found = slices.DeleteFunc(found, func(f kit.Finding) bool { return f.Check != "page-behind-redirect" })
		if len(found) != c.want {
			t.Errorf("%s: %d found", name, len(found))
			continue
		}
		for _, f := range found {
			holds(t, name, lab, f)
		}
	}
}

// The page behind a redirect may be that of another user than the first, and short: it is theirs when they get it. A
// redirect with the frame of the page alone, and one whose text nobody gets as a page, are not found.
func TestPageBehindRedirectOfAnotherUser(t *testing.T) {
	const frame, wages = "<h1>Office</h1>\n", "<p>carol 3100</p>\n<p>dave 2900</p>\n<p>erin 2700</p>"
	for name, c := range map[string]struct {
		body  string // of the redirect
		reads string // who gets the page
		want  int
	}{
		"the second user's": {frame + wages, "chief", 1},
		"the frame":         {frame + "<p>Go to the login.</p>", "chief", 0},
		"no user's":         {frame + wages, "nobody", 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			k, err := r.Cookie("user")
			switch {
			case r.URL.Path != "/office":
				http.NotFound(w, r)
			case err == nil && k.Value == c.reads:
				fmt.Fprint(w, frame+wages)
			default:
				w.Header().Set("Location", "/login")
				w.WriteHeader(http.StatusFound)
				fmt.Fprint(w, c.body)
			}
		}))
		page := lab.Target(t, http.MethodGet, "/office", "").Request
		lab.World.Pages = func() []*message.Request { return []*message.Request{page} }
		lab.World.Users = []*client.User{user(t, lab, "clerk"), user(t, lab, "chief")}
		found := slices.DeleteFunc(lab.Run(t, kittest.Named(t, Checks(), "access-bypass"), &kit.Target{}),
			func(f kit.Finding) bool { return f.Check != "page-behind-redirect" })
		if len(found) != c.want {
			t.Errorf("%s: %d found", name, len(found))
			continue
		}
		for _, f := range found {
			lab.World.Users = lab.World.Users[1:] // whom the proof names
			if !slices.Equal(f.Proof.Users, []string{"chief"}) {
				t.Errorf("%s: the proof is of %v", name, f.Proof.Users)
			}
			holds(t, name, lab, f)
		}
	}
}

// A user who is sent away may get the page, too: it is proved where another user gets the same, and probable where it
// has forms or tables and nobody known does. What the server writes itself is neither.
func TestPageBehindRedirectOfUser(t *testing.T) {
	stock := "<html><head><title>302 Found</title></head><body>" + strings.Repeat("<!-- padding -->", 20) + `<a href="/">here</a>`
	for name, c := range map[string]struct {
		body, reads string
		want        []kit.Confidence
	}{
		"as the administrator": {staff, "root", []kit.Confidence{kit.Proved}},
		"nobody is known":      {staff, "", []kit.Confidence{kit.Probable}},
		"the server's own":     {stock, "root", nil},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			k, err := r.Cookie("user")
			switch {
			case err != nil:
				http.Error(w, "log in", http.StatusUnauthorized)
			case r.URL.Path == "/staff" && k.Value == c.reads:
				fmt.Fprint(w, staff)
			default:
				w.Header().Set("Location", "/start")
				w.WriteHeader(http.StatusFound)
				if r.URL.Path == "/staff" {
					fmt.Fprint(w, c.body)
				}
			}
		}))
		page := lab.Target(t, http.MethodGet, "/staff", "").Request
		lab.World.Pages = func() []*message.Request { return []*message.Request{page} }
		lab.World.Users = []*client.User{user(t, lab, "alice")}
		if c.reads != "" {
			lab.World.Users = append(lab.World.Users, user(t, lab, c.reads))
		}
		var got []kit.Confidence
		for _, f := range lab.Run(t, kittest.Named(t, Checks(), "access-bypass"), &kit.Target{}) {
			if f.Check == "page-behind-redirect" {
				got = append(got, f.Confidence)
				lab.Holds(t, f)
			}
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

// user is one who is known by a cookie.
func user(t *testing.T, lab *kittest.Lab, name string) *client.User {
	t.Helper()
	at, err := url.Parse(lab.URL)
	if err != nil {
		t.Fatal(err)
	}
	u := client.NewUser(name)
	u.SetCookies(at, []*http.Cookie{{Name: "user", Value: name, Path: "/"}})
	return u
}

// A list of methods, as frameworks answer OPTIONS, is not the page.
func TestMethodsAreNoPage(t *testing.T) {
	_, found := run(t, "access-bypass", func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.URL.Path != "/rooms":
			http.NotFound(w, r)
		case r.Method == http.MethodOptions:
			w.Header().Set("Allow", "GET, HEAD,POST")
			fmt.Fprint(w, "GET,HEAD,POST")
		default:
			http.Error(w, "log in", http.StatusUnauthorized)
		}
	}, "/rooms")
	if len(found) != 0 {
		t.Errorf("%+v", found)
	}
}
