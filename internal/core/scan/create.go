package scan

import (
	"cmp"
	"context"
	"github.com/vedette-sec/vedette/internal/core/scan/target"
	"maps"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/core/scan/webapp"
	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/hostpattern"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// NewScan is what a scan is made from.
type NewScan struct {
	Name         string // empty: the first target
	Config       Config
	ScheduleOnly bool // it is not launched
	Automatic    bool
	Proxy        string // URL of a SOCKS5 proxy, through which targets are dialled; empty: none
	Web          *webapp.Options
	// With, unless nil, runs in the transaction that makes the scan with this id. Its error undoes that.
	With func(ctx context.Context, tx *db.Tx, id string) error
}

// BeginArgs is the job that cuts a run into chunks.
type BeginArgs struct {
	ScanID string `json:"scan_id"`
	Run    int64  `json:"run"`
}

// Kind implements queue.Args.
func (BeginArgs) Kind() string { return "scan.begin" }

// Create writes a scan and launches it in the same transaction, unless it is only to be scheduled.
func (ss *Scans) Create(ctx context.Context, n NewScan) (Scan, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Scan{}, err
	}
	if len(n.Config.Targets) == 0 && n.Config.field() == "" {
		return Scan{}, errs.Field("targets", "targets is required: say what to test.")
	}
	if n.Config.Proxy, err = ss.settings.SealProxy(c.TeamID, n.Proxy, n.Config.Proxy); err != nil {
		return Scan{}, err
	}
	if err := ss.setWeb(c.TeamID, &n.Config, n.Web, n.Config.Targets); err != nil {
		return Scan{}, err
	}
	if err := ss.check(ctx, c.TeamID, n.Config); err != nil {
		return Scan{}, err
	}
	targets, err := ss.targets(ctx, c.TeamID, n.Config)
	if n.ScheduleOnly && n.Config.field() != "" && errs.Is(err, errs.Invalid) { // its assets may be found later
		targets, err = n.Config.Targets, nil
	}
	if err != nil {
		return Scan{}, err
	}
	title := "inventory"
	if len(targets) > 0 {
		title = errs.Clip(targets[0], run.MaxName/2)
	}
	name, err := run.CheckName(cmp.Or(strings.TrimSpace(n.Name), title))
	if err != nil {
		return Scan{}, err
	}
	s := Scan{
		ID: run.NewID(ss.now()), TeamID: c.TeamID, UserID: c.UserID, Name: name, Status: Scheduled, Config: n.Config,
		IsAutomatic: n.Automatic, IsInternal: target.AllInternal(targets),
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
		return ss.runs().Launch(ctx, tx, s.ID)
	})
	if err != nil {
		return Scan{}, err
	}
	return ss.Find(ctx, s.ID)
}

// check refuses a configuration that could not be run.
func (ss *Scans) check(ctx context.Context, teamID string, c Config) error {
	if err := target.Check(c.Targets); err != nil {
		return err
	}
	if _, err := ss.picks(ctx, teamID, c.Inventory); err != nil {
		return err
	}
	if _, err := hostpattern.Parse(c.Exclusions); err != nil {
		return errs.From(err).At("exclusions")
	}
	chosen, err := ss.choose(ctx, teamID, c)
	if err == nil && len(chosen) == 0 {
		err = errs.Field("templates", "templates: there is no template to test with.")
	}
	return err
}

func (ss *Scans) insert(ctx context.Context, tx *db.Tx, s *Scan) error {
	now := db.At(ss.now())
	s.CreatedAt, s.UpdatedAt = now.Time, now.Time
	if _, err := tx.Exec(ctx, `INSERT INTO scan
		(id, team_id, user_id, name, folded_name, status, is_oss, is_automatic, is_internal, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		s.ID, s.TeamID, s.UserID, s.Name, fold(s.Name), s.Status, s.IsOSS, s.IsAutomatic, s.IsInternal, now,
		now); err != nil {
		return err
	}
	if err := ss.findings.AddScan(ctx, tx, s.TeamID, s.ID); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `INSERT INTO scan_config (scan_id, config, targets) VALUES (?, ?, ?)`,
		s.ID, db.Doc(s.Config), db.Doc(append([]string{}, s.Config.Targets...))) // [], not null
	return err
}

// runs are the runs of scans.
func (ss *Scans) runs() run.Runs {
	return run.Runs{
		DB: ss.db, Queue: ss.queue, Now: ss.now, Kind: "scan", Hint: "; the coverage says which", Ended: ss.ended,
		Plan:  func(r run.Ref) queue.Args { return BeginArgs{r.ID, r.Run} },
		Work:  func(r run.Ref, chunk int) queue.Args { return ChunkArgs{r.ID, r.Run, chunk} },
		Alert: func(r run.Ref, status Status) queue.Args { return AlertArgs{r.ID, r.Run, status} },
	}
}

// CoveredArgs is the job that looks for what a run did not show any more.
type CoveredArgs BeginArgs

// Kind implements queue.Args.
func (CoveredArgs) Kind() string { return "scan.covered" }

// ended records the number of findings at the end of a run, and has one that ran to its end compared with what was
// known (package core/scan/fixed).
func (ss *Scans) ended(ctx context.Context, tx *db.Tx, r run.Ref, teamID string, o run.Outcome) error {
	if o.Status == Finished {
		if _, err := ss.queue.Insert(ctx, tx, teamID, CoveredArgs{r.ID, r.Run}); err != nil {
			return err
		}
	}
	severities := map[string]int{} // {}, not null
	tallies, err := ss.findings.CountsByScan(ctx, tx, []string{r.ID})
	if err != nil {
		return err
	}
	maps.Copy(severities, tallies[r.ID])
	_, err = tx.Exec(ctx, `UPDATE scan_run SET severity = ? WHERE scan_id = ? AND run = ?`, db.Doc(severities), r.ID,
		r.Run)
	return err
}

// own is a scan of the caller's team, for a caller who may change it.
func (ss *Scans) own(ctx context.Context, id string) (Scan, error) {
	if _, err := account.Writer(ctx); err != nil {
		return Scan{}, err
	}
	return ss.Find(ctx, id)
}

// launchable is a scan that the caller may launch.
func (ss *Scans) launchable(ctx context.Context, id string) (Scan, error) {
	s, err := ss.own(ctx, id)
	if err == nil && s.IsOSS {
		err = errs.New(errs.Conflict, "scan_not_launchable", "Uploaded results cannot be run again or scheduled.")
	}
	return s, err
}

// Schedules are the schedules of scans.
func (ss *Scans) Schedules() schedule.Schedules {
	check := func(ctx context.Context, id string) error {
		_, err := ss.launchable(ctx, id)
		return err
	}
	return schedule.Schedules{
		DB: ss.db, Noun: "scan", Check: check, Launch: ss.runs().Launch, Logger: ss.logger, Now: ss.now,
	}
}

// Rescan runs a scan of the caller's team again. It fails with a Conflict while that is active.
func (ss *Scans) Rescan(ctx context.Context, id string) (Scan, error) {
	s, err := ss.launchable(ctx, id)
	if err != nil {
		return s, err
	}
	return s, ss.db.Tx(ctx, func(tx *db.Tx) error { return ss.runs().Launch(ctx, tx, id) })
}

// Stop ends an active scan and keeps its findings. It fails with a Conflict when that is not active.
func (ss *Scans) Stop(ctx context.Context, id string) error {
	if _, err := ss.own(ctx, id); err != nil {
		return err
	}
	return ss.runs().Stop(ctx, id)
}

// GiveUpBegin fails a scan that could not be planned, in the transaction that ends its job.
func (ss *Scans) GiveUpBegin(ctx context.Context, tx *db.Tx, a BeginArgs) error {
	return ss.runs().GiveUpPlan(ctx, tx, run.Ref{ID: a.ScanID, Run: a.Run})
}
