package scan

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Find is a scan of the caller's team, complete.
func (ss *Scans) Find(ctx context.Context, id string) (Scan, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Scan{}, err
	}
	s, err := scanRow(ss.db.QueryRow(ctx, `SELECT `+columns+tables+` WHERE s.id = ? AND s.team_id = ?`, db.Clean(id),
		c.TeamID))
	if err != nil {
		return s, db.OrMissing(err, "scan")
	}
	if s.Config, err = ss.config(ctx, ss.db, s.ID); err != nil {
		return s, err
	}
	one := []Scan{s}
	err = ss.complete(ctx, one)
	return one[0], err
}

// config is the configuration of a scan, with its targets.
func (ss *Scans) config(ctx context.Context, q db.Querier, id string) (Config, error) {
	var config db.JSON[Config]
	var targets db.JSON[[]string]
	err := q.QueryRow(ctx, `SELECT config, targets FROM scan_config WHERE scan_id = ?`, id).Scan(&config, &targets)
	config.V.Targets = targets.V
	return config.V, err
}

// complete adds the numbers of findings by severity and the schedules to scans.
func (ss *Scans) complete(ctx context.Context, scans []Scan) error {
	ids := make([]string, len(scans))
	for i, s := range scans {
		ids[i] = s.ID
	}
	tallies, err := ss.findings.CountsByScan(ctx, ss.db, ids)
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
	_, err := db.Select(ctx, ss.db, func(r db.Row) (struct{}, error) {
		var id string
		var config db.JSON[Config]
		err := r.Scan(&id, &config)
		if s := at[id]; s != nil {
			s.Config = config.V
		}
		return struct{}{}, err
	}, `SELECT scan_id, config FROM scan_config`+w.String(), w.Args...)
	return err
}

// Run is one launch of a scan, for its history.
type Run struct {
	ScanID        string
	Name          string
	Status        Status
	FailureReason string
	Numbers       Numbers
	Severities    map[string]int // of the scan's findings when the run ended
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
	db.Equal(&where, "r.scan_id", f.ScanID)
	if !f.Since.IsZero() {
		where.And("r.created_at >= ?", db.At(f.Since))
	}
	if !f.Until.IsZero() {
		where.And("r.created_at < ?", db.At(f.Until))
	}
	if err := ss.db.QueryRow(ctx, `SELECT coalesce(sum(r.done_request), 0), count(DISTINCT r.scan_id) FROM scan_run r`+
		where.String(),
		where.Args...).Scan(&h.Requests, &h.UniqueScans); err != nil {
		return h, err
	}
	h.Runs, h.Total, err = db.Page(ctx, ss.db, func(r db.Row) (run Run, err error) {
		var created db.Time
		var severity db.JSON[map[string]int]
		err = run.Numbers.scan(r, []any{&run.ScanID, &run.Name, &run.Status, &run.FailureReason}, &created, &severity)
		run.CreatedAt, run.Severities = created.Time, severity.V
		return run, err
	}, `SELECT r.scan_id, s.name, r.status, r.failure_reason, `+numberColumns+`, r.created_at, r.severity
		FROM scan_run r JOIN scan s ON s.id = r.scan_id`, `scan_run r`, where,
		` ORDER BY r.created_at DESC, r.scan_id, r.run DESC`, w)
	return h, err
}
