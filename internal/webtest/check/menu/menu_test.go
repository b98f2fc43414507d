package menu

import (
	"fmt"
	"net/http"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

const list = `const pages = [{path: "/home", role: "reader"}, {path: "/cellar", role: "steward"}]; show(pages, role)`

const flagged = `var officer = document.body.dataset.officer === "yes"; `

// A page that a script shows to a role alone, of which nothing that a user gets says that they have it, and that they
// open, is found; not one that is refused, one of a role that a page, an answer or a cookie names, one that a page leads
// to, one that is for all, nor those of a script that is of the user's own or keeps something in the browser.
func TestHiddenMenus(t *testing.T) {
	for name, c := range map[string]struct {
		script, home, me, cookie string
		refuses, public, all     bool
		want                     int
	}{
		"open":            {script: list, want: 1},
		"beside a form":   {script: list, home: `<form method="post"></form>`, want: 1},
		"asks otherwise":  {script: list, home: `<script>fetch("/role", {method: "post"})</script>`},
		"refused":         {script: list, refuses: true},
		"public":          {script: list, public: true},
		"any address":     {script: list, all: true},
		"said by a page":  {script: list, home: `<body data-role="steward">`},
		"said by JSON":    {script: list, me: `{"role":"steward"}`},
		"in a cookie":     {script: list, cookie: "eyJyb2xlIjoic3Rld2FyZCJ9.c2ln"},
		"led to":          {script: list, home: `<a href="/cellar">Cellar</a>`},
		"in the browser":  {script: list + `; var role = localStorage.getItem("role")`},
		"a block":         {script: flagged + `if (officer) { window.cellar = function () { load("/cellar", show); }; }`, want: 1},
		"a member":        {script: `if (me.isAdmin) load("/cellar");`, want: 1},
		"a compared role": {script: `if (me.role === "manager") fetch("/cellar");`, want: 1},
		"block, told":     {script: flagged + `if (officer) { load("/cellar"); }`, home: `<body data-officer="no">`},
		"member, told":    {script: `if (me.admin) load("/cellar");`, me: `{"admin":true}`},
		"isAdmin, told":   {script: `if (me.isAdmin) load("/cellar");`, me: `{"isAdmin":true}`},
		"block, refused":  {script: flagged + `if (officer) { load("/cellar"); }`, refuses: true},
		"not for a role":  {script: flagged + `if (!officer) { load("/cellar"); }`},
		"of no role":      {script: `if (ready) { load("/cellar"); }`},
		"of a level":      {script: `var staff = me.level > 2; if (staff) { load("/cellar"); }`},
		"of a thing":      {script: `var editor = open(editor); if (editor) { load("/cellar"); }`},
		"after the block": {script: flagged + `if (officer) { bell(); } load("/cellar");`},
		"in two places":   {script: flagged + `if (officer) { load("/cellar"); } else { load("/cellar"); }`},
		"one role":        {script: `const pages = [{path: "/cellar", role: "steward"}]`},
		"for all":         {script: `const pages = [{path: "/cellar", access: "user"}, {path: "/x", access: "public"}]`},
		"a list of paths": {script: `const pages = ["/home", "/cellar"]; const roles = {a: "steward", b: "reader"}`},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			_, err := r.Cookie("user")
			switch {
			case r.URL.Path == "/menu.js":
				w.Header().Set("Content-Type", "text/javascript")
				fmt.Fprint(w, c.script)
			case r.URL.Path == "/home":
				fmt.Fprint(w, `<h1>Home</h1><script src="menu.js"></script>`+c.home)
			case r.URL.Path == "/me":
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, c.me)
			case err != nil && !c.public:
				http.Redirect(w, r, "/login", http.StatusFound)
			case r.URL.Path != "/cellar" && !c.all:
				http.NotFound(w, r)
			case c.refuses:
				fmt.Fprint(w, "<h1>Access denied</h1>")
			default:
				fmt.Fprint(w, "<h1>Cellar</h1><p>The steward has 40 bottles of 1961")
			}
		}))
		u := lab.As(t, "anna")
		home := lab.Target(t, http.MethodGet, "/home", "").Request
		me := lab.Target(t, http.MethodGet, "/me", "").Request
		if c.cookie != "" {
			u.SetCookies(home.URL, []*http.Cookie{{Name: "token", Value: c.cookie}})
		}
		lab.World.Users = []*client.User{u}
		lab.World.Pages = func() []*message.Request { return []*message.Request{home, me} }
		found := lab.Run(t, hidden(), &kit.Target{})
		if len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}
