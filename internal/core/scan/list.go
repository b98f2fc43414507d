package scan

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Filter picks scans of a list.
type Filter struct {
	Status   Status // empty: any
	Search   string // a part of the name in any case, or the id
	Internal *bool
}

// Sortable are the fields of an order, as page.Sorts wants them. A team has some thousand scans, so that no index is
// needed.
var Sortable = map[string]string{
	"created_at": "s.created_at", "updated_at": "s.updated_at", "name": byName, "status": "s.status", "scan_id": "s.id",
	"completed_at": "coalesce(r.ended_at, 0)", "progress": "coalesce(r.done_cell, 0)",
	"total_target":   "coalesce(r.total_target, 0)",
	"total_template": "coalesce(r.total_template, 0)", "total_scan": "coalesce(r.total_cell, 0)",
	"total_result": "coalesce(t.total, 0)", "severity": bySeverity,
	"rescan_count": "s.run", "scan_time_elapsed": "coalesce(r.ended_at - r.started_at, 0)",
}

const byName = "s.name"

// bySeverity orders scans by their worst finding, and those alike by how many findings are as bad. Scans
// without findings are the least.
const bySeverity = `coalesce((SELECT max(y.total + CASE y.severity WHEN 'critical' THEN 50000000000
	WHEN 'high' THEN 40000000000 WHEN 'medium' THEN 30000000000 WHEN 'low' THEN 20000000000 WHEN 'info' THEN 10000000000
	ELSE 0 END) FROM finding_tally y WHERE y.scan_id = s.id AND y.total > 0), 0)`

// FindAll lists scans of the caller's team, and how many the filter picks in all. Without sorts the newest come
// first. The configurations have no targets.
func (ss *Scans) FindAll(
	ctx context.Context, f Filter, sorts []page.Sort, w page.Window,
) (found []Scan, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	where := ss.where(c.TeamID, f)
	order := slices.Clone(sorts)
	if len(order) == 0 {
		order = []page.Sort{{Column: "s.created_at", Desc: true}}
	}
	for i := range order {
		if order[i].Column == byName {
			order[i].Column = ss.db.Dialect().Bytewise(byName)
		}
	}
	if found, total, err = db.Page(ctx, ss.db, scanRow,
		`SELECT `+columns+tables+` LEFT JOIN finding_total t ON t.scan_id = s.id`,
		`scan s`, where, db.OrderBy(order, "s.id DESC"), w); err != nil || len(found) == 0 {
		return found, total, err
	}
	if err := ss.configs(ctx, found); err != nil {
		return nil, 0, err
	}
	return found, total, ss.complete(ctx, found)
}

func (ss *Scans) where(teamID string, f Filter) (w db.Where) {
	w.And("s.team_id = ?", teamID)
	db.Equal(&w, "s.status", f.Status)
	if f.Internal != nil {
		w.And("s.is_internal = ?", *f.Internal)
	}
	if f.Search != "" {
		contains, part := ss.db.Dialect().Contains("s.folded_name", fold(f.Search))
		w.And("("+contains+" OR s.id = ?)", part, db.Clean(f.Search))
	}
	return w
}

// fold is a name in lower case for searches: the databases fold ASCII only.
func fold(name string) string { return strings.ToLower(db.Clean(name)) }

// FoldNames adds the folded names of scans from older versions. The server calls it before it answers requests.
func (ss *Scans) FoldNames(ctx context.Context) error {
	return ss.db.Tx(ctx, func(tx *db.Tx) error {
		scans, err := db.Select(ctx, tx, func(r db.Row) (s Scan, err error) { return s, r.Scan(&s.ID, &s.Name) },
			`SELECT id, name FROM scan WHERE folded_name IS NULL`)
		for _, s := range scans {
			if _, err = tx.Exec(ctx, `UPDATE scan SET folded_name = ? WHERE id = ?`, fold(s.Name), s.ID); err != nil {
				break
			}
		}
		return err
	})
}

// Stats is how many scans the caller's team has.
type Stats struct {
	Total, Unique, Uploaded, Scheduled int // launches and uploads; scans
	Statuses                           map[Status]int
}

// FindStats counts the scans of the caller's team.
func (ss *Scans) FindStats(ctx context.Context) (Stats, error) {
	s := Stats{Statuses: map[Status]int{}}
	c, err := account.From(ctx)
	if err != nil {
		return s, err
	}
	_, err = db.Select(ctx, ss.db, func(r db.Row) (none struct{}, err error) {
		var status Status
		var scans, launches int
		err = r.Scan(&status, &scans, &launches)
		s.Statuses[status], s.Unique, s.Total = scans, s.Unique+scans, s.Total+launches
		return none, err
	}, `SELECT status, count(*), sum(run) FROM scan WHERE team_id = ? GROUP BY status`, c.TeamID)
	if err != nil {
		return s, err
	}
	s.Uploaded = s.Statuses[Uploaded]
	s.Total += s.Uploaded
	err = ss.db.QueryRow(ctx, `SELECT count(*) FROM scan_schedule WHERE team_id = ?`, c.TeamID).Scan(&s.Scheduled)
	return s, err
}
