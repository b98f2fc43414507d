package finding

import (
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/list"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// findings is the list of findings (migration 00230).
var findings = list.Index{Name: "finding", Table: "finding",
	Searched: []string{"severity", "status", "port", "host", "text"}}

// Sortable are the fields of an order, as page.Sorts wants them.
var Sortable = map[string]string{
	"created_at": "created_at", "updated_at": "updated_at", "severity": "severity", "vuln_status": "status",
	"host": "host", "port": "port", "template_id": "template", "template": "template",
}

// orders are the columns behind the values of Sortable. Numbers grow with created_at,
// revisions with updated_at.
var orders = map[string]list.Order{
	"created_at": {Column: "no"},
	"updated_at": {Column: "rev"},
	"severity":   {Column: rankColumn(), Facet: "severity"},
	"status":     {Column: "status", Facet: "status"},
	"host":       {Column: "host"},
	"port":       {Column: "port", Facet: "port"},
	"template":   {Column: "template_id"},
}

// rankColumn is rank in SQL.
func rankColumn() string {
	var b strings.Builder
	b.WriteString("CASE severity")
	for _, severity := range Severities {
		fmt.Fprintf(&b, " WHEN '%s' THEN %d", severity, rank(severity))
	}
	return b.String() + " END"
}

// rank is the position of a severity in an ascending order: the worst is the greatest.
func rank(severity string) int { return len(Severities) - 1 - slices.Index(Severities, severity) }

// rankText is a severity as a value that sorts by rank.
func rankText(severity string) string { return strconv.Itoa(rank(severity)) + severity }

// portText is a port as a value that sorts as the number does.
func portText(port int) string { return fmt.Sprintf("%05d", port) }

// facets are the properties of a finding that lists can filter by.
type facets struct {
	severity, scan, host, template, name string
	status                               Status
	port                                 int
	categories, tags, labels             string
	internal, regression, ticket         bool
}

// maxDomains bounds the domains of one host.
const maxDomains = 32

// entryOf is a finding's entry in the list. Its domains are the host and all above it.
func entryOf(no int64, f facets) list.Row {
	values := []list.Value{
		{Facet: "severity", Value: rankText(f.severity)}, {Facet: "status", Value: string(f.status)},
		{Facet: "scan", Value: f.scan},
		{Facet: "host", Value: f.host}, {Facet: "port", Value: portText(f.port)}, {Facet: "template", Value: f.template},
		{Facet: "text", Value: strings.ToLower(f.template)}, {Facet: "text", Value: strings.ToLower(f.name)},
	}
	for _, one := range []struct{ facet, words string }{{"category", f.categories}, {"tag", f.tags}, {"label", f.labels}} {
		for _, word := range split(one.words) {
			values = append(values, list.Value{Facet: one.facet, Value: strings.ToLower(word)})
		}
	}
	for i, domain := 0, f.host; i < maxDomains && domain != ""; i++ {
		values = append(values, list.Value{Facet: "domain", Value: domain})
		_, domain, _ = strings.Cut(domain, ".")
	}
	for _, one := range []struct {
		flag string
		is   bool
	}{{"internal", f.internal}, {"regression", f.regression}, {"ticket", f.ticket}} {
		if one.is {
			values = append(values, list.Value{Facet: "is", Value: one.flag})
		}
	}
	return list.Row{No: no, Values: values}
}

const facetColumns = `no, severity, status, scan_id, host, port, template_id, name, categories, tags, labels,
	is_internal, is_regression, is_ticket`

// scanEntry reads facetColumns, and before those the columns before.
func scanEntry(r db.Row, before ...any) (list.Row, error) {
	var no int64
	var f facets
	err := r.Scan(append(before, &no, &f.severity, &f.status, &f.scan, &f.host, &f.port, &f.template, &f.name,
		&f.categories, &f.tags,
		&f.labels, &f.internal, &f.regression, &f.ticket)...)
	return entryOf(no, f), err
}

// reindex updates the list entries of changed findings, in the transaction that changes them.
func reindex(ctx context.Context, tx *db.Tx, teamID string, numbers ...int64) error {
	for part := range slices.Chunk(numbers, batch) {
		w := db.InTeam(teamID, "no", part)
		entries, err := db.Select(ctx, tx, func(r db.Row) (list.Row, error) { return scanEntry(r) },
			`SELECT `+facetColumns+` FROM finding`+w.String(), w.Args...)
		if err != nil {
			return err
		}
		if err := findings.Put(ctx, tx, teamID, entries); err != nil {
			return err
		}
	}
	return nil
}

// Backfill adds to the list the findings that an older version stored without index. The server calls it before it
// answers requests.
func (fs *Findings) Backfill(ctx context.Context) error {
	return findings.Backfill(ctx, fs.db,
		func(ctx context.Context, tx *db.Tx, team string, no int64) ([]list.TeamRow, error) {
			return db.Select(ctx, tx, func(r db.Row) (row list.TeamRow, err error) {
				row.Row, err = scanEntry(r, &row.Team)
				return row, err
			}, `SELECT team_id, `+facetColumns+` FROM finding WHERE (team_id, no) > (?, ?)
			ORDER BY team_id, no LIMIT 2000`, team, no)
		})
}

// query translates a filter and an order for package list.
func (fs *Findings) query(
	ctx context.Context, q db.Querier, teamID string, f Filter, sorts []page.Sort, w page.Window,
) (list.Query, error) {
	out := list.Query{Filter: f.conditions(), Before: f.Before, Offset: w.Offset, Limit: w.Limit}
	for _, s := range sorts {
		order := orders[s.Column]
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
	var err error
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
		err = q.QueryRow(ctx, `SELECT no, created_at FROM finding WHERE team_id = ? AND no >= ? ORDER BY no LIMIT 1`, teamID,
			middle).
			Scan(&no, &created)
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
