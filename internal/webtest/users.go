package webtest

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

const (
	maxCrawlers = 3 // users whose pages are mapped
	othersShare = 8 // the part of the budget that the map of each further user may take
)

// mappedOthers adds what the other users, and nobody, are shown, and the first is not: pages of their role, forms, and
// their own objects; where one registers. What is there only for one of them is tested as that user; requests that the
// first one is refused are, too.
func (r *run) mappedOthers(ctx context.Context, m *sitemap.Map) error {
	for _, s := range r.sessions[:min(len(r.sessions), maxCrawlers)] {
		if s.User == r.user() || r.Only {
			continue
		}
		if err := r.mapAs(ctx, m, s.User); err != nil {
			return err
		}
	}
	if len(r.sessions) == 0 || r.Only {
		return nil
	}
	return r.mapAs(ctx, m, r.nobody)
}

// ofNobody marks entries that visitors are shown who are not logged in, and users are not, such as registrations.
const ofNobody = "-"

// mapAs adds what a user is shown to the map.
func (r *run) mapAs(ctx context.Context, m *sitemap.Map, u *client.User) error {
	share, until := r.part(othersShare)
	cfg := sitemap.Config{Until: until, Client: r.client, As: u, Starts: r.startsOf(u), Depth: r.Depth, Share: share}
	if u == r.user() { // for whom most tests are
		cfg.Browser, cfg.Seeds = r.Browser, r.Seeds
	}
	theirs, err := sitemap.Crawl(ctx, cfg)
	if err != nil && ctx.Err() != nil {
		return err
	}
	if err != nil && !errors.Is(err, client.ErrScope) {
		r.note("What " + u.Name + " is shown could not be mapped: " + err.Error() + ".")
	}
	if u == r.nobody {
		m.AddOf(theirs, ofNobody)
		return nil
	}
	r.remember(theirs, u)
	m.AddOf(theirs, u.Name)
	return nil
}

// Bounds of what is kept of the pages that a user was shown before anything was tested: how many, and how large each.
const (
	maxRemembered  = 300
	sizeRemembered = 64 << 10
)

// remember keeps what the map has seen as a user: a list that shows the last thirty shows what tests have written
// afterwards.
func (r *run) remember(m *sitemap.Map, u *client.User) {
	if m == nil || r.Client.Level < client.Active {
		return
	}
	if r.seen == nil {
		r.seen = map[*client.User]map[string]*message.Response{}
	}
	pages := map[string]*message.Response{}
	for _, e := range m.Entries {
		a := e.Response
		if len(pages) < maxRemembered && e.Request.Method == http.MethodGet && e.As == "" && a != nil &&
			a.Status == http.StatusOK && len(a.Body) <= sizeRemembered && !kit.Static(a) {
			pages[e.Request.URL.String()] = a
		}
	}
	r.seen[u] = pages
}

// seenAs is World.Seen.
func (r *run) seenAs(u *client.User, request *message.Request) *message.Response {
	return r.seen[u][request.URL.String()]
}

// startsOf are where the map of a user begins: at what was given and, as a front page may show everybody the login
// alone, where their login has led.
func (r *run) startsOf(u *client.User) []*url.URL {
	starts := slices.Clone(r.Starts)
	for _, s := range r.sessions {
		if s.User == u && s.Landed != nil {
			starts = append(starts, s.Landed)
		}
	}
	return starts
}

// part is one of n parts of the budget: requests, 0 for no bound, and when its time is over.
func (r *run) part(n int64) (share int64, until time.Time) {
	if most := r.Client.Requests; most > 0 {
		share = max(20, most/n)
	}
	if end := r.Client.Until; !end.IsZero() {
		until = time.Now().Add(time.Until(end) / time.Duration(n))
	}
	return share, until
}

// userOf is who tests an entry of the map.
func (r *run) userOf(e *sitemap.Entry) *client.User {
	if e.As == ofNobody {
		return r.nobody
	}
	for _, s := range r.sessions {
		if e.As != "" && s.User.Name == e.As {
			return s.User
		}
	}
	return r.user()
}

// named is the name of an account in an error.
func named(name, user string) string { return cmp.Or(name, user, "the given session") }
