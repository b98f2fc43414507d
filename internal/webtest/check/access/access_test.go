package access

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// shop has orders of users and a page of administrators; strict says whether it looks at who asks.
func shop(strict bool) http.Handler {
	orders := map[string]string{"1001": "alice", "1002": "bob"}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Type", "text/html")
		name := ""
		if k, err := r.Cookie("user"); err == nil {
			name = k.Value
		}
		if name == "" {
			http.Error(w, "log in first", http.StatusForbidden)
			return
		}
		switch r.URL.Path {
		case "/":
			fmt.Fprintf(w, "<p>hello</p>\n<a href='/help'>help</a>\n")
			for id, of := range orders {
				if of == name {
					fmt.Fprintf(w, "<a href='/order?id=%s'>order</a>", id)
				}
			}
			if name == "alice" {
				fmt.Fprint(w, "<a href='/admin/users'>users</a>")
			}
		case "/help":
			fmt.Fprint(w, "<p>how to order</p>\n<p>and how to pay</p>")
		case "/order":
			of, ok := orders[r.FormValue("id")]
			if !ok || strict && of != name {
				http.Error(w, "no such order", http.StatusNotFound)
				return
			}
			fmt.Fprintf(w, "<p>order of %s</p>\n<p>address: 12 Main Street</p>\n<p>total: 12.50</p>", of)
		case "/admin/users":
			if strict && name != "alice" {
				http.Error(w, "no", http.StatusForbidden)
				return
			}
			fmt.Fprint(w, "<p>alice, admin</p>\n<p>bob, user</p>\n<p>carol, user</p>")
		}
	})
}

func TestOthers(t *testing.T) {
	for name, strict := range map[string]bool{"weak": false, "strict": true} {
		lab := kittest.New(t, shop(strict))
		lab.World.Users = []*client.User{lab.As(t, "alice"), lab.As(t, "bob")}
		var pages []*message.Request
		for _, path := range []string{"/", "/help", "/order?id=1001", "/order?id=1002", "/admin/users"} {
			r, err := message.New(http.MethodGet, lab.URL+path)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, r)
		}
		lab.World.Pages = func() []*message.Request { return pages }
		found := map[string]int{}
		for _, f := range lab.Run(t, kittest.Named(t, Checks(), "access-of-others"), &kit.Target{}) {
			found[f.Class+" "+f.Request.URL.RequestURI()]++
			lab.Holds(t, f)
		}
		if strict && len(found) > 0 {
			t.Errorf("%s: reports %v", name, found)
		}
		if !strict && (len(found) != 3 || found["bola /order?id=1001"] != 1 || found["bola /order?id=1002"] != 1 || found["bfla /admin/users"] != 1) {
			t.Errorf("%s: found %v", name, found)
		}
	}
}

// A list that shows the last of all people is full of what tests have written: what it showed before counts. News that
// everybody was shown before are nobody's own.
func TestOthersInListsThatAreFull(t *testing.T) {
	for name, c := range map[string]struct {
		public, strict bool
		want           int
	}{"weak": {false, false, 2}, "strict": {false, true, 0}, "news": {true, false, 0}} {
		full := false
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			k, err := r.Cookie("user")
			if err != nil {
				http.Error(w, "log in first", http.StatusForbidden)
				return
			}
			files := map[string]string{"/files/7": "alice", "/files/8": "bob"}
			of, isFile := files[r.URL.Path]
			switch {
			case r.URL.Path == "/files" && !full:
				for path, owner := range files {
					if owner == k.Value || c.public {
						fmt.Fprintf(w, "<a href='%s'>a file</a>", path)
					}
				}
			case r.URL.Path == "/files":
				fmt.Fprint(w, "<a href='/files/900'>what tests have written</a>")
			case !isFile || c.strict && of != k.Value:
				http.Error(w, "no such file", http.StatusNotFound)
			default:
				fmt.Fprintf(w, "<p>a contract with %s</p>\n<p>12 Main Street</p>", of)
			}
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice"), lab.As(t, "bob")}
		var pages []*message.Request
		seen := map[string]*message.Response{}
		for _, path := range []string{"/files", "/files/7", "/files/8"} {
			r, err := message.New(http.MethodGet, lab.URL+path)
			if err != nil {
				t.Fatal(err)
			}
			pages = append(pages, r)
			for _, u := range lab.World.Users {
				if seen[u.Name+path], err = lab.World.Ask(t.Context(), r, u); err != nil {
					t.Fatal(err)
				}
			}
		}
		full = true
		lab.World.Pages = func() []*message.Request { return pages }
		lab.World.Seen = func(u *client.User, r *message.Request) *message.Response { return seen[u.Name+r.URL.Path] }
		found := lab.Run(t, kittest.Named(t, Checks(), "access-of-others"), &kit.Target{})
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

func TestLogins(t *testing.T) {
	app := func(answer func(name, password string) string) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text := answer(r.FormValue("user"), r.FormValue("password"))
			if text == "" {
				http.SetCookie(w, &http.Cookie{Name: "session", Value: "1"})
				http.Redirect(w, r, "/home", http.StatusFound)
				return
			}
			fmt.Fprintf(w, "<p>%s</p>", text)
		})
	}
	for name, c := range map[string]struct {
		check  string
		answer func(name, password string) string
		want   int
	}{
		"tells": {"user-enumeration", func(name, _ string) string {
			if name == "admin" {
				return "wrong password"
			}
			return "no user " + name
		}, 1},
		"tells nothing": {"user-enumeration", func(name, _ string) string { return "wrong name or password, " + name }, 0},
		"default": {"default-login", func(name, password string) string {
			if name == "admin" && password == "admin" {
				return ""
			}
			return "wrong"
		}, 1},
		"no default": {"default-login", func(string, string) string { return "wrong" }, 0},
		"everybody":  {"default-login", func(string, string) string { return "" }, 0},
	} {
		lab := kittest.New(t, app(c.answer))
		lab.World.Defaults = true
		found := lab.Run(t, kittest.Named(t, Checks(), c.check), lab.Target(t, http.MethodPost, "/login", "user=bob&password=x"))
		if len(found) != c.want {
			t.Errorf("%s: found %s, want %d", name, kittest.Titles(found), c.want)
			continue
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

// A login that refuses by its status and answers what works with 200 is known by a cookie of its own, or by a page that
// asks no more. A page that says no, one for each password of a name, and a refusal that ends by itself are no logins.
func TestDefaultsOfLoginsWithoutRedirect(t *testing.T) {
	const form = `<form method="post"><input name="user"><input type="password" name="password"></form>`
	cookie := &http.Cookie{Name: "session", Value: "1"}
	tries := 0
	for name, c := range map[string]struct {
		answer func(w http.ResponseWriter, name, password string)
		want   int
	}{
		"a script's": {func(w http.ResponseWriter, name, password string) {
			if name != "guest" || password != "guest" {
				http.Error(w, `{"error":"not_authorised"}`, http.StatusUnauthorized)
				return
			}
			http.SetCookie(w, cookie)
			fmt.Fprint(w, `{"name":"guest"}`)
		}, 1},
		"a page": {func(w http.ResponseWriter, name, password string) {
			http.SetCookie(w, cookie)
			if name != "admin" || password != "password" {
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, "<p>DENIED</p>"+form)
				return
			}
			fmt.Fprint(w, "<p>71 C, pump on</p>")
		}, 1},
		"says no": {func(w http.ResponseWriter, name, password string) {
			if name != "admin" || password != "password" {
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, "<p>DENIED</p>"+form)
				return
			}
			fmt.Fprint(w, "<p>Access denied.</p>")
		}, 0},
		"any password": {func(w http.ResponseWriter, name, password string) {
			if name != "test" {
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, "<p>DENIED</p>"+form)
				return
			}
			fmt.Fprint(w, "<p>A second factor was sent.</p>")
		}, 0},
		"by itself": {func(w http.ResponseWriter, _, _ string) {
			if tries++; tries < 4 {
				w.WriteHeader(http.StatusForbidden)
				fmt.Fprint(w, "<p>DENIED</p>"+form)
				return
			}
			fmt.Fprint(w, "<p>Ask your service.</p>")
		}, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			c.answer(w, r.FormValue("user"), r.FormValue("password"))
		}))
		lab.World.Defaults = true
		found := lab.Run(t, kittest.Named(t, Checks(), "default-login"), lab.Target(t, http.MethodPost, "/login", "user=bob&password=x"))
		if len(found) != c.want {
			t.Errorf("%s: found %s, want %d", name, kittest.Titles(found), c.want)
		}
	}
}

func TestDefaultsAreAskedFor(t *testing.T) {
	lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "wrong") }))
	lab.Run(t, kittest.Named(t, Checks(), "default-login"), lab.Target(t, http.MethodPost, "/login", "user=bob&password=x"))
	if lab.Sent.Load() != 1 || len(lab.Skipped()) != 1 {
		t.Errorf("%d requests, skipped %v", lab.Sent.Load(), lab.Skipped())
	}
}

// accounts makes users of JSON; takes says which fields it takes from requests.
func accounts(takes func(name string) bool) http.Handler {
	var mu sync.Mutex
	var all []map[string]any
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "application/json")
		if r.Method == http.MethodGet {
			_ = json.NewEncoder(w).Encode(map[string]any{"users": all})
			return
		}
		var in map[string]any
		_ = json.NewDecoder(r.Body).Decode(&in)
		one := map[string]any{"admin": false}
		for name, value := range in {
			if takes(name) {
				one[name] = value
			}
		}
		all = append(all, one)
		fmt.Fprint(w, `{"status":"created"}`)
	})
}

func TestAssignment(t *testing.T) {
	for name, c := range map[string]struct {
		takes func(string) bool
		want  int
	}{
		"weak":            {func(n string) bool { return n == "username" || n == "admin" }, 1},
		"strict":          {func(n string) bool { return n == "username" }, 0},
		"keeps all of it": {func(string) bool { return true }, 0},
	} {
		lab := kittest.New(t, accounts(c.takes))
		target := lab.Target(t, http.MethodPost, "/users", `{"username":"bob","password":"x"}`)
		list, err := message.New(http.MethodGet, lab.URL+"/users")
		if err != nil {
			t.Fatal(err)
		}
		lab.World.Pages = func() []*message.Request { return []*message.Request{target.Request, list} }
		if found := lab.Run(t, kittest.Named(t, Checks(), "mass-assignment"), target); len(found) != c.want {
			t.Errorf("%s: found %s, want %d", name, kittest.Titles(found), c.want)
		}
	}
}

// An object that a request wraps in another one gets the role within it, and what it has beside is no role of it.
func TestAssignmentInNestedObjects(t *testing.T) {
	for name, c := range map[string]struct {
		takes func(string) bool
		want  int
	}{
		"weak":            {func(n string) bool { return n == "username" || n == "role" }, 1},
		"strict":          {func(n string) bool { return n == "username" }, 0},
		"keeps all of it": {func(string) bool { return true }, 0},
	} {
		var mu sync.Mutex
		var all []map[string]any
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("Content-Type", "application/json")
			if r.Method == http.MethodGet {
				_ = json.NewEncoder(w).Encode(map[string]any{"users": all})
				return
			}
			var in struct{ User map[string]any }
			if json.NewDecoder(r.Body).Decode(&in) != nil || in.User["username"] == nil {
				w.WriteHeader(http.StatusUnprocessableEntity)
				return
			}
			one := map[string]any{"role": "member"}
			for field, value := range in.User {
				if c.takes(field) {
					one[field] = value
				}
			}
			all = append(all, one)
			fmt.Fprint(w, `{"status":"created"}`)
		}))
		target := lab.Target(t, http.MethodPost, "/users", `{"user":{"username":"bob","password":"x"}}`)
		list := message.From(http.MethodGet, target.Request.URL)
		lab.World.Pages = func() []*message.Request { return []*message.Request{target.Request, list} }
		found := lab.Run(t, kittest.Named(t, Checks(), "mass-assignment"), target)
		if len(found) != c.want || c.want > 0 && found[0].Place.Name != "role" {
			t.Errorf("%s: found %s, want %d", name, kittest.Titles(found), c.want)
		}
	}
}

// members is an application whose login keeps the identifier of the session, or makes a new one.
func members(cookie string, fixed bool) http.Handler {
	var mu sync.Mutex
	in := map[string]bool{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		id := ""
		if k, err := r.Cookie(cookie); err == nil {
			id = k.Value
		}
		switch {
		case r.URL.Path == "/": // the same for all, with a session in its address for who has no cookie
			path := "/account"
			if id == "" {
				path += fmt.Sprintf(";jsessionid=%032d", len(in))
			}
			fmt.Fprintf(w, "<h1>Shop</h1><p><a href='%s'>Account</a></p>", path)
		case r.URL.Path == "/login":
			if !fixed {
				id = fmt.Sprintf("fresh-%05d", len(in))
				http.SetCookie(w, &http.Cookie{Name: cookie, Value: id, Path: "/"})
			}
			in[id] = true
		case in[id]:
			fmt.Fprint(w, "<h1>Account</h1><p>hello anna</p><p>your orders</p><p>your letters</p>")
		default:
			fmt.Fprint(w, "<h1>Log in</h1>")
		}
	})
}

func TestFixation(t *testing.T) {
	for cookie, fixed := range map[string]bool{"sid": true, "visit": true, "desk_id": false} {
		lab := kittest.New(t, members(cookie, fixed))
		at, _ := url.Parse(lab.URL)
		logins := 0
		enter := func() *client.User {
			logins++
			u := client.NewUser("anna")
			id := fmt.Sprintf("before-%05d", logins)
			u.SetCookies(at, []*http.Cookie{{Name: cookie, Value: id, Path: "/"}})
			r, _ := message.New(http.MethodPost, lab.URL+"/login")
			if _, err := lab.World.Client.Send(t.Context(), r, client.Options{As: u}); err != nil {
				t.Fatal(err)
			}
			if u.Cookies(at)[0].Value == id {
				u.Keep(map[string]string{cookie: id})
			}
			return u
		}
		lab.World.Users = []*client.User{enter()}
		lab.World.Login = func(context.Context, *client.User) (*client.User, error) { return enter(), nil }
		front, _ := message.New(http.MethodGet, lab.URL+"/")
		page, _ := message.New(http.MethodGet, lab.URL+"/account")
		lab.World.Pages = func() []*message.Request { return []*message.Request{front, page} }
		found := lab.Run(t, kittest.Named(t, Checks(), "session-fixation"), lab.Target(t, http.MethodGet, "/", ""))
		if len(found) > 0 != fixed {
			t.Errorf("%s, fixed %v: %s", cookie, fixed, kittest.Titles(found))
		}
	}
}

// Wrong passwords are tried in a row only when that is allowed, and a limit is seen.
func TestLoginLimit(t *testing.T) {
	for name, c := range map[string]struct {
		most  int
		found bool
	}{"no limit": {1000, true}, "limit": {6, false}} {
		var mu sync.Mutex
		tried := 0
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if tried++; tried > c.most {
				w.WriteHeader(http.StatusTooManyRequests)
			}
			fmt.Fprint(w, "<p>wrong</p>")
		}))
		target := lab.Target(t, http.MethodPost, "/login", "user=a&password=b")
		if found := lab.Run(t, kittest.Named(t, Checks(), "login-limit"), target); len(found) > 0 || lab.Sent.Load() != 1 || len(lab.Skipped()) == 0 {
			t.Errorf("%s: it is tested without being asked for", name)
		}
		target = lab.Target(t, http.MethodPost, "/login2", "user=a&password=b")
		lab.World.Defaults = true
		if found := lab.Run(t, kittest.Named(t, Checks(), "login-limit"), target); len(found) > 0 != c.found {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}

// A login whose form has a token, and whose session is there before, is tried like others: its pages differ in the token,
// and what works sets no cookie but leads elsewhere. One that always leads to the same page has not worked.
func TestLoginsWithTokens(t *testing.T) {
	for name, c := range map[string]struct {
		works bool // admin with admin
		leads bool // a failed login leads somewhere, too
		want  string
	}{"weak": {true, false, "default-login"}, "none": {false, false, ""}, "always leads away": {false, true, ""}} {
		var views atomic.Int64
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			switch {
			case r.Method == http.MethodPost && c.works && r.FormValue("user") == "admin" && r.FormValue("password") == "admin":
				http.Redirect(w, r, "/home", http.StatusSeeOther)
			case r.Method == http.MethodPost && c.leads:
				http.Redirect(w, r, fmt.Sprint("/login?try=", views.Add(1)), http.StatusSeeOther)
			default:
				fmt.Fprintf(w, `<p>wrong</p><input type="hidden" name="csrf_token" value="%032d">`, views.Add(1))
			}
		}))
		lab.World.Defaults = true
		page := lab.Target(t, http.MethodGet, "/login", "").Request
		for _, id := range []string{"default-login", "login-limit"} {
			target := lab.Target(t, http.MethodPost, "/login", "user=a&password=b&csrf_token=00000000")
			target.Request.Token = &message.Token{Field: "csrf_token", Value: "00000000", Page: page,
				Place: message.Place{Component: message.Body, Format: message.Form, Name: "csrf_token"}}
			found := lab.Run(t, kittest.Named(t, Checks(), id), target)
			want := id == c.want || id == "login-limit" && !c.leads
			if len(found) > 0 != want {
				t.Errorf("%s, %s: %s", name, id, kittest.Titles(found))
			}
		}
	}
}
