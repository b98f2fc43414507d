package scan

import (
	"cmp"
	"context"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// NewScan is what a scan is made from.
type NewScan struct {
	Name         string // empty: the first target
	Config       Config
	ScheduleOnly bool // it is kept and not launched
	Automatic    bool
	// With, when set, runs in the transaction that makes the scan, and is given its id: an
	// error of it is Create's, and there is no scan.
	With func(ctx context.Context, tx *db.Tx, id string) error
}

// BeginArgs is the job that cuts a run into chunks.
type BeginArgs struct {
	ScanID string `json:"scan_id"`
	Run    int64  `json:"run"`
}

// Kind implements queue.Args.
func (BeginArgs) Kind() string { return "scan.begin" }

// Create writes a scan and, unless it is only to be scheduled, launches it in the same
// transaction: when it returns without an error, both are on disk.
func (ss *Scans) Create(ctx context.Context, n NewScan) (Scan, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Scan{}, err
	}
	if len(n.Config.Targets) == 0 {
		return Scan{}, errs.Field("targets", "targets is required: say what to test.")
	}
	if err := ss.check(ctx, c.TeamID, n.Config); err != nil {
		return Scan{}, err
	}
	name, err := checkName(cmp.Or(strings.TrimSpace(n.Name), clip(n.Config.Targets[0], maxName/2)))
	if err != nil {
		return Scan{}, err
	}
	s := Scan{
		ID: newID(ss.now()), TeamID: c.TeamID, UserID: c.UserID, Name: name, Status: Scheduled, Config: n.Config,
		IsAutomatic: n.Automatic, IsInternal: allInternal(n.Config.Targets),
	}
	err = ss.db.Tx(ctx, func(tx *db.Tx) error {
		if err := ss.insert(ctx, tx, &s); err != nil {
			return err
		}
		if n.With != nil {
			if err := n.With(ctx, tx, s.ID); err != nil {
				return err
			}
		}
		if n.ScheduleOnly {
			return nil
		}
		return ss.launch(ctx, tx, s.ID)
	})
	if err != nil {
		return Scan{}, err
	}
	return ss.Find(ctx, s.ID)
}

// check refuses a configuration that could not be run.
func (ss *Scans) check(ctx context.Context, teamID string, c Config) error {
	if err := checkTargets(c.Targets); err != nil {
		return err
	}
	if _, err := exclusion.ParsePatterns(c.Exclusions); err != nil {
		return errs.From(err).At("exclusions")
	}
	chosen, err := ss.choose(ctx, teamID, c)
	if err == nil && len(chosen) == 0 {
		err = errs.Field("templates", "templates: there is no template to test with.")
	}
	return err
}

func checkName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > maxName {
		return "", errs.Field("name", "name must have 1 to %d bytes.", maxName)
	}
	return db.Clean(name), nil
}

func (ss *Scans) insert(ctx context.Context, tx *db.Tx, s *Scan) error {
	now := db.At(ss.now())
	s.CreatedAt, s.UpdatedAt = now.Time, now.Time
	changes(tx, s.ID)
	if _, err := tx.Exec(ctx, `INSERT INTO scan (id, team_id, user_id, name, status, is_oss, is_automatic, is_internal, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.TeamID, s.UserID, s.Name, s.Status, s.IsOSS, s.IsAutomatic, s.IsInternal, now, now); err != nil {
		return err
	}
	if err := ss.findings.Begin(ctx, tx, s.TeamID, s.ID); err != nil {
		return err
	}
	targets := s.Config.Targets
	if targets == nil {
		targets = []string{}
	}
	_, err := tx.Exec(ctx, `INSERT INTO scan_config (scan_id, config, targets) VALUES (?, ?, ?)`, s.ID, db.Doc(s.Config), db.Doc(targets))
	return err
}

// launch begins a new run of a scan that is not at work.
func (ss *Scans) launch(ctx context.Context, tx *db.Tx, id string) error {
	var w db.Where
	w.And("id = ?", id)
	db.In(&w, "status", from(Queued))
	now := db.At(ss.now())
	var run int64
	var teamID string
	err := tx.QueryRow(ctx, `UPDATE scan SET status = ?, failure_reason = '', run = run + 1, updated_at = ?`+w.String()+` RETURNING run, team_id`,
		append([]any{Queued, now}, w.Args...)...).Scan(&run, &teamID)
	if db.IsNoRows(err) {
		return errs.New(errs.Conflict, "scan_not_launchable", "The scan is at work already, or its results were uploaded.")
	}
	if err != nil {
		return err
	}
	changes(tx, id)
	job, err := ss.queue.Insert(ctx, tx, BeginArgs{id, run})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO scan_run (scan_id, run, team_id, job_id, status, created_at) VALUES (?, ?, ?, ?, ?, ?)`, id, run, teamID, job, Queued, now)
	return err
}

// Rescan runs a scan of the caller's team again: 409 while it is at work.
func (ss *Scans) Rescan(ctx context.Context, id string) (Scan, error) {
	s, err := ss.own(ctx, id)
	if err != nil {
		return s, err
	}
	return s, ss.db.Tx(ctx, func(tx *db.Tx) error { return ss.launch(ctx, tx, id) })
}

// own is a scan of the caller's team, for a caller who may change it.
func (ss *Scans) own(ctx context.Context, id string) (Scan, error) {
	if _, err := account.Writer(ctx); err != nil {
		return Scan{}, err
	}
	return ss.Find(ctx, id)
}

// Stop ends a scan that waits or is at work; what was found is kept. 409 for any other.
func (ss *Scans) Stop(ctx context.Context, id string) error {
	if _, err := ss.own(ctx, id); err != nil {
		return err
	}
	return ss.db.Tx(ctx, func(tx *db.Tx) error {
		stopped, err := ss.stop(ctx, tx, id)
		if err == nil && !stopped {
			err = errs.New(errs.Conflict, "scan_not_running", "The scan is not running.")
		}
		return err
	})
}

// stop ends the run of a scan, if there is one at work, and cancels its jobs.
func (ss *Scans) stop(ctx context.Context, tx *db.Tx, id string) (bool, error) {
	run, err := ss.end(ctx, tx, id, 0, Stopped, "")
	if err != nil || run == 0 {
		return false, err
	}
	rows, err := tx.Query(ctx, `SELECT job_id FROM scan_run WHERE scan_id = ? AND run = ? UNION SELECT job_id FROM scan_chunk WHERE scan_id = ? AND run = ? AND state IN ('waiting', 'running')`, id, run, id, run)
	jobs, err := db.Collect(rows, err, func(r db.Row) (job int64, err error) { return job, r.Scan(&job) })
	if err != nil {
		return false, err
	}
	for _, job := range jobs {
		if err := ss.queue.Cancel(ctx, tx, job); err != nil {
			return false, err
		}
	}
	_, err = tx.Exec(ctx, `UPDATE scan_chunk SET state = ? WHERE scan_id = ? AND run = ? AND state IN ('waiting', 'running')`, chunkStopped, id, run)
	return true, err
}

// end moves a scan and its run to a final state, and gives the number of the run: 0 when
// the scan is not at work, or not in this run (0 is any).
func (ss *Scans) end(ctx context.Context, tx *db.Tx, id string, run int64, to Status, why string) (int64, error) {
	var w db.Where
	w.And("id = ?", id)
	if run != 0 {
		w.And("run = ?", run)
	}
	db.In(&w, "status", from(to))
	now := db.At(ss.now())
	err := tx.QueryRow(ctx, `UPDATE scan SET status = ?, failure_reason = ?, updated_at = ?`+w.String()+` RETURNING run`, append([]any{to, db.Clean(why), now}, w.Args...)...).Scan(&run)
	if db.IsNoRows(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	changes(tx, id)
	tallies, err := ss.findings.Tallies(ctx, tx, []string{id})
	if err != nil {
		return 0, err
	}
	severity := tallies[id]
	if severity == nil {
		severity = map[string]int{}
	}
	_, err = tx.Exec(ctx, `UPDATE scan_run SET status = ?, failure_reason = ?, severity = ?, ended_at = ? WHERE scan_id = ? AND run = ?`, to, db.Clean(why), db.Doc(severity), now, id, run)
	if err == nil {
		_, err = ss.queue.Insert(ctx, tx, ToldArgs{id, run, to})
	}
	return run, err
}

// GiveUpBegin fails a scan that could not be planned, in the transaction that ends its job.
func (ss *Scans) GiveUpBegin(ctx context.Context, tx *db.Tx, job queue.Job[BeginArgs]) error {
	_, err := ss.end(ctx, tx, job.Args.ScanID, job.Args.Run, Failed, "The scan could not be planned. The server's log says why.")
	return err
}
