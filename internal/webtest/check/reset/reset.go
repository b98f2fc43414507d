// Package reset finds links for a new password whose token anybody can compute.
//
// The form of a forgotten password is sent for a user of the run, and the pages that show the user their messages are
// read. The token of a link is compared with texts that are known, which are the name and the address of the user,
// numbers, the time, and the first two with the time, as they are, in base64, and as a digest. The link must be
// answered otherwise with a wrong token, and the token of a second message must be computed in the same way.
package reset

import (
	"bytes"
	"context"
	"errors"
	"html"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{computed()} }

var (
	forgotten = regexp.MustCompile(`(?i)forg[eo]t|recover|remind|lost|reset|vergessen|olvid|oubli|dimentic|esquec|vergeten`)
	linked    = regexp.MustCompile(`(?:https?://[\w.:-]{1,200})?/[^\s"'<>]{1,300}`)
	leads     = regexp.MustCompile(`(?i)reset|passw|recover|forg[eo]t|activat|confirm|verif|magic|token`)
	tokenName = regexp.MustCompile(`(?i)token|key|code|hash|secret|^[tkchs]$|reset|ticket|sig`)
	mails     = regexp.MustCompile(`[A-Za-z0-9._%+-]{1,64}@[A-Za-z0-9-]{1,63}(?:\.[A-Za-z0-9-]{1,63})+`)
)

const (
	maxForms   = 2
	maxPages   = 60
	maxNumbers = 10_000 // of users or messages, from 0
	maxSkew    = 3      // seconds between the clocks of the tester and of the application
)

// computed is the check for tokens of links that can be computed. At level active alone, as the user gets messages: two
// requests for each form, three times the pages of the map, two for the link.
func computed() kit.Check {
	c := kit.Check{ID: "computed-reset-token", Class: "predictable-token", Level: client.Active,
		Title: "The token of a link for a new password can be computed"}.Describe()
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
			if err := (&asking{World: w, c: &c, form: form, place: name, as: w.Users[0]}).run(ctx); err != nil {
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
	for _, p := range message.Places(r) {
		switch {
		case p.Component != message.Body || p.Key || kit.TokenName.MatchString(p.Name):
		case client.IsPassword(p.Name):
			return name, false
		case !ok && kit.UserName.MatchString(p.Name):
			name, ok = p, true
		}
	}
	return name, ok
}

// asking is the test of one form.
type asking struct {
	*kit.World

	c     *kit.Check
	form  *message.Request
	place message.Place
	as    *client.User
	mail  string
}

// link is one of a message.
type link struct {
	request *message.Request
	token   message.Place
	page    *message.Response
	recipe  recipe
}

func (a *asking) run(ctx context.Context) error {
	old, err := a.links(ctx)
	if err != nil {
		return err
	}
	var first *link
	for range 2 {
		sent := a.form.Put(a.place, a.as.Name)
		if a.mail != "" && strings.Contains(strings.ToLower(a.place.Name), "mail") {
			sent = a.form.Put(a.place, a.mail)
		}
		began := time.Now()
		answer, err := a.Client.Send(ctx, sent, client.Options{Writes: true, Forced: true}) // it has no password
		if errors.Is(err, client.ErrScope) {
			return nil
		}
		if answer, err = kit.Broken(ctx, sent, answer, err); err != nil || answer.Status == 0 || answer.Status >= 400 {
			return err
		}
		all, err := a.links(ctx)
		if err != nil {
			return err
		}
		known := a.recipes(began, time.Now())
		at := slices.IndexFunc(all, func(l link) bool {
			isNew := first != nil || !slices.ContainsFunc(old, func(o link) bool {
				return o.request.URL.String() == l.request.URL.String()
			})
			made := known(l.token.Value)
			return isNew && made.about != "" && (first == nil || made.about == first.recipe.about)
		})
		if at < 0 && first == nil { // a token of the name is the same each time
			at = slices.IndexFunc(all, func(l link) bool { return known(l.token.Value).fixed })
		}
		if at < 0 {
			return nil
		}
		one := all[at]
		one.recipe = known(one.token.Value)
		if first != nil {
			return a.confirm(ctx, sent, first, &one)
		}
		first = &one
	}
	return nil
}

// links are those of the user's pages that may set a password.
func (a *asking) links(ctx context.Context) (all []link, err error) {
	looked := 0
	for _, r := range a.Pages() {
		if r.Method != http.MethodGet || looked >= maxPages {
			continue
		}
		looked++
		answer, err := a.Ask(ctx, r, a.as)
		if err != nil {
			return nil, err
		}
		if answer.Status != http.StatusOK || kit.Static(answer) {
			continue
		}
		for _, mail := range mails.FindAll(answer.Body, 20) {
			if bytes.HasPrefix(mail, []byte(a.as.Name+"@")) {
				a.mail = string(mail)
			}
		}
		for _, text := range linked.FindAllString(html.UnescapeString(string(answer.Body)), 500) {
			if l, ok := a.linkOf(text); ok {
				l.page = answer
				all = append(all, l)
			}
		}
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
		if p.Component == message.Query && !p.Key && tokenName.MatchString(p.Name) ||
			p.Component == message.Path && at.RawQuery == "" {
			l.token, ok = p, true // the last segment
		}
	}
	return l, ok && len(l.token.Value) >= 8
}

// confirm opens the second link with its token and with one that is made in the same way of something else.
func (a *asking) confirm(ctx context.Context, sent *message.Request, first, second *link) error {
	ask := func(r *message.Request) (*message.Response, error) {
		answer, err := a.Client.Send(ctx, r, client.Options{Forced: true})
		if errors.Is(err, client.ErrScope) {
			return &message.Response{}, nil
		}
		return kit.Broken(ctx, r, answer, err)
	}
	opened, err := ask(second.request)
	if err != nil {
		return err
	}
	wrong := second.request.Put(second.token, second.recipe.write(kit.Word()))
	refused, err := ask(wrong)
	if err != nil || opened.Status != http.StatusOK || refused.Status == http.StatusOK && kit.SameText(opened, refused) {
		return err
	}
	a.Found(a.c, kit.Finding{Request: sent, Place: a.place, Payload: second.token.Value, Severity: kit.High,
		Detail: "the token is " + second.recipe.about,
		Evidence: []kit.Evidence{
			{Request: first.page.Request, Response: first.page, Match: first.token.Value, Note: "the link of the message"},
			{Request: second.page.Request, Response: second.page, Match: second.token.Value, Note: "and of the next"},
			{Request: second.request, Response: opened, Note: "it opens"},
			{Request: wrong, Response: refused, Note: "one that is made so of another text does not"}}})
	return nil
}

// recipe is how a token is made.
type recipe struct {
	about string // "" for one that is not known
	fixed bool   // it is the same each time
	write func(string) string
}

// recipes are how tokens are made, by the token.
type recipes map[string]recipe

// add adds the writings of a text.
func (all recipes) add(about, text string, isFixed bool) {
	for _, way := range kit.Writings {
		write := func(s string) string { return strings.TrimRight(way.Write(s), "=") }
		if made := strings.ToLower(write(text)); text != "" && all[made].about == "" {
			all[made] = recipe{way.About + about, isFixed, write}
		}
	}
}

// numbers are those of users or messages.
var numbers = sync.OnceValue(func() recipes {
	all := recipes{}
	for n := range maxNumbers {
		all.add("a number", strconv.Itoa(n), false)
	}
	return all
})

// recipes says how a token was made between two times.
func (a *asking) recipes(from, to time.Time) func(token string) recipe {
	known := recipes{}
	known.add("the name of the user", a.as.Name, true)
	known.add("the address of the user", a.mail, true)
	for s := from.Unix() - maxSkew; s <= to.Unix()+maxSkew; s++ {
		now := strconv.FormatInt(s, 10)
		known.add("the time", now, false)
		for _, who := range []string{a.as.Name, a.mail} {
			if who == "" {
				continue
			}
			for _, between := range []string{"", ":", "-", "_", "|", "."} {
				known.add("the user and the time", who+between+now, false)
				known.add("the time and the user", now+between+who, false)
			}
		}
	}
	return func(token string) recipe {
		token = strings.ToLower(strings.TrimRight(token, "="))
		if known[token].about != "" {
			return known[token]
		}
		return numbers()[token]
	}
}
