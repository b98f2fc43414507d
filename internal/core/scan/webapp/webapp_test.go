package webapp

import (
	"bytes"
	"encoding/json"
	"reflect"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// box is a box whose seal is its team and kind.
type box struct{}

func (box) Seal(teamID, what string, text []byte) ([]byte, error) {
	return append([]byte(teamID+what), text...), nil
}

func (box) Open(teamID, what string, sealed []byte) ([]byte, error) {
	text, ok := bytes.CutPrefix(sealed, []byte(teamID+what))
	if !ok {
		return nil, errs.New(errs.Internal, "sealed", "It is another's.")
	}
	return text, nil
}

var shop = []string{"https://shop.example/start"}

func full() *Options {
	return &Options{
		Level: "active", MaxRequests: 10, MaxMinutes: 5,
		Users: []User{
			{Username: "alice", Password: "password-of-alice", TOTP: "totp-of-alice", LoginURL: "https://shop.example/login"},
			{Name: "admin", Cookie: "sid=cookie-of-admin", LoggedIn: "Log out"},
			{Name: "api", Authorization: "Bearer token-of-api"},
		},
		OAuth:        nil,
		Descriptions: []Description{{"openapi.yaml", "text-of-openapi"}},
	}
}

// Options that could not be followed are refused, and the field is named.
func TestCheck(t *testing.T) {
	if _, err := Change(box{}, "t", nil, full(), shop, shop, false); err != nil {
		t.Fatal(err)
	}
	long := strings.Repeat("x", maxText+1)
	for name, c := range map[string]struct {
		change func(*Options)
		field  string
	}{
		"level":              {func(o *Options) { o.Level = "all" }, "level"},
		"users":              {func(o *Options) { o.Users = make([]User, maxUsers+1) }, "users"},
		"requests":           {func(o *Options) { o.MaxRequests = -1 }, "max_requests"},
		"minutes":            {func(o *Options) { o.MaxMinutes = MaxMinutes + 1 }, "max_minutes"},
		"nobody":             {func(o *Options) { o.Users[0] = User{Name: "x"} }, "users"},
		"no password":        {func(o *Options) { o.Users[0].Password = "" }, "users"},
		"no username":        {func(o *Options) { o.Users[0] = User{Password: "x", Cookie: "a=b"} }, "users"},
		"two ways":           {func(o *Options) { o.Users[0].Authorization = "Basic x" }, "users"},
		"no cookie":          {func(o *Options) { o.Users[1].Cookie = "sid" }, "users"},
		"a line":             {func(o *Options) { o.Users[2].Authorization = "a\r\nHost: b" }, "users"},
		"long":               {func(o *Options) { o.Users[0].Username = long }, "users"},
		"twice":              {func(o *Options) { o.Users[1].Name = "alice" }, "users"},
		"no login":           {func(o *Options) { o.Users[0].LoginURL = "file:///etc/passwd" }, "users"},
		"login elsewhere":    {func(o *Options) { o.Users[0].LoginURL = "https://other.example/login" }, "users"},
		"oauth and a login":  {func(o *Options) { o.OAuth = &OAuth{TokenURL: "https://id.example/token"} }, "users"},
		"oauth without URL":  {func(o *Options) { o.Users, o.OAuth = nil, &OAuth{TokenURL: "x", ClientID: "y"} }, "oauth.token_url"},
		"oauth for nobody":   {func(o *Options) { o.Users, o.OAuth = nil, &OAuth{TokenURL: "https://id.example/"} }, "oauth.client_id"},
		"no contents":        {func(o *Options) { o.Descriptions[0].Contents = "" }, "descriptions"},
		"too much":           {func(o *Options) { o.Descriptions[0].Contents = strings.Repeat("x", maxContents+1) }, "descriptions"},
		"many descriptions":  {func(o *Options) { o.Descriptions = make([]Description, maxDescriptions+1) }, "descriptions"},
		"a secret of nobody": {func(o *Options) { o.Users[0].Password = Hidden }, ""},
	} {
		o := full()
		c.change(o)
		_, err := Change(box{}, "t", nil, o, shop, shop, false)
		want := strings.TrimSuffix(field+"."+c.field, ".")
		if e := errs.From(err); e == nil || e.Kind != errs.Invalid || e.Param != want || !strings.HasPrefix(e.Message, want) {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	for name, targets := range map[string][]string{"none": {}, "two": {shop[0], "https://b.example/"}} {
		if _, err := Change(box{}, "t", nil, full(), targets, targets, false); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Change(box{}, "t", nil, full(), shop, shop, true); !errs.Is(err, errs.Invalid) {
		t.Errorf("with assets: %v", err)
	}
	if k, err := Change(box{}, "t", nil, &Options{Level: "passive"}, nil, nil, true); err != nil || k.Shown.Level != "passive" {
		t.Errorf("a level alone is for any targets: %v", err)
	}
}

// What is shown and stored openly has no secret; a change that has what was shown keeps them, but sends them nowhere else.
func TestSecrets(t *testing.T) {
	o := full()
	o.Users[0].LoginURL = ""
	o.OAuth = &OAuth{TokenURL: "https://id.example/token", ClientID: "app", ClientSecret: "secret-of-app"}
	kept, err := Change(box{}, "t", nil, o, shop, shop, false)
	if err != nil {
		t.Fatal(err)
	}
	shown, _ := json.Marshal(kept.Shown)
	for _, secret := range []string{"password-of", "totp-of", "cookie-of", "token-of", "text-of", "secret-of"} {
		if bytes.Contains(shown, []byte(secret)) {
			t.Errorf("%s is shown: %s", secret, shown)
		}
	}
	if opened, err := kept.Open(box{}, "t"); err != nil || !reflect.DeepEqual(opened, *o) {
		t.Errorf("%+v, %v", opened, err)
	}
	if _, err := kept.Open(box{}, "another"); err == nil {
		t.Error("another team opens it")
	}
	same := func() *Options {
		var s Options
		if err := json.Unmarshal(shown, &s); err != nil {
			t.Fatal(err)
		}
		return &s
	}
	again, err := Change(box{}, "t", kept, same(), shop, shop, false)
	if err != nil {
		t.Fatal(err)
	}
	if opened, _ := again.Open(box{}, "t"); !reflect.DeepEqual(opened, *o) {
		t.Errorf("a change that changes nothing: %+v", opened)
	}
	for name, change := range map[string]func(*Options){
		"another user":          func(s *Options) { s.Users[0].Username = "mallory" },
		"another login":         func(s *Options) { s.OAuth = nil; s.Users[0].LoginURL = "https://shop.example/other" },
		"another client":        func(s *Options) { s.OAuth.TokenURL = "https://evil.example/token" },
		"another document":      func(s *Options) { s.Descriptions[0].Name = "x" },
		"a user's other secret": func(s *Options) { s.Users[1].Password = Hidden; s.Users[1].Username = "admin" },
	} {
		s := same()
		change(s)
		if _, err := Change(box{}, "t", kept, s, shop, shop, false); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, port := range []string{"https://shop.example:8443/", "http://shop.example/"} {
		if _, err := Change(box{}, "t", kept, nil, shop, []string{port}, false); !errs.Is(err, errs.Invalid) {
			t.Errorf("secrets go to %s: %v", port, err)
		}
	}
	elsewhere := []string{"https://evil.example/"}
	for name, given := range map[string]*Options{"untouched": nil, "as shown": same()} {
		if _, err := Change(box{}, "t", kept, given, shop, elsewhere, false); !errs.Is(err, errs.Invalid) {
			t.Errorf("secrets go to another target, %s: %v", name, err)
		}
	}
	if _, err := Change(box{}, "t", kept, nil, shop, []string{"https://shop.example/other"}, false); err != nil {
		t.Errorf("another page of the target: %v", err)
	}
	if none, err := Change(box{}, "t", kept, &Options{Users: []User{}}, shop, elsewhere, false); err != nil || none != nil {
		t.Errorf("taken away: %v, %v", none, err)
	}
}

// Secrets are hidden in any spelling of a request, and put back as they were; short ones are in every text, and hidden
// where they are the value of a field.
func TestReplacers(t *testing.T) {
	o := full()
	o.Users[0].Password, o.Users[0].TOTP = `a "b" & ö/?`, "abc"
	hide, fill := o.Replacers()
	text := `{"p": "a \"b\" \u0026 ö/?"} p=a+%22b%22+%26+%C3%B6%2F%3F&q=a%20%22b%22%20&%20%C3%B6%2F%3F a "b" & ö/? abc Bearer token-of-api sid=cookie-of-admin`
	hidden := hide.Replace(text)
	if n := strings.Count(hidden, "{{web_options.users[0].password"); n != 4 || strings.Contains(hidden, "-of-") || !strings.Contains(hidden, " abc ") {
		t.Errorf("%d times: %s", n, hidden)
	}
	if got := fill.Replace(hidden); got != text {
		t.Errorf("%s is not %s", got, text)
	}
	if hide, _ := (Options{}).Replacers(); hide.Replace(text) != text {
		t.Error("without secrets something is replaced")
	}
	o.Users[0].Password = "a/1"
	hide, fill = o.Replacers()
	text = `a/1 pin=a/1&x=a/1 y=a%2F1 z=a/12 {"p":"a/1","q": "a/1"} "{\"p\":\"a/1\"}" "a/1" p=a/1`
	hidden = hide.Replace(text)
	if want := `a/1 pin={{web_options.users[0].password}}&x={{web_options.users[0].password}} ` +
		`y={{web_options.users[0].password:query}} z=a/12 {"p":"{{web_options.users[0].password}}","q": "{{web_options.users[0].password}}"} ` +
		`"{\"p\":\"{{web_options.users[0].password}}\"}" "a/1" p={{web_options.users[0].password}}`; hidden != want {
		t.Errorf("%s, want %s", hidden, want)
	}
	if got := fill.Replace(hidden); got != text {
		t.Errorf("%s is not %s", got, text)
	}
}
