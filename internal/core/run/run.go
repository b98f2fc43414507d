// Package run owns the life of long work: of scans and enumerations and, for its states alone, of tasks.
//
// Each launch of a scan or an enumeration is a run with a number that only grows. A job plans the run: it cuts the work
// into chunks and inserts a job for each. A worker takes a lease on a chunk. The queue gives the job of a node without
// heartbeats to another, which takes the lease over with a higher token. Writes with an older token, or into an earlier
// run, fail with ErrLate. So a chunk runs at least once, and its results are written once where their rows have keys. A
// chunk that the queue gives up has failed. The last chunk that ends, ends the run in the same transaction.
//
// The services of scans and enumerations add columns and tables of their own. Every transaction locks the row of the
// scan or enumeration first, then its chunks.
package run

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Ref names a run: of which scan or enumeration, and its number.
type Ref struct {
	ID  string
	Run int64
}

// Runs has the runs of scans or of enumerations, in the tables KIND, KIND_run and KIND_chunk.
type Runs struct {
	DB    *db.DB
	Queue *queue.Queue
	Now   func() time.Time
	Kind  string                                // scan or enumeration; it replaces KIND in statements
	Plan  func(r Ref) queue.Args                // the job that plans a run
	Work  func(r Ref, chunk int) queue.Args     // the job that works on a chunk
	Alert func(r Ref, status Status) queue.Args // the job that sends alerts when a run starts or ends
	Hint  string                                // behind "3 of 5 parts of the scan could not be run": where to look
	// Ended completes the end of a run in its transaction.
	Ended func(ctx context.Context, tx *db.Tx, r Ref, teamID string, o Outcome) error
}

func (rs Runs) sql(text string) string { return strings.ReplaceAll(text, "KIND", rs.Kind) }

func (rs Runs) life() Life[Status] { return Life[Status]{Table: rs.Kind, Moves: moves, Now: rs.Now} }

// Launch begins a new run. It fails with a Conflict, which is also ErrLate, while one is active, and with
// NoSpace while the disk is almost full.
func (rs Runs) Launch(ctx context.Context, tx *db.Tx, id string) error {
	if err := rs.DB.CheckRoom(); err != nil {
		return err
	}
	number, err := rs.life().Move(ctx, tx, id, AnyRun, Queued, ", failure_reason = '', run = run + 1")
	if err != nil {
		return rs.conflict(err, "launchable", "is running already")
	}
	teamID, err := rs.team(ctx, tx, id)
	if err != nil {
		return err
	}
	job, err := rs.Queue.Insert(ctx, tx, teamID, rs.Plan(Ref{id, number}))
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, rs.sql(`INSERT INTO KIND_run (KIND_id, run, team_id, job_id, status, created_at)
		SELECT id, run, team_id, ?, status, updated_at FROM KIND WHERE id = ?`), job, id)
	return err
}

// conflict makes a Conflict of ErrLate.
func (rs Runs) conflict(err error, not, why string) error {
	if errors.Is(err, ErrLate) {
		err = errs.New(errs.Conflict, rs.Kind+"_not_"+not, "The %s %s.", rs.Kind, why).Because(err)
	}
	return err
}

// Stop stops the current run. It fails with a Conflict when that is not active.
func (rs Runs) Stop(ctx context.Context, id string) error {
	err := rs.DB.Tx(ctx, func(tx *db.Tx) error { return rs.stop(ctx, tx, id) })
	return rs.conflict(err, "running", "is not running")
}

func (rs Runs) stop(ctx context.Context, tx *db.Tx, id string) error {
	return rs.End(ctx, tx, Ref{id, AnyRun}, Outcome{Status: Stopped})
}

// Prepare plans a run: find reads what to do, and start calls Start with it in a transaction. An Invalid error of
// find fails the run. A run that has ended or has its chunks is left alone.
func (rs Runs) Prepare(
	ctx context.Context, r Ref, find func(teamID string) (start func(tx *db.Tx) error, err error),
) error {
	var teamID string
	err := rs.DB.Tx(ctx, func(tx *db.Tx) (err error) {
		teamID, err = rs.Begin(ctx, tx, r)
		return err
	})
	if err != nil {
		return IgnoreLate(err)
	}
	start, err := find(teamID)
	refused := errs.From(err)
	if refused != nil && refused.Kind != errs.Invalid {
		return err
	}
	return IgnoreLate(rs.DB.Tx(ctx, func(tx *db.Tx) error {
		if refused != nil {
			return rs.End(ctx, tx, r, Outcome{Failed, refused.Message})
		}
		return start(tx)
	}))
}

// GiveUpPlan fails a run that could not be planned, in the transaction that ends its job. One that has ended stays as
// it is.
func (rs Runs) GiveUpPlan(ctx context.Context, tx *db.Tx, r Ref) error {
	why := "The " + rs.Kind + " could not be planned. The server's log says why."
	return IgnoreLate(rs.End(ctx, tx, r, Outcome{Failed, why}))
}

// Begin begins to plan a run and returns its team. It fails with ErrLate when the run is
// planned already or has ended.
func (rs Runs) Begin(ctx context.Context, tx *db.Tx, r Ref) (teamID string, err error) {
	if _, err := rs.life().Move(ctx, tx, r.ID, r.Run, Starting, ""); err != nil {
		return "", err
	}
	return rs.team(ctx, tx, r.ID)
}

func (rs Runs) team(ctx context.Context, tx *db.Tx, id string) (teamID string, err error) {
	return teamID, tx.QueryRow(ctx, rs.sql(`SELECT team_id FROM KIND WHERE id = ?`), id).Scan(&teamID)
}

// Start sets a planned run running with its chunks; see Add. It fails with ErrLate when the run was stopped.
func (rs Runs) Start(ctx context.Context, tx *db.Tx, r Ref, columns string, chunks [][]any) error {
	if _, err := rs.life().Move(ctx, tx, r.ID, r.Run, Running, ""); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, rs.sql(`UPDATE KIND_run SET status = ?, started_at = ? WHERE KIND_id = ? AND run = ?`),
		Running, db.At(rs.Now()), r.ID, r.Run); err != nil {
		return err
	}
	teamID, err := rs.team(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	if _, err := rs.Queue.Insert(ctx, tx, teamID, rs.Alert(r, Running)); err != nil {
		return err
	}
	return rs.Add(ctx, tx, r, columns, chunks)
}

// Add adds chunks with their jobs to a run that the transaction has locked. columns are those that the service added,
// and a chunk is their values.
func (rs Runs) Add(ctx context.Context, tx *db.Tx, r Ref, columns string, chunks [][]any) error {
	if len(chunks) == 0 {
		return nil
	}
	first, err := rs.Next(ctx, tx, r)
	if err != nil {
		return err
	}
	teamID, err := rs.team(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	rows := make([][]any, len(chunks))
	for i, values := range chunks {
		job, err := rs.Queue.Insert(ctx, tx, teamID, rs.Work(r, first+i))
		if err != nil {
			return fmt.Errorf("chunk %d: %w", first+i, err)
		}
		rows[i] = append([]any{r.ID, r.Run, first + i, job, string(ChunkWaiting)}, values...)
	}
	if err := tx.Insert(ctx, rs.sql(`KIND_chunk (KIND_id, run, n, job_id, state, `+columns+`)`), rows); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, rs.sql(`UPDATE KIND_run SET open_chunk = open_chunk + ? WHERE KIND_id = ? AND run = ?`),
		len(chunks), r.ID, r.Run)
	return err
}

// Next is the number of the next chunk that Add adds to a run.
func (rs Runs) Next(ctx context.Context, tx *db.Tx, r Ref) (n int, err error) {
	err = tx.QueryRow(ctx, rs.sql(`SELECT coalesce(max(n) + 1, 0) FROM KIND_chunk WHERE KIND_id = ? AND run = ?`),
		r.ID, r.Run).Scan(&n)
	return n, err
}

// End ends a run, or with AnyRun the current one. A stop also cancels its jobs. It fails with ErrLate when the run is
// not active.
func (rs Runs) End(ctx context.Context, tx *db.Tx, r Ref, o Outcome) (err error) {
	o.Why = db.Clean(o.Why)
	if r.Run, err = rs.life().Move(ctx, tx, r.ID, r.Run, o.Status, ", failure_reason = ?", o.Why); err != nil {
		return err
	}
	if _, err := tx.Exec(ctx, rs.sql(`UPDATE KIND_run SET status = ?, failure_reason = ?, ended_at = ?
		WHERE KIND_id = ? AND run = ?`), o.Status, o.Why, db.At(rs.Now()), r.ID, r.Run); err != nil {
		return err
	}
	if o.Status == Stopped {
		if err := rs.cancel(ctx, tx, r); err != nil {
			return err
		}
	}
	teamID, err := rs.team(ctx, tx, r.ID)
	if err != nil {
		return err
	}
	if err := rs.Ended(ctx, tx, r, teamID, o); err != nil {
		return err
	}
	_, err = rs.Queue.Insert(ctx, tx, teamID, rs.Alert(r, o.Status))
	return err
}

// cancel stops the chunks of a run that have not ended, and cancels its jobs.
func (rs Runs) cancel(ctx context.Context, tx *db.Tx, r Ref) error {
	var open db.Where
	db.In(&open, "state", chunkMoves.Before(ChunkStopped))
	open.And("KIND_id = ? AND run = ?", r.ID, r.Run)
	chunks := rs.sql(open.String())
	jobs, err := db.Values[int64](ctx, tx, rs.sql(`SELECT job_id FROM KIND_run WHERE KIND_id = ? AND run = ?
		UNION SELECT job_id FROM KIND_chunk`)+chunks+` ORDER BY job_id`, append([]any{r.ID, r.Run}, open.Args...)...)
	if err != nil {
		return err
	}
	for _, job := range jobs {
		if err := rs.Queue.Cancel(ctx, tx, job); err != nil {
			return err
		}
	}
	_, err = tx.Exec(ctx, rs.sql(`UPDATE KIND_chunk SET state = ?`)+chunks, append([]any{ChunkStopped}, open.Args...)...)
	return err
}
