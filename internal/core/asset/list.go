package asset

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/list"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Query selects the assets of a list.
type Query struct {
	Filter
	In    string      // the id of an enumeration or a group; empty: all assets
	Sorts []page.Sort // from page.Sorts with Sortable; none: the newest first
	page.Window
	AsOf time.Time // the list as it was then; zero: as it is
}

// Page is a part of a list.
type Page struct {
	Assets []Asset
	Total  int // matching assets
	// TotalIsEstimate means that there are more than Total.
	TotalIsEstimate bool
	// End is above the numbers of all present assets. As Filter.Before of further pages, it keeps new
	// assets from shifting them.
	End int64
	// Next, of an unsorted list, is the Filter.Before of the next page at the offset 0, whatever
	// arrived or was deleted meanwhile; 0: there is none.
	Next int64
}

// Sortable are the fields to sort by, for page.Sorts.
var Sortable = map[string]string{
	"created_at": "created_at", "updated_at": "updated_at", "last_seen": "last_seen", "id": "created_at", "host": "host",
	"name": "host", "port": "port",
	"status_code": "status", "content_length": "length", "title": "title", "webserver": "webserver", "domain": "domain",
	"domain_name": "domain", "ip": "ip",
	"cname": "cname", "technologies": "technology", "favicon": "favicon", "labels": "label", "is_new": "new",
	"type": "service", "service": "service",
	"enumeration_id": "enumeration",
}

// sortColumns are the columns of Sortable's values, with a facet where a column has few values.
var sortColumns = map[string]list.Order{
	"created_at": {Column: "no"}, "updated_at": {Column: "since"}, "last_seen": {Column: "seen_at"},
	"host": {Column: "host"},
	"port": {Column: "port", Facet: "port"}, "status": {Column: "status_code", Facet: "status_code"},
	"length": {Column: "content_length"},
	"title":  {Column: "title"}, "webserver": {Column: "webserver"}, "domain": {Column: "domain"},
	"ip":    {Column: "ip_order"},
	"cname": {Column: "cname"}, "technology": {Column: "technologies"}, "favicon": {Column: "favicon"},
	"label":   {Column: "labels"},
	"service": {Column: "service"}, "enumeration": {Column: "enumeration_id", Facet: "enumeration"},
	"new": {Column: "first_run = (SELECT e.run FROM asset_enumeration e WHERE e.id = asset.enumeration_id)"},
}

// ordersOf converts sorts for package list, which sorts equal rows by number, the newest first.
func ordersOf(sorts []page.Sort) (out []list.Order) {
	for _, sort := range sorts {
		o := sortColumns[sort.Column]
		o.Desc = sort.Desc
		if out = append(out, o); o.Column == "no" {
			break
		}
	}
	return out
}

// List lists assets of the caller's team.
func (as *Assets) List(ctx context.Context, q Query) (p Page, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return p, err
	}
	if q.In != "" {
		narrow, err := as.NarrowTo(ctx, q.In)
		if err != nil {
			return p, err
		}
		q.Filter, q.In = narrow(q.Filter), ""
	}
	if !q.AsOf.IsZero() {
		return as.listPast(ctx, c.TeamID, q)
	}
	return as.listNow(ctx, c.TeamID, q)
}

func (as *Assets) listNow(ctx context.Context, teamID string, q Query) (p Page, err error) {
	lq, err := as.query(ctx, teamID, q.Filter)
	if err != nil {
		return p, err
	}
	lq.Offset, lq.Limit, lq.WithoutTotal, lq.Orders = q.Offset, q.Limit, q.WithoutTotal, ordersOf(q.Sorts)
	var found list.Page
	switch {
	case len(q.Sorts) > 0 && q.Sorts[0].Column == "new":
		lq.WithoutTotal = false // it is two lists, the first of which is counted
		found, err = as.byNew(ctx, teamID, lq)
	case len(lq.Orders) > 0 && lq.Orders[0].Column == "no":
		lq.Orders, lq.Oldest = nil, !lq.Orders[0].Desc
		found, err = index.Page(ctx, as.db, teamID, lq)
		found.Next = 0
	default:
		found, err = index.Page(ctx, as.db, teamID, lq)
	}
	if err != nil {
		return p, err
	}
	p = Page{Total: found.Total, TotalIsEstimate: found.TotalIsEstimate, End: found.End, Next: found.Next}
	p.Assets, err = as.Load(ctx, teamID, found.Numbers)
	return p, err
}

// query translates a filter for the index of a team, without the assets of enumerations that are
// being deleted.
func (as *Assets) query(ctx context.Context, teamID string, f Filter) (q list.Query, err error) {
	m := meaning{}
	err = as.db.QueryRow(ctx, `SELECT team_no FROM asset_log WHERE team_id = ?`, teamID).Scan(&m.team)
	if err != nil && !db.IsNoRows(err) {
		return q, err
	}
	if f.asksRuns() {
		if m.runs, err = as.runs(ctx, teamID, time.Time{}); err != nil {
			return q, err
		}
	}
	deleted, err := db.Values[string](ctx, as.db, `SELECT enumeration_id FROM asset_deleted WHERE team_id = ?`, teamID)
	if err != nil {
		return q, err
	}
	q = list.Query{Filter: m.of(f), Before: f.Before}
	if len(deleted) > 0 {
		q.Filter = list.All(q.Filter, list.Not(list.Has("enumeration", deleted...)))
	}
	return q, nil
}

// byNew is a page sorted by is_new first. That depends on another table, so new assets and others are
// two lists.
func (as *Assets) byNew(ctx context.Context, teamID string, q list.Query) (p list.Page, err error) {
	runs, err := as.runs(ctx, teamID, time.Time{})
	if err != nil {
		return p, err
	}
	fresh := meaning{runs: runs}.fresh()
	parts := []list.Filter{list.Not(fresh), fresh}
	if q.Orders[0].Desc {
		slices.Reverse(parts)
	}
	all, passed := q.Filter, 0
	for _, part := range parts {
		one := q
		one.Filter, one.Orders, one.ExactTotal = list.All(all, part), q.Orders[1:], true
		if len(one.Orders) > 0 && one.Orders[0].Column == "no" {
			one.Orders, one.Oldest = nil, !one.Orders[0].Desc
		}
		one.Offset, one.Limit = max(0, q.Offset-passed), q.Limit-len(p.Numbers)
		found, err := index.Page(ctx, as.db, teamID, one)
		if err != nil {
			return p, err
		}
		passed += found.Total
		p.Numbers, p.End = append(p.Numbers, found.Numbers...), max(p.End, found.End)
	}
	p.Total = passed
	return p, nil
}

// Numbers are the numbers of all matching assets of a team, the newest first.
func (as *Assets) Numbers(ctx context.Context, teamID string, f Filter, and ...list.Filter) (out []int64, err error) {
	q, err := as.query(ctx, teamID, f)
	if err != nil {
		return nil, err
	}
	q.Filter = list.All(append(and, q.Filter)...)
	err = index.Each(ctx, as.db, teamID, q, func(numbers []int64) error {
		out = append(out, numbers...)
		return nil
	})
	return out, err
}

// shownColumns are the columns that shownAsset reads after the latest run: of the row (a), its
// document (d), its enumeration (e) and its team (l).
const shownColumns = `a.no, a.enumeration_id, a.hash, a.first_run, a.created_at, a.since, a.seen_at, a.is_missing, a.is_internal, a.labels, a.screenshot,
	d.doc, e.name, e.source, l.team_no`

// shownTables joins their tables, without assets whose enumeration is being deleted.
const shownTables = ` a JOIN asset_doc d ON d.team_id = a.team_id AND d.no = a.no AND d.rev = a.doc
	JOIN asset_enumeration e ON e.id = a.enumeration_id JOIN asset_log l ON l.team_id = a.team_id `

// Load reads assets by their numbers, in that order. One that was deleted meanwhile is left out.
func (as *Assets) Load(ctx context.Context, teamID string, numbers []int64) ([]Asset, error) {
	out := make([]Asset, 0, len(numbers))
	for part := range slices.Chunk(numbers, batch) {
		found, err := db.Select(ctx, as.db, shownAsset, `SELECT e.run, `+shownColumns+` FROM asset`+shownTables+
			`WHERE a.team_id = ? AND a.no IN (`+marks(len(part))+`)`, append([]any{teamID}, db.Anys(part)...)...)
		if err != nil {
			return nil, err
		}
		out = append(out, inOrder(found, part)...)
	}
	return out, nil
}

// shownAsset reads the latest run of the enumeration, for is_new, and shownColumns.
func shownAsset(r db.Row) (Asset, error) {
	var one row
	var doc []byte
	var latest, teamNo int64
	var name, source string
	if err := r.Scan(&latest, &one.no, &one.enumeration, &one.hash, &one.firstRun, &one.createdAt, &one.since, &one.seenAt,
		&one.missing, &one.internal,
		&one.labels, &one.screenshot, &doc, &name, &source, &teamNo); err != nil {
		return Asset{}, err
	}
	a, err := assetOf(one, doc)
	a.ID, a.Enumeration, a.SourceType, a.IsNew = IDOf(teamNo, one.no), name, source, one.firstRun == latest
	return a, err
}

func inOrder(found []Asset, numbers []int64) []Asset {
	return db.InOrder(found, numbers, func(a Asset) int64 { return a.no })
}

// runs reads the runs of the team's enumerations that had begun at a time; the zero time: all.
func (as *Assets) runs(ctx context.Context, teamID string, until time.Time) (map[string]runs, error) {
	out := map[string]runs{}
	err := db.Each(ctx, as.db, func(r db.Row) error {
		var id string
		var run int64
		var started, ended db.Time
		var covered bool
		if err := r.Scan(&id, &run, &started, &ended, &covered); err != nil {
			return err
		}
		e := out[id]
		if until.IsZero() || !started.After(until) {
			e.latest = run
			if covered && (until.IsZero() || !ended.After(until)) {
				e.covered, e.coveredAt = run, ended.Time
			}
		}
		out[id] = e
		return nil
	}, `SELECT e.id, coalesce(r.run, 0), r.started_at, r.ended_at, coalesce(r.covered, ?) FROM asset_enumeration e
		LEFT JOIN asset_run r ON r.enumeration_id = e.id WHERE e.team_id = ? ORDER BY r.run`, false, teamID)
	return out, err
}

// Backfill indexes assets that older versions stored without an index. It runs at the start, before
// lists are served.
func (as *Assets) Backfill(ctx context.Context) error {
	if err := as.backfillPast(ctx); err != nil {
		return err
	}
	return index.Backfill(ctx, as.db, func(ctx context.Context, tx *db.Tx, team string, no int64) ([]list.TeamRow, error) {
		var changed [][]any
		found, err := db.Select(ctx, tx, func(r db.Row) (one list.TeamRow, err error) {
			var of row
			err = r.Scan(append([]any{&one.Team}, of.dest()...)...)
			one.Row = of.entry()
			changed = append(changed, []any{ipOrder(of.ip), one.Team, of.no})
			return one, err
		}, `SELECT team_id, `+rowColumns+` FROM asset WHERE (team_id, no) > (?, ?) ORDER BY team_id, no LIMIT 2000`, team, no)
		for _, args := range changed {
			if err == nil {
				_, err = tx.Exec(ctx, `UPDATE asset SET ip_order = ? WHERE team_id = ? AND no = ?`, args...)
			}
		}
		return found, err
	})
}

// backfillPast fills in the sort key of addresses of past versions.
func (as *Assets) backfillPast(ctx context.Context) error {
	for {
		texts, err := db.Values[string](ctx, as.db, `SELECT DISTINCT ip FROM asset_past WHERE ip_order = '' LIMIT 500`)
		if err != nil || len(texts) == 0 {
			return err
		}
		for _, ip := range texts {
			if _, err := as.db.Exec(ctx, `UPDATE asset_past SET ip_order = ? WHERE ip_order = '' AND ip = ?`, ipOrder(ip),
				ip); err != nil {
				return err
			}
		}
	}
}

// put updates the index rows of assets, in the transaction that changes them.
func put(ctx context.Context, tx *db.Tx, teamID string, numbers []int64) error {
	for part := range slices.Chunk(numbers, batch) {
		w := db.InTeam(teamID, "no", part)
		entries, err := db.Select(ctx, tx, func(r db.Row) (list.Row, error) {
			var one row
			err := r.Scan(one.dest()...)
			return one.entry(), err
		}, `SELECT `+rowColumns+` FROM asset`+w.String(), w.Args...)
		if err == nil {
			err = index.Put(ctx, tx, teamID, entries)
		}
		if err != nil {
			return err
		}
	}
	return nil
}
