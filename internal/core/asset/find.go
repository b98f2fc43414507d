package asset

import (
	"context"
	"iter"
	"net"
	"slices"
	"strconv"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/list"
)

// Find finds an asset of the caller's team.
func (as *Assets) Find(ctx context.Context, id int64) (Asset, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Asset{}, err
	}
	return as.Get(ctx, c.TeamID, id)
}

// Get finds an asset of a team.
func (as *Assets) Get(ctx context.Context, teamID string, id int64) (Asset, error) {
	found, err := as.Load(ctx, teamID, []int64{NumberOf(id)})
	if err == nil && (len(found) == 0 || found[0].ID != id) {
		err = errs.Missing("asset")
	}
	if err != nil {
		return Asset{}, err
	}
	return found[0], nil
}

// EnumerationsWith finds the enumerations of the caller's team that have a matching asset.
func (as *Assets) EnumerationsWith(ctx context.Context, f Filter) ([]string, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	q, err := as.query(ctx, c.TeamID, f)
	if err != nil {
		return nil, err
	}
	all, err := db.Values[string](ctx, as.db, `SELECT id FROM asset_enumeration WHERE team_id = ?`, c.TeamID)
	ids := []string{}
	for _, id := range all {
		one := q
		one.Filter, one.Limit, one.WithoutTotal = list.All(list.Has("enumeration", id), q.Filter), 1, true
		p, err := index.Page(ctx, as.db, c.TeamID, one)
		if err != nil {
			return nil, err
		}
		if len(p.Numbers) > 0 {
			ids = append(ids, id)
		}
	}
	return ids, err
}

// Sample counts matching assets of a team exactly, and returns the newest of them.
func (as *Assets) Sample(
	ctx context.Context, teamID string, f Filter, limit int,
) (total int, newest []Asset, err error) {
	q, err := as.query(ctx, teamID, f)
	if err != nil {
		return 0, nil, err
	}
	q.ExactTotal, q.Limit = true, limit
	p, err := index.Page(ctx, as.db, teamID, q)
	if err != nil {
		return 0, nil, err
	}
	newest, err = as.Load(ctx, teamID, p.Numbers)
	return p.Total, newest, err
}

// HasEnumeration reports whether a team has an enumeration of this id.
func (as *Assets) HasEnumeration(ctx context.Context, teamID, enumerationID string) (known bool, err error) {
	err = as.db.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM asset_enumeration WHERE id = ? AND team_id = ?)`,
		db.Clean(enumerationID), teamID).Scan(&known)
	return known, err
}

// NarrowTo narrows a filter to the assets of an enumeration or a group of the caller's team. An unknown
// id is errs.Missing.
func (as *Assets) NarrowTo(ctx context.Context, id string) (narrow func(Filter) Filter, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	return as.Narrow(ctx, c.TeamID, id)
}

// Narrow is NarrowTo for a team, where nobody calls.
func (as *Assets) Narrow(ctx context.Context, teamID, id string) (narrow func(Filter) Filter, err error) {
	known, err := as.HasEnumeration(ctx, teamID, id)
	if err != nil {
		return nil, err
	}
	if known {
		return func(f Filter) Filter { f.Enumerations = []string{id}; return f }, nil
	}
	var filters db.JSON[Filters]
	err = as.db.QueryRow(ctx, `SELECT filters FROM asset_group WHERE id = ? AND team_id = ?`, db.Clean(id),
		teamID).Scan(&filters)
	if db.IsNoRows(err) {
		return nil, errs.Missing("enumeration")
	}
	if err != nil {
		return nil, err
	}
	// Time ranges count from the last full minute, so that the pages of a list agree.
	group, err := filters.V.Parse(as.now().Truncate(time.Minute))
	return func(f Filter) Filter { f.And = append(f.And, group); return f }, err
}

// Selection picks assets for a scan.
type Selection struct {
	Filter
	Kinds []string // hosts, ports, http, endpoints; none: of each asset the most specific target
}

// Targets iterates over scan targets, the oldest asset first: URLs of HTTP services, host:port of
// other open ports, and hosts without known ports. Missing assets are left out; a target may repeat.
func (as *Assets) Targets(ctx context.Context, teamID string, q Selection) iter.Seq2[string, error] {
	return func(yield func(string, error) bool) {
		numbers, err := as.Numbers(ctx, teamID, q.Filter, list.Not(meaning{}.missing()))
		if err != nil {
			yield("", err)
			return
		}
		slices.Reverse(numbers)
		for part := range slices.Chunk(numbers, batch) {
			found, err := as.Load(ctx, teamID, part)
			var withPort map[string]bool
			if err == nil && len(q.Kinds) == 0 {
				withPort, err = as.hostsWithPort(ctx, teamID, q.Filter, found)
			}
			if err != nil {
				yield("", err)
				return
			}
			for _, a := range found {
				if a.Port == 0 && withPort[a.Host] {
					continue
				}
				for _, target := range a.targets(q.Kinds) {
					if !yield(target, nil) {
						return
					}
				}
			}
		}
	}
}

// hostsWithPort finds which hosts of some assets without a port have matching assets with a port.
func (as *Assets) hostsWithPort(ctx context.Context, teamID string, f Filter, found []Asset) (map[string]bool, error) {
	var hosts []string
	for _, a := range found {
		if a.Port == 0 {
			hosts = append(hosts, a.Host)
		}
	}
	if len(hosts) == 0 {
		return nil, nil
	}
	numbers, err := as.Numbers(ctx, teamID, f,
		list.Has("host", hosts...), list.Not(list.Has("port", number(0))), list.Not(meaning{}.missing()))
	out := map[string]bool{}
	for part := range slices.Chunk(numbers, batch) {
		if err != nil {
			break
		}
		var found []string
		w := db.InTeam(teamID, "no", part)
		found, err = db.Values[string](ctx, as.db, `SELECT host FROM asset`+w.String()+` ORDER BY no`, w.Args...)
		for _, host := range found {
			out[host] = true
		}
	}
	return out, err
}

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
