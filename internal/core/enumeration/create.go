package enumeration

import (
	"cmp"
	"context"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/notification"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// NewEnumeration is what an enumeration is made from.
type NewEnumeration struct {
	Name   string // empty: the first thing it looks at
	Config Config
}

// BeginArgs is the job that cuts a run into chunks.
type BeginArgs struct {
	EnumerationID string `json:"enumeration_id"`
	Run           int64  `json:"run"`
}

// Kind implements queue.Args.
func (BeginArgs) Kind() string { return "enumeration.begin" }

// Create writes an enumeration and launches it in the same transaction: when it returns
// without an error, both are on disk.
func (es *Enumerations) Create(ctx context.Context, n NewEnumeration) (Enumeration, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Enumeration{}, err
	}
	covers, err := es.checkConfig(ctx, c.TeamID, n.Config)
	if err != nil {
		return Enumeration{}, err
	}
	name, err := checkName(cmp.Or(strings.TrimSpace(n.Name), n.Config.title()))
	if err != nil {
		return Enumeration{}, err
	}
	e := Enumeration{ID: newID(es.now()), TeamID: c.TeamID, UserID: c.UserID, Name: name, Type: Discovery, Status: Scheduled, Config: n.Config, IsInternal: covers.internal()}
	if len(n.Config.CloudConfigIDs) > 0 {
		e.Type, e.IsInternal = Cloud, false
	}
	err = es.db.Tx(ctx, func(tx *db.Tx) error {
		if err := es.insert(ctx, tx, e); err != nil {
			return err
		}
		return es.launch(ctx, tx, e.ID)
	})
	if err != nil {
		return Enumeration{}, err
	}
	return es.Find(ctx, e.ID)
}

// checkConfig refuses a configuration that could not be run.
func (es *Enumerations) checkConfig(ctx context.Context, teamID string, c Config) (Coverage, error) {
	covers, err := c.check()
	if err != nil {
		return covers, err
	}
	if _, err := exclusion.ParsePatterns(c.Exclusions); err != nil {
		return covers, errs.From(err).At("exclusions")
	}
	return covers, es.check(ctx, teamID, c)
}

// title is the name of an enumeration that was given none.
func (c Config) title() string {
	for _, list := range [][]string{c.RootDomains, c.Inputs} {
		if len(list) > 0 {
			return strings.ToValidUTF8(list[0][:min(len(list[0]), maxName/2)], "")
		}
	}
	return "cloud"
}

func checkName(name string) (string, error) {
	name = strings.TrimSpace(name)
	if name == "" || len(name) > maxName {
		return "", errs.Field("name", "name must have 1 to %d bytes.", maxName)
	}
	return db.Clean(name), nil
}

func (es *Enumerations) insert(ctx context.Context, tx *db.Tx, e Enumeration) error {
	now := db.At(es.now())
	if _, err := tx.Exec(ctx, `INSERT INTO enumeration (id, team_id, user_id, name, enum_type, status, is_internal, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, e.TeamID, e.UserID, e.Name, e.Type, e.Status, e.IsInternal, now, now); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, `INSERT INTO enumeration_config (enumeration_id, config, inputs, input) VALUES (?, ?, ?, ?)`,
		e.ID, db.Doc(e.Config), db.Doc(e.Config.Inputs), len(e.Config.Inputs)); err != nil {
		return err
	}
	return es.assets.Enroll(ctx, tx, asset.Enumeration{ID: e.ID, TeamID: e.TeamID, Name: e.Name, SourceType: string(e.Type)})
}

// launch begins a new run of an enumeration that is not at work.
func (es *Enumerations) launch(ctx context.Context, tx *db.Tx, id string) error {
	var w db.Where
	w.And("id = ?", id)
	db.In(&w, "status", from(Queued))
	now := db.At(es.now())
	var run int64
	var teamID string
	err := tx.QueryRow(ctx, `UPDATE enumeration SET status = ?, failure_reason = '', run = run + 1, updated_at = ?`+w.String()+` RETURNING run, team_id`,
		append([]any{Queued, now}, w.Args...)...).Scan(&run, &teamID)
	if db.IsNoRows(err) {
		return errs.New(errs.Conflict, "enumeration_not_launchable", "The enumeration is at work already.")
	}
	if err != nil {
		return err
	}
	job, err := es.queue.Insert(ctx, tx, BeginArgs{id, run})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO enumeration_run (enumeration_id, run, team_id, job_id, status, created_at) VALUES (?, ?, ?, ?, ?, ?)`, id, run, teamID, job, Queued, now)
	return err
}

// Rescan runs an enumeration of the caller's team again: 409 while it is at work.
func (es *Enumerations) Rescan(ctx context.Context, id string) (Enumeration, error) {
	e, err := es.own(ctx, id)
	if err != nil {
		return e, err
	}
	return e, es.db.Tx(ctx, func(tx *db.Tx) error { return es.launch(ctx, tx, id) })
}

// own is an enumeration of the caller's team, for a caller who may change it.
func (es *Enumerations) own(ctx context.Context, id string) (Enumeration, error) {
	if _, err := account.Writer(ctx); err != nil {
		return Enumeration{}, err
	}
	return es.Find(ctx, id)
}

// Stop ends an enumeration that waits or is at work; what was found is kept. 409 for any
// other.
func (es *Enumerations) Stop(ctx context.Context, id string) error {
	if _, err := es.own(ctx, id); err != nil {
		return err
	}
	return es.db.Tx(ctx, func(tx *db.Tx) error {
		stopped, err := es.stop(ctx, tx, id)
		if err == nil && !stopped {
			err = errs.New(errs.Conflict, "enumeration_not_running", "The enumeration is not running.")
		}
		return err
	})
}

// stop ends the run of an enumeration, if there is one at work, and cancels its jobs.
func (es *Enumerations) stop(ctx context.Context, tx *db.Tx, id string) (bool, error) {
	run, err := es.end(ctx, tx, id, 0, Stopped, "")
	if err != nil || run == 0 {
		return false, err
	}
	rows, err := tx.Query(ctx, `SELECT job_id FROM enumeration_run WHERE enumeration_id = ? AND run = ?
		UNION SELECT job_id FROM enumeration_chunk WHERE enumeration_id = ? AND run = ? AND state IN ('waiting', 'running') ORDER BY job_id`, id, run, id, run)
	jobs, err := db.Collect(rows, err, func(r db.Row) (job int64, err error) { return job, r.Scan(&job) })
	if err != nil {
		return false, err
	}
	for _, job := range jobs {
		if err := es.queue.Cancel(ctx, tx, job); err != nil {
			return false, err
		}
	}
	_, err = tx.Exec(ctx, `UPDATE enumeration_chunk SET state = ? WHERE enumeration_id = ? AND run = ? AND state IN ('waiting', 'running')`, chunkStopped, id, run)
	return true, err
}

// end moves an enumeration and its run to a final state, and gives the number of the run:
// 0 when the enumeration is not at work, or not in this run (0 is any).
func (es *Enumerations) end(ctx context.Context, tx *db.Tx, id string, run int64, to Status, why string) (int64, error) {
	var w db.Where
	w.And("id = ?", id)
	if run > 0 {
		w.And("run = ?", run)
	}
	db.In(&w, "status", from(to))
	now := db.At(es.now())
	var teamID string
	err := tx.QueryRow(ctx, `UPDATE enumeration SET status = ?, failure_reason = ?, updated_at = ?`+w.String()+` RETURNING run, team_id`, append([]any{to, db.Clean(why), now}, w.Args...)...).Scan(&run, &teamID)
	if db.IsNoRows(err) {
		return 0, nil
	}
	if err != nil {
		return 0, err
	}
	if _, err := tx.Exec(ctx, `UPDATE enumeration_run SET status = ?, failure_reason = ?, ended_at = ? WHERE enumeration_id = ? AND run = ?`, to, db.Clean(why), now, id, run); err != nil {
		return 0, err
	}
	if _, err := es.assets.EndRun(ctx, tx, asset.End{TeamID: teamID, EnumerationID: id, Run: run, At: now.Time, Covered: to == Finished && why == ""}); err != nil {
		return 0, err
	}
	if to == Finished {
		if err := es.judgeSources(ctx, tx, id, run); err != nil {
			return 0, err
		}
	}
	if _, err := es.queue.Insert(ctx, tx, TidyArgs{id, run}); err != nil {
		return 0, err
	}
	if err := es.orderScan(ctx, tx, id, run, to); err != nil {
		return 0, err
	}
	_, err = es.queue.Insert(ctx, tx, ToldArgs{id, run, to})
	return run, err
}

// GiveUpBegin fails an enumeration that could not be planned, in the transaction that ends
// its job.
func (es *Enumerations) GiveUpBegin(ctx context.Context, tx *db.Tx, a BeginArgs) error {
	_, err := es.end(ctx, tx, a.EnumerationID, a.Run, Failed, "The enumeration could not be planned. The server's log says why.")
	return err
}

// notices is where it is kept who is told of enumerations.
func (es *Enumerations) notices() *notification.Notices { return notification.New(es.db, es.queue) }
