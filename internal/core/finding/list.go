package finding

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding/identity"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/list"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// findings is the list of findings (migration 00230).
var findings = list.Index{Name: "finding", Table: "finding",
	Searched: []string{"severity", "status", "port", "host", "text", "epss"}}

// Sortable are the fields of an order, as page.Sorts wants them.
var Sortable = listing.Sortable

// reindex updates the list entries of changed findings, in the transaction that changes them.
func reindex(ctx context.Context, tx *db.Tx, teamID string, numbers ...int64) error {
	for part := range slices.Chunk(numbers, batch) {
		w := db.InTeam(teamID, "no", part)
		entries, err := db.Select(ctx, tx, func(r db.Row) (list.Row, error) { return listing.Scan(r) },
			`SELECT `+listing.Columns+` FROM finding`+w.String(), w.Args...)
		if err == nil {
			err = addMembers(ctx, tx, teamID, entries)
		}
		if err == nil {
			err = findings.Put(ctx, tx, teamID, entries)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// Reindex updates the list entries of findings whose columns another package has changed, in its transaction.
func (fs *Findings) Reindex(ctx context.Context, tx *db.Tx, teamID string, numbers ...int64) error {
	return reindex(ctx, tx, teamID, numbers...)
}

// maxMembers bounds the findings whose places the entry of a weakness has besides its own.
const maxMembers = 100

// ofMembers are the facets of the entry of a weakness that all its findings give values to: where it is, and what the
// checks that saw it are called.
var ofMembers = []string{"host", "domain", "port", "template", "text", "category", "tag"}

// addMembers adds to the entries of findings that stand for a weakness of several hashes what the others have, so that
// a list finds the weakness by each of them.
func addMembers(ctx context.Context, tx *db.Tx, teamID string, entries []list.Row) error {
	at, numbers := map[string]*list.Row{}, make([]int64, len(entries))
	for i := range entries {
		numbers[i] = entries[i].No
	}
	w := db.InTeam(teamID, "no", numbers)
	err := db.Each(ctx, tx, func(r db.Row) error {
		var no int64
		var weakness string
		err := r.Scan(&no, &weakness)
		at[weakness] = &entries[slices.IndexFunc(entries, func(row list.Row) bool { return row.No == no })]
		return err
	}, `SELECT no, `+weaknessOf+` FROM finding`+w.String()+` AND NOT is_repeat`, w.Args...)
	if err != nil {
		return err
	}
	shared, err := identity.Shared(ctx, tx, teamID, slices.Sorted(maps.Keys(at)))
	for _, weakness := range shared {
		members, err := db.Select(ctx, tx, func(r db.Row) (list.Row, error) { return listing.Scan(r) }, `SELECT `+listing.Columns+`
			FROM finding WHERE team_id = ? AND weakness <> '' AND weakness = ? ORDER BY no LIMIT ?`,
			teamID, weakness, maxMembers)
		if err != nil {
			return err
		}
		row := at[weakness]
		for _, m := range members {
			for _, v := range m.Values {
				if slices.Contains(ofMembers, v.Facet) && !slices.Contains(row.Values, v) {
					row.Values = append(row.Values, v)
				}
			}
		}
	}
	return err
}

// Backfill adds to the list the findings that an older version stored without index, and marks those that repeat a
// weakness. The server calls it before it answers requests.
func (fs *Findings) Backfill(ctx context.Context) error {
	rows := func(cond string) list.ReadRows {
		return func(ctx context.Context, tx *db.Tx, team string, no int64) ([]list.TeamRow, error) {
			return db.Select(ctx, tx, func(r db.Row) (row list.TeamRow, err error) {
				row.Row, err = listing.Scan(r, &row.Team)
				return row, err
			}, `SELECT team_id, `+listing.Columns+` FROM finding WHERE (team_id, no) > (?, ?)`+cond+`
			ORDER BY team_id, no LIMIT 2000`, team, no)
		}
	}
	if err := findings.Backfill(ctx, fs.db, rows(``)); err != nil {
		return err
	}
	return findings.BackfillAs(ctx, fs.db, "finding_repeat", rows(` AND is_repeat`))
}

// query translates a filter and an order for package list.
func (fs *Findings) query(
	ctx context.Context, q db.Querier, teamID string, f Filter, sorts []page.Sort, w page.Window,
) (out list.Query, err error) {
	out = list.Query{Filter: f.Conditions(), Before: f.Before, Offset: w.Offset, Limit: w.Limit,
		WithoutTotal: w.WithoutTotal}
	for _, s := range sorts {
		order := listing.Orders[s.Column]
		order.Desc = s.Desc
		out.Orders = append(out.Orders, order)
	}
	if f.IDs != nil {
		numbers, err := fs.numbers(ctx, q, teamID, f.IDs)
		if err != nil {
			return out, err
		}
		out.Filter = list.All(list.Numbers(numbers...), out.Filter)
	}
	if !f.Since.IsZero() {
		if out.From, err = firstAt(ctx, q, teamID, f.Since); err != nil {
			return out, err
		}
	}
	if !f.Until.IsZero() {
		until, err := firstAt(ctx, q, teamID, f.Until)
		if err != nil {
			return out, err
		}
		if out.Before == 0 || until < out.Before {
			out.Before = until
		}
	}
	return out, nil
}

// firstAt is the least number above those of all findings that are older than a time. Times grow with numbers, so a
// binary search by the primary key finds it.
func firstAt(ctx context.Context, q db.Querier, teamID string, at time.Time) (int64, error) {
	var last int64
	err := q.QueryRow(ctx, `SELECT coalesce(max(no), 0) FROM finding WHERE team_id = ?`, teamID).Scan(&last)
	low, high := int64(1), last+1 // the answer is between the two
	for err == nil && low < high {
		middle := (low + high) / 2
		var no int64
		var created db.Time
		err = q.QueryRow(ctx, `SELECT no, created_at FROM finding WHERE team_id = ? AND no >= ? ORDER BY no LIMIT 1`,
			teamID, middle).Scan(&no, &created)
		switch {
		case db.IsNoRows(err): // deleted meanwhile
			high, err = middle, nil
		case created.Before(at.Truncate(time.Microsecond)):
			low = no + 1
		default:
			high = middle
		}
	}
	return low, err
}

// Numbers are the numbers of all findings that a filter picks, the newest first.
func (fs *Findings) Numbers(ctx context.Context, q db.Querier, teamID string, f Filter) ([]int64, error) {
	return fs.pick(ctx, q, teamID, f)
}

// pick finds the numbers of all findings that a filter picks, the newest first.
func (fs *Findings) pick(ctx context.Context, q db.Querier, teamID string, f Filter) (numbers []int64, err error) {
	query, err := fs.query(ctx, q, teamID, f, nil, page.Window{})
	if err != nil {
		return nil, err
	}
	err = findings.Each(ctx, q, teamID, query, func(part []int64) error {
		numbers = append(numbers, part...)
		return nil
	})
	return numbers, err
}
