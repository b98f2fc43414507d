package export

import (
	"bytes"
	"cmp"
	"compress/flate"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/export/report"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// State is the state of an export: queued → running → finished or failed. A run that dies is followed by another,
// which begins anew.
type State string

// The states.
const (
	Queued   State = "queued"
	Running  State = "running"
	Finished State = "finished"
	Failed   State = "failed"
)

// States are all states.
var States = []State{Queued, Running, Finished, Failed}

// Export is a file that a job makes.
type Export struct {
	ID        string // a UUID
	Name      string
	Format    Format
	ScanID    string // of findings, empty: across scans; of a log
	TaskID    string // of the findings of a task
	About     About
	Assets    string // of assets: the enumeration or group; empty: all
	State     State
	Total     int   // findings or assets, once it runs
	Done      int   // of them, written
	Size      int64 // bytes, once it is finished
	CreatedAt time.Time
	UpdatedAt time.Time
	ExpiresAt time.Time // it is deleted then

	ScheduleID  string // that made it; empty: a person
	ScheduleRun int64  // which of its times
}

// Progress is the part that is written, 0 to 100; 100 only when it is finished.
func (e Export) Progress() int {
	switch {
	case e.State == Finished:
		return 100
	case e.Total == 0:
		return 0
	}
	return min(e.Done*100/e.Total, 99)
}

// FileName is the name of the file.
func (e Export) FileName() string {
	r := Request{Format: e.Format, ScanID: e.ScanID, TaskID: e.TaskID}
	switch e.About {
	case OfAssets:
		r.Inventory = &Inventory{EnumerationID: e.Assets}
	case OfLog:
		r.Log = &scan.LogFilter{}
	case OfFindings:
	}
	return fileName(r, e.CreatedAt)
}

// About is the kind of content of an export.
type About string

// The kinds.
const (
	OfFindings About = "findings"
	OfAssets   About = "assets"
	OfLog      About = "log" // of a scan
)

const (
	keepFor    = 7 * 24 * time.Hour
	maxExports = 1000    // exports of a team
	partSize   = 1 << 20 // bytes of a part before compression
)

// RunArgs is the job that makes a file.
type RunArgs struct {
	ExportID string `json:"export_id"`
}

// Kind implements queue.Args.
func (RunArgs) Kind() string { return "export.run" }

// options are the fields of a request that are stored beside its filter.
type options struct {
	TaskID   string       `json:"task_id,omitempty"`
	Style    report.Style `json:"style"`
	Unmasked bool         `json:"unmasked,omitempty"`
	Run      int64        `json:"schedule_run,omitempty"`
}

// Start queues an export for the caller's team. What may be refused is as Open says.
func (es *Exports) Start(ctx context.Context, r Request) (Export, error) {
	if _, err := account.Writer(ctx); err != nil {
		return Export{}, err
	}
	e, filter, err := es.prepare(ctx, r)
	if err != nil {
		return Export{}, err
	}
	return e, es.db.Tx(ctx, func(tx *db.Tx) error { return es.insert(ctx, tx, e, r, filter) })
}

// StartIn is Start of findings across scans, in the transaction of the schedule that asks for them.
func (es *Exports) StartIn(ctx context.Context, tx *db.Tx, r Request) (Export, error) {
	if _, err := account.Writer(ctx); err != nil {
		return Export{}, err
	}
	e, filter, err := es.prepare(ctx, r)
	if err != nil {
		return Export{}, err
	}
	return e, es.insert(ctx, tx, e, r, filter)
}

// prepare is the export of a request, and its filter as it is stored.
func (es *Exports) prepare(ctx context.Context, r Request) (e Export, filter any, err error) {
	if err := es.db.CheckRoom(); err != nil {
		return e, nil, err
	}
	if err := checkMask(ctx, r); err != nil {
		return e, nil, err
	}
	if r.TaskID != "" {
		if _, err := es.from.Tasks.Find(ctx, r.TaskID); err != nil {
			return e, nil, err
		}
	}
	now := es.now()
	e = Export{
		ID: ids.New(), Name: db.Clean(r.Name), Format: r.Format, ScanID: r.ScanID, TaskID: r.TaskID, About: OfFindings,
		State:     Queued,
		CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(cmp.Or(r.Schedule.Keep, keepFor)),
		ScheduleID: r.Schedule.ID, ScheduleRun: r.Schedule.Run,
	}
	filter = db.Doc(any(r.Filter))
	if r.Inventory != nil {
		if _, err := r.Inventory.query(ctx, es.from.Assets); err != nil { // refuse now what the job could not do
			return e, nil, err
		}
		e.About, e.Assets, filter = OfAssets, r.Inventory.EnumerationID, db.Doc(any(*r.Inventory))
	}
	if r.Log != nil {
		file, err := es.openLog(ctx, r)
		if err != nil {
			return e, nil, err
		}
		e.About, e.Name, filter = OfLog, db.Clean(file.Name), db.Doc(any(*file.Log))
	}
	return e, filter, nil
}

// insert stores an export with its job, unless the caller's team has too many.
func (es *Exports) insert(ctx context.Context, tx *db.Tx, e Export, r Request, filter any) error {
	c, err := account.From(ctx)
	if err != nil {
		return err
	}
	// The team's row is locked, so that two requests cannot both add the last export that is allowed.
	if _, err := tx.Exec(ctx, `UPDATE team SET id = id WHERE id = ?`, c.TeamID); err != nil {
		return err
	}
	count, err := db.Value[int](ctx, tx, `SELECT count(*) FROM export WHERE team_id = ? AND expires_at > ?`, c.TeamID,
		db.At(e.CreatedAt))
	if err != nil {
		return err
	}
	if count >= maxExports {
		return errs.New(errs.Conflict, "too_many_exports",
			"Your team has %d exports. Delete some, or wait until they expire.", count)
	}
	job, err := es.queue.Insert(ctx, tx, c.TeamID, RunArgs{e.ID})
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx,
		`INSERT INTO export (id, team_id, user_id, name, format, scan_id, about, enumeration_id, filter, options, state,
		job_id, schedule_id, created_at, updated_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		e.ID, c.TeamID, c.UserID, e.Name, e.Format, e.ScanID, e.About, e.Assets, filter,
		db.Doc(options{r.TaskID, r.Style, r.Unmasked, r.Schedule.Run}), e.State, job, e.ScheduleID, db.At(e.CreatedAt),
		db.At(e.UpdatedAt), db.At(e.ExpiresAt))
	return err
}

const exportColumns = `id, name, format, scan_id, about, enumeration_id, options, state, total, done, size, schedule_id,
	created_at, updated_at, expires_at`

func exportRow(r db.Row) (e Export, err error) {
	var more *options // nil in rows of earlier releases
	err = r.Scan(
		&e.ID,
		&e.Name,
		&e.Format,
		&e.ScanID,
		&e.About,
		&e.Assets,
		db.Into(&more),
		&e.State,
		&e.Total,
		&e.Done,
		&e.Size,
		&e.ScheduleID,
		db.Into(&e.CreatedAt),
		db.Into(&e.UpdatedAt),
		db.Into(&e.ExpiresAt),
	)
	if more != nil {
		e.TaskID, e.ScheduleRun = more.TaskID, more.Run
	}
	return e, err
}

// Find is an export of the caller's team.
func (es *Exports) Find(ctx context.Context, id string) (Export, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Export{}, err
	}
	e, err := exportRow(es.db.QueryRow(ctx,
		`SELECT `+exportColumns+` FROM export WHERE id = ? AND team_id = ? AND expires_at > ?`,
		db.Clean(id), c.TeamID, db.At(es.now())))
	return e, db.OrMissing(err, "export")
}

// FindAll lists the exports of the caller's team, the newest first, with their total number. An empty state, or
// schedule, picks any.
func (es *Exports) FindAll(
	ctx context.Context, state State, scheduleID string, w page.Window,
) (found []Export, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var where db.Where
	where.And("team_id = ? AND expires_at > ?", c.TeamID, db.At(es.now()))
	db.Equal(&where, "state", state)
	db.Equal(&where, "schedule_id", db.Clean(scheduleID))
	return db.Page(ctx, es.db, exportRow, `SELECT `+exportColumns+` FROM export`, `export`, where,
		` ORDER BY created_at DESC, id`, w)
}

// Made is an export that a schedule asked for, of any team; ok is false for others. It is for jobs.
func (es *Exports) Made(ctx context.Context, id string) (e Export, teamID string, ok bool, err error) {
	teamID, err = db.Value[string](ctx, es.db, `SELECT team_id FROM export WHERE id = ? AND schedule_id <> ''`, id)
	if db.IsNoRows(err) {
		return e, "", false, nil
	}
	if err == nil {
		e, err = exportRow(es.db.QueryRow(ctx, `SELECT `+exportColumns+` FROM export WHERE id = ?`, id))
	}
	if db.IsNoRows(err) {
		return e, "", false, nil
	}
	return e, teamID, err == nil, err
}

// Delete deletes an export of the caller's team and cancels its job.
func (es *Exports) Delete(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	return es.db.Tx(ctx, func(tx *db.Tx) error {
		var job int64
		err := tx.QueryRow(ctx, `DELETE FROM export WHERE id = ? AND team_id = ? AND expires_at > ? RETURNING job_id`,
			db.Clean(id), c.TeamID, db.At(es.now())).Scan(&job)
		if err != nil {
			return db.OrMissing(err, "export")
		}
		return es.queue.Cancel(ctx, tx, job)
	})
}

// Run makes the file of an export. After a run that died another begins anew: each write checks that the job is still
// this run's, so that the two never mix.
func (es *Exports) Run(ctx context.Context, job queue.Job[RunArgs]) error {
	id := job.Args.ExportID
	var team, user string
	r := Request{}
	var about About
	var filter db.JSON[json.RawMessage]
	var more *options
	err := es.db.QueryRow(ctx, `SELECT team_id, user_id, name, format, scan_id, about, filter, options FROM export
		WHERE id = ? AND state IN (?, ?)`, id, Queued, Running).
		Scan(&team, &user, &r.Name, &r.Format, &r.ScanID, &about, &filter, db.Into(&more))
	if db.IsNoRows(err) {
		return nil // it has ended, or was deleted
	}
	if err != nil {
		return err
	}
	switch about {
	case OfAssets:
		r.Inventory = new(Inventory)
		err = json.Unmarshal(filter.V, r.Inventory)
	case OfLog:
		r.Log = new(scan.LogFilter)
		err = json.Unmarshal(filter.V, r.Log)
	case OfFindings:
		err = json.Unmarshal(filter.V, &r.Filter)
	}
	if err != nil {
		return queue.Abandon(err)
	}
	if more != nil {
		r.TaskID, r.Style, r.Unmasked = more.TaskID, more.Style, more.Unmasked
	}
	// Who asked was allowed to, and sees their own private tasks.
	ctx = account.WithCaller(ctx, account.Caller{TeamID: team, UserID: user, Role: account.Viewer})
	file, err := es.open(ctx, r)
	if errs.Is(err, errs.Invalid) || errs.Is(err, errs.NotFound) {
		return queue.Abandon(err) // it stays so
	}
	if err != nil {
		return err
	}
	out := &partWriter{ctx: ctx, es: es, job: job, total: file.Total}
	if err := out.begin(); err != nil {
		return err
	}
	if err := file.Write(ctx, out, func(done int) { out.done = done }); err != nil {
		return err
	}
	return out.finish()
}

// GiveUp fails an export whose job the queue has given up, in the transaction that ends the job. It returns the
// schedule that asked for it; empty: a person, or the file is there.
func (es *Exports) GiveUp(ctx context.Context, tx *db.Tx, id string) (teamID, scheduleID string, err error) {
	err = tx.QueryRow(ctx, `UPDATE export SET state = ?, updated_at = ? WHERE id = ? AND state IN (?, ?)
		RETURNING team_id, schedule_id`, Failed, db.At(es.now()), id, Queued, Running).Scan(&teamID, &scheduleID)
	if err != nil {
		if db.IsNoRows(err) {
			return "", "", nil
		}
		return "", "", err
	}
	_, err = tx.Exec(ctx, `DELETE FROM export_part WHERE export_id = ?`, id)
	return teamID, scheduleID, err
}

// Download writes the file of a finished export, as Find returned it. After an error the file is incomplete.
func (es *Exports) Download(ctx context.Context, e Export, w io.Writer) error {
	left := e.Size
	for n := 0; left > 0; n++ {
		var packed []byte
		err := es.db.QueryRow(ctx, `SELECT bytes FROM export_part WHERE export_id = ? AND n = ?`, e.ID, n).Scan(&packed)
		if err != nil {
			return fmt.Errorf("export %s, part %d: %w", e.ID, n, err)
		}
		written, err := io.Copy(w, flate.NewReader(bytes.NewReader(packed)))
		if err != nil {
			return err
		}
		left -= written
	}
	return nil
}

// Ready is nil when the export can be downloaded.
func (e Export) Ready() error {
	switch e.State {
	case Finished:
		return nil
	case Failed:
		return errs.New(errs.Conflict, "export_failed", "The export has failed; ask for another one.")
	default:
		return errs.New(errs.Conflict, "export_not_ready", "The export is not finished: %d%% are written.", e.Progress())
	}
}

// RunSweeps deletes expired exports until ctx ends. Until then they stay in the database, but are not listed.
func (es *Exports) RunSweeps(ctx context.Context) {
	queue.Every(ctx, 10*time.Minute, es.logger, "deleting expired exports", func(ctx context.Context) error {
		_, err := es.Sweep(ctx)
		return err
	})
}

// Sweep deletes expired exports, and returns how many there were.
func (es *Exports) Sweep(ctx context.Context) (deleted int64, err error) {
	return es.db.Exec(ctx, `DELETE FROM export WHERE expires_at <= ?`, db.At(es.now()))
}
