package reset

import (
	"context"
	"errors"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

var asksWho = kit.ForgottenOr(`remind|lost|check.?(?:user|name|mail)|availab`)

// forgottenNames is the check for pages of forgotten passwords, and for registrations' looks at a name, that tell who
// has an account: three unknown names are answered alike, and a known one otherwise, twice. At level active, as the
// application may send mails to the users that were given. Up to nine requests for such a form.
func forgottenNames() kit.Check {
	c := kit.Check{ID: "user-enumeration-forgotten", Class: "user-enumeration", Level: client.Active,
		Title: "A page of forgotten passwords tells who has an account"}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		for _, r := range w.Pages() {
			names := namesIn(r, message.Body, message.Query)
			if len(names) != 1 || !asksWho.MatchString(r.URL.Path) || len(w.Users) == 0 ||
				!w.Once("forgotten "+r.URL.Host+r.URL.Path) {
				continue
			}
			if err := tellsNames(ctx, w, &c, r, names[0]); err != nil {
				return err
			}
		}
		return nil
	}
	return c
}

// tellsNames compares the answers to names that exist and to those that do not.
func tellsNames(ctx context.Context, w *kit.World, c *kit.Check, r *message.Request, p message.Place) error {
	ask := func(name string) (*message.Response, *diff.Page, error) {
		made := r.Put(p, name)
		answer, err := w.Client.Send(ctx, made, client.Options{Writes: true, Forced: true}) // it has no password
		if errors.Is(err, client.ErrScope) {
			return nil, nil, nil
		}
		if answer, err = kit.Broken(ctx, made, answer, err); err != nil {
			return nil, nil, err
		}
		return answer, diff.New(answer, name), nil
	}
	for _, form := range []func(string) string{func(s string) string { return s },
		func(s string) string { return s + "@example.org" }} {
		known := w.Users[0].Name
		switch isMail := form("x") != "x"; {
		case isMail == strings.Contains(known, "@"):
		case !isMail:
			continue
		default:
			if known = mailOf(ctx, w, w.Users[0]); known == "" {
				return nil
			}
		}
		var unknown *message.Response
		var pages []*diff.Page
		for range 3 {
			answer, page, err := ask(form(kit.Word()))
			if err != nil || answer == nil {
				return err
			}
			unknown, pages = answer, append(pages, page)
		}
		noise := diff.Learn(pages...)
		first, page, err := ask(known)
		if err != nil || first == nil {
			return err
		}
		if diff.Same(page, pages[0], noise) || first.Status == http.StatusTooManyRequests || first.Status >= 500 {
			continue
		}
		_, second, err := ask(known)
		if err != nil || second == nil || diff.Same(second, pages[0], noise) {
			return err
		}
		_, last, err := ask(form(kit.Word()))
		if err != nil || last == nil || !diff.Same(last, pages[0], noise) {
			return err
		}
		strange := form(kit.Word())
		w.Found(c, kit.Finding{Request: r.Put(p, known), Place: p, Payload: known, Evidence: []kit.Evidence{
			{Request: first.Request, Response: first, Note: "the answer to a name that exists"},
			{Request: unknown.Request, Response: unknown, Note: "the answer to names that do not"}},
			Proof: &proof.Program{About: "A known name is answered otherwise than unknown ones.", Steps: []proof.Step{
				{ID: "unknown", Send: r.Put(p, strange), Cut: []string{strange}, Writes: true},
				{ID: "known", Send: r.Put(p, known), Cut: []string{known}, Writes: true,
					Expect: []proof.Expect{{What: proof.Same, Of: "unknown", Not: true}}}}}})
		return nil
	}
	return nil
}

// mailOf is the address of e-mail that pages show of a user; "" if none does.
func mailOf(ctx context.Context, w *kit.World, u *client.User) string {
	looked := 0
	for _, r := range w.Pages() {
		if r.Method != http.MethodGet || looked >= maxPages {
			continue
		}
		looked++
		answer, err := w.Shown(ctx, r, u)
		if err != nil {
			return ""
		}
		for _, mail := range kit.MailAddress.FindAllString(string(answer.Body), 20) {
			if strings.HasPrefix(mail, u.Name+"@") {
				return mail
			}
		}
	}
	return ""
}
