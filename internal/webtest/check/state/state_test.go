package state

import (
	"context"
	"encoding/base64"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

func answerf(w http.ResponseWriter, format string, values ...any) {
	w.Header().Set("Content-Type", "text/html")
	fmt.Fprintf(w, format, values...)
}

// pages are what the map has.
func pages(t *testing.T, lab *kittest.Lab, all ...string) func() []*message.Request {
	t.Helper()
	var out []*message.Request
	for _, one := range all {
		method, rest, _ := strings.Cut(one, " ")
		path, body, _ := strings.Cut(rest, " ")
		r, err := message.New(method, lab.URL+path)
		if err != nil {
			t.Fatal(err)
		}
		if body != "" {
			r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
			r.Body = []byte(body)
		}
		out = append(out, r)
	}
	return func() []*message.Request { return out }
}

// A link with the session of the cookie is found; not one with a number that is the same for all, nor another session.
func TestSessionInAddress(t *testing.T) {
	for name, c := range map[string]struct {
		link string
		want int
	}{"path": {`<a href="/shop;PHPSESSID=%s">shop</a>`, 1}, "query": {`<a href="/shop?a=1&amp;sessionid=%s">shop</a>`, 1},
		"not the session": {`<a href="/shop?sid=0123456789abcdef0123">%s</a>`, 0},
		"cookie alone":    {`<a href="/shop">%.0s</a>`, 0}} {
		n := 0
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			n++
			id := fmt.Sprintf("00aa11bb22cc33dd44ee%04d", n)
			w.Header().Set("Set-Cookie", "SHOP="+id+"; HttpOnly")
			answerf(w, c.link, id)
		}))
		if found := lab.Run(t, kittest.Named(t, Checks(), "session-in-address"), lab.Target(t, http.MethodGet, "/",
			"")); len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
	}
}

// sessions is an application whose logout ends the session, or the cookie alone.
func sessions(ends bool) http.Handler {
	var mu sync.Mutex
	live := map[string]bool{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		id := ""
		if k, err := r.Cookie("id"); err == nil {
			id = k.Value
		}
		switch {
		case r.URL.Path == "/enter":
			live[r.FormValue("id")] = true
		case r.URL.Path == "/bye":
			if ends {
				delete(live, id)
			}
			w.Header().Set("Set-Cookie", "id=; Path=/; Max-Age=0")
			http.Redirect(w, r, "/", http.StatusSeeOther)
		case !live[id]:
			http.Redirect(w, r, "/enter", http.StatusSeeOther)
		default:
			answerf(w, `<p>The letters of alice: three.</p><a href="/bye"><b>Sign out</b></a>`)
		}
	})
}

// A session that goes on after the logout is found, by cookies that the browser has lost; not one that ends.
func TestSessionAfterLogout(t *testing.T) {
	for _, ends := range []bool{false, true} {
		lab := kittest.New(t, sessions(ends))
		n := 0
		enter := func(context.Context, *client.User) (*client.User, error) {
			n++
			id := fmt.Sprintf("aa00bb%d", n)
			u := client.NewUser("alice")
			at := lab.Target(t, http.MethodGet, "/enter?id="+id, "").Request.URL
			u.SetCookies(at, []*http.Cookie{{Name: "id", Value: id, Path: "/"}})
			return u, nil
		}
		first, _ := enter(t.Context(), nil)
		lab.World.Users, lab.World.Login = []*client.User{first}, enter
		lab.World.Pages = pages(t, lab, "GET /letters")
		found := lab.Run(t, kittest.Named(t, Checks(), "session-after-logout"), lab.Target(t, http.MethodGet, "/", ""))
		if (len(found) == 1) == ends {
			t.Errorf("it ends: %v, found %s", ends, kittest.Titles(found))
		}
	}
}

// A page of a user that all caches may keep is found; not one that is for the browser, differs by cookie, or is for
// all.
func TestCacheablePages(t *testing.T) {
	for name, c := range map[string]struct {
		headers  map[string]string
		everyone bool
		want     int
	}{"public": {map[string]string{"Cache-Control": "max-age=60, public"}, false, 1},
		"shared":  {map[string]string{"Cache-Control": "s-maxage=60"}, false, 1},
		"private": {map[string]string{"Cache-Control": "private, max-age=60"}, false, 0}, "nothing": {nil, false, 0},
		"by cookie": {map[string]string{"Cache-Control": "public", "Vary": "Cookie"}, false, 0},
		"for all":   {map[string]string{"Cache-Control": "public"}, true, 0}} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if _, err := r.Cookie("user"); err != nil && !c.everyone {
				http.Redirect(w, r, "/login", http.StatusFound)
				return
			}
			for k, v := range c.headers {
				w.Header().Set(k, v)
			}
			answerf(w, "<p>Payslip of March</p>")
		}))
		target := lab.Target(t, http.MethodGet, "/payslip", "")
		target.User = lab.As(t, "alice")
		answer, err := lab.World.Ask(t.Context(), target.Request, target.User)
		if err != nil {
			t.Fatal(err)
		}
		target.Response = answer
		if found := lab.Run(t, kittest.Named(t, Checks(), "private-page-cacheable"), target); len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
	}
}

// A code that gets two tokens is found; not one that gets one, nor an endpoint that takes anything.
func TestCodeReplay(t *testing.T) {
	for name, c := range map[string]struct{ once, anything, want int }{"again": {0, 0, 1}, "once": {1, 0, 0},
		"anything": {0, 1, 0}} {
		var mu sync.Mutex
		given, n := map[string]bool{}, 0
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			if r.Method == http.MethodGet {
				n++
				given[fmt.Sprint("c", n)] = true
				answerf(w, `<form method="post" action="/token"><input value="c%d" name="code"></form>`, n)
				return
			}
			if !given[r.FormValue("code")] && c.anything == 0 {
				w.WriteHeader(http.StatusBadRequest)
				return
			}
			if c.once == 1 {
				delete(given, r.FormValue("code"))
			}
			fmt.Fprint(w, `{"access_token":"a"}`)
		}))
		target := lab.Target(t, http.MethodPost, "/token", "grant_type=authorization_code&code=c0")
		target.From = lab.URL + "/try"
		if found := lab.Run(t, kittest.Named(t, Checks(), "code-replay"), target); len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
	}
}

// An answer to a login elsewhere that nobody has asked for is found where the state does not count; not where it does,
// nor where any code is taken.
func TestStateOfLogin(t *testing.T) {
	for name, c := range map[string]struct{ checks, anyCode, want int }{"unchecked": {0, 0, 1}, "checked": {1, 0, 0},
		"any": {0, 1, 0}} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			q := r.URL.Query()
			switch {
			case r.URL.Path == "/authorize":
				http.Redirect(w, r, "/back?code=c1&state="+q.Get("state"), http.StatusFound)
			case c.checks == 1 && q.Get("state") != "s1", c.anyCode == 0 && q.Get("code") != "c1":
				http.Error(w, "no", http.StatusForbidden)
			default:
				answerf(w, "<p>Your calendar is connected.</p>")
			}
		}))
		target := lab.Target(t, http.MethodGet,
			"/authorize?response_type=code&client_id=cal&state=s1&redirect_uri="+lab.URL+"/back", "")
		target.User = lab.As(t, "alice")
		if found := lab.Run(t, kittest.Named(t, Checks(), "oauth-state"), target); len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
	}
}

// A state that the page believes is found, as JSON, as a map of Java and of PHP; not one with a seal, nor one that says
// what its user has chosen.
func TestStateOfForms(t *testing.T) {
	java := "\xac\xed\x00\x05sr\x00\x11java.util.HashMap...t\x00\x05pricet\x00\x048000t\x00\x04namet\x00\x04desk"
	for name, c := range map[string]struct {
		state, shown string
		sealed       bool
		want         int
	}{"json": {`{"step":2,"price":"8000"}`, "8000", false, 1}, "java": {java, "8000", false, 1},
		"php": {`a:1:{s:4:"role";s:6:"reader";}`, "reader", false, 1}, "sealed": {`{"price":"8000"}`, "8000", true, 0},
		"of its user": {`{"colour":"green","page":"3"}`, "green", false, 0}} {
		seal := func(s string) string {
			return "." + strconv.Itoa(len(s)*31+strings.Count(s, "0")*7+strings.Count(s, "8"))
		}
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			text, sum, _ := strings.Cut(r.FormValue("view"), ".")
			raw, _ := base64.StdEncoding.DecodeString(text)
			if c.sealed && "."+sum != seal(string(raw)) {
				http.Error(w, "the seal is broken", http.StatusBadRequest)
				return
			}
			at := strings.Index(c.state, c.shown)
			if at+len(c.shown) > len(raw) {
				http.Error(w, "no state", http.StatusBadRequest)
				return
			}
			answerf(w, `<p>It says %s.</p><input name="view" value="%s">`, raw[at:at+len(c.shown)], r.FormValue("view"))
		}))
		view := base64.StdEncoding.EncodeToString([]byte(c.state))
		if c.sealed {
			view += seal(c.state)
		}
		target := lab.Target(t, http.MethodPost, "/order", "note=a&view="+strings.NewReplacer("+", "%2B", "=",
			"%3D").Replace(view))
		found := lab.Run(t, kittest.Named(t, Checks(), "client-state"), target)
		if len(found) != c.want {
			t.Errorf("%s: found %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			lab.Holds(t, f)
		}
	}
}

// A registration that takes the role of its hidden field is found; not one that gives all the same.
func TestRoleThatAFormAsksFor(t *testing.T) {
	for _, takes := range []bool{true, false} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			role := "customer"
			if takes {
				role = r.FormValue("user.type")
			}
			fmt.Fprintf(w, "<dl><dt>Name</dt><dd>%s</dd><dt>Type</dt><dd>%s</dd></dl>", r.FormValue("nickname"), role)
		}))
		lab.World.Pages = pages(t, lab, "POST /join nickname=a&password=b&user.type=customer")
		found := lab.Run(t, kittest.Named(t, Checks(), "role-of-form"), lab.Target(t, http.MethodGet, "/", ""))
		if (len(found) == 1) != takes {
			t.Errorf("it takes it: %v, found %s", takes, kittest.Titles(found))
		}
	}
}

func FuzzMembers(f *testing.F) {
	f.Add([]byte("\xac\xed\x00\x05t\x00\x05pricet\x00\x048000"))
	f.Add([]byte(`{"price":"8000"}`))
	f.Fuzz(func(t *testing.T, plain []byte) {
		for _, m := range members(plain) {
			if m.at < 0 || m.at+len(m.value) > len(plain) || string(plain[m.at:m.at+len(m.value)]) != m.value {
				t.Errorf("%q: %+v", plain, m)
			}
		}
	})
}
