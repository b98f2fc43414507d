package webtest_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
)

// society lets everybody register. Each member has a letter, which is shown to whoever is logged in.
type society struct {
	mu      sync.Mutex
	members []map[string]string // name, mail, password
	byMail  bool                // members log in by their address
	api     bool                // registration and login take JSON
	closed  bool
	one     bool // a password is asked for once
}

func (s *society) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	s.mu.Lock()
	defer s.mu.Unlock()
	who := -1
	if k, err := r.Cookie("who"); err == nil {
		who, _ = strconv.Atoi(k.Value)
	}
	w.Header().Set("Content-Type", "text/html")
	value := r.FormValue
	if s.api && r.Method == http.MethodPost {
		fields := map[string]string{}
		_ = json.NewDecoder(r.Body).Decode(&fields)
		value = func(name string) string { return fields[name] }
	}
	switch {
	case r.URL.Path == "/register" && r.Method == http.MethodPost:
		name, mail, password := value("username"), value("email"), value("password")
		if s.closed || name == "" || !strings.Contains(mail, "@") || len(password) < 8 || !s.one && value("confirm") != password {
			http.Error(w, "no", http.StatusUnprocessableEntity)
			return
		}
		s.members = append(s.members, map[string]string{"name": name, "mail": mail, "password": password})
		fmt.Fprint(w, "Welcome")
	case r.URL.Path == "/login" && r.Method == http.MethodPost:
		by := map[bool]string{true: "mail", false: "name"}[s.byMail]
		at := slices.IndexFunc(s.members, func(m map[string]string) bool {
			return m[by] == value("username") && m["password"] == value("password")
		})
		if at < 0 {
			http.Error(w, "no", http.StatusUnauthorized)
			return
		}
		http.SetCookie(w, &http.Cookie{Name: "who", Value: strconv.Itoa(at), Path: "/"})
		http.Redirect(w, r, "/home", http.StatusSeeOther)
	case s.api && (r.URL.Path == "/register" || r.URL.Path == "/login"):
		http.Error(w, "POST", http.StatusMethodNotAllowed)
	case r.URL.Path == "/register":
		again := `<input type="password" name="confirm">`
		if s.one {
			again = ""
		}
		fmt.Fprint(w, `<form method="post"><input name="username"><input name="email" type="email"><input type="password" name="password">`,
			again, `</form>`)
	case r.URL.Path == "/login":
		fmt.Fprint(w, `<form method="post"><input name="username"><input type="password" name="password"></form>`)
	case r.URL.Path == "/" && s.api:
		fmt.Fprint(w, `<h1>Society</h1><a href="/home">home</a><script>
			function join(f) { fetch("/register", {method: "POST", headers: {"Content-Type": "application/json"},
				body: JSON.stringify({username: f.u, email: f.e, password: f.p, confirm: f.p})}) }
			function enter(f) { fetch("/login", {method: "POST", headers: {"Content-Type": "application/json"},
				body: JSON.stringify({username: f.u, password: f.p})}) }</script>`)
	case r.URL.Path == "/":
		fmt.Fprint(w, `<h1>Society</h1><a href="/login">Log in</a> <a href="/register">Register</a> <a href="/home">home</a>`)
	case who < 0 || who >= len(s.members):
		http.Redirect(w, r, "/login", http.StatusFound)
	case r.URL.Path == "/home":
		fmt.Fprintf(w, `<p>Hello %s</p><a href="/letters/%d">letter</a> <a href="/find?q=a">find</a>`, s.members[who]["name"], 700+who)
	case r.URL.Path == "/find":
		fmt.Fprint(w, "<h1>"+r.URL.Query().Get("q")+"</h1>")
	case strings.HasPrefix(r.URL.Path, "/letters/"):
		n, err := strconv.Atoi(strings.TrimPrefix(r.URL.Path, "/letters/"))
		if err != nil || n < 700 || n-700 >= len(s.members) {
			http.NotFound(w, r)
			return
		}
		fmt.Fprintf(w, "<h1>Letter</h1><p>To %s, in confidence.</p>", s.members[n-700]["mail"])
	default:
		http.NotFound(w, r)
	}
}

// Where anybody may register, two users are made at level active, and what they see and may do is tested; none at level
// safe, and none where nobody is let in.
func TestUsersAreRegistered(t *testing.T) {
	for name, c := range map[string]struct {
		app   *society
		level client.Level
		want  int
	}{
		"a form":       {&society{}, client.Active, 2},
		"one password": {&society{one: true}, client.Active, 2},
		"by address":   {&society{byMail: true}, client.Active, 2},
		"an API":       {&society{api: true}, client.Active, 2},
		"safe":         {&society{}, client.Safe, 0},
		"closed":       {&society{closed: true}, client.Active, 0},
	} {
		cfg := serve(t, webtest.Config{Checks: []kit.Check{echo}}, c.app.ServeHTTP)
		cfg.Client.Level = c.level
		report, err := webtest.Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		n := 0
		for _, note := range report.Notes {
			if strings.HasPrefix(note, "Registered the user vdt") {
				n++
			}
		}
		got := places(report)
		echo := slices.ContainsFunc(got, func(p string) bool { return strings.HasPrefix(p, "echo GET /find") })
		if n != c.want || echo != (c.want > 0) {
			t.Errorf("%s: %d registered, found %q, notes %q", name, n, got, report.Notes)
		}
		if users := len(c.app.members); c.want == 0 && users > 0 {
			t.Errorf("%s: %d members", name, users)
		}
	}
}

// A run that goes on logs in the users that it has registered before.
func TestRegisteredUsersAreKept(t *testing.T) {
	app := &society{}
	cfg := serve(t, webtest.Config{Checks: []kit.Check{echo}, Journal: filepath.Join(t.TempDir(), "journal")}, app.ServeHTTP)
	cfg.Client.Level = client.Active
	for range 2 {
		report, err := webtest.Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		if got := places(report); !slices.ContainsFunc(got, func(p string) bool { return strings.HasPrefix(p, "echo GET /find") }) {
			t.Errorf("found %q", got)
		}
	}
	made := slices.DeleteFunc(app.members, func(m map[string]string) bool { return !strings.HasPrefix(m["name"], "vdt") })
	if len(made) != 2 { // others come from tests of the form
		t.Errorf("%d registered", len(made))
	}
}
