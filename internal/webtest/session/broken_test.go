package session_test

import (
	"net"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/session"
)

// breaks ends the connection of the first requests for which cut says so: without an answer, after the head of one, or
// by a reset.
func breaks(t *testing.T, times int64, how string, cut func(*http.Request) bool, h http.HandlerFunc) http.HandlerFunc {
	t.Helper()
	var broken atomic.Int64
	return func(w http.ResponseWriter, r *http.Request) {
		if !cut(r) || broken.Add(1) > times {
			h(w, r)
			return
		}
		connection, _, err := http.NewResponseController(w).Hijack()
		if err != nil {
			t.Error(err)
			return
		}
		switch plain, ok := connection.(*net.TCPConn); {
		case how == "reset" && ok:
			_ = plain.SetLinger(0)
		case how == "head":
			_, _ = connection.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\n"))
		}
		_ = connection.Close()
	}
}

// A login whose connection breaks off is sent again, twice at most; the page of its form and the call of an API are,
// too.
func TestBrokenLogin(t *testing.T) {
	isLogin := func(r *http.Request) bool {
		return r.Method == http.MethodPost && strings.Contains(r.URL.Path, "/enter")
	}
	isCall := func(r *http.Request) bool { return r.URL.Path == "/v2/session/login-user" }
	isStart := func(r *http.Request) bool { return r.Method == http.MethodGet && r.URL.Path == "/" }
	for name, c := range map[string]struct {
		how   string
		times int64
		cut   func(*http.Request) bool
		api   bool
		isIn  bool
	}{
		"closed once":           {"close", 1, isLogin, false, true},
		"closed twice":          {"close", 2, isLogin, false, true},
		"always closed":         {"close", 1000, isLogin, false, false},
		"reset":                 {"reset", 2, isLogin, false, true},
		"a head alone":          {"head", 1, isLogin, false, true},
		"the start page":        {"head", 2, isStart, false, true},
		"the call of an API":    {"close", 2, isCall, true, true},
		"a call that is broken": {"close", 1000, isCall, true, false},
	} {
		s := &site{sessions: map[string]bool{}}
		h, account := s.form, session.Account{User: "bob", Password: "pass word"}
		if c.api {
			h = s.api
		}
		opened, _, _, err := open(t, breaks(t, c.times, c.how, c.cut, h), account)
		if (err == nil) != c.isIn || c.isIn && len(opened.Cookies) == 0 && !c.api {
			t.Errorf("%s: %v", name, err)
		}
	}
}
