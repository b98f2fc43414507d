package scan

import (
	"context"
	"encoding/json"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

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
	schedules, err := ss.Schedules().Of(ctx, ids)
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
