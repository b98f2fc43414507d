// Package goflow is the applications of several pages in Go: each in variants that are weak in other ways, and "sound", which
// only looks weak. They are weak on purpose, keep all in memory, and serve loopback only.
package goflow

import (
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"fmt"
	"html"
	"io"
	"net/http"
	"os"
	"strings"
	"sync"

	_ "modernc.org/sqlite" // the database
)

// site is an application.
type site struct {
	*http.ServeMux
	variant string
	weak    bool
	files   string // a folder of its own
	db      *sql.DB
	key     []byte

	mu    sync.Mutex
	users map[string]*user
	live  map[string]string // names of users by their sessions
	at    string            // where users log in
}

type user struct {
	ID                     int
	Name, Pass, Mail, Role string
	Balance                int
	Admin                  bool
	Plan                   string
}

const data = `CREATE TABLE goods (id INTEGER, name TEXT, price INTEGER, tag TEXT);
INSERT INTO goods VALUES (1,'chair',30,'wood'),(2,'table',80,'wood'),(3,'lamp',120,'steel'),(4,'desk',200,'wood'),(5,'sofa',500,'cloth');`

var apps = map[string]func(*site){"clinic": clinic, "ledger": ledger, "kb": kb, "hr": hr, "gate": gate, "hooks": hooks, "drive": drive,
	"ward": ward, "tools": tools, "cart": cart, "invite": invite, "store": store}

// New makes an application in a variant, with a folder for its files.
func New(app, variant, files string) (http.Handler, error) {
	build, ok := apps[app]
	if !ok {
		return nil, fmt.Errorf("there is no %s", app)
	}
	db, err := sql.Open("sqlite", ":memory:")
	if err != nil {
		return nil, err
	}
	db.SetMaxOpenConns(1)
	if _, err := db.Exec(data); err != nil {
		return nil, err
	}
	s := &site{ServeMux: http.NewServeMux(), variant: variant, weak: variant != "sound", files: files, db: db, key: []byte(rand.Text()),
		live: map[string]string{}, users: map[string]*user{
			"anna": {11, "anna", "anna-Pass1", "anna@lab.example", "clerk", 500, false, "basic"},
			"ben":  {12, "ben", "ben-Pass2", "ben@lab.example", "clerk", 500, false, "basic"},
			"root": {1, "root", "root-Pass9", "root@lab.example", "chief", 0, true, "gold"}}}
	if err := os.MkdirAll(files, 0o755); err != nil {
		return nil, err
	}
	s.HandleFunc("GET /home.html", func(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, "home") })
	build(s)
	return s, nil
}

var enc = html.EscapeString

func show(w http.ResponseWriter, status int, title, body string) {
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	w.WriteHeader(status)
	fmt.Fprintf(w, "<!doctype html><html><head><title>%s</title></head><body><header><a href=\"/\">Start</a></header><main><h1>%s</h1>%s</main></body></html>",
		title, title, body)
}

// form is a form whose fields are name=value, or *name for a password.
func form(action string, fields ...string) string {
	var out strings.Builder
	out.WriteString(`<form action="` + action + `" method="post">`)
	for _, f := range fields {
		name, value, _ := strings.Cut(f, "=")
		kind := "text"
		if rest, ok := strings.CutPrefix(name, "*"); ok {
			name, kind = rest, "password"
		}
		fmt.Fprintf(&out, `<p><label for="%s">%s</label><input id="%s" type="%s" name="%s" value="%s"></p>`, name, name, name,
			kind, name, enc(value))
	}
	return out.String() + `<button type="submit">Send</button></form>`
}

func link(to, text string) string { return `<p><a href="` + to + `">` + text + `</a></p>` }

// asked is the object that a request has as JSON; of what is none, an empty one.
func asked(r *http.Request) map[string]any {
	out := map[string]any{}
	_ = json.NewDecoder(io.LimitReader(r.Body, 1<<20)).Decode(&out) // see above
	return out
}

func answer(w http.ResponseWriter, status int, value any) {
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(value)
}

// who is the user of a request; nil for nobody.
func (s *site) who(r *http.Request) *user {
	c, err := r.Cookie("desk_session")
	if err != nil {
		return nil
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.users[s.live[c.Value]]
}

// own serves a page to users alone.
func (s *site) own(pattern string, serve func(http.ResponseWriter, *http.Request, *user)) {
	s.HandleFunc(pattern, func(w http.ResponseWriter, r *http.Request) {
		u := s.who(r)
		if u == nil {
			http.Redirect(w, r, s.at, http.StatusFound)
			return
		}
		serve(w, r, u)
	})
}

// maxFailed are how many wrong passphrases a limited login takes for a name.
const maxFailed = 8

// entry is how an application logs users in.
type entry struct {
	at, name string
	cookie   http.Cookie // its flags
	limited  bool        // wrong passphrases are counted
	fixed    bool        // a session that is there is kept
	then     func(http.ResponseWriter, *http.Request, *user)
	also     map[string]string // other users, by password
}

// login gives an application a form to log in.
func (s *site) login(e entry) {
	s.at = e.at
	failed := map[string]int{}
	fields := func(more string) string { return more + form(e.at, e.name+"=", "*passphrase=") }
	s.HandleFunc("GET "+e.at, func(w http.ResponseWriter, r *http.Request) {
		if _, err := r.Cookie("desk_session"); err != nil && e.fixed {
			c := e.cookie
			c.Name, c.Value, c.Path = "desk_session", rand.Text(), "/"
			http.SetCookie(w, &c)
		}
		show(w, 200, "Sign in", fields(""))
	})
	s.HandleFunc("POST "+e.at, func(w http.ResponseWriter, r *http.Request) {
		u := s.users[r.PostFormValue(e.name)]
		if e.also[r.PostFormValue(e.name)] != "" && e.also[r.PostFormValue(e.name)] == r.PostFormValue("passphrase") {
			u = s.users["root"]
		} else if u == nil || u.Pass != r.PostFormValue("passphrase") {
			s.mu.Lock()
			failed[r.PostFormValue(e.name)]++
			many := e.limited && failed[r.PostFormValue(e.name)] > maxFailed
			s.mu.Unlock()
			if many {
				show(w, http.StatusTooManyRequests, "Sign in", "<p>Try again later.</p>")
				return
			}
			show(w, http.StatusUnauthorized, "Sign in", fields("<p>Name and passphrase do not match.</p>"))
			return
		}
		c := e.cookie
		c.Name, c.Value, c.Path = "desk_session", rand.Text(), "/"
		if old, err := r.Cookie("desk_session"); err == nil && e.fixed {
			c.Value = old.Value
		}
		s.mu.Lock()
		s.live[c.Value] = u.Name
		s.mu.Unlock()
		http.SetCookie(w, &c)
		if e.then != nil {
			e.then(w, r, u)
			return
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
	s.HandleFunc("GET /leave", func(w http.ResponseWriter, r *http.Request) {
		if c, err := r.Cookie("desk_session"); err == nil {
			s.mu.Lock()
			delete(s.live, c.Value)
			s.mu.Unlock()
		}
		http.Redirect(w, r, "/", http.StatusSeeOther)
	})
}

var safeCookie = http.Cookie{HttpOnly: true, SameSite: http.SameSiteStrictMode}

func (s *site) hello(r *http.Request) string {
	if u := s.who(r); u != nil {
		return "<p>You are " + u.Name + ". <a href=\"/leave\">Sign out</a></p>"
	}
	return link(s.at, "Sign in")
}
