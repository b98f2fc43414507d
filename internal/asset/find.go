package asset

import (
	"context"
	"iter"
	"net"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/account"
	"github.com/vedette-sec/vedette/internal/db"
	"github.com/vedette-sec/vedette/internal/errs"
	"github.com/vedette-sec/vedette/internal/page"
)

// Page is a part of a list.
type Page struct {
	Assets []Asset
	Total  int // that the filter picks
	// End is behind the number of every asset that the list could have had. As Before of
	// the filter of the pages that follow, it keeps what arrives meanwhile from shifting
	// them, in any order.
	End int64
	// Next is for an unsorted list. As Before, with the offset 0, it asks for what follows
	// this page, whatever arrived or was deleted meanwhile; 0: nothing follows.
	Next int64
}

// Query is a list that is asked for.
type Query struct {
	Filter
	Sorts []page.Sort // from page.Sorts with Sortable; none: the newest first
	page.Window
	AsOf time.Time // the list as it was then; zero: as it is
}

// Find is an asset of the caller's team.
func (as *Assets) Find(ctx context.Context, id int64) (Asset, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Asset{}, err
	}
	return as.Get(ctx, c.TeamID, id)
}

// Get is an asset of a team.
func (as *Assets) Get(ctx context.Context, teamID string, id int64) (Asset, error) {
	g, err := as.current(ctx, teamID)
	if err != nil {
		return Asset{}, err
	}
	teamNo, no := noOf(id)
	there := teamNo == g.teamNo && g.live.has(no)
	g.RUnlock()
	if !there {
		return Asset{}, errs.Missing("asset")
	}
	found, err := as.load(ctx, g, teamID, []uint32{no})
	if err == nil && len(found) == 0 { // deleted just now
		err = errs.Missing("asset")
	}
	if err != nil {
		return Asset{}, err
	}
	return found[0], nil
}

// ByHostPort is what the inventory of a team knows of a host and port: of several
// enumerations, what was seen last. With the port 0, or where the port is not known, it is
// the host by itself. ok is false when there is nothing.
func (as *Assets) ByHostPort(ctx context.Context, teamID, host string, port int) (a Asset, ok bool, err error) {
	g, err := as.current(ctx, teamID)
	if err != nil {
		return a, false, err
	}
	hosts := g.pick(Filter{Hosts: []string{strings.ToLower(clip(host, maxText))}})
	best := func(port int) (no uint32, ok bool) {
		s := slices.Clone(hosts)
		s.and(g.at(port))
		s.each(func(n uint32) bool {
			if !ok || g.seen.place(n) >= g.seen.place(no) {
				no, ok = n, true
			}
			return true
		})
		return no, ok
	}
	no, ok := best(port)
	if !ok {
		no, ok = best(0)
	}
	g.RUnlock()
	if !ok {
		return a, false, nil
	}
	found, err := as.load(ctx, g, teamID, []uint32{no})
	if err != nil || len(found) == 0 {
		return a, false, err
	}
	return found[0], true, nil
}

// List lists assets of the caller's team.
func (as *Assets) List(ctx context.Context, q Query) (p Page, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return p, err
	}
	if !q.AsOf.IsZero() {
		return as.listPast(ctx, c.TeamID, q)
	}
	g, err := as.current(ctx, c.TeamID)
	if err != nil {
		return p, err
	}
	p, shown := g.page(q)
	g.RUnlock()
	p.Assets, err = as.load(ctx, g, c.TeamID, shown)
	return p, err
}

// page is the numbers that a page shows.
func (x *index) page(q Query) (p Page, shown []uint32) {
	s := x.pick(q.Filter)
	shown = x.window(s, q.Sorts, q.Window)
	p.Total, p.End = s.count(), max(int64(x.size), 1)
	if n := len(shown); n > 0 && len(q.Sorts) == 0 && q.Offset+n < p.Total {
		p.Next = int64(shown[n-1])
	}
	if q.Before > 0 {
		p.End = min(p.End, q.Before)
	}
	return p, shown
}

// load reads assets by their numbers, in that order. One that was deleted meanwhile is
// not there. The caller does not hold the index.
func (as *Assets) load(ctx context.Context, g *guarded, teamID string, numbers []uint32) ([]Asset, error) {
	out := make([]Asset, 0, len(numbers))
	for part := range slices.Chunk(numbers, batch) {
		rows, err := as.db.Query(ctx, `SELECT `+shownColumns+` FROM asset a JOIN asset_doc d ON d.team_id = a.team_id AND d.no = a.no AND d.rev = a.doc
			WHERE a.team_id = ? AND a.no IN (`+marks(len(part))+`)`+enrolled, append([]any{teamID}, anys(part)...)...)
		g.RLock()
		found, err := db.Collect(rows, err, g.scan)
		g.RUnlock()
		if err != nil {
			return nil, err
		}
		out = append(out, inOrder(found, part)...)
	}
	return out, nil
}

// scan reads shownColumns, and adds what the index knows.
func (x *index) scan(r db.Row) (Asset, error) {
	var one row
	var doc []byte
	if err := r.Scan(&one.no, &one.enumeration, &one.hash, &one.firstRun, &one.createdAt, &one.since, &one.seenAt, &one.missing, &one.internal, &one.labels, &one.screenshot, &doc); err != nil {
		return Asset{}, err
	}
	a, err := assetOf(x.teamNo, one, doc)
	runs := x.runs[one.enumeration]
	a.Enumeration, a.SourceType, a.IsNew = runs.name, runs.source, one.firstRun == runs.latest
	return a, err
}

func inOrder(found []Asset, numbers []uint32) []Asset {
	return db.InOrder(found, numbers, func(a Asset) uint32 { return a.no })
}

// EnumerationsWith are the enumerations of the caller's team that have an asset which a
// filter picks.
func (as *Assets) EnumerationsWith(ctx context.Context, f Filter) ([]string, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	g, err := as.current(ctx, c.TeamID)
	if err != nil {
		return nil, err
	}
	defer g.RUnlock()
	s, ids := g.pick(f), []string{}
	for id := range g.runs {
		its := slices.Clone(g.among("enumeration", g.enumeration, []string{id}, (*facet).exactly))
		if its.and(s); its.count() > 0 {
			ids = append(ids, id)
		}
	}
	return ids, nil
}

// Totals are how much an enumeration of a team has.
func (as *Assets) Totals(ctx context.Context, teamID, enumerationID string) (Totals, error) {
	g, err := as.current(ctx, teamID)
	if err != nil {
		return Totals{}, err
	}
	defer g.RUnlock()
	return g.totals(g.pick(Filter{Enumerations: []string{enumerationID}})), nil
}

// totals counts a set.
func (x *index) totals(s set) (t Totals) {
	hosts := make([]bool, len(x.host.values))
	s.each(func(no uint32) bool {
		if host := x.host.of[no]; !hosts[host] {
			hosts[host] = true
			t.Hosts++
		}
		t.Endpoints += int(x.endpoints[no])
		return true
	})
	among := func(other set) int {
		both := slices.Clone(s)
		both.and(other)
		return both.count()
	}
	t.Assets, t.HTTP = s.count(), among(x.among("service", x.service, []string{"http", "https"}, (*facet).exactly))
	t.Ports = t.Assets - among(x.at(0))
	t.New, t.Missing = among(x.fresh()), among(x.missing)
	return t
}

// Selection is the assets that a scan is to look at.
type Selection struct {
	Filter          // IDs, Enumerations and whatever else it says
	Kinds  []string // hosts, ports, http, endpoints: targets of these kinds; none: of each asset the one that says most
}

// Targets walks what scans are to be pointed at: URLs of what speaks HTTP, host:port of
// other open ports, and hosts that have no port that is known. Each is given once for
// each asset that has it; the caller drops what it has had. What is missing is left out.
func (as *Assets) Targets(ctx context.Context, teamID string, q Selection) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		g, err := as.current(ctx, teamID)
		if err != nil {
			yield("", err)
			return
		}
		s := g.pick(q.Filter)
		s.not(g.missing)
		ported := make([]bool, len(g.host.values))
		bare := g.at(0)
		s.each(func(no uint32) bool {
			if !bare.has(no) {
				ported[g.host.of[no]] = true
			}
			return true
		})
		if len(q.Kinds) == 0 { // a host by itself says less than its ports
			s.keep(func(no uint32) bool { return !bare.has(no) || !ported[g.host.of[no]] })
		}
		g.RUnlock()
		for part := range slices.Chunk(s.numbers(), batch) {
			found, err := as.load(ctx, g, teamID, part)
			if err != nil {
				yield("", err)
				return
			}
			for _, a := range found {
				for _, target := range a.targets(q.Kinds) {
					if !yield(target, nil) {
						return
					}
				}
			}
		}
	}
}

// targets are what a scan of an asset is pointed at.
func (a Asset) targets(kinds []string) (out []string) {
	place := a.Host
	if a.Port > 0 {
		place = net.JoinHostPort(a.Host, strconv.Itoa(a.Port))
	}
	if len(kinds) == 0 {
		if a.URL != "" {
			return []string{a.URL}
		}
		return []string{place}
	}
	for _, kind := range kinds {
		switch {
		case kind == "hosts":
			out = append(out, a.Host)
		case kind == "ports" && a.Port > 0:
			out = append(out, place)
		case kind == "http" && a.URL != "":
			out = append(out, a.URL)
		case kind == "endpoints":
			out = append(out, a.Endpoints...)
		}
	}
	return out
}
