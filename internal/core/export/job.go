package export

import (
	"bytes"
	"compress/flate"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
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
	About     About
	Assets    string // of assets: the enumeration or group; empty: all
	State     State
	Total     int   // findings or assets, once it runs
	Done      int   // of them, written
	Size      int64 // bytes, once it is finished
	CreatedAt time.Time
	UpdatedAt time.Time
	ExpiresAt time.Time // it is deleted then
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
	r := Request{Format: e.Format, ScanID: e.ScanID}
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

// Start queues an export for the caller's team.
func (es *Exports) Start(ctx context.Context, r Request) (Export, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Export{}, err
	}
	if err := es.db.CheckRoom(); err != nil {
		return Export{}, err
	}
	now := es.now()
	e := Export{
		ID: ids.New(), Name: db.Clean(r.Name), Format: r.Format, ScanID: r.ScanID, About: OfFindings, State: Queued,
		CreatedAt: now, UpdatedAt: now, ExpiresAt: now.Add(keepFor),
	}
	filter := db.Doc(any(r.Filter))
	if r.Inventory != nil {
		if _, err := r.Inventory.query(ctx, es.from.Assets); err != nil { // refuse now what the job could not do
			return Export{}, err
		}
		e.About, e.Assets, filter = OfAssets, r.Inventory.EnumerationID, db.Doc(any(*r.Inventory))
	}
	if r.Log != nil {
		file, err := es.openLog(ctx, r)
		if err != nil {
			return Export{}, err
		}
		e.About, e.Name, filter = OfLog, db.Clean(file.Name), db.Doc(any(*file.Log))
	}
	err = es.db.Tx(ctx, func(tx *db.Tx) error {
		// The team's row is locked, so that two requests cannot both add the last export that is allowed.
		if _, err := tx.Exec(ctx, `UPDATE team SET id = id WHERE id = ?`, c.TeamID); err != nil {
			return err
		}
		var count int
		if err := tx.QueryRow(ctx, `SELECT count(*) FROM export WHERE team_id = ? AND expires_at > ?`, c.TeamID, db.At(now)).
			Scan(&count); err != nil {
			return err
		}
		if count >= maxExports {
			return errs.New(errs.Conflict, "too_many_exports",
				"Your team has %d exports. Delete some, or wait: each is kept for %d days.",
				count, int(keepFor.Hours()/24))
		}
		job, err := es.queue.Insert(ctx, tx, c.TeamID, RunArgs{e.ID})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO export (id, team_id, user_id, name, format, scan_id, about, enumeration_id, filter, state, job_id,
			created_at, updated_at, expires_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, e.ID, c.TeamID, c.UserID,
			e.Name, e.Format,
			e.ScanID, e.About, e.Assets, filter, e.State, job, db.At(now), db.At(now), db.At(e.ExpiresAt))
		return err
	})
	return e, err
}

const exportColumns = `id, name, format, scan_id, about, enumeration_id, state, total, done, size, created_at, updated_at, expires_at`

func exportRow(r db.Row) (e Export, err error) {
	err = r.Scan(&e.ID, &e.Name, &e.Format, &e.ScanID, &e.About, &e.Assets, &e.State, &e.Total, &e.Done, &e.Size,
		db.Into(&e.CreatedAt), db.Into(&e.UpdatedAt), db.Into(&e.ExpiresAt))
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

// FindAll lists the exports of the caller's team, the newest first, with their total number. An empty state picks any.
func (es *Exports) FindAll(ctx context.Context, state State, w page.Window) (found []Export, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var where db.Where
	where.And("team_id = ? AND expires_at > ?", c.TeamID, db.At(es.now()))
	db.Equal(&where, "state", state)
	return db.Page(ctx, es.db, exportRow, `SELECT `+exportColumns+` FROM export`, `export`, where,
		` ORDER BY created_at DESC, id`, w)
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
	var team string
	r := Request{}
	var about About
	var filter db.JSON[json.RawMessage]
	err := es.db.QueryRow(ctx, `SELECT team_id, name, format, scan_id, about, filter FROM export WHERE id = ? AND state IN (?, ?)`,
		id, Queued, Running).Scan(&team, &r.Name, &r.Format, &r.ScanID, &about, &filter)
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
	file, err := es.Open(account.WithCaller(ctx, account.Caller{TeamID: team, Role: account.Viewer}), r)
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

// GiveUp fails an export whose job the queue has given up, in the transaction that ends the job.
func (es *Exports) GiveUp(ctx context.Context, tx *db.Tx, id string) error {
	if _, err := tx.Exec(ctx, `UPDATE export SET state = ?, updated_at = ? WHERE id = ? AND state IN (?, ?)`,
		Failed, db.At(es.now()), id, Queued, Running); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `DELETE FROM export_part WHERE export_id = ?`, id)
	return err
}

// partWriter stores what is written to it as the parts of an export.
type partWriter struct {
	ctx         context.Context
	es          *Exports
	job         queue.Job[RunArgs]
	total, done int
	part        []byte
	n           int
	size        int64
}

// Write implements io.Writer.
func (s *partWriter) Write(p []byte) (int, error) {
	written := len(p)
	for len(p) > 0 {
		take := min(partSize-len(s.part), len(p))
		s.part, p = append(s.part, p[:take]...), p[take:]
		if len(s.part) == partSize {
			if err := s.flush(Running); err != nil {
				return 0, err
			}
		}
	}
	return written, nil
}

// begin deletes the parts of an earlier run.
func (s *partWriter) begin() error {
	return s.tx(func(tx *db.Tx) error {
		if _, err := tx.Exec(s.ctx, `DELETE FROM export_part WHERE export_id = ?`, s.job.Args.ExportID); err != nil {
			return err
		}
		return s.report(tx, Running)
	})
}

func (s *partWriter) finish() error {
	s.done = s.total
	return s.flush(Finished)
}

// flush stores a full part, or the last one.
func (s *partWriter) flush(state State) error {
	var packed bytes.Buffer
	z, err := flate.NewWriter(&packed, flate.BestSpeed)
	if err != nil {
		return err
	}
	if _, err := z.Write(s.part); err != nil {
		return err
	}
	if err := z.Close(); err != nil {
		return err
	}
	s.size += int64(len(s.part))
	err = s.tx(func(tx *db.Tx) error {
		if err := s.report(tx, state); err != nil {
			return err
		}
		_, err := tx.Exec(s.ctx, `INSERT INTO export_part (export_id, n, bytes) VALUES (?, ?, ?)`,
			s.job.Args.ExportID, s.n, packed.Bytes())
		return err
	})
	s.part, s.n = s.part[:0], s.n+1
	return err
}

// tx runs a transaction that fails unless the job is still this run's.
func (s *partWriter) tx(do func(tx *db.Tx) error) error {
	return s.es.db.Tx(s.ctx, func(tx *db.Tx) error {
		if err := s.job.CheckLease(s.ctx, tx); err != nil {
			return err
		}
		return do(tx)
	})
}

func (s *partWriter) report(tx *db.Tx, state State) error {
	deleted := queue.Abandon(errs.Missing("export"))
	return db.ExecOr(s.ctx, tx, deleted, `UPDATE export SET state = ?, total = ?, done = ?, size = ?, updated_at = ?
		WHERE id = ?`, state, s.total, s.done, s.size, db.At(s.es.now()), s.job.Args.ExportID)
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
