// Package reset finds links for a new password whose token anybody can compute, or that work more than once.
//
// The form of a forgotten password is sent three times for a user of the run, and the pages that show the user their
// messages are read. The tokens of the new links are compared with texts that are known, which are the name and the
// address of the user, numbers, the time, and the first two with the time, as they are, encoded, and as a digest; and
// each with the one before. With the last link the password that the user already has is set, twice. What is computed
// counts only when a wrong token is refused, by the page of the link or by its form. A form that answers a name that
// exists otherwise than names that do not is found as well.
package reset

import (
	"bytes"
	"context"
	"errors"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{tokens(), forgottenNames()} }

var (
	forgotten = kit.ForgottenOr(`remind|lost|magic|invit|activat`)
	linked    = regexp.MustCompile(`(?:https?://[\w.:-]{1,200})?/[^\s"'<>]{1,300}`)
	leads     = regexp.MustCompile(`(?i)reset|passw|recover|forg[eo]t|lost|remind|activat|invit|confirm|verif|magic|token`)
	tokenName = regexp.MustCompile(`(?i)token|key|code|hash|secret|^[tkchs]$|^id$|reset|ticket|sig|verif`)
)

const (
	maxForms = 2
	maxPages = 60
	maxLinks = 20 // of the messages of a user
	draws    = 3
)

// tokens is the check of the package. At level active alone, as the user gets messages: three requests for each of two
// forms, the pages of the map, those that show messages three times more, and up to six for the last link.
func tokens() kit.Check {
	c := kit.Check{ID: "computed-reset-token", Class: "predictable-token", Level: client.Active,
		Title: "The token of a link for a new password can be computed"}.Describe()
	again := kit.Check{ID: "reset-token-replay", Class: "code-replay", Level: client.Active,
		Title: "A link for a new password works more than once"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) == 0 || w.Users[0].Name == "" {
			return nil
		}
		tried := 0
		for _, form := range w.Pages() {
			name, ok := recipient(form)
			if !ok || tried >= maxForms || !w.Once("reset "+form.URL.Host+form.URL.Path) {
				continue
			}
			tried++
			a := &asking{World: w, computed: &c, again: &again, form: form, place: name, as: w.Users[0]}
			if err := a.run(ctx); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// recipient is the place of the user in a form for a forgotten password; false for other requests.
func recipient(r *message.Request) (name message.Place, ok bool) {
	if r.Method != http.MethodPost || r.IsMessage() || !forgotten.MatchString(r.URL.Path) {
		return name, false
	}
	names := namesIn(r, message.Body)
	if len(names) == 0 {
		return name, false
	}
	return names[0], true
}

// namesIn are the places in some components of a request that say who somebody is; nil where it has a password beside.
func namesIn(r *message.Request, in ...message.Component) (names []message.Place) {
	for _, p := range message.Places(r) {
		switch {
		case !slices.Contains(in, p.Component) || p.Key || r.Token != nil && r.Token.Place.Same(p) ||
			kit.TokenName.MatchString(p.Name):
		case client.IsPassword(p.Name):
			return nil
		case kit.UserName.MatchString(p.Name):
			names = append(names, p)
		}
	}
	return names
}

// asking is the test of one form.
type asking struct {
	*kit.World

	computed, again *kit.Check
	form            *message.Request
	place           message.Place // of the user
	as              *client.User
	mail            string             // the address of the user, if a page shows it
	pages           []*message.Request // those with messages; before any is seen, all
}

// link is one of a message.
type link struct {
	request *message.Request
	token   message.Place
	page    *message.Response
	recipe  recipe
}

func (a *asking) run(ctx context.Context) error {
	for _, r := range a.Pages() {
		if r.Method == http.MethodGet && len(a.pages) < maxPages {
			a.pages = append(a.pages, r)
		}
	}
	old, err := a.links(ctx)
	if err != nil {
		return err
	}
	var got []link // the new one of each message
	for range draws {
		began := time.Now()
		if ok, err := a.send(ctx); err != nil || !ok {
			return err
		}
		all, err := a.links(ctx)
		if err != nil {
			return err
		}
		known := a.recipes(began, time.Now())
		for i := range all {
			all[i].recipe = known(all[i].token.Value)
		}
		at := slices.IndexFunc(all, func(l link) bool {
			same := func(o link) bool { return o.token.Value == l.token.Value }
			return !slices.ContainsFunc(old, same) && !slices.ContainsFunc(got, same)
		})
		if at < 0 { // a token of the name is the same each time
			at = slices.IndexFunc(all, func(l link) bool { return l.recipe.isFixed })
		}
		if at < 0 {
			at = len(all) - 1
		}
		if at < 0 {
			return nil
		}
		got = append(got, all[at])
	}
	return a.judge(ctx, got)
}

// send sends the form; false if it is refused.
func (a *asking) send(ctx context.Context) (ok bool, err error) {
	sent := a.filled()
	answer, err := a.Client.Send(ctx, sent, client.Options{Writes: true, Forced: true}) // it has no password
	if errors.Is(err, client.ErrScope) {
		return false, nil
	}
	answer, err = kit.Broken(ctx, sent, answer, err)
	return err == nil && answer.Status != 0 && answer.Status < http.StatusBadRequest, err
}

// filled is the form for the user.
func (a *asking) filled() *message.Request {
	if a.mail != "" && strings.Contains(strings.ToLower(a.place.Name), "mail") {
		return a.form.Put(a.place, a.mail)
	}
	return a.form.Put(a.place, a.as.Name)
}

// links are those of the user's pages that may set a password, and from then on only pages that have some are read.
func (a *asking) links(ctx context.Context) (all []link, err error) {
	var with []*message.Request
	for _, r := range a.pages {
		answer, err := a.Ask(ctx, r, a.as)
		if err != nil {
			return nil, err
		}
		if answer.Status != http.StatusOK || kit.Static(answer) {
			continue
		}
		for _, mail := range kit.MailAddress.FindAll(answer.Body, 20) {
			if bytes.HasPrefix(mail, []byte(a.as.Name+"@")) {
				a.mail = string(mail)
			}
		}
		before := len(all)
		for _, text := range linked.FindAllString(html.UnescapeString(string(answer.Body)), 500) {
			if l, ok := a.linkOf(text); ok && len(all) < maxLinks {
				l.page = answer
				all = append(all, l)
			}
		}
		if len(all) > before {
			with = append(with, r)
		}
	}
	if len(with) > 0 {
		a.pages = with
	}
	return all, nil
}

// linkOf is a link for a new password, at the application itself whatever host it names.
func (a *asking) linkOf(text string) (l link, ok bool) {
	to, err := a.form.URL.Parse(text)
	if err != nil || !leads.MatchString(to.Path) {
		return l, false
	}
	at := *to
	at.Scheme, at.Host, at.User, at.Fragment, at.RawFragment = a.form.URL.Scheme, a.form.URL.Host, nil, "", ""
	l.request = message.From(http.MethodGet, &at)
	for _, p := range message.Places(l.request) {
		if p.Component == message.Query && !p.Key && tokenName.MatchString(p.Name) && len(p.Value) >= 3 ||
			p.Component == message.Path && at.RawQuery == "" && len(p.Value) >= 8 {
			l.token, ok = p, true // the last segment
		}
	}
	return l, ok
}
