package webtest_test

import (
	"context"
	"fmt"
	"net/http"
	"net/url"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/session"
)

// desk is an application with a login. POST /end ends all sessions, where ends is set.
type desk struct {
	mu     sync.Mutex
	ends   bool
	valid  int // the number of the session that counts
	logins int
}

func (d *desk) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	d.mu.Lock()
	defer d.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	cookie, err := r.Cookie("sid")
	switch {
	case r.URL.Path == "/login" && r.Method == http.MethodPost:
		d.logins++
		http.SetCookie(w, &http.Cookie{Name: "sid", Value: fmt.Sprint(d.valid), Path: "/"})
		http.Redirect(w, r, "/", http.StatusFound)
	case r.URL.Path == "/login":
		fmt.Fprint(w, `<form method="post"><input name="user"><input type="password" name="pw"></form>`)
	case err != nil || cookie.Value != fmt.Sprint(d.valid):
		http.Redirect(w, r, "/login", http.StatusFound)
	case r.URL.Path == "/end" && d.ends:
		d.valid++
	case r.URL.Path == "/":
		fmt.Fprint(w, "<p>Hello bob</p>")
	default:
		http.NotFound(w, r)
	}
}

// late is a check that asks for one address as the first user when the map is done, and reports what answers 200.
func late(id, method string, at *url.URL, reports bool) kit.Check {
	return kit.Check{ID: id, Class: id, After: func(ctx context.Context, w *kit.World) error {
		r := message.From(method, at)
		answer, err := w.Client.Send(ctx, r, client.Options{As: w.Users[0], Forced: true})
		if err == nil && reports && answer.Status == http.StatusOK {
			w.Report(kit.Finding{Check: id, Class: id, Severity: kit.Low, Request: r, Confidence: kit.Proved})
		}
		return err
	}}
}

// A late check that ends the session does not leave the next one without it: the run logs in again, and only then.
func TestSessionBeforeLateChecks(t *testing.T) {
	for name, ends := range map[string]bool{"ended": true, "kept": false} {
		app := &desk{ends: ends}
		cfg := serve(t, webtest.Config{Accounts: []session.Account{{User: "bob", Password: "x"}}}, app.ServeHTTP)
		start := cfg.Starts[0]
		cfg.Checks = []kit.Check{late("ends", http.MethodPost, start.JoinPath("end"), false),
			late("reads", http.MethodGet, start, true)}
		report, err := webtest.Run(t.Context(), cfg)
		if err != nil {
			t.Fatal(err)
		}
		again := 0
		if ends {
			again = 1
		}
		if len(report.Findings) != 1 || report.Logins != again {
			t.Errorf("%s: %d findings, %d logins of %d", name, len(report.Findings), report.Logins, app.logins)
		}
	}
}
