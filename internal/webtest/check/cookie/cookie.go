// Package cookie finds roles and rights in cookies that their user can write: objects that PHP has serialized, JSON in
// Base64 for addresses, and sessions that a framework signs with a public key.
//
// A page that a user is refused is asked for with the same cookies, but for one value in them: another role, or a right
// that is set. It must be a page then, twice. The control is the cookie as we write it with a word that is no role, or
// with the value that it had, which must be refused as before. Words are those of administrators, what other users of
// the run have there, and those that the refusal alone says, as in "for the projectionist".
// Roles of cookies that are a word, or an object that package message reads, are found by package access.
//
// Requests: none where no such cookie has a role; otherwise one for each of 60 pages, and up to 15 for each of ten that
// are refused. No class of an object is changed, and nothing is written.
package cookie

import (
	"context"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{roles()} }

const (
	maxUsers   = 3
	maxPages   = 60
	maxRefused = 10
	maxRoles   = 3 // values of a cookie that are tried
	maxWords   = 4 // of a refusal
)

var (
	roleName = regexp.MustCompile(`(?i)role|admin|level|group|priv|access|perm|staff|rank|user_?type|account_?type|^is_?super`)
	// agreed are flags that are no right: what a visitor has seen or agreed to.
	agreed = regexp.MustCompile(`(?i)consent|accept|agree|seen|shown|dismiss|hid|terms|privacy|gdpr|cookie|banner|popup|` +
		`welcome|intro|tour|remember|dark|adult|verified|confirmed|news|permanent|fresh`)
	plainWord = regexp.MustCompile(`^[A-Za-z_-]{1,20}$`)
)

// roles is the check.
func roles() kit.Check {
	c := kit.Check{ID: "role-in-cookie", Class: "bfla", Level: client.Safe, CWE: 565,
		Title: "A role is believed that a cookie says which its user can write"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		for _, u := range w.Users[:min(len(w.Users), maxUsers)] {
			t := &trial{World: w, c: &c, as: u, known: map[string][]field{}}
			if err := t.run(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// trial is the test of the cookies of one user.
type trial struct {
	*kit.World

	c     *kit.Check
	as    *client.User
	known map[string][]field  // values that the user can write, by host: a page may end the session meanwhile
	shown []*message.Response // pages that the user is shown
}

func (t *trial) run(ctx context.Context) error {
	var refused []*message.Response
	asked := 0
	for _, r := range t.Pages() {
		if r.Method != http.MethodGet || r.IsMessage() || asked >= maxPages || len(refused) >= maxRefused ||
			len(t.roles(r)) == 0 {
			continue
		}
		asked++
		answer, err := t.Shown(ctx, r, t.as)
		if err != nil {
			return err
		}
		switch {
		case kit.Static(answer) || answer.Status == 0:
		case denies(answer):
			refused = append(refused, answer)
		case answer.Status == http.StatusOK:
			t.shown = append(t.shown, answer)
		}
	}
	found := map[string]bool{}
	for _, base := range refused {
		for _, f := range t.roles(base.Request) {
			if found[f.cookie+" "+f.name] {
				continue
			}
			isFound, err := t.raise(ctx, &f, base)
			if err != nil {
				return err
			}
			found[f.cookie+" "+f.name] = isFound
		}
	}
	return nil
}

// roles are the values in the user's cookies for a request that say a role or a right.
func (t *trial) roles(r *message.Request) (all []field) {
	if len(t.known[r.URL.Host]) == 0 {
		t.known[r.URL.Host] = fieldsOf(t.as.Cookies(r.URL))
	}
	for _, f := range t.known[r.URL.Host] {
		isRole := roleName.MatchString(f.name) && (f.kind != text || plainWord.MatchString(f.value)) && f.value != "true"
		isRight := f.kind == flag && f.value == "false" && kit.Known(t.as) && strings.Contains(f.all, t.as.Name)
		if (isRole || isRight) && !agreed.MatchString(f.name) && len(all) < maxRoles {
			all = append(all, f)
		}
	}
	return all
}

// values are what is tried in place of a value, and what must be refused as the value was.
func (t *trial) values(f *field, base *message.Response) (values []string, control string) {
	switch f.kind {
	case flag:
		return []string{"true"}, "false"
	case number:
		return slices.DeleteFunc([]string{"1", "0", "2", "9"}, func(v string) bool { return v == f.value }), f.value
	}
	values = []string{"admin", "administrator"}
	for _, u := range t.Users {
		for _, other := range fieldsOf(u.Cookies(base.Request.URL)) {
			if other.cookie == f.cookie && other.name == f.name && other.value != f.value {
				values = append(values, other.value)
			}
		}
	}
	values = append(values, t.words(base)...)
	slices.Sort(values[2:])
	return slices.Compact(values), strings.ToLower(kit.Word())
}

var word = regexp.MustCompile(`\pL{4,20}`)

// words are those that a refusal says, and no page that the user is shown: also without the ending of several.
func (t *trial) words(refused *message.Response) (all []string) {
	var texts []string
	for _, page := range t.shown {
		texts = append(texts, strings.ToLower(kit.Text(page)))
	}
	usual := strings.Join(texts, " ")
	for _, w := range word.FindAllString(strings.ToLower(kit.Text(refused)), 60) {
		if strings.Contains(usual, w) || common[w] || slices.Contains(all, w) || len(all) >= maxWords {
			continue
		}
		all = append(all, w)
		if one, ok := strings.CutSuffix(w, "s"); ok {
			all = append(all, one)
		}
	}
	return all
}

// common are words of refusals that are no role.
var common = map[string]bool{"only": true, "access": true, "denied": true, "forbidden": true, "this": true,
	"page": true, "error": true, "allowed": true, "permission": true, "have": true, "your": true, "must": true,
	"need": true,
	"with": true, "nicht": true, "solo": true, "pour": true, "para": true}

// raise tries other values of a field at a page that the user is refused, and reports one that opens it.
func (t *trial) raise(ctx context.Context, f *field, base *message.Response) (found bool, err error) {
	values, none := t.values(f, base)
	for _, value := range values {
		opened, err := t.send(ctx, f, base, value)
		if err != nil {
			return false, err
		}
		if !kit.Opened(opened) || kit.Same(base, opened) {
			continue
		}
		control, err := t.send(ctx, f, base, none)
		if err != nil || !denies(control) || control.Status != base.Status {
			return false, err
		}
		again, err := t.send(ctx, f, base, value)
		if err != nil || !kit.Same(opened, again) {
			return false, err
		}
		t.report(f, value, base, again, control)
		return true, nil
	}
	return false, nil
}

func (t *trial) send(ctx context.Context, f *field, base *message.Response, value string) (*message.Response, error) {
	made := f.in(base.Request, value)
	answer, err := t.Client.Send(ctx, made, client.Options{As: t.as, Fresh: true})
	return kit.Broken(ctx, made, answer, err)
}

func (t *trial) report(f *field, value string, base, opened, control *message.Response) {
	user, users := kit.Names(t.as)
	status := func(r *message.Response) []proof.Expect {
		if kit.Refusal(r) != "" {
			return []proof.Expect{{What: proof.Matches, Value: kit.Refusing.String()}}
		}
		return []proof.Expect{{What: proof.Status, Value: strconv.Itoa(r.Status)}}
	}
	t.Found(t.c, kit.Finding{Request: opened.Request, Place: message.Place{Component: message.Cookie, Name: f.cookie},
		Payload: f.name + "=" + value,
		Detail:  "the cookie " + f.cookie + ", " + f.how + ", says " + f.name + " = " + f.value,
		Evidence: []kit.Evidence{
			{Request: base.Request, Response: base, Note: t.as.Name + " is refused"},
			{Request: opened.Request, Response: opened, Note: "and is not with " + f.name + " = " + value + " in the cookie"},
			{Request: control.Request, Response: control, Note: "written with another value, it is refused"}},
		Proof: &proof.Program{About: "A cookie that its user can write says what they may do.", Users: users,
			Steps: []proof.Step{
				{ID: "refused", As: user, Send: base.Request, Expect: status(base)},
				{ID: "opened", As: user, Send: opened.Request, Expect: status(opened)},
				{ID: "control", As: user, Send: control.Request, Expect: status(control)}}}})
}

// denies reports whether an answer refuses a page to who is logged in.
func denies(r *message.Response) bool {
	return r.Status == http.StatusForbidden || r.Status == http.StatusUnauthorized || r.Redirect() != nil ||
		kit.Refusal(r) != ""
}
