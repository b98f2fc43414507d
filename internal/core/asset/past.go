package asset

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/list"
)

// Lists as of a moment are read from the rows that were valid then: those of asset that have not
// changed since, and those of asset_past that ended later. The database orders them, and each is
// held against the filter (row.withColumns): such a page costs a look at every asset that there was.
// Where nothing has changed since the moment, it is the list of now.

// listPast is a list as of a moment.
func (as *Assets) listPast(ctx context.Context, teamID string, q Query) (p Page, err error) {
	q.AsOf = q.AsOf.UTC().Truncate(time.Microsecond)
	still, err := as.unchanged(ctx, teamID, q.AsOf)
	if err != nil {
		return p, err
	}
	if still {
		return as.listNow(ctx, teamID, q)
	}
	runs, err := as.runs(ctx, teamID, q.AsOf)
	if err != nil {
		return p, err
	}
	filter := meaning{runs: runs, rows: true}.of(q.Filter)
	var shown []int64
	p.End = 1
	text, args := pastRows(teamID, q)
	for r, err := range as.db.Rows(ctx, text, args...) {
		var one row
		if err == nil {
			err = r.Scan(one.dest()...)
		}
		if err != nil {
			return p, err
		}
		p.End = max(p.End, one.no+1)
		if _, there := runs[one.enumeration]; !there || q.Before > 0 && one.no >= q.Before ||
			!one.withColumns().Meets(filter) {
			continue
		}
		if p.Total >= q.Offset && len(shown) < q.Limit {
			shown = append(shown, one.no)
		}
		p.Total++
	}
	if q.Before > 0 {
		p.End = min(p.End, q.Before)
	}
	if n := len(shown); n > 0 && len(q.Sorts) == 0 && q.Offset+n < p.Total {
		p.Next = shown[n-1]
	}
	p.Assets, err = as.loadPast(ctx, teamID, q.AsOf, shown)
	return p, err
}

// pastRows is the query of the rows that were valid at a moment, in order.
func pastRows(teamID string, q Query) (text string, args []any) {
	at, of := db.At(q.AsOf), ""
	var ids []any
	if q.Enumerations != nil {
		of = ` AND enumeration_id IN (NULL` + strings.Repeat(", ?", len(q.Enumerations)) + `)`
		ids = db.Anys(q.Enumerations)
	}
	args = slices.Concat([]any{teamID, at}, ids, []any{teamID, at, at}, ids)
	orders := ordersOf(q.Sorts)
	for i, o := range orders {
		if strings.HasPrefix(o.Column, "first_run") {
			orders[i].Column = `first_run = (SELECT max(r.run) FROM asset_run r WHERE r.enumeration_id = asset.enumeration_id AND r.started_at <= ?)`
			args = append(args, at)
		}
	}
	return `SELECT ` + rowColumns + ` FROM (SELECT ` + rowColumns + ` FROM asset WHERE team_id = ? AND since <= ?` + of +
		` UNION ALL SELECT ` + rowColumns + ` FROM asset_past WHERE team_id = ? AND since <= ? AND until > ?` + of +
		`) asset` + list.OrderBy("no", orders), args
}

// unchanged reports whether all assets of a team are as they were at a moment: nothing changed
// or was deleted since, and no run began.
func (as *Assets) unchanged(ctx context.Context, teamID string, at time.Time) (still bool, err error) {
	t := db.At(at)
	err = as.db.QueryRow(ctx, `SELECT NOT EXISTS (SELECT 1 FROM asset WHERE team_id = ? AND since > ?)
		AND NOT EXISTS (SELECT 1 FROM asset_run WHERE team_id = ? AND started_at > ?)
		AND NOT EXISTS (SELECT 1 FROM asset_past a WHERE team_id = ? AND until > ? AND EXISTS (SELECT 1 FROM asset_enumeration e WHERE e.id = a.enumeration_id))`,
		teamID, t, teamID, t, teamID, t).Scan(&still)
	return still, err
}

// loadPast is Load of assets as they were at a moment.
func (as *Assets) loadPast(ctx context.Context, teamID string, at time.Time, numbers []int64) ([]Asset, error) {
	out := make([]Asset, 0, len(numbers))
	const latest = `SELECT (SELECT coalesce(max(r.run), 0) FROM asset_run r WHERE r.enumeration_id = a.enumeration_id AND r.started_at <= ?), `
	t := db.At(at)
	for part := range slices.Chunk(numbers, batch) {
		in, args := `AND a.no IN (`+marks(len(part))+`)`, db.Anys(part)
		found, err := db.Select(ctx, as.db, shownAsset,
			latest+shownColumns+` FROM asset`+shownTables+`WHERE a.team_id = ? AND a.since <= ? `+in+
				` UNION ALL `+latest+shownColumns+` FROM asset_past`+shownTables+
				`WHERE a.team_id = ? AND a.since <= ? AND a.until > ? `+in,
			slices.Concat([]any{t, teamID, t}, args, []any{t, teamID, t, t}, args)...)
		if err != nil {
			return nil, err
		}
		out = append(out, inOrder(found, part)...)
	}
	return out, nil
}
