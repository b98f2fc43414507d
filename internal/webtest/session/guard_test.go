package session_test

import (
	"errors"
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/session"
)

// brief ends each of its first sessions when a page was shown in it. The front page has the login itself, or leads there.
type brief struct {
	mu     sync.Mutex
	logins int
	ends   int // how many sessions
	inThis int
	front  bool
	atOnce bool // a session that ends does so before a page was shown
}

func (b *brief) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	b.mu.Lock()
	defer b.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	k, err := r.Cookie("sid")
	in := err == nil && k.Value == fmt.Sprint(b.logins)
	if b.inThis++; in && b.logins <= b.ends && (b.atOnce || b.inThis > 1) {
		in = false
	}
	switch {
	case r.Method == http.MethodPost && r.FormValue("secret") == "pass word":
		b.logins, b.inThis = b.logins+1, 0
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: fmt.Sprint(b.logins), Path: "/"})
		http.Redirect(w, r, "/", http.StatusFound)
	case !in && (b.front || r.URL.Path == "/enter"):
		fmt.Fprint(w, `<form method=post action="/enter"><input name=name><input type=password name=secret></form>`)
	case !in:
		http.Redirect(w, r, "/enter", http.StatusFound)
	default:
		fmt.Fprint(w, "<p>good morning</p>")
	}
}

// A session that is over before a marker was found is no reason to know none: the user logs in again. One login is
// enough where that lasts.
func TestMarkersOfShortSessions(t *testing.T) {
	for _, c := range []struct {
		ends, logins int
		front        bool
	}{{0, 1, false}, {0, 1, true}, {1, 2, false}, {1, 2, true}, {9, 3, true}} {
		app := &brief{ends: c.ends, front: c.front}
		opened, _, _, err := open(t, app.ServeHTTP, session.Account{User: "bob", Password: "pass word", Marker: "good morning"})
		if err != nil || app.logins != c.logins || strings.Contains(opened.Describe(), "known by") != (c.ends < 9) {
			t.Errorf("%+v: %v, %d logins, %s", c, err, app.logins, opened.Describe())
		}
	}
}

// A login that seems to have worked, and leads to a login, is tried once more; not a third time.
func TestSessionsThatEndAtOnce(t *testing.T) {
	for _, c := range []struct{ ends, logins int }{{0, 1}, {1, 2}, {9, 2}} {
		app := &brief{ends: c.ends, front: true, atOnce: true}
		_, _, _, err := open(t, app.ServeHTTP, session.Account{User: "bob", Password: "pass word", Marker: "good morning"})
		if app.logins != c.logins || errors.Is(err, session.ErrRefused) != (c.ends == 9) {
			t.Errorf("%+v: %v, %d logins", c, err, app.logins)
		}
	}
}

// What an answer shows of the session is told by what the marker has learned.
func TestSignsOfALogout(t *testing.T) {
	answer := func(r *message.Request, status int, header, value, body string) *message.Response {
		h := http.Header{"Content-Type": {"text/html"}}
		if header != "" {
			h.Set(header, value)
		}
		return &message.Response{Status: status, Header: h, Body: []byte(body), Request: r}
	}
	for _, front := range []bool{true, false} {
		app := &brief{front: front}
		a := session.Account{User: "bob", Password: "pass word"}
		if front {
			a.Marker = "good morning"
		}
		s, _, at, err := open(t, app.ServeHTTP, a)
		if err != nil {
			t.Fatal(err)
		}
		s.Guard()
		r, err := message.New(http.MethodGet, at+"/page?q=1")
		if err != nil {
			t.Fatal(err)
		}
		text, leads, away := client.SignedIn, client.SignedOut, client.SignedIn
		if front {
			text, leads, away = client.Missing, client.SignedIn, client.Missing // nobody is sent nowhere: / shows the login
		}
		form := `<form method=post><input name=name><input type=password name=secret></form>`
		change := `<form method=post><input type=password name=old><input type=password name=new></form>`
		for i, c := range []struct {
			status              int
			header, value, body string
			want                client.Sign
		}{
			{200, "", "", "<p>nothing</p>", client.SignedIn}, // it is not known what the page has
			{200, "", "", "<p>good morning</p>", client.SignedIn},
			{200, "", "", "<p>nothing</p>", text},
			{200, "Content-Type", "application/json", "{}", client.SignedIn},
			{500, "", "", "<p>nothing</p>", client.SignedIn},
			{401, "", "", "", client.SignedOut},
			{403, "", "", "", client.SignedIn}, // nobody gets another status
			{302, "Location", "/enter", "", leads},
			{302, "Location", "/enter?next=%2Fpage", "", leads},
			{302, "Location", "/list", "", client.SignedIn},
			{302, "Location", "/", "", away},
			{200, "", "", form, client.SignedOut},
			{200, "", "", change + "<p>good morning</p>", client.SignedIn},
		} {
			if got := s.Shows(r, answer(r, c.status, c.header, c.value, c.body)); got != c.want {
				t.Errorf("front %t, %d: %d %q %q is %d, not %d", front, i, c.status, c.value, c.body, got, c.want)
			}
		}
		fresh, err := message.New(http.MethodGet, at+"/buy")
		if err != nil {
			t.Fatal(err)
		}
		if s.Shows(fresh, answer(fresh, 302, "Location", "/", "")) != client.SignedIn {
			t.Error("a page that leads to the front page from the first on shows that the session is over")
		}
		other, err := message.New(http.MethodGet, "http://elsewhere.example/")
		if err != nil {
			t.Fatal(err)
		}
		if s.Shows(other, answer(other, 401, "", "", "")) != client.SignedIn {
			t.Error("another host says something about the session")
		}
	}
}

// A guarded user is logged in again beside the session, whose login is known.
func TestGuardLogsIn(t *testing.T) {
	for name, serve := range map[string]func(*site) http.HandlerFunc{
		"form": func(s *site) http.HandlerFunc { return s.form },
		"api":  func(s *site) http.HandlerFunc { return s.api },
	} {
		me, _ := message.New(http.MethodGet, "http://x/me")
		app := &site{sessions: map[string]bool{}}
		s, c, at, err := open(t, serve(app), session.Account{User: "bob", Password: "pass word", Seeds: []*message.Request{me}})
		if err != nil {
			t.Fatal(err)
		}
		s.Guard()
		app.end()
		r, err := message.New(http.MethodGet, at+"/me")
		if err != nil {
			t.Fatal(err)
		}
		before := c.Sent()
		answer, err := c.Send(t.Context(), r, client.Options{As: s.User})
		if err != nil || answer.Status != http.StatusOK || app.logins != 2 || s.Renewals() != 1 {
			t.Errorf("%s: %v, %+v, %d logins", name, err, answer, app.logins)
		}
		if n := c.Sent() - before; n > 10 && name == "form" {
			t.Errorf("%s: %d requests", name, n)
		}
	}
}
