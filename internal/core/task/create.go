package task

import (
	"context"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// NewTask is what a task is made from. The API has checked the options.
type NewTask struct {
	ID          string // a uuid of the caller's choice, or that of a task to continue; empty: a new one
	Instruction string
	Delivery    Delivery
	Options     Options
}

// MaxInstruction is the longest instruction, in bytes.
const MaxInstruction = 64 << 10

// titleLength is how much of an instruction its task is called by, in characters.
const titleLength = 80

// Create writes a task, or a further stream of a task of the caller's that has ended,
// and, in the same transaction, the job that will run it: when it returns without an
// error both are on disk. It fails with Conflict for an id that is another's, or whose
// task has not ended.
func (ts *Tasks) Create(ctx context.Context, n NewTask) (Task, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Task{}, err
	}
	if err := n.check(ts); err != nil {
		return Task{}, err
	}
	if n.ID == "" {
		n.ID = ids.New()
	}
	var made Task
	err = ts.db.Tx(ctx, func(tx *db.Tx) error {
		last, err := ts.ownLast(ctx, tx, c, n.ID)
		switch {
		case db.IsNoRows(err):
			err = ts.insert(ctx, tx, c, n)
		case err == nil:
			err = ts.proceed(ctx, tx, last, n)
		}
		if err == nil {
			made, err = ts.byID(ctx, tx, n.ID)
		}
		return err
	})
	if db.IsDuplicate(err) {
		return Task{}, errs.New(errs.Conflict, "task_exists", "There is a task with this id.").At("id")
	}
	return made, err
}

// check refuses what cannot be a task.
func (n NewTask) check(ts *Tasks) error {
	if strings.TrimSpace(n.Instruction) == "" {
		return errs.Field("task", "task is required: say what should be done.")
	}
	if len(n.Instruction) > MaxInstruction {
		return errs.Field("task", "task must have at most %d bytes.", MaxInstruction)
	}
	if n.Options.Scope != nil {
		return n.Options.Scope.check(ts.now())
	}
	return nil
}

// ownLast is a task of the caller's, held until tx ends.
func (ts *Tasks) ownLast(ctx context.Context, tx *db.Tx, c account.Caller, id string) (Task, error) {
	var found string
	err := tx.QueryRow(ctx, `SELECT id FROM task WHERE id = ? AND team_id = ? AND user_id = ?`+tx.Speaks().ForUpdate(), id, c.TeamID, c.UserID).Scan(&found)
	if err != nil {
		return Task{}, err
	}
	return ts.byID(ctx, tx, id)
}

// insert writes a new task with its first stream.
func (ts *Tasks) insert(ctx context.Context, tx *db.Tx, c account.Caller, n NewTask) error {
	visibility := Team
	if n.Options.Visibility != "" {
		visibility = Visibility(n.Options.Visibility)
	}
	stream := ids.New()
	_, err := tx.Exec(ctx, `INSERT INTO task (id, team_id, user_id, title, visibility, completion_delivery, stream_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`,
		n.ID, c.TeamID, c.UserID, db.Clean(headline(n.Instruction, titleLength)), visibility, n.Delivery, stream, db.At(ts.now()))
	if err != nil {
		return err
	}
	return ts.insertStream(ctx, tx, n, stream, 0)
}

// proceed adds a stream to a task that has ended. What the request says of delivery and
// visibility holds for the task from now on.
func (ts *Tasks) proceed(ctx context.Context, tx *db.Tx, last Task, n NewTask) error {
	if !last.Status.Final() {
		return errs.New(errs.Conflict, "task_exists", "There is a task with this id, and it is %s: it can be continued when it has ended.", last.Status).At("id")
	}
	if n.Delivery == NoDelivery {
		n.Delivery = last.Delivery
	}
	if n.Options.Visibility == "" {
		n.Options.Visibility = string(last.Visibility)
	}
	stream := ids.New()
	_, err := tx.Exec(ctx, `UPDATE task SET stream_id = ?, completion_delivery = ?, visibility = ? WHERE id = ?`, stream, n.Delivery, n.Options.Visibility, n.ID)
	if err != nil {
		return err
	}
	return ts.insertStream(ctx, tx, n, stream, last.Turn+1)
}

// insertStream writes a stream, its job and its first event.
func (ts *Tasks) insertStream(ctx context.Context, tx *db.Tx, n NewTask, stream string, turn int) error {
	job, err := ts.queue.Insert(ctx, tx, RunArgs{n.ID, stream})
	if err != nil {
		return err
	}
	now := db.At(ts.now())
	_, err = tx.Exec(ctx, `INSERT INTO task_stream (id, task_id, turn, instruction, options, status, job_id, created_at, updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		stream, n.ID, turn, n.Instruction, db.Doc(n.Options), Queued, job, now, now)
	if err != nil {
		return err
	}
	return ts.emit(ctx, tx, stream, EventStatus, StatusData{Status: Queued})
}

// Abort stops a task. One that has not begun, or waits for a person, ends at once; a
// running one ends when its worker has kept what was found, within seconds. A task that
// has ended stays as it is.
func (ts *Tasks) Abort(ctx context.Context, id string) (Task, error) {
	if _, err := account.Writer(ctx); err != nil {
		return Task{}, err
	}
	t, err := ts.Find(ctx, id)
	if err != nil || t.Status.Final() {
		return t, err
	}
	err = ts.db.Tx(ctx, func(tx *db.Tx) error {
		var status Status
		var job int64
		err := tx.QueryRow(ctx, `SELECT status, job_id FROM task_stream WHERE id = ?`+tx.Speaks().ForUpdate(), t.StreamID).Scan(&status, &job)
		if err != nil || status.Final() {
			return err
		}
		if err := ts.queue.Cancel(ctx, tx, job); err != nil || status == Running {
			return err
		}
		summary := "The task was stopped before it began."
		if status != Queued {
			summary = "The task was stopped while it waited for an answer."
		}
		return ts.finish(ctx, tx, t.StreamID, run.AnyRun, Outcome{Status: Aborted, Summary: summary})
	})
	if err != nil {
		return Task{}, err
	}
	return ts.Find(ctx, id)
}
