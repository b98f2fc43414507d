package refusal

import (
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// maxRaised are how many pages get parameters that nothing names.
const maxRaised = 40

// raising is the check for parameters that nothing names and that show more: what a user gets with admin=1 in the
// address and not with admin=0, as where an application makes variables of what a request says. All are sent together;
// where the page has more then, each alone, twice. Three requests for each of 40 pages of a user, and five for each
// parameter where they show something.
func raising() kit.Check {
	c := kit.Check{ID: "parameter-of-role", Class: "bfla", Level: client.Safe, CWE: 473,
		Title: "A parameter of the address gives more rights"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		var as *client.User
		if len(w.Users) > 0 {
			as = w.Users[0]
		}
		looked := 0
		for _, r := range w.Pages() {
			if r.Method != http.MethodGet || r.After != nil || looked >= maxRaised ||
				!w.Once("raise "+r.URL.Host+r.URL.Path) {
				continue
			}
			t := &trial{w: w, c: &c, page: r, as: as}
			answer, err := w.Shown(ctx, r, as)
			if err != nil {
				return err
			}
			if answer.Status != http.StatusOK || kit.Static(answer) {
				continue
			}
			looked++
			if err := t.raise(ctx, answer); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// raise tries the parameters on one page.
func (t *trial) raise(ctx context.Context, first *message.Response) error {
	second, err := t.send(ctx, t.page)
	if err != nil {
		return err
	}
	noise := diff.Learn(diff.New(first), diff.New(second))
	ask := func(pairs ...string) (*message.Request, *diff.Page, *message.Response, error) {
		r := t.page
		for _, pair := range pairs {
			name, value, _ := strings.Cut(pair, "=")
			r = r.Put(message.Place{Component: message.Query, Name: name}, value)
		}
		answer, err := t.send(ctx, r)
		if err != nil {
			return nil, nil, nil, err
		}
		return r, diff.New(answer, append(slices.Clone(pairs), strings.Join(pairs, "&"))...), answer, nil
	}
	lowered := func(pair string) string {
		name, value, _ := strings.Cut(pair, "=")
		return name + "=" + lower[value]
	}
	more := func(page, than *diff.Page) bool {
		return page.Status == http.StatusOK && diff.Adds(page, noise, than, diff.New(first), diff.New(second))
	}
	all, none := distinct(), []string{}
	for _, pair := range all {
		none = append(none, lowered(pair))
	}
	_, together, _, err := ask(all...)
	if err != nil {
		return err
	}
	_, lowest, _, err := ask(none...)
	if err != nil || !more(together, lowest) {
		return err
	}
	for _, pair := range lists()["parameters"] {
		opened, page, answer, err := ask(pair)
		if err != nil {
			return err
		}
		control, low, refused, err := ask(lowered(pair))
		if err != nil {
			return err
		}
		_, again, _, err := ask(pair)
		if err != nil {
			return err
		}
		if !more(page, low) || !more(again, low) || !diff.Same(page, again, noise) {
			continue
		}
		user, users := kit.Names(t.as)
		t.w.Found(t.c, kit.Finding{Request: opened, Payload: pair, Detail: "with " + pair + " the page shows more",
			Evidence: []kit.Evidence{{Request: opened, Response: answer, Note: "with " + pair},
				{Request: control, Response: refused, Note: "with " + lowered(pair)},
				{Request: t.page, Response: first, Note: "without it"}},
			Proof: &proof.Program{About: "A parameter that nothing names shows more of a page.", Users: users, Steps: []proof.Step{
				{ID: "plain", As: user, Send: t.page},
				{ID: "lower", As: user, Send: control},
				{ID: "raised", As: user, Send: opened, Expect: []proof.Expect{{What: proof.Same, Of: "plain", Not: true},
					{What: proof.Same, Of: "lower", Not: true}}}}}})
		return nil
	}
	return nil
}

// distinct are the parameters, each name once.
func distinct() (all []string) {
	seen := map[string]bool{}
	for _, pair := range lists()["parameters"] {
		name, _, _ := strings.Cut(pair, "=")
		if !seen[name] {
			seen[name] = true
			all = append(all, pair)
		}
	}
	return all
}
