package scan

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/account"
	"github.com/vedette-sec/vedette/internal/db"
	"github.com/vedette-sec/vedette/internal/errs"
	"github.com/vedette-sec/vedette/internal/page"
)

// Filter picks scans of a list.
type Filter struct {
	Status   Status // empty: any
	Search   string // a part of the name or the id
	Internal *bool
}

// Sortable are the fields of an order, as page.Sorts wants them.
var Sortable = map[string]string{
	"created_at": "s.created_at", "updated_at": "s.updated_at", "name": "s.name", "status": "s.status", "scan_id": "s.id",
	"completed_at": "coalesce(r.ended_at, 0)", "progress": "coalesce(r.done_cell, 0)", "total_target": "coalesce(r.total_target, 0)",
	"total_template": "coalesce(r.total_template, 0)", "total_scan": "coalesce(r.total_cell, 0)", "rescan_count": "s.run",
	"total_result":      "t.total",
	"scan_time_elapsed": "coalesce(r.ended_at - r.started_at, 0)",
}

// Find is a scan of the caller's team, with everything that is known of it.
func (ss *Scans) Find(ctx context.Context, id string) (Scan, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Scan{}, err
	}
	s, err := scanRow(ss.db.QueryRow(ctx, `SELECT `+columns+tables+` WHERE s.id = ? AND s.team_id = ?`, db.Clean(id), c.TeamID))
	if db.IsNoRows(err) {
		return s, errs.Missing("scan")
	}
	if err != nil {
		return s, err
	}
	if s.Config, err = ss.config(ctx, ss.db, s.ID); err != nil {
		return s, err
	}
	one := []Scan{s}
	err = ss.complete(ctx, one)
	return one[0], err
}

// config is what a scan was asked to do, with its targets.
func (ss *Scans) config(ctx context.Context, q db.Querier, id string) (Config, error) {
	var config db.JSON[Config]
	var targets db.JSON[[]string]
	err := q.QueryRow(ctx, `SELECT config, targets FROM scan_config WHERE scan_id = ?`, id).Scan(&config, &targets)
	config.V.Targets = targets.V
	return config.V, err
}

// ConfigOf is what a scan was asked to do, for a worker; the zero value when it is gone.
func (ss *Scans) ConfigOf(ctx context.Context, id string) (Config, error) {
	c, err := ss.config(ctx, ss.db, id)
	if db.IsNoRows(err) {
		return Config{}, nil
	}
	return c, err
}

// complete adds to scans what other tables know: their findings by severity and their
// schedules.
func (ss *Scans) complete(ctx context.Context, scans []Scan) error {
	ids := make([]string, len(scans))
	for i, s := range scans {
		ids[i] = s.ID
	}
	tallies, err := ss.findings.Tallies(ctx, ss.db, ids)
	if err != nil {
		return err
	}
	schedules, err := ss.book().Of(ctx, ids)
	if err != nil {
		return err
	}
	for i := range scans {
		scans[i].Severities = tallies[scans[i].ID]
		if s, ok := schedules[scans[i].ID]; ok {
			scans[i].Schedule = &s
		}
	}
	return nil
}

// FindAll lists scans of the caller's team, and how many the filter picks in all. Without
// sorts the newest come first. The configurations of a list have no targets.
func (ss *Scans) FindAll(ctx context.Context, f Filter, sorts []page.Sort, w page.Window) (scans []Scan, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var where db.Where
	where.And("s.team_id = ?", c.TeamID)
	if f.Status != "" {
		where.And("s.status = ?", f.Status)
	}
	if f.Internal != nil {
		where.And("s.is_internal = ?", *f.Internal)
	}
	if f.Search != "" {
		name, arg := ss.db.Dialect.Contains("s.name", f.Search)
		where.And("("+name+" OR s.id = ?)", arg, db.Clean(f.Search))
	}
	if err := ss.db.QueryRow(ctx, `SELECT count(*) FROM scan s`+where.String(), where.Args...).Scan(&total); err != nil {
		return nil, 0, err
	}
	// Ids alone are sorted: the rows of a page are read after it is known.
	from, tie := ` FROM scan s`, "s.id DESC"
	if len(sorts) == 0 {
		sorts = []page.Sort{{Column: "s.created_at", Desc: true}}
	}
	by := func(table string) bool {
		return slices.ContainsFunc(sorts, func(one page.Sort) bool { return strings.Contains(one.Column, table) })
	}
	if by("t.") { // in the order of that table's index, which ends in the scan
		from, tie = ` FROM finding_total t CROSS JOIN scan s`, "t.scan_id DESC"
		where.And("t.team_id = ? AND s.id = t.scan_id", c.TeamID)
	}
	if by("r.") {
		from += lastRun
	}
	limit, args := db.Limit(w)
	rows, err := ss.db.Query(ctx, `SELECT s.id`+from+where.String()+db.OrderBy(sorts, tie)+limit, append(where.Args, args...)...)
	ids, err := db.Collect(rows, err, func(r db.Row) (id string, err error) { return id, r.Scan(&id) })
	if err != nil || len(ids) == 0 {
		return []Scan{}, total, err
	}
	if scans, err = ss.inOrder(ctx, ids); err != nil {
		return nil, 0, err
	}
	if err := ss.configs(ctx, scans); err != nil {
		return nil, 0, err
	}
	return scans, total, ss.complete(ctx, scans)
}

// inOrder reads scans by their ids. One that was deleted meanwhile is not there.
func (ss *Scans) inOrder(ctx context.Context, ids []string) ([]Scan, error) {
	var w db.Where
	db.In(&w, "s.id", ids)
	rows, err := ss.db.Query(ctx, `SELECT `+columns+tables+w.String(), w.Args...)
	scans, err := db.Collect(rows, err, scanRow)
	return db.InOrder(scans, ids, func(s Scan) string { return s.ID }), err
}

// configs reads the configurations of the scans of a page, without targets.
func (ss *Scans) configs(ctx context.Context, scans []Scan) error {
	at := map[string]*Scan{}
	var ids []string
	for i := range scans {
		at[scans[i].ID] = &scans[i]
		ids = append(ids, scans[i].ID)
	}
	var w db.Where
	db.In(&w, "scan_id", ids)
	rows, err := ss.db.Query(ctx, `SELECT scan_id, config FROM scan_config`+w.String(), w.Args...)
	_, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
		var id string
		var config db.JSON[Config]
		err := r.Scan(&id, &config)
		if s := at[id]; s != nil {
			s.Config = config.V
		}
		return struct{}{}, err
	})
	return err
}

// Run is one launch of a scan, for its history.
type Run struct {
	ScanID        string
	Name          string
	Status        Status
	FailureReason string
	Numbers       Numbers
	Severities    map[string]int // what the scan had found when the run ended
	CreatedAt     time.Time
}

// HistoryFilter picks runs.
type HistoryFilter struct {
	ScanID       string // empty: of all of the team's scans
	Since, Until time.Time
}

// History is runs of the caller's team, the newest first.
type History struct {
	Runs        []Run
	Total       int // that the filter picks
	Requests    int // that all those sent
	UniqueScans int
}

// FindHistory lists runs of the caller's team.
func (ss *Scans) FindHistory(ctx context.Context, f HistoryFilter, w page.Window) (h History, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return h, err
	}
	if f.ScanID != "" {
		if _, err := ss.Find(ctx, f.ScanID); err != nil {
			return h, err
		}
	}
	var where db.Where
	where.And("r.team_id = ?", c.TeamID)
	if f.ScanID != "" {
		where.And("r.scan_id = ?", f.ScanID)
	}
	if !f.Since.IsZero() {
		where.And("r.created_at >= ?", db.At(f.Since))
	}
	if !f.Until.IsZero() {
		where.And("r.created_at < ?", db.At(f.Until))
	}
	if err := ss.db.QueryRow(ctx, `SELECT count(*), coalesce(sum(r.done_request), 0), count(DISTINCT r.scan_id) FROM scan_run r`+where.String(), where.Args...).Scan(&h.Total, &h.Requests, &h.UniqueScans); err != nil {
		return h, err
	}
	limit, args := db.Limit(w)
	rows, err := ss.db.Query(ctx, `SELECT r.scan_id, s.name, r.status, r.failure_reason, r.total_target, r.total_template, r.total_cell, r.done_cell, r.total_request, r.done_request,
		r.severity, r.created_at, r.started_at, r.ended_at FROM scan_run r JOIN scan s ON s.id = r.scan_id`+where.String()+` ORDER BY r.created_at DESC, r.scan_id, r.run DESC`+limit, append(where.Args, args...)...)
	h.Runs, err = db.Collect(rows, err, func(r db.Row) (run Run, err error) {
		var created, started, ended db.Time
		var severity db.JSON[json.RawMessage]
		n := &run.Numbers
		if err := r.Scan(&run.ScanID, &run.Name, &run.Status, &run.FailureReason, &n.Targets, &n.Templates, &n.Cells, &n.DoneCells, &n.Requests, &n.DoneRequests, &severity, &created, &started, &ended); err != nil {
			return run, err
		}
		run.CreatedAt, n.StartedAt, n.EndedAt = created.Time, started.Time, ended.Time
		if len(severity.V) > 0 {
			err = json.Unmarshal(severity.V, &run.Severities)
		}
		return run, err
	})
	return h, err
}

// Stats is how many scans the caller's team has.
type Stats struct {
	Total, Unique, Uploaded, Scheduled int // launches; scans
	Statuses                           map[Status]int
}

// FindStats counts the scans of the caller's team.
func (ss *Scans) FindStats(ctx context.Context) (s Stats, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return s, err
	}
	s.Statuses = map[Status]int{}
	rows, err := ss.db.Query(ctx, `SELECT status, count(*) FROM scan WHERE team_id = ? GROUP BY status`, c.TeamID)
	_, err = db.Collect(rows, err, func(r db.Row) (struct{}, error) {
		var status Status
		var n int
		err := r.Scan(&status, &n)
		s.Statuses[status] = n
		s.Unique += n
		return struct{}{}, err
	})
	if err != nil {
		return s, err
	}
	s.Uploaded = s.Statuses[Uploaded]
	if err := ss.db.QueryRow(ctx, `SELECT count(*) FROM scan_run WHERE team_id = ?`, c.TeamID).Scan(&s.Total); err != nil {
		return s, err
	}
	s.Total += s.Uploaded
	return s, ss.db.QueryRow(ctx, `SELECT count(*) FROM scan_schedule WHERE team_id = ?`, c.TeamID).Scan(&s.Scheduled)
}
