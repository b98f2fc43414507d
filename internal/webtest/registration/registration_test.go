package registration_test

import (
	"net/http"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/registration"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

func entry(t *testing.T, method, address, from, body string, isLogin bool) *sitemap.Entry {
	t.Helper()
	r, err := message.New(method, "http://shop.example"+address)
	if err != nil {
		t.Fatal(err)
	}
	r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
	r.Body = []byte(body)
	return &sitemap.Entry{Request: r, From: from, Login: isLogin}
}

// A form that registers is known by its address, or by that of its page, and by its fields; a login, a search and a form
// with a puzzle are none. What registers by its own address comes first.
func TestRequests(t *testing.T) {
	m := &sitemap.Map{Entries: []*sitemap.Entry{
		entry(t, http.MethodPost, "/save", "http://shop.example/sign-up", "nick=&pass=", false),
		entry(t, http.MethodPost, "/register", "", "email=&password=&password2=&phone=", false),
		entry(t, http.MethodPost, "/register2", "", "email=&password=&captcha=", false),
		entry(t, http.MethodPost, "/login", "", "user=&password=", true),
		entry(t, http.MethodPost, "/find", "", "q=", false),
	}}
	all := registration.Requests(m)
	if len(all) != 2 || all[0].URL.Path != "/register" || all[1].URL.Path != "/save" {
		t.Fatalf("%v", all)
	}
	u := registration.NewUser()
	sent := string(registration.Fill(all[0], u).Body)
	if !strings.HasPrefix(u.Name, "vdt") || !strings.Contains(sent, "email="+u.Name+"%40example.com") ||
		strings.Count(sent, "password") != 2 || strings.Contains(sent, "=&") || strings.HasSuffix(sent, "=") {
		t.Errorf("%q of %+v", sent, u)
	}
}

// Only a request that names a person and has a password sets that of a user.
func TestSetsPasswords(t *testing.T) {
	for _, c := range []struct {
		method, address, body string
		want                  bool
	}{
		{http.MethodPut, "/users/alice/password", "password=x", true},
		{http.MethodPut, "/users/alice", "colour=x", false},
		{http.MethodPost, "/articles/7", "password=x", false},
	} {
		m := &sitemap.Map{Entries: []*sitemap.Entry{entry(t, c.method, c.address, "", c.body, false)}}
		if got := registration.SetsPasswords(m); got != c.want {
			t.Errorf("%s %s: %t", c.method, c.address, got)
		}
	}
}

// A request with a name and a password at an address that speaks of a registration is one, and is filled in; a login,
// one with a puzzle, and one without a password are none.
func TestFields(t *testing.T) {
	for name, c := range map[string]struct{ path, body, want string }{
		"a form":        {"/sign-up", "nick=&e-mail=&secret=&phone=", "nick=NAME&e-mail=MAIL&secret=WORD&phone=5550100200"},
		"JSON":          {"/api/users", `{"user":{"login":"","password":"","confirm":""}}`, `{"user":{"login":"NAME","password":"WORD","confirm":"WORD"}}`},
		"own names":     {"/inschrijven", "renner=test&pas=Vedette-1x", "renner=NAME&pas=WORD"},
		"own, in JSON":  {"/api/register", `{"kto":"test","haslo":"Vedette-1x"}`, `{"kto":"NAME","haslo":"WORD"}`},
		"several":       {"/register", "colour=test&size=test&pas=Vedette-1x", ""},
		"no password":   {"/inschrijven", "renner=test&pas=test", ""},
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
		got, u := "", registration.NewUser()
		for _, one := range registration.Requests(&sitemap.Map{Entries: []*sitemap.Entry{{Request: r}}}) {
			text := strings.NewReplacer("%40", "@", "%21", "!").Replace(string(registration.Fill(one, u).Body))
			got = strings.NewReplacer(u.Mail, "MAIL", u.Name, "NAME", u.Password, "WORD").Replace(text)
		}
		if got != c.want {
			t.Errorf("%s: %s, want %s", name, got, c.want)
		}
	}
}
