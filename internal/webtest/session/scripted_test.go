package session_test

import (
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/session"
)

// An interface that refuses each call without a token has refused no login by that: where a script makes the form, it
// is filled in. A wrong password is refused all the same, and so are calls where no page asks for a password.
func TestLoginsBehindInterfacesThatRefuseAll(t *testing.T) {
	browsers := pool(t)
	form := `<div id=v></div><script>
v.innerHTML = '<form id=f><input name=who><input name=word type=password><button>Enter</button></form>';
f.onsubmit = e => { e.preventDefault(); const at = "/api"; fetch(at + "/enter", {method: "POST", body: f.who.value + " " + f.word.value})
	.then(r => r.json()).then(d => { if (d.token) { sessionStorage.token = d.token; v.textContent = "hello" } }) }</script>`
	for _, c := range []struct {
		page, password string
		want           error
	}{{form, "pass word", nil}, {form, "guess", session.ErrRefused}, {"<p>An interface.</p>", "pass word", session.ErrRefused}} {
		app := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			body, err := io.ReadAll(r.Body)
			switch {
			case err != nil:
			case r.URL.Path == "/api/enter" && string(body) == "bob pass word":
				w.Header().Set("Content-Type", "application/json")
				fmt.Fprint(w, `{"token":"0123456789abcdef0123"}`)
			case strings.HasPrefix(r.URL.Path, "/api/"):
				w.Header().Set("Content-Type", "application/json")
				w.WriteHeader(http.StatusUnauthorized)
				fmt.Fprint(w, `{"error":"token"}`)
			case r.URL.Path == "/":
				w.Header().Set("Content-Type", "text/html")
				fmt.Fprint(w, c.page)
			default:
				http.NotFound(w, r)
			}
		}))
		defer app.Close()
		own := client.New(client.Config{Dial: new(net.Dialer).DialContext, Level: client.Safe})
		defer own.Close()
		start := parsed(t, app.URL+"/")
		s, err := session.Open(t.Context(), own, []*url.URL{start}, session.Account{User: "bob", Password: c.password,
			Browser: browsers})
		if !errors.Is(err, c.want) {
			t.Errorf("%.10s, %s: %v", c.page, c.password, err)
		}
		if err == nil && s.Headers(start).Get("Authorization") != "Bearer 0123456789abcdef0123" {
			t.Errorf("%v", s.Headers(start))
		}
	}
}
