package access

import (
	"context"
	"net/http"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/diff"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// try sends a login as nobody; what is compared has neither the name nor the password in it.
func try(ctx context.Context, w *kit.World, l *kit.Login, name, password string) (
	*message.Response, *diff.Page, error,
) {
	r := l.With(name, password)
	answer, err := w.Client.Send(ctx, r, client.Options{})
	if err != nil {
		return nil, nil, err
	}
	return answer, diff.New(answer, name, password), nil
}

// enumeration is the check for logins that tell whether a name exists: the answers to three unknown names agree, and
// that to a known one is another, twice. Six requests for a login, two of them for each known name.
//
//nolint:gocognit // the steps of one check
func enumeration() kit.Check {
	c := kit.Check{ID: "user-enumeration", Class: "user-enumeration", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		l, ok := kit.LoginOf(t.Request)
		if !ok || !w.Once("enumeration "+t.Request.URL.Host+t.Request.URL.Path) {
			return nil
		}
		password := kit.Word()
		var pages []*diff.Page
		var unknown *message.Response
		for range 3 {
			answer, page, err := try(ctx, w, &l, kit.Word(), password)
			if err != nil {
				return err
			}
			unknown, pages = answer, append(pages, page)
		}
		noise := diff.Learn(pages...)
		if !diff.Same(pages[0], pages[1], noise) || !diff.Same(pages[0], pages[2], noise) ||
			unknown.Status == http.StatusTooManyRequests {
			return nil
		}
		for _, name := range knownNames(w) {
			if strings.Contains(strings.ToLower(string(unknown.Body)), strings.ToLower(name)) {
				continue // the page says it of itself, and what is cut as an echo would be more than that
			}
			first, page, err := try(ctx, w, &l, name, password)
			if err != nil {
				return err
			}
			if diff.Same(page, pages[0], noise) || first.Status == http.StatusTooManyRequests || first.Status >= 500 {
				continue
			}
			_, second, err := try(ctx, w, &l, name, password)
			if err != nil || !diff.Same(page, second, noise) {
				return err
			}
			_, last, err := try(ctx, w, &l, kit.Word(), password)
			if err != nil || !diff.Same(last, pages[0], noise) {
				return err
			}
			strange := kit.Word()
			w.Found(&c, kit.Finding{Request: l.With(name, password), Place: l.Name, Payload: name, Evidence: []kit.Evidence{
				{Request: first.Request, Response: first, Note: "the answer to a name that exists, with a wrong password"},
				{Request: unknown.Request, Response: unknown, Note: "the answer to names that do not"},
			}, Proof: &proof.Program{About: "The login answers a known name otherwise than unknown ones.", Steps: []proof.Step{
				{ID: "unknown", Send: l.With(strange, password), Cut: []string{strange}},
				{ID: "other", Send: l.With(strange+"a", password), Cut: []string{strange + "a"},
					Expect: []proof.Expect{{What: proof.Same, Of: "unknown"}}},
				{
					ID:     "known",
					Send:   l.With(name, password),
					Cut:    []string{name},
					Expect: []proof.Expect{{What: proof.Same, Of: "unknown", Not: true}},
				},
			}}})
			return nil
		}
		return nil
	}
	return c
}

// knownNames are names that exist, or may well.
func knownNames(w *kit.World) (names []string) {
	for _, u := range w.Users[:min(len(w.Users), 2)] {
		names = append(names, u.Name)
	}
	return append(names, "admin")
}

// defaults is the check for well-known passwords. It is only run when it is allowed. A random pair must fail, one that
// works must work again, and its name with another password must not. Two requests, and one for each pair.
func defaults() kit.Check {
	c := kit.Check{ID: "default-login", Class: "default-login", Level: client.Safe}.Describe()
	c.Request = func(ctx context.Context, w *kit.World, t *kit.Target) error {
		l, ok := kit.LoginOf(t.Request)
		if !ok || !w.Once("defaults "+t.Request.URL.Host+t.Request.URL.Path) {
			return nil
		}
		if !w.Defaults {
			w.Skip(t, c.Class, "default passwords are not tried unless it is allowed")
			return nil
		}
		control, failed, err := try(ctx, w, &l, kit.Word(), kit.Word())
		if err != nil {
			return err
		}
		_, wrong, err := try(ctx, w, &l, "admin", kit.Word())
		if err != nil {
			return err
		}
		for _, pair := range kit.UsualPasswords() {
			answer, page, err := try(ctx, w, &l, pair[0], pair[1])
			if err != nil {
				return err
			}
			if diff.Same(page, failed, nil) || diff.Same(page, wrong, nil) || !loggedIn(l.Request, answer, control) {
				continue
			}
			again, _, err := try(ctx, w, &l, pair[0], pair[1])
			if err != nil || !loggedIn(l.Request, again, control) {
				return err
			}
			other, _, err := try(ctx, w, &l, pair[0], kit.Word())
			if err != nil || loggedIn(l.Request, other, control) {
				return err
			}
			w.Found(&c, kit.Finding{Request: answer.Request, Place: l.Password, Payload: pair[0] + " with a well-known password",
				Evidence: []kit.Evidence{{Request: answer.Request, Response: answer, Note: "it logs in, twice"},
					{Request: control.Request, Response: control, Note: "a random name and password do not"}}})
			return nil
		}
		return nil
	}
	return c
}

var tokenField = regexp.MustCompile(`(?i)"(?:access_?token|auth_?token|token|jwt|session_?id?)"\s*:\s*"[^"]{8,}"`)

// loggedIn says whether an answer is that of a login that worked: it leads elsewhere than the failed one and sets a
// cookie, or has a token. Where the form has a token there is a session already, and a failed login leads nowhere.
// Where a failed login is refused by its status, one that is not has worked if it sets a cookie of its own or asks no
// more.
func loggedIn(form *message.Request, r, failed *message.Response) bool {
	if tokenField.Match(r.Body) && !tokenField.Match(failed.Body) {
		return true
	}
	if failed.Status/100 == 4 && failed.Status != http.StatusTooManyRequests && r.Status == http.StatusOK &&
		kit.Opened(r) && !kit.AsksForPassword(r) {
		return kit.AsksForPassword(failed) || len(r.Header["Set-Cookie"]) > len(failed.Header["Set-Cookie"])
	}
	to := r.Header.Get("Location")
	return r.Status/100 == 3 && to != failed.Header.Get("Location") && !strings.Contains(strings.ToLower(to), "error") &&
		!strings.Contains(strings.ToLower(to), "fail") && (len(r.Header["Set-Cookie"]) > 0 || form.Token != nil && failed.Status/100 != 3)
}
