// Package twostep finds well-known passwords at logins that ask for the name first, and for the password on the next
// page.
//
// A form with one field for a name is sent by a visitor of its own. Where the answer has a form with nothing but a
// password, both are a login. A well-known pair counts where the page of the form shows its visitor something else
// afterwards than it shows those who sent a random pair, and the name with wrong passwords; and where no field for a
// password, and no form that asks for the name, is left. It must do so for a second visitor, while the name with
// another wrong password still fails. It is only run when guessing is allowed.
//
// Requests: one for each of four forms with one field; for a login in two steps, three for each pair, and twelve more.
package twostep

import (
	"context"
	"net/http"
	"net/url"
	"regexp"
	"sync/atomic"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{defaults()} }

// maxForms are how many forms of a host are sent to see whether a password is asked for next.
const maxForms = 4

// What asks for a name to set a new password, and the fields for one: nobody's password is to be changed.
var (
	forgotten = kit.ForgottenOr(`lost|remind|regist|sign.?up`)
	newName   = regexp.MustCompile(`(?i)new|neu|nouveau|nuev|nov|confirm|repeat|again|wieder`)
)

// defaults is the check.
func defaults() kit.Check {
	c := kit.Check{ID: "default-login-in-two-steps", Class: "default-login", Level: client.Safe,
		Title: "Default or weak password, at a login in two steps"}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		name, ok := nameOf(t.Request)
		if !ok || !w.Defaults || kit.Known(t.User) || !w.Once("two steps "+t.Request.URL.Host+t.Request.URL.Path+name.Name) {
			return nil
		}
		tried, _ := w.Memo.LoadOrStore("two steps "+t.Request.URL.Host, new(atomic.Int64))
		if tried.(*atomic.Int64).Add(1) > maxForms { //nolint:forcetypeassert // it is stored above
			return nil
		}
		page := message.From(http.MethodGet, t.Request.URL)
		if from, err := url.Parse(t.From); err == nil && from.Host == t.Request.URL.Host {
			page = message.From(http.MethodGet, from)
		}
		l := &login{World: w, first: t.Request, name: name, page: page}
		return l.test(ctx, &c)
	}
	return c
}

// nameOf is the field for a name in a form by POST that has no password: one that is called so, or the only one.
func nameOf(r *message.Request) (name message.Place, ok bool) {
	if r.Method != http.MethodPost || r.IsMessage() || r.After != nil || forgotten.MatchString(r.URL.RequestURI()) {
		return name, false
	}
	var fields, names []message.Place
	for _, p := range message.Places(r) {
		switch {
		case p.Component != message.Body || p.Key || kit.TokenName.MatchString(p.Name):
			continue
		case p.File || p.Format == message.JSON || client.IsSecret(p.Name):
			return name, false
		}
		fields = append(fields, p)
		if kit.UserName.MatchString(p.Name) {
			names = append(names, p)
		}
	}
	if len(names) == 0 {
		names = fields
	}
	if len(names) != 1 || len(fields) > 3 {
		return name, false
	}
	return names[0], true
}

// login is a login in two steps.
type login struct {
	*kit.World

	first *message.Request
	name  message.Place
	page  *message.Request // with the form for the name
}

// attempt is what came of a name and a password.
type attempt struct {
	asked  *message.Response // the answer to the name
	answer *message.Response // the answer to the password
	shown  *message.Response // the page of the form afterwards
	page   *diff.Page        // the same, without the name and the password
}

// isIn reports whether an attempt shows neither a field for a password nor the form for the name.
func (l *login) isIn(a *attempt) bool {
	if a.shown.Status != http.StatusOK || kit.AsksForPassword(a.shown) {
		return false
	}
	for _, form := range sitemap.Forms(a.shown) {
		if p, ok := nameOf(form); ok && p.Name == l.name.Name && form.URL.Path == l.first.URL.Path {
			return false
		}
	}
	return true
}

// test tries the pairs.
func (l *login) test(ctx context.Context, c *kit.Check) error {
	random, err := l.try(ctx, kit.Word(), kit.Word())
	if err != nil || random == nil || l.isIn(random) {
		return err
	}
	wrong := map[string]*attempt{}
	for _, pair := range kit.UsualPasswords() {
		name, password := pair[0], pair[1]
		if wrong[name] == nil {
			if wrong[name], err = l.try(ctx, name, kit.Word()); err != nil || wrong[name] == nil {
				return err
			}
		}
		first, err := l.try(ctx, name, password)
		if err != nil || first == nil || first.answer.Status == http.StatusTooManyRequests {
			return err
		}
		if !l.isIn(first) || l.isIn(wrong[name]) || diff.Same(first.page, wrong[name].page, nil) ||
			diff.Same(first.page, random.page, nil) {
			continue
		}
		second, err := l.try(ctx, name, password)
		if err != nil || second == nil || !l.isIn(second) {
			return err
		}
		other, err := l.try(ctx, name, kit.Word())
		if err != nil || other == nil || l.isIn(other) {
			return err
		}
		l.Found(c, kit.Finding{Request: l.first.Put(l.name, name), Place: l.name,
			Payload: name + " with a well-known password",
			Evidence: []kit.Evidence{
				{Request: first.asked.Request, Response: first.asked, Note: "the name, after which the password is asked for"},
				{Request: first.answer.Request, Response: first.answer, Note: "the well-known password"},
				{Request: first.shown.Request, Response: first.shown,
					Note: "what the page of the login shows afterwards; so it does for a second visitor"},
				{Request: other.shown.Request, Response: other.shown, Note: "what it shows after a wrong password"},
			}})
		return nil
	}
	return nil
}

// try sends a name and a password as a new visitor; nil where the first is not followed by a form for the second.
func (l *login) try(ctx context.Context, name, password string) (*attempt, error) {
	visitor := client.NewUser("")
	if _, err := l.Ask(ctx, l.page, visitor); err != nil { // it may give the session that the form needs
		return nil, err
	}
	asked, err := l.follow(ctx, l.first.Put(l.name, name), visitor)
	if err != nil {
		return nil, err
	}
	next, field := passwordForm(asked)
	if next == nil {
		return nil, nil //nolint:nilnil // it is no login
	}
	a := &attempt{asked: asked}
	if a.answer, err = l.Ask(ctx, next.Put(field, password), visitor); err != nil {
		return nil, err
	}
	if a.shown, err = l.follow(ctx, l.page, visitor); err != nil {
		return nil, err
	}
	a.page = diff.New(a.shown, name, password)
	return a, nil
}

// follow sends a request, and is the page on the same host to which the answer leads, if it leads to one.
func (l *login) follow(ctx context.Context, r *message.Request, as *client.User) (*message.Response, error) {
	answer, err := l.Ask(ctx, r, as)
	if err != nil {
		return nil, err
	}
	if to := answer.Redirect(); to != nil && to.Host == r.URL.Host {
		return l.Ask(ctx, message.From(http.MethodGet, to), as)
	}
	return answer, nil
}

// passwordForm is the form of a page that asks for one password; nil if there is none.
func passwordForm(page *message.Response) (form *message.Request, field message.Place) {
	if page.Status != http.StatusOK || !kit.AsksForPassword(page) {
		return nil, field
	}
	for _, form := range sitemap.Forms(page) {
		if form.Method != http.MethodPost || form.Passwords > 1 {
			continue
		}
		for _, p := range message.Places(form) {
			if p.Component == message.Body && !p.Key && p.Value == sitemap.Password && !newName.MatchString(p.Name) {
				return form, p
			}
		}
	}
	return nil, field
}
