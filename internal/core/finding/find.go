package finding

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Find is a finding of the caller's team, with everything that is known of it.
func (fs *Findings) Find(ctx context.Context, id string) (Finding, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Finding{}, err
	}
	return fs.byID(ctx, fs.db, c.TeamID, id)
}

func (fs *Findings) byID(ctx context.Context, q db.Querier, teamID, id string) (Finding, error) {
	f, err := whole(q.QueryRow(ctx, `SELECT `+columns+`, d.exchange`+tables+` WHERE f.id = ? AND f.team_id = ?`, db.Clean(id), teamID))
	if db.IsNoRows(err) {
		return f, errs.Missing("vulnerability")
	}
	return f, err
}

// Page is a part of a list.
type Page struct {
	Results []Finding // without request and response
	Total   int       // of the findings that the filter picks
	// TotalIsEstimate says that there are more than Total.
	TotalIsEstimate bool
	// End is above the number of every finding that the list could have had. As Before of
	// the filter of the pages that follow, it keeps what arrives meanwhile from shifting
	// them, in any order.
	End int64
	// Next is for an unsorted list. As Before, with the offset 0, it asks for what follows
	// this page, whatever arrived or was deleted meanwhile; 0: nothing follows.
	Next int64
}

// FindAll lists findings of the caller's team, and how many the filter picks in all; see
// FindPage.
func (fs *Findings) FindAll(ctx context.Context, f Filter, sorts []page.Sort, w page.Window) (found []Finding, total int, err error) {
	p, err := fs.FindPage(ctx, f, sorts, w)
	return p.Results, p.Total, err
}

// FindPage lists findings of the caller's team. Sorts come from page.Sorts with Sortable;
// without any, the newest come first. The events of a list have no request and response:
// a page of them could be 100 MB.
func (fs *Findings) FindPage(ctx context.Context, f Filter, sorts []page.Sort, w page.Window) (p Page, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return p, err
	}
	query, err := fs.query(ctx, fs.db, c.TeamID, f, sorts, w)
	if err != nil {
		return p, err
	}
	picked, err := findings.Page(ctx, fs.db, c.TeamID, query)
	if err != nil {
		return p, err
	}
	p = Page{Total: picked.Total, TotalIsEstimate: picked.TotalIsEstimate, End: picked.End}
	if len(sorts) == 0 {
		p.Next = picked.Next
	}
	p.Results, err = fs.load(ctx, c.TeamID, picked.Numbers)
	return p, err
}

// load reads findings by their numbers, in that order. One that was deleted meanwhile is
// not there.
func (fs *Findings) load(ctx context.Context, teamID string, numbers []int64) ([]Finding, error) {
	out := make([]Finding, 0, len(numbers))
	for part := range slices.Chunk(numbers, batch) {
		rows, err := fs.db.Query(ctx, `SELECT `+columns+tables+numbered(part), append([]any{teamID}, anys(part)...)...)
		found, err := db.Collect(rows, err, func(r db.Row) (Finding, error) { return scan(r) })
		if err != nil {
			return nil, err
		}
		out = append(out, inOrder(found, part)...)
	}
	return out, nil
}

// numbered is the condition for a team's findings by number.
func numbered(numbers []int64) string {
	return " WHERE f.team_id = ? AND f.no IN (?" + strings.Repeat(", ?", len(numbers)-1) + ")"
}

func anys[T any](values []T) []any {
	out := make([]any, len(values))
	for i, v := range values {
		out[i] = v
	}
	return out
}

func inOrder(found []Finding, numbers []int64) []Finding {
	return db.InOrder(found, numbers, func(f Finding) int64 { return f.no })
}

// numbers are those of findings by their ids; of unknown ids there are none.
func (fs *Findings) numbers(ctx context.Context, q db.Querier, teamID string, ids []string) ([]int64, error) {
	out := []int64{}
	for part := range slices.Chunk(ids, batch) {
		var w db.Where
		w.And("team_id = ?", teamID)
		db.In(&w, "id", part)
		rows, err := q.Query(ctx, `SELECT no FROM finding`+w.String(), w.Args...)
		found, err := db.Collect(rows, err, func(r db.Row) (no int64, err error) { return no, r.Scan(&no) })
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// Tallies are how many findings scans have, by scan and severity.
func (fs *Findings) Tallies(ctx context.Context, q db.Querier, scanIDs []string) (map[string]map[string]int, error) {
	out := map[string]map[string]int{}
	for part := range slices.Chunk(scanIDs, batch) {
		var w db.Where
		db.In(&w, "scan_id", part)
		rows, err := q.Query(ctx, `SELECT scan_id, severity, total FROM finding_tally`+w.String(), w.Args...)
		_, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
			var id, severity string
			var total int
			err := r.Scan(&id, &severity, &total)
			if out[id] == nil {
				out[id] = map[string]int{}
			}
			if total != 0 {
				out[id][severity] = total
			}
			return struct{}{}, err
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// Since is the beginning of a time range by its name, as of now: last_day, last_week,
// last_month, last_3_months, last_6_months, last_12_months; the zero time for all_time
// and for what is no range.
func Since(name string, now time.Time) time.Time {
	switch name {
	case "last_day":
		return now.AddDate(0, 0, -1)
	case "last_week":
		return now.AddDate(0, 0, -7)
	case "last_month":
		return now.AddDate(0, -1, 0)
	case "last_3_months":
		return now.AddDate(0, -3, 0)
	case "last_6_months":
		return now.AddDate(0, -6, 0)
	case "last_12_months":
		return now.AddDate(-1, 0, 0)
	}
	return time.Time{}
}

// TimeRanges are the names of time ranges (specification, Scan results export request).
var TimeRanges = []string{"last_day", "last_week", "last_month", "last_3_months", "last_6_months", "last_12_months", "all_time"}
