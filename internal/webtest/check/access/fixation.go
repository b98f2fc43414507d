package access

import (
	"context"
	"maps"
	"net/http"
	"regexp"
	"slices"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// maxKept are how many cookies are tried, under whatever name: what opens the page is the session.
const maxKept = 5

// maxPrivate are how many pages are looked at for one that only the user sees.
const maxPrivate = 12

// fixation is the check for sessions whose identifier is the same before and after the login. The user logs in again,
// twice: a cookie that nobody was given, and that the login has not changed, must then open a page of the user, and a
// random one of the same form must not. Two logins for a user, and two requests for each page until one is private.
func fixation() kit.Check {
	c := kit.Check{ID: "session-fixation", Class: "session-fixation", Level: client.Safe}.Describe()
	c.After = func(ctx context.Context, w *kit.World) error {
		if len(w.Users) == 0 || w.Login == nil {
			w.Skip(nil, c.Class, "it needs a user who logs in")
			return nil
		}
		private, own, err := privatePage(ctx, w, w.Users[0])
		if err != nil || private == nil {
			return err
		}
		var evidence []kit.Evidence
		var last fixed
		for range 2 {
			again, err := w.Login(ctx, w.Users[0])
			if err != nil {
				return nil //nolint:nilerr // then there is no second login to look at
			}
			if last, err = opens(ctx, w, private, own, again); err != nil || last.request == nil {
				return err
			}
			evidence = append(evidence, last.evidence...)
		}
		w.Found(&c, kit.Finding{Request: last.request, Evidence: evidence,
			Place:  message.Place{Component: message.Cookie, Name: last.name},
			Detail: "the login leaves the cookie " + last.name + " as it was"})
		return nil
	}
	return c
}

// fixed is a cookie that a login has left as it was, and that opens a page of the user.
type fixed struct {
	name     string
	request  *message.Request // nil: there is none
	evidence []kit.Evidence
}

// opens looks for a cookie from before a login that opens a private page, where a random one does not.
func opens(ctx context.Context, w *kit.World, private *message.Request, own *message.Response, again *client.User) (
	fixed, error,
) {
	tried := 0
	for _, name := range slices.Sorted(maps.Keys(again.Kept())) {
		value := again.Kept()[name]
		if tried++; len(value) < 8 || tried > maxKept {
			continue
		}
		r, strange := private.With("Cookie", name+"="+value), private.With("Cookie", name+"="+other(value))
		answer, err := w.Client.Send(ctx, r, client.Options{})
		if err != nil {
			return fixed{}, err
		}
		control, err := w.Client.Send(ctx, strange, client.Options{})
		if err != nil {
			return fixed{}, err
		}
		if answer.Status == http.StatusOK && kit.Same(answer, own) && !kit.Same(control, own) {
			return fixed{name, r, []kit.Evidence{
				{Request: r, Response: answer, Note: "the cookie from before the login opens a page of the user"},
				{Request: strange, Response: control, Note: "a random one does not"}}}, nil
		}
	}
	return fixed{}, nil
}

// privatePage is a page that a user sees and nobody else; nil if the first pages of the map have none.
func privatePage(ctx context.Context, w *kit.World, u *client.User) (*message.Request, *message.Response, error) {
	looked := 0
	for _, r := range w.Pages() {
		if r.Method != http.MethodGet || looked >= maxPrivate || r.Header.Get("Cookie") != "" {
			continue
		}
		looked++
		own, err := w.Shown(ctx, r, u)
		if err != nil {
			return nil, nil, err
		}
		nobody, err := w.Shown(ctx, r, nil)
		if err != nil {
			return nil, nil, err
		}
		if own.Status == http.StatusOK && !kit.Static(own) && !kit.Same(withoutSession(own), withoutSession(nobody)) {
			return r, own, nil
		}
	}
	return nil, nil, nil
}

// pathSession is a session in the path of an address, for browsers that have no cookie yet.
var pathSession = regexp.MustCompile(`;[A-Za-z_]{3,20}=[\w.!~-]{16,200}`)

// withoutSession is an answer without the sessions in its addresses, which make no page private.
func withoutSession(r *message.Response) *message.Response {
	out := *r
	out.Body = pathSession.ReplaceAll(r.Body, nil)
	return &out
}

// other is a value of the same form, with other letters and digits.
func other(value string) string {
	out := []byte(value)
	for i, b := range out {
		switch {
		case b >= '0' && b <= '9':
			out[i] = '9' - (b - '0')
		case b >= 'a' && b <= 'f':
			out[i] = 'f' - (b - 'a')
		case b >= 'a' && b <= 'y', b >= 'A' && b <= 'Y':
			out[i]++
		}
	}
	return string(out)
}
