package task

import (
	"context"
	"strings"

	"github.com/vedette-sec/vedette/internal/account"
	"github.com/vedette-sec/vedette/internal/db"
	"github.com/vedette-sec/vedette/internal/errs"
	"github.com/vedette-sec/vedette/internal/ids"
)

// NewTask is what a task is made from. The door has checked the options.
type NewTask struct {
	ID          string // a uuid of the caller's choice; empty: a new one
	Instruction string
	Delivery    Delivery
	Options     Options
}

// MaxInstruction is the longest instruction, in bytes.
const MaxInstruction = 64 << 10

// Create writes a task and, in the same transaction, the job that will run it: when it
// returns without an error both are on disk.
func (ts *Tasks) Create(ctx context.Context, n NewTask) (Task, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Task{}, err
	}
	if strings.TrimSpace(n.Instruction) == "" {
		return Task{}, errs.Field("task", "task is required: say what should be done.")
	}
	if len(n.Instruction) > MaxInstruction {
		return Task{}, errs.Field("task", "task must have at most %d bytes.", MaxInstruction)
	}
	if n.ID == "" {
		n.ID = ids.New()
	}
	now := db.At(ts.now())
	t := Task{
		ID: n.ID, TeamID: c.TeamID, UserID: c.UserID, Owner: c.Email, Instruction: n.Instruction, Status: Queued,
		Delivery: n.Delivery, Options: n.Options, StreamID: ids.New(), LastSeq: 1, CreatedAt: now.Time, UpdatedAt: now.Time,
	}
	err = ts.db.Tx(ctx, func(tx *db.Tx) error {
		job, err := ts.queue.Insert(ctx, tx, RunArgs{t.ID})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `INSERT INTO task (id, team_id, user_id, instruction, status, completion_delivery, options, stream_id, job_id, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			t.ID, t.TeamID, t.UserID, t.Instruction, t.Status, t.Delivery, db.Doc(t.Options), t.StreamID, job, now, now)
		if err != nil {
			return err
		}
		return ts.emit(ctx, tx, t.ID, EventStatus, StatusData{Status: Queued})
	})
	if db.IsDuplicate(err) {
		return Task{}, errs.New(errs.Conflict, "task_exists", "There is a task with this id.").At("id")
	}
	return t, err
}

// Abort stops a task. One that has not begun ends at once; a running one ends when its
// worker has kept what was found, within seconds. A task that has ended stays as it is.
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
		var job, run int64
		if err := tx.QueryRow(ctx, `SELECT status, job_id, run FROM task WHERE id = ?`+tx.Speaks().ForUpdate(), id).Scan(&status, &job, &run); err != nil {
			return err
		}
		if status.Final() {
			return nil
		}
		if err := ts.queue.Cancel(ctx, tx, job); err != nil {
			return err
		}
		if status == Queued {
			return ts.finish(ctx, tx, id, run, Outcome{Status: Aborted, Summary: "The task was stopped before it began."})
		}
		return nil
	})
	if err != nil {
		return Task{}, err
	}
	return ts.Find(ctx, id)
}
