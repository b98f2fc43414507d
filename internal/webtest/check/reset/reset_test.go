package reset

import (
	"crypto/md5"
	"crypto/rand"
	"crypto/sha1"
	"encoding/base64"
	"encoding/hex"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// A token that is made of the user, of the time, or of a number is found; not one that is random, nor one that the link
// does not need, nor a digest of the name elsewhere.
func TestComputedTokens(t *testing.T) {
	number := 40
	for name, c := range map[string]struct {
		token func(who string) string
		link  string
		any   bool
		want  string
	}{
		"the name":    {func(who string) string { return fmt.Sprintf("%x", md5.Sum([]byte(who))) }, "https://club.example/reset?token=", false, "the MD5 of the name of the user"},
		"the address": {func(who string) string { return base64.StdEncoding.EncodeToString([]byte(who + "@club.example")) }, "/reset?key=", false, "base64 of the address of the user"},
		"the time":    {func(string) string { return fmt.Sprint(time.Now().Unix()) }, "/reset?t=", false, "the time"},
		"both, in a path": {func(who string) string {
			return fmt.Sprintf("%x", sha1.Sum(fmt.Append(nil, who, ":", time.Now().Unix())))
		}, "/reset/", false, "the SHA-1 of the user and the time"},
		"numbers":          {func(string) string { number++; return fmt.Sprintf("%x", md5.Sum(fmt.Append(nil, number))) }, "/reset?code=", false, "the MD5 of a number"},
		"random":           {func(string) string { return rand.Text() }, "/reset?token=", false, ""},
		"not looked at":    {func(who string) string { return fmt.Sprintf("%x", md5.Sum([]byte(who))) }, "/reset?token=", true, ""},
		"of another":       {func(string) string { return fmt.Sprintf("%x", md5.Sum([]byte("bob"))) }, "/reset?token=", false, ""},
		"a picture's name": {func(who string) string { return fmt.Sprintf("%x", md5.Sum([]byte(who))) }, "https://faces.example/avatar/", false, ""},
	} {
		var mu sync.Mutex
		sent := []string{}
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			mu.Lock()
			defer mu.Unlock()
			w.Header().Set("Content-Type", "text/html")
			given := r.URL.Query().Get(strings.TrimSuffix(strings.TrimPrefix(c.link[strings.Index(c.link, "?")+1:], "?"), "="))
			switch {
			case r.Method == http.MethodPost && r.FormValue("user") == "alice":
				sent = append(sent, c.token("alice"))
			case r.URL.Path == "/messages":
				fmt.Fprint(w, "<h1>alice@club.example</h1>")
				for _, token := range sent {
					fmt.Fprintf(w, `<a href="%s">here</a>`, c.link+token)
				}
			case strings.HasPrefix(r.URL.Path, "/reset"):
				for _, token := range sent {
					if c.any || given == token || strings.HasSuffix(r.URL.Path, "/"+token) {
						fmt.Fprint(w, `<form><input name="new" type="password"></form>`)
						return
					}
				}
				http.Error(w, "this link is not good", http.StatusNotFound)
			}
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		form := lab.Target(t, http.MethodPost, "/forgotten", "user=tester").Request
		page := lab.Target(t, http.MethodGet, "/messages", "").Request
		lab.World.Pages = func() []*message.Request { return []*message.Request{form, page} }
		got := ""
		for _, f := range lab.Run(t, tokens(), &kit.Target{}) {
			got += strings.TrimPrefix(f.Detail, "the token is ")
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}

// mailing is an application that mails tickets, which its page of letters shows.
type mailing struct {
	mu     sync.Mutex
	ticket func(n int) string
	once   bool
	sent   []string
	valid  map[string]bool
}

func (m *mailing) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch r.Method + r.URL.Path {
	case "POST/recover-account":
		if r.FormValue("account") == "alice" {
			t := m.ticket(len(m.sent))
			m.sent, m.valid[t] = append(m.sent, t), true
		}
		fmt.Fprintf(w, "<p>Look into your letters.</p>")
	case "GET/letters":
		for _, t := range m.sent {
			fmt.Fprintf(w, `<a href="/reset?token=%s">new password</a>`, t)
		}
	case "GET/reset":
		fmt.Fprintf(w, `<form method="post" action="/reset"><input type="hidden" name="token" value="%s"><input type="password" name="password"></form>`,
			r.FormValue("token"))
	default:
		if !m.valid[r.FormValue("token")] {
			http.Error(w, "this link is not valid", http.StatusNotFound)
			return
		}
		if m.once {
			delete(m.valid, r.FormValue("token"))
		}
		fmt.Fprintf(w, "<p>The password of %s is new.</p>", "alice")
	}
}

// A ticket that counts, or is made from the name, is found, and one that works twice; not a random one that works once.
func TestTickets(t *testing.T) {
	random := func(n int) string { sum := sha1.Sum([]byte{byte(n), 77}); return hex.EncodeToString(sum[:]) }
	digest := sha1.Sum([]byte("alice"))
	for name, c := range map[string]struct {
		ticket func(n int) string
		once   bool
		want   string
	}{"counts": {func(n int) string { return strconv.Itoa(7001 + 3*n) }, true, "computed-reset-token"},
		"digest": {func(int) string { return hex.EncodeToString(digest[:]) }, true, "computed-reset-token"},
		"again":  {random, false, "reset-token-replay"}, "sound": {random, true, ""},
		"the same": {func(int) string { return "f00dfeedf00dfeed" }, true, ""}} {
		lab := kittest.New(t, &mailing{ticket: c.ticket, once: c.once, valid: map[string]bool{}})
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		lab.World.Password = func(*client.User) string { return "Alice-1" }
		form := lab.Target(t, http.MethodPost, "/recover-account", "account=x").Request
		page := lab.Target(t, http.MethodGet, "/letters", "").Request
		lab.World.Pages = func() []*message.Request { return []*message.Request{page, form} }
		var got []string
		for _, f := range lab.Run(t, tokens(), &kit.Target{}) {
			got = append(got, f.Check)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: found %v, want %s", name, got, c.want)
		}
	}
}

// A page of forgotten passwords that knows names, or addresses, is found; not one that answers all alike, nor one that
// answers each otherwise.
func TestForgottenNames(t *testing.T) {
	n := 0
	for name, c := range map[string]struct {
		answer func(who string) string
		want   int
	}{
		"by name": {func(who string) string { return map[bool]string{true: "Sent", false: "Nobody"}[who == "alice"] }, 1},
		"by mail": {func(who string) string {
			return map[bool]string{true: "Sent", false: "Nobody"}[who == "alice@lab.example"]
		}, 1},
		"alike":     {func(string) string { return "Look into your mail" }, 0},
		"otherwise": {func(string) string { n++; return strings.Repeat("word ", n) }, 0},
	} {
		lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", "text/html")
			if r.Method == http.MethodGet {
				fmt.Fprint(w, "<p>You are alice@lab.example</p>")
				return
			}
			fmt.Fprintf(w, "<p>%s</p>", c.answer(r.FormValue("user")))
		}))
		lab.World.Users = []*client.User{lab.As(t, "alice")}
		lab.World.Pages = func() []*message.Request {
			r, _ := message.New(http.MethodGet, lab.URL+"/me")
			return []*message.Request{r}
		}
		form := lab.Target(t, http.MethodPost, "/remind-me", "user=tester").Request
		pages := lab.World.Pages()
		lab.World.Pages = func() []*message.Request { return append(pages, form) }
		found := lab.Run(t, kittest.Named(t, Checks(), "user-enumeration-forgotten"), &kit.Target{})
		if len(found) != c.want {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}

// The fields that say who somebody is are known by their names, in the parts of a request that count; not beside a
// password, nor the token of the form.
func TestNamesIn(t *testing.T) {
	for name, c := range map[string]struct {
		query, body, token string
		in                 []message.Component
		want               string
	}{
		"a name":               {"", "user=a&go=1", "", []message.Component{message.Body}, "user"},
		"an address":           {"", "go=1&email=a", "", []message.Component{message.Body, message.Query}, "email"},
		"several":              {"", "login=a&phone=1", "", []message.Component{message.Body}, "login phone"},
		"in the address":       {"?member=7", "go=1", "", []message.Component{message.Body, message.Query}, "member"},
		"in another part":      {"?member=7", "mail=a", "", []message.Component{message.Body}, "mail"},
		"beside a password":    {"", "user=a&password=b", "", []message.Component{message.Body}, ""},
		"a token by its name":  {"", "user_token=a", "", []message.Component{message.Body}, ""},
		"the token of a form":  {"", "user=a&mailkey=b", "mailkey", []message.Component{message.Body}, "user"},
		"nothing says who":     {"", "colour=red", "", []message.Component{message.Body}, ""},
		"a password elsewhere": {"?password=x", "mail=a", "", []message.Component{message.Body}, "mail"},
	} {
		r, err := message.New(http.MethodPost, "http://lab.example/forgot"+c.query)
		if err != nil {
			t.Fatal(err)
		}
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Body = []byte(c.body)
		var got []string
		for _, p := range message.Places(r) {
			if c.token != "" && p.Name == c.token && !p.Key {
				r.Token = &message.Token{Place: p}
			}
		}
		for _, p := range namesIn(r, c.in...) {
			got = append(got, p.Name)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
