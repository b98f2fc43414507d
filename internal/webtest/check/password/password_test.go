package password

import (
	"fmt"
	"net/http"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// club is an application whose members set their passwords. rule says whose is set by a request of a member for a name;
// "" refuses.
type club struct {
	mu    sync.Mutex
	known map[string]string
	ids   map[string]string // names by what the form says; nil: the names themselves
	old   string            // name of the field of the password of before; "": the new one is repeated
	rule  func(me, named string) string
	// formerOf is whose password of before is asked for; nil: of who sends.
	formerOf func(me, named string) string
	open     bool // for those without a login, too
	discreet bool // it answers alike whatever the passwords are
}

func (c *club) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	c.mu.Lock()
	defer c.mu.Unlock()
	w.Header().Set("Content-Type", "text/html")
	me := ""
	if k, err := r.Cookie("user"); err == nil {
		me = k.Value
	}
	if me == "" && !c.open {
		http.Redirect(w, r, "/login", http.StatusFound)
		return
	}
	if r.Method == http.MethodGet {
		id := me
		for key, name := range c.ids {
			if name == me {
				id = key
			}
		}
		fmt.Fprintf(w, `<form method=post action=/me><input type=hidden name="member" value="%s"><input type=password name=fresh></form>`, id)
		return
	}
	named := r.PostFormValue("member")
	if c.ids != nil {
		named = c.ids[named]
	}
	whose, former := c.rule(me, named), me
	if c.formerOf != nil {
		former = c.formerOf(me, named)
	}
	fresh := r.PostFormValue("fresh")
	if whose == "" || c.known[whose] == "" || c.old != "" && r.PostFormValue(c.old) != c.known[former] ||
		c.old == "" && r.PostFormValue("again") != fresh {
		if c.discreet && c.known[named] != "" {
			fmt.Fprintf(w, "<p>%s will be told</p>", named)
			return
		}
		fmt.Fprintf(w, "<p>%s, it was not changed</p>", me)
		return
	}
	if c.discreet {
		fmt.Fprintf(w, "<p>%s will be told</p>", named)
		return
	}
	c.known[whose] = fresh
	fmt.Fprintf(w, "<p>The password of %s was changed</p>", whose)
}

// A form that sets the password of whoever it names is found, whichever field names the user; one that sets only one's
// own, asks for the password of who is named, or is for everybody is not. No password is another afterwards.
func TestPasswordsOfOthers(t *testing.T) {
	anybody := func(_, named string) string { return named }
	oneself := func(me, named string) string {
		if me == named {
			return me
		}
		return ""
	}
	numbers := map[string]string{"41": "alice", "42": "bob"}
	for name, c := range map[string]struct {
		*club
		body string
		want string
	}{
		"a name, and the password of before": {&club{old: "before", rule: anybody}, "member=alice&before={pw}&fresh={pw}", "bob"},
		"a number, and a repetition":         {&club{ids: numbers, rule: anybody}, "member=41&fresh={pw}&again={pw}", "42"},
		"only one's own":                     {&club{old: "before", rule: oneself}, "member=alice&before={pw}&fresh={pw}", ""},
		"only one's own, by number":          {&club{ids: numbers, rule: oneself}, "member=41&fresh={pw}&again={pw}", ""},
		"one's own, whatever is named":       {&club{old: "before", rule: func(me, _ string) string { return me }}, "member=alice&before={pw}&fresh={pw}", ""},
		"one's own, if who is named exists": {&club{old: "before", rule: func(me, named string) string {
			if named == "alice" || named == "bob" {
				return me
			}
			return ""
		}}, "member=alice&before={pw}&fresh={pw}", ""},
		"one's own, and repeated":        {&club{ids: numbers, rule: func(me, _ string) string { return me }}, "member=41&fresh={pw}&again={pw}", ""},
		"whoever has an account is told": {&club{old: "before", rule: anybody, discreet: true}, "member=alice&before={pw}&fresh={pw}", ""},
		"the password of who is named": {&club{old: "old", rule: anybody, formerOf: func(_, named string) string { return named }},
			"member=alice&old={pw}&fresh={pw}", ""},
		"for everybody":        {&club{ids: numbers, rule: anybody, open: true}, "member=41&fresh={pw}&again={pw}", ""},
		"nobody is named":      {&club{old: "before", rule: anybody}, "before={pw}&fresh={pw}", ""},
		"one password alone":   {&club{ids: numbers, rule: anybody}, "member=41&fresh={pw}", ""},
		"it is a registration": {&club{ids: numbers, rule: anybody}, "/register?member=41&fresh={pw}&again={pw}", ""},
	} {
		app := c.club
		app.known = map[string]string{"alice": "secret of alice", "bob": "secret of bob"}
		lab := kittest.New(t, app)
		lab.World.Users = []*client.User{lab.As(t, "alice"), lab.As(t, "bob")}
		lab.World.Password = func(u *client.User) string { return "secret of " + u.Name }
		path, body, isElsewhere := strings.Cut(c.body, "?")
		if !isElsewhere {
			path, body = "/me", c.body
		}
		page, err := message.New(http.MethodGet, lab.URL+"/me")
		if err != nil {
			t.Fatal(err)
		}
		r := page.Clone()
		r.Method, r.URL.Path = http.MethodPost, path
		r.Header.Set("Content-Type", "application/x-www-form-urlencoded")
		r.Body = []byte(strings.ReplaceAll(body, "{pw}", sitemap.Password))
		lab.World.Pages = func() []*message.Request { return []*message.Request{page, r} }
		found := lab.Run(t, kittest.Named(t, Checks(), "password-of-others"), &kit.Target{})
		if len(found) > 1 || c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || found[0].Payload != c.want) {
			t.Errorf("%s: found %q, want %q", name, kittest.Titles(found), c.want)
		}
		for who, now := range app.known {
			if now != "secret of "+who {
				t.Errorf("%s: the password of %s is %q now", name, who, now)
			}
		}
		for _, f := range found {
			if strings.Contains(fmt.Sprint(string(f.Request.Body), string(f.Evidence[1].Request.Body)), "secret") {
				t.Errorf("%s: the finding has a password", name)
			}
		}
	}
}
