// Package steps finds steps of a sequence that may be left out, such as the payment of an order or the code of a
// verification.
//
// A form that is sent leads to a step that has to be passed: it asks for a payment, a code, a consent or an exam. This
// step is left out. The one behind it is at an address that nothing leads to yet: the next number, or one of the usual
// names in the same folder. It must be a page with a form, where an address of no page is answered otherwise; sending
// that form must lead to another page of the application, which says what it has not said before; and all of it must
// work a second time. The order counts: once the sequence has ended, or for somebody who has not begun it, the last
// step must not be open. What pays or deletes by what it says is left alone, as everywhere.
//
// Requests: one for each page of the map, 40 at most, and for each of twelve forms, two; for each step that has to be
// passed, one for each of some thirty addresses, and up to twelve for one that is open.
package steps

import (
	"context"
	"errors"
	"html"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// Checks are those of the package.
func Checks() []kit.Check { return []kit.Check{leftOut()} }

const (
	maxPages = 40 // of the map that are read
	maxForms = 12 // that may begin a sequence
)

var (
	// needed are words of a step that has to be passed.
	needed = regexp.MustCompile(`(?i)\b(?:pay(?:ment|ing)?|credit card|card number|verif\w+|activation|code|one.time|captcha|approv\w+|` +
		`accept\w*|agree\w*|consent|exam|quiz|identity|deposit)\b`)
	counter = regexp.MustCompile(`(?i)^(?:step|stage|page|part|s|p|st)$`)

	// lastNames are usual names of the step behind.
	lastNames = []string{
		"finish", "confirm", "confirmation", "complete", "done", "success", "review", "summary", "receipt", "place",
		"submit", "final", "finalize", "end", "result", "results", "thanks", "thank-you", "order", "book",
		"certificate", "download", "activate", "process", "step3", "step-3", "3", "complete-order", "checkout/complete",
		"checkout/confirm",
	}
)

// leftOut is the check; at level active.
func leftOut() kit.Check {
	c := kit.Check{ID: "step-left-out", Class: "business-logic", Level: client.Active,
		Title: "A step that has to be passed can be left out"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		s := &walk{World: w, c: &c, as: client.NewUser("")}
		if len(w.Users) > 0 {
			s.as = w.Users[0]
		}
		tried := 0
		for _, r := range w.Pages() {
			if _, isLogin := kit.LoginOf(r); r.Method != http.MethodPost || isLogin || !kit.Sendable(r) || r.IsMessage() ||
				kit.TakesPassword(r) || tried >= maxForms || !w.Once("begins steps "+r.URL.Host+r.URL.Path) {
				continue
			}
			tried++
			if err := s.begin(ctx, r); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// walk is the test with one user, or with a visitor.
type walk struct {
	*kit.World

	c      *kit.Check
	as     *client.User
	before map[string]string // what pages showed before anything was sent, by their addresses
}

// send sends a form, and follows to where it leads; nil where it is not to be sent, is refused, or leads nowhere.
func (s *walk) send(ctx context.Context, r *message.Request) (answer, led *message.Response, err error) {
	answer, err = s.Client.Send(ctx, r, client.Options{As: s.as, Writes: true})
	if errors.Is(err, client.ErrScope) {
		return nil, nil, nil
	}
	if answer, err = kit.Broken(ctx, r, answer, err); err != nil || answer.Redirect() == nil ||
		answer.Redirect().Host != r.URL.Host {
		return answer, nil, err
	}
	led, err = s.page(ctx, answer.Redirect(), s.as)
	return answer, led, err
}

// page is a page as somebody sees it; nil for anything else.
func (s *walk) page(ctx context.Context, at *url.URL, as *client.User) (*message.Response, error) {
	answer, err := s.Ask(ctx, message.From(http.MethodGet, at), as)
	if err != nil || answer.Status != http.StatusOK || !answer.IsHTML() || kit.AsksForPassword(answer) {
		return nil, err
	}
	return answer, nil
}

// begin sends a form that may begin a sequence, and looks for the step behind the one that it leads to.
func (s *walk) begin(ctx context.Context, first *message.Request) error {
	_, step, err := s.send(ctx, first)
	if err != nil || step == nil || same(step.Request.URL, first.URL) || !hasToBePassed(step, first) {
		return err
	}
	if s.before == nil {
		if err := s.read(ctx); err != nil {
			return err
		}
	}
	for _, at := range behind(step.Request.URL) {
		if isKnown := s.before[at.String()]; isKnown != "" {
			continue // a page leads there
		}
		found, err := s.skip(ctx, first, step, at)
		if err != nil || found {
			return err
		}
	}
	return nil
}

// read notes what pages of the map show.
func (s *walk) read(ctx context.Context) error {
	s.before = map[string]string{}
	for _, r := range s.Pages() {
		if r.Method != http.MethodGet || r.IsMessage() || r.After != nil || len(s.before) >= maxPages {
			continue
		}
		answer, err := s.page(ctx, r.URL, s.as)
		if err != nil {
			return err
		}
		if answer != nil {
			s.before[r.URL.String()] = text(answer)
		}
	}
	return nil
}

// hasToBePassed reports whether a page is a step with a form of its own that asks for something without which the
// sequence is not to go on.
func hasToBePassed(step *message.Response, first *message.Request) bool {
	for _, form := range sitemap.Forms(step) {
		if form.Method == http.MethodPost && !same(form.URL, first.URL) && form.URL.Host == first.URL.Host {
			return needed.MatchString(text(step))
		}
	}
	return false
}

// behind are the addresses at which the step behind another may be.
func behind(step *url.URL) (all []*url.URL) {
	add := func(change func(u *url.URL)) {
		u := *step
		u.RawPath = ""
		change(&u)
		all = append(all, &u)
	}
	query := step.Query()
	for name, values := range query {
		if n, err := strconv.Atoi(values[0]); err == nil && counter.MatchString(name) {
			query.Set(name, strconv.Itoa(n+1))
			add(func(u *url.URL) { u.RawQuery = query.Encode() })
		}
	}
	if m := numbered.FindStringSubmatch(step.Path); m != nil {
		if n, err := strconv.Atoi(m[2]); err == nil {
			add(func(u *url.URL) { u.Path = m[1] + strconv.Itoa(n+1) + m[3] })
		}
	}
	if len(all) > 0 {
		return all
	}
	for _, name := range lastNames {
		add(func(u *url.URL) { u.Path, u.RawQuery = path.Join(path.Dir(step.Path), name), "" })
	}
	return all
}

// numbered is a path whose last number is that of a step.
var numbered = regexp.MustCompile(`^(.*?)([1-9])(/?|\.\w{2,5}|/[a-z-]{3,20})$`)

// skip tries one address of a last step, without the step before it.
func (s *walk) skip(ctx context.Context, first *message.Request, step *message.Response, at *url.URL) (bool, error) {
	last, form, err := s.open(ctx, first, step, at)
	if err != nil || form == nil {
		return false, err
	}
	gone := *at
	gone.Path, gone.RawPath = path.Join(path.Dir(at.Path), kit.Word()), ""
	missing, err := s.page(ctx, &gone, s.as)
	if err != nil || missing != nil && kit.SameText(missing, last) {
		return false, err // each address is answered so
	}
	answer, end, err := s.send(ctx, form)
	if err != nil || !s.isEnd(end, first, step, at) {
		return false, err
	}
	if isOpen, err := s.isOpenToAll(ctx, at, last); err != nil || isOpen {
		return false, err
	}
	// All of it again.
	if _, again, err := s.send(ctx, first); err != nil || again == nil || !same(again.Request.URL, step.Request.URL) {
		return false, err
	}
	if _, form, err = s.open(ctx, first, step, at); err != nil || form == nil {
		return false, err
	}
	_, again, err := s.send(ctx, form)
	if err != nil || again == nil || again.Request.URL.Path != end.Request.URL.Path {
		return false, err
	}
	finding := kit.Finding{Request: form, Detail: "the step at " + step.Request.URL.Path + " is left out",
		Evidence: []kit.Evidence{
			{Request: step.Request, Response: step, Match: needed.FindString(text(step)),
				Note: "the step that has to be passed, and was not"},
			{Request: last.Request, Response: last, Note: "the step behind it is open all the same"},
			{Request: form, Response: answer, Note: "and its form is taken"},
			{Request: end.Request, Response: end, Note: "it leads to the end of the sequence"}}}
	if user, users := kit.Names(s.as); user != "" {
		status := []proof.Expect{{What: proof.Status, Value: strconv.Itoa(answer.Status)}}
		finding.Proof = &proof.Program{About: "A step of a sequence can be left out.", Users: users, Steps: []proof.Step{
			{ID: "first", As: user, Send: first, Writes: true},
			{ID: "behind", As: user, Send: last.Request, Expect: []proof.Expect{{What: proof.Status, Value: "200"}}},
			{ID: "last", As: user, Send: form, Writes: true, Expect: status}}}
	}
	s.Found(s.c, finding)
	return true, nil
}

// open is the page of a last step, and its form; nil if it is no such page.
func (s *walk) open(ctx context.Context, first *message.Request, step *message.Response, at *url.URL) (
	last *message.Response, form *message.Request, err error,
) {
	last, err = s.page(ctx, at, s.as)
	if err != nil || last == nil || kit.Refusal(last) != "" || kit.SameText(last, step) {
		return nil, nil, err
	}
	for _, f := range sitemap.Forms(last) {
		if f.Method == http.MethodPost && f.URL.Host == at.Host && !same(f.URL, first.URL) &&
			!slices.ContainsFunc(sitemap.Forms(step), func(o *message.Request) bool { return same(o.URL, f.URL) }) {
			return last, f, nil
		}
	}
	return nil, nil, nil
}

// isEnd reports whether a page is the end of the sequence: none of its steps, and not what it was before.
func (s *walk) isEnd(end *message.Response, first *message.Request, step *message.Response, last *url.URL) bool {
	if end == nil || kit.Refusal(end) != "" {
		return false
	}
	for _, of := range []*url.URL{first.URL, step.Request.URL, last} {
		if same(end.Request.URL, of) {
			return false
		}
	}
	return s.before[end.Request.URL.String()] != text(end)
}

// isOpenToAll reports whether a last step is open although the sequence has ended, and for a second user, or a visitor,
// who has not begun it: then it needs no step before it.
func (s *walk) isOpenToAll(ctx context.Context, at *url.URL, last *message.Response) (bool, error) {
	after, err := s.page(ctx, at, s.as)
	if err != nil || after == nil || !kit.SameText(after, last) {
		return false, err
	}
	stranger := client.NewUser("")
	if kit.Known(s.as) {
		if len(s.Users) < 2 {
			return true, nil // it cannot be told
		}
		stranger = s.Users[1]
	}
	theirs, err := s.page(ctx, at, stranger)
	return theirs != nil && kit.SameText(theirs, last), err
}

// same reports whether two addresses are one.
func same(a, b *url.URL) bool { return a.RequestURI() == b.RequestURI() }

// text is what a page shows.
func text(r *message.Response) string {
	return strings.Join(strings.Fields(html.UnescapeString(kit.Text(r))), " ")
}
