package cookie

import (
	"crypto/hmac"
	"crypto/sha1"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// site is an application whose pages say who somebody is by a cookie: who, by read, and which of them may open /office.
type site struct {
	read    func(r *http.Request) string // what the cookie says; "" for one that is not believed
	may     func(said string) bool
	refusal string
	cookies []*http.Cookie
}

func (s *site) lab(t *testing.T) *kittest.Lab {
	t.Helper()
	lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		said := s.read(r)
		switch {
		case said == "":
			http.Error(w, "who are you?", http.StatusUnauthorized)
		case r.URL.Path == "/office" && !s.may(said):
			w.WriteHeader(http.StatusForbidden)
			fmt.Fprint(w, "<h1>Our club</h1><p>"+s.refusal+"</p>")
		case r.URL.Path == "/office":
			fmt.Fprint(w, "<h1>Our club</h1><table><tr><td>Safe</td><td>17-4-2</td></tr></table>")
		default:
			fmt.Fprint(w, "<h1>Our club</h1><p>Hello</p>")
		}
	}))
	lab.World.Pages = func() (all []*message.Request) {
		for _, path := range []string{"/", "/office"} {
			r, err := message.New(http.MethodGet, lab.URL+path)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, r)
		}
		return all
	}
	at, err := url.Parse(lab.URL)
	if err != nil {
		t.Fatal(err)
	}
	u := client.NewUser("bob")
	u.SetCookies(at, s.cookies)
	lab.World.Users = []*client.User{u}
	return lab
}

// cookieOf is the value of a cookie as PHP and Express read it.
func cookieOf(r *http.Request, name string) string {
	k, err := r.Cookie(name)
	if err != nil {
		return ""
	}
	plain, err := url.PathUnescape(k.Value)
	if err != nil {
		return ""
	}
	return plain
}

func seal(key, name, data string) string {
	mac := hmac.New(sha1.New, []byte(key))
	mac.Write([]byte(name + "=" + data))
	return base64.RawURLEncoding.EncodeToString(mac.Sum(nil))
}

func member(text, name string) string {
	var in map[string]any
	if json.Unmarshal([]byte(text), &in) != nil {
		return ""
	}
	return fmt.Sprint(in[name])
}

const guest = `O:5:"Guest":2:{s:4:"name";s:3:"bob";s:8:"` + "\x00*\x00" + `chief";b:0;}`

// inBase64 believes what a cookie has in an encoding.
func inBase64(name string, e *base64.Encoding) func(*http.Request) string {
	return func(r *http.Request) string {
		raw, err := e.DecodeString(cookieOf(r, name))
		if err != nil {
			return ""
		}
		return string(raw)
	}
}

// keygrip believes what a second cookie signs.
func keygrip(key string) func(*http.Request) string {
	return func(r *http.Request) string {
		data := cookieOf(r, "session")
		raw, err := base64.StdEncoding.DecodeString(data)
		if err != nil || seal(key, "session", data) != cookieOf(r, "session.sig") {
			return ""
		}
		return string(raw)
	}
}

func TestRolesInCookies(t *testing.T) {
	cookie := func(name, value string) *http.Cookie { return &http.Cookie{Name: name, Value: value} }
	session := base64.StdEncoding.EncodeToString([]byte(`{"user":"bob","role":"member"}`))
	signed := func(key string) []*http.Cookie {
		return []*http.Cookie{cookie("session", session), cookie("session.sig", seal(key, "session", session))}
	}
	object := []*http.Cookie{cookie("who", url.QueryEscape(base64.StdEncoding.EncodeToString([]byte(guest))))}
	isChief := func(said string) bool { return strings.Contains(said, `chief";b:1`) }
	is := func(role string) func(string) bool {
		return func(said string) bool { return member(said, "role") == role }
	}
	bare := func(text string) []*http.Cookie {
		return []*http.Cookie{cookie("who", base64.RawURLEncoding.EncodeToString([]byte(text)))}
	}
	for name, c := range map[string]struct {
		site site
		want string
	}{
		"an object of PHP": {site{inBase64("who", base64.StdEncoding), isChief, "No.", object}, "chief=true"},
		"an array of PHP": {site{func(r *http.Request) string { return cookieOf(r, "me") },
			func(said string) bool { return strings.Contains(said, `s:5:"level";i:9;`) }, "No.",
			[]*http.Cookie{cookie("me", url.PathEscape(`a:2:{s:4:"user";s:3:"bob";s:5:"level";i:1;}`))}}, "level=9"},
		"JSON for addresses": {site{inBase64("who", base64.RawURLEncoding), is("admin"), "No.",
			bare(`{"user":"bob","role":"rider"}`)}, "role=admin"},
		"a role that the refusal says": {site{keygrip("changeme"), is("treasurer"), "Treasurers only.",
			signed("changeme")}, "role=treasurer"},
		"a session with a public key": {site{keygrip("secret"), is("admin"), "No.", signed("secret")}, "role=admin"},

		"a session with a key of its own": {site{keygrip("h5Gd81kvLwq9"), is("admin"), "No.", signed("h5Gd81kvLwq9")}, ""},
		"the role is not believed":        {site{inBase64("who", base64.StdEncoding), func(string) bool { return false }, "No.", object}, ""},
		"any other word opens it": {site{inBase64("who", base64.RawURLEncoding),
			func(said string) bool { return !strings.Contains(said, "rider") }, "No.",
			bare(`{"user":"bob","role":"rider"}`)}, ""},
		"what was agreed to": {site{inBase64("who", base64.RawURLEncoding),
			func(said string) bool { return member(said, "terms_accepted") == "true" }, "Accept our terms.",
			bare(`{"user":"bob","terms_accepted":false}`)}, ""},
	} {
		lab := c.site.lab(t)
		found := lab.Run(t, roles(), nil)
		switch {
		case c.want == "" && len(found) > 0:
			t.Errorf("%s: reports %s", name, kittest.Titles(found))
		case c.want != "" && (len(found) != 1 || found[0].Payload != c.want):
			t.Errorf("%s: found %s after %d requests", name, kittest.Titles(found), lab.Sent.Load())
		case c.want != "":
			lab.Holds(t, found[0])
		}
		if sent := lab.Sent.Load(); sent > 20 {
			t.Errorf("%s: %d requests", name, sent)
		}
	}
}

// Cookies without a role, and those that are signed with a secret, cost nothing.
func TestCookiesWithoutRoles(t *testing.T) {
	for _, value := range []string{"8f3b2c1d9e7a6540", base64.RawURLEncoding.EncodeToString([]byte(`{"cart":[1,2],"lang":"en"}`)),
		url.PathEscape(`a:1:{s:4:"last";s:5:"/shop";}`)} {
		s := site{read: func(*http.Request) string { return "x" }, may: func(string) bool { return false },
			cookies: []*http.Cookie{{Name: "c", Value: value}}}
		lab := s.lab(t)
		if found := lab.Run(t, roles(), nil); len(found) > 0 || lab.Sent.Load() > 0 {
			t.Errorf("%s: found %s after %d requests", value, kittest.Titles(found), lab.Sent.Load())
		}
	}
}

// A text of PHP keeps the length of what is written, and its class.
func TestTextsOfPHP(t *testing.T) {
	all := ofPHP([]byte(`O:4:"User":2:{s:4:"role";s:4:"user";s:3:"age";i:7;}`))
	if len(all) != 2 || all[0].name != "role" || all[0].value != "user" || all[1].value != "7" {
		t.Fatalf("%+v", all)
	}
	if made := string(all[0].write("editor")); made != `O:4:"User":2:{s:4:"role";s:6:"editor";s:3:"age";i:7;}` {
		t.Error(made)
	}
	if made := string(all[1].write("12")); made != `O:4:"User":2:{s:4:"role";s:4:"user";s:3:"age";i:12;}` {
		t.Error(made)
	}
}
