package asset

import (
	"context"
	"iter"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

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
	s, ids := g.picked(f), []string{}
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
	return g.totals(Filter{Enumerations: []string{enumerationID}}), nil
}

// totals counts what a filter picks.
func (x *index) totals(f Filter) Totals {
	name, ok := nameOf(f)
	if !ok {
		return x.sum(x.pick(f))
	}
	return x.sums.recall(name, func() (Totals, int) {
		t := x.sum(x.picked(f))
		return t, 8 * 8
	})
}

// sum counts a set.
func (x *index) sum(s set) (t Totals) {
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
