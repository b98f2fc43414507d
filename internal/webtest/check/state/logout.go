package state

import (
	"context"
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// afterLogout is the check for sessions that a logout does not end. A user logs in once more; then that session logs
// out by the link of a page. Its cookies from before must open a page of the user, where the browser is refused after
// the logout and other cookies of the same form are. It is done twice. One login and some five requests each time, and
// two for each page until one is private.
func afterLogout() kit.Check {
	c := kit.Check{ID: "session-after-logout", Class: "session-expiry", Level: client.Active}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) == 0 || w.Login == nil {
			w.Skip(nil, c.Class, "it needs a user who logs in")
			return nil
		}
		page, own, err := private(ctx, w, w.Users[0])
		if err != nil || page == nil {
			return err
		}
		var evidence []kit.Evidence
		var shown *message.Request
		for range 2 {
			again, err := w.Login(ctx, w.Users[0])
			if err != nil {
				return nil //nolint:nilerr // then there is no session to end
			}
			seen, err := outlives(ctx, w, again, page, own)
			if err != nil || seen == nil {
				return err
			}
			shown, evidence = seen[0].Request, append(evidence, seen...)
		}
		w.Found(&c, kit.Finding{Request: shown, Evidence: evidence,
			Detail: "the cookies of a session still open its pages after the logout"})
		return nil
	}
	return c
}

// outlives logs a session out and is what shows that it goes on; nil where it does not.
func outlives(ctx context.Context, w *kit.World, u *client.User, page *message.Request,
	own *message.Response) ([]kit.Evidence, error) {
	var cookies, others []string
	for _, k := range u.Cookies(page.URL) {
		cookies = append(cookies, k.Name+"="+k.Value)
		others = append(others, k.Name+"="+shifted(k.Value))
	}
	leave, err := logoutOf(ctx, w, u, page)
	if err != nil || leave == nil || len(cookies) == 0 {
		return nil, err
	}
	with := func(line []string) (*message.Response, error) {
		return w.Ask(ctx, page.With("Cookie", strings.Join(line, "; ")), nil)
	}
	before, err := with(cookies)
	if err != nil || !kit.Same(before, own) { // it is not the cookies alone
		return nil, err
	}
	left, err := send(ctx, w, leave, u)
	if err != nil {
		return nil, err
	}
	browser, err := w.Ask(ctx, page, u)
	if err != nil || !refuses(browser) {
		return nil, err
	}
	after, err := with(cookies)
	if err != nil || !kit.Same(after, own) {
		return nil, err
	}
	control, err := with(others)
	if err != nil || kit.Same(control, own) {
		return nil, err
	}
	return []kit.Evidence{{Request: leave, Response: left, Note: "the user logs out"},
		{Request: after.Request, Response: after, Note: "the cookies from before open a page of the user"},
		{Request: control.Request, Response: control, Note: "cookies of the same form do not"}}, nil
}

// logoutOf is the request of a link that logs out, on a page of a user or on the first one; nil for none.
func logoutOf(ctx context.Context, w *kit.World, u *client.User, page *message.Request) (*message.Request, error) {
	front := *page.URL
	front.Path, front.RawPath, front.RawQuery = "/", "", ""
	for _, r := range []*message.Request{page, message.From(http.MethodGet, &front)} {
		answer, err := w.Ask(ctx, r, u)
		if err != nil {
			return nil, err
		}
		for _, l := range links(answer) {
			last := l.to.Path[strings.LastIndex(l.to.Path, "/")+1:]
			if client.SaysLogout(l.text) || client.SaysLogout(last) {
				return message.From(http.MethodGet, l.to).With("Referer", r.URL.String()), nil
			}
		}
	}
	return nil, nil //nolint:nilnil // there is none
}

// shifted is a value of the same form with other letters and digits.
func shifted(value string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= '0' && c <= '9':
			return '9' - (c - '0')
		case c >= 'a' && c <= 'f':
			return 'f' - (c - 'a')
		case c >= 'A' && c <= 'F':
			return 'F' - (c - 'A')
		case c >= 'g' && c <= 'y', c >= 'G' && c <= 'Y':
			return c + 1
		}
		return c
	}, value)
}
