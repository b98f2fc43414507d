package newcomer_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/newcomer"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// A request with a name and a password at an address that speaks of a registration is one, and is filled in; a login,
// one with a puzzle, and one without a password are none.
func TestRequests(t *testing.T) {
	for name, c := range map[string]struct{ path, body, want string }{
		"a form":        {"/sign-up", "nick=&e-mail=&secret=&phone=", "nick=NAME&e-mail=MAIL&secret=WORD&phone=5550100200"},
		"JSON":          {"/api/users", `{"user":{"login":"","password":"","confirm":""}}`, `{"user":{"login":"NAME","password":"WORD","confirm":"WORD"}}`},
		"a login":       {"/login", "nick=&secret=", ""},
		"a puzzle":      {"/register", "nick=&secret=&captcha=", ""},
		"a letter":      {"/register", "nick=&mail=", ""},
		"another field": {"/enrol", "login=&password=&motto=", "login=NAME&password=WORD&motto=NAME"},
	} {
		r, err := message.New(http.MethodPost, "http://site.test"+c.path)
		if err != nil {
			t.Fatal(err)
		}
		r.Body = []byte(c.body)
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		if c.body[0] == '{' {
			r.Header.Set("Content-Type", "application/json")
		}
		got, u := "", newcomer.New()
		for _, one := range newcomer.Requests(&sitemap.Map{Entries: []*sitemap.Entry{{Request: r}}}) {
			text := strings.NewReplacer("%40", "@", "%21", "!").Replace(string(newcomer.Fill(one, u).Body))
			got = strings.NewReplacer(u.Mail, "MAIL", u.Name, "NAME", u.Password, "WORD").Replace(text)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
