package asset

import (
	"context"
	"iter"
	"net"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/list"
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
	_, no := noOf(id)
	found, err := as.load(ctx, teamID, []int64{no})
	if err == nil && (len(found) == 0 || found[0].ID != id) {
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
	var no int64
	err = as.db.QueryRow(ctx, `SELECT a.no FROM asset a WHERE a.team_id = ? AND a.host = ? AND a.port IN (?, 0)`+enrolled+
		` ORDER BY a.port DESC, a.seen_at DESC, a.no DESC LIMIT 1`, teamID, strings.ToLower(clip(host, maxText)), port).Scan(&no)
	if db.IsNoRows(err) {
		return a, false, nil
	}
	if err != nil {
		return a, false, err
	}
	found, err := as.load(ctx, teamID, []int64{no})
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
	q, err := as.query(ctx, c.TeamID, f)
	if err != nil {
		return nil, err
	}
	rows, err := as.db.Query(ctx, `SELECT id FROM asset_enumeration WHERE team_id = ?`, c.TeamID)
	all, err := db.Collect(rows, err, func(r db.Row) (id string, err error) { return id, r.Scan(&id) })
	if err != nil {
		return nil, err
	}
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
	return ids, nil
}

// Totals are how much an enumeration of a team has.
func (as *Assets) Totals(ctx context.Context, teamID, enumerationID string) (Totals, error) {
	known, err := as.Known(ctx, teamID, enumerationID)
	if err != nil || !known {
		return Totals{}, err
	}
	t, err := total(ctx, as.db, enumerationID)
	t.Changed = 0
	return t, err
}

// totals counts what a filter picks.
func (as *Assets) totals(ctx context.Context, teamID string, f Filter) (t Totals, err error) {
	numbers, err := as.numbers(ctx, teamID, f)
	hosts := map[string]bool{}
	for part := range slices.Chunk(numbers, batch) {
		if err != nil {
			break
		}
		rows, failed := as.db.Query(ctx, `SELECT a.host, a.port > 0, a.service IN ('http', 'https'), a.endpoints, a.first_run = e.run, a.is_missing
			FROM asset a JOIN asset_enumeration e ON e.id = a.enumeration_id WHERE a.team_id = ? AND a.no IN (`+marks(len(part))+`)`,
			append([]any{teamID}, anys(part)...)...)
		_, err = db.Collect(rows, failed, func(r db.Row) (struct{}, error) {
			var host string
			var endpoints int
			var port, http, fresh, missing bool
			err := r.Scan(&host, &port, &http, &endpoints, &fresh, &missing)
			hosts[host] = true
			t.Assets++
			t.Endpoints += endpoints
			for n, is := range map[*int]bool{&t.Ports: port, &t.HTTP: http, &t.New: fresh, &t.Missing: missing} {
				if is {
					*n++
				}
			}
			return struct{}{}, err
		})
	}
	t.Hosts = len(hosts)
	return t, err
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
		numbers, err := as.numbers(ctx, teamID, q.Filter, list.Not(meaning{}.missing()))
		if err != nil {
			yield("", err)
			return
		}
		slices.Reverse(numbers) // the oldest first
		for part := range slices.Chunk(numbers, batch) {
			found, err := as.load(ctx, teamID, part)
			var ported map[string]bool
			if err == nil && len(q.Kinds) == 0 {
				ported, err = as.ported(ctx, teamID, q.Filter, found)
			}
			if err != nil {
				yield("", err)
				return
			}
			for _, a := range found {
				if a.Port == 0 && ported[a.Host] { // a host by itself says less than its ports
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

// ported are the hosts of some assets by themselves of which a filter picks a port too.
func (as *Assets) ported(ctx context.Context, teamID string, f Filter, found []Asset) (map[string]bool, error) {
	var bare []string
	for _, a := range found {
		if a.Port == 0 {
			bare = append(bare, a.Host)
		}
	}
	if len(bare) == 0 {
		return nil, nil
	}
	numbers, err := as.numbers(ctx, teamID, f, list.Has("host", bare...), list.Not(list.Has("port", number(0))), list.Not(meaning{}.missing()))
	out := map[string]bool{}
	for part := range slices.Chunk(numbers, batch) {
		if err != nil {
			break
		}
		rows, failed := as.db.Query(ctx, `SELECT host FROM asset WHERE team_id = ? AND no IN (`+marks(len(part))+`)`, append([]any{teamID}, anys(part)...)...)
		_, err = db.Collect(rows, failed, func(r db.Row) (host string, err error) {
			err = r.Scan(&host)
			out[host] = true
			return host, err
		})
	}
	return out, err
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
