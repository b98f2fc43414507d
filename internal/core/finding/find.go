package finding

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Find is a finding of the caller's team, with its request and response.
func (fs *Findings) Find(ctx context.Context, id string) (Finding, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Finding{}, err
	}
	return fs.InTeam(ctx, fs.db, c.TeamID, id)
}

// InTeam is a finding of a team, read in a transaction. NotFound when there is no such finding.
func (fs *Findings) InTeam(ctx context.Context, q db.Querier, teamID, id string) (Finding, error) {
	f, err := scanWhole(q.QueryRow(ctx, `SELECT `+columns+`, d.exchange`+tables+` WHERE f.id = ? AND f.team_id = ?`,
		db.Clean(id), teamID))
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
	// End is above the number of every finding at the time. As Filter.Before of further pages, it keeps new findings
	// from shifting them.
	End int64
	// Next, of an unsorted list, is the Filter.Before of the page that follows at the offset 0; 0: none follows.
	Next int64
}

// FindAll is FindPage without the cursors.
func (fs *Findings) FindAll(
	ctx context.Context, f Filter, sorts []page.Sort, w page.Window,
) (found []Finding, total int, err error) {
	p, err := fs.FindPage(ctx, f, sorts, w)
	return p.Results, p.Total, err
}

// CountAt counts the findings of the caller's team at a host and port; port 0: at all ports of the host.
func (fs *Findings) CountAt(ctx context.Context, host string, port int) (int64, error) {
	f := Filter{Hosts: []string{host}}
	if port > 0 {
		f.Ports = []int{port}
	}
	_, total, err := fs.FindAll(ctx, f, nil, page.Window{Limit: 1})
	return int64(total), err
}

// FindPage lists findings of the caller's team: of scans each sighting, else each weakness once. Sorts come from
// page.Sorts with Sortable; without any, the newest come first. Events in a list have no request and response: a page
// of them could be 100 MB.
func (fs *Findings) FindPage(ctx context.Context, f Filter, sorts []page.Sort, w page.Window) (p Page, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return p, err
	}
	query, err := fs.query(ctx, fs.db, c.TeamID, f.AsList(), sorts, w)
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
	p.Results, err = fs.Load(ctx, fs.db, c.TeamID, picked.Numbers)
	return p, err
}

// Load reads findings by their numbers, in that order, without those that were deleted. q nil: no transaction.
func (fs *Findings) Load(ctx context.Context, q db.Querier, teamID string, numbers []int64) ([]Finding, error) {
	if q == nil {
		q = fs.db
	}
	out := make([]Finding, 0, len(numbers))
	for part := range slices.Chunk(numbers, batch) {
		found, err := db.Select(ctx, q, func(r db.Row) (Finding, error) { return scan(r) },
			`SELECT `+columns+tables+byNumbers(len(part)), append([]any{teamID}, db.Anys(part)...)...)
		if err != nil {
			return nil, err
		}
		out = append(out, db.InOrder(found, part, func(f Finding) int64 { return f.no })...)
	}
	return out, nil
}

// byNumbers is the condition for n findings of a team by their numbers.
func byNumbers(n int) string {
	return " WHERE f.team_id = ? AND f.no IN (?" + strings.Repeat(", ?", n-1) + ")"
}

// numbers finds the numbers of findings by their ids, without unknown ones.
func (fs *Findings) numbers(ctx context.Context, q db.Querier, teamID string, ids []string) ([]int64, error) {
	out := []int64{}
	for part := range slices.Chunk(ids, batch) {
		w := db.ByUnique(teamID, "id", part)
		found, err := db.Values[int64](ctx, q, `SELECT no FROM finding`+w.String(), w.Args...)
		if err != nil {
			return nil, err
		}
		out = append(out, found...)
	}
	return out, nil
}

// Whole reads findings of a team by their numbers, with request and response, without those that were deleted.
func (fs *Findings) Whole(ctx context.Context, teamID string, numbers []int64) ([]Finding, error) {
	if len(numbers) == 0 {
		return nil, nil
	}
	return db.Select(ctx, fs.db, scanWhole, `SELECT `+columns+`, d.exchange`+tables+byNumbers(len(numbers)),
		append([]any{teamID}, db.Anys(numbers)...)...)
}
