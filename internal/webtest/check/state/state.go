// Package state finds what an application gives to a visitor and takes back too easily: sessions that stand in
// addresses or outlive a logout, codes that work twice, answers to a login elsewhere that nobody has asked for, states
// and roles in fields of a form, and pages of a user that a shared cache may keep.
//
// A thing is shown by using it: an old cookie opens a page of its user, where a random one does not; a code gets a
// second token, where an invented one gets none; a changed state comes out of the next page.
//
// Requests: two for a host for sessions in addresses; some ten for a logout; up to six for each form that takes a code,
// for each link to a login elsewhere, and for each state; one for each page that says that all may keep it.
package state

import (
	"context"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Checks are those of the package.
func Checks() []kit.Check {
	return []kit.Check{inAddress(), afterLogout(), replayed(), unasked(), views(), cacheable(), askedRoles()}
}

// send sends a request as a user, or as nobody for nil; also one that looks as if it changed something.
func send(ctx context.Context, w *kit.World, r *message.Request, as *client.User) (*message.Response, error) {
	answer, err := w.Client.Send(ctx, r, client.Options{As: as, Writes: true, Forced: true})
	return kit.Broken(ctx, r, answer, err)
}

// refuses reports whether an answer refuses: by its status, by leading to a login, or by asking for a password.
func refuses(r *message.Response) bool {
	return r.Status == http.StatusUnauthorized || r.Status == http.StatusForbidden || r.Redirect() != nil ||
		kit.AsksForPassword(r)
}

var (
	linkTag = regexp.MustCompile(`(?is)<a\b[^>]*?\bhref\s*=\s*["']([^"']{1,1000})["'][^>]*>(.{0,200}?)</a>`)
	tags    = regexp.MustCompile(`<[^>]*>`)
)

// link is a link of a page.
type link struct {
	to   *url.URL
	text string
}

// links are the links of a page to its own host.
func links(r *message.Response) (all []link) {
	for _, m := range linkTag.FindAllSubmatch(r.Body, 300) {
		at, err := r.Request.URL.Parse(html.UnescapeString(string(m[1])))
		if err == nil && at.Host == r.Request.URL.Host && strings.HasPrefix(at.Scheme, "http") {
			all = append(all, link{at, strings.TrimSpace(html.UnescapeString(tags.ReplaceAllString(string(m[2]), "")))})
		}
	}
	return all
}

// maxPages are how many pages are read for something.
const maxPages = 60

// reads are pages that a user reads, each address once.
func reads(w *kit.World) (all []*message.Request) {
	for _, r := range w.Pages() {
		if r.Method == http.MethodGet && !r.IsMessage() && r.After == nil && len(all) < maxPages &&
			!slices.ContainsFunc(all, func(q *message.Request) bool { return q.URL.String() == r.URL.String() }) {
			all = append(all, r)
		}
	}
	return all
}

// private is a page that a user sees, and that nobody is refused, with what the user sees; nil if the first pages have
// none.
func private(ctx context.Context, w *kit.World, u *client.User) (*message.Request, *message.Response, error) {
	for _, r := range reads(w) {
		own, err := w.Shown(ctx, r, u)
		if err != nil {
			return nil, nil, err
		}
		if own.Status != http.StatusOK || kit.Static(own) || kit.AsksForPassword(own) {
			continue
		}
		nobody, err := w.Shown(ctx, r, nil)
		if err != nil {
			return nil, nil, err
		}
		if refuses(nobody) {
			return r, own, nil
		}
	}
	return nil, nil, nil
}
