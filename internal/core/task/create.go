package task

import (
	"cmp"
	"context"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/project"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/core/task/bounds"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// NewTask is a request for a task. The API has checked the options.
type NewTask struct {
	ID          string // a uuid of the caller's choice, or that of a task to continue; empty: a new one
	Instruction string
	Delivery    Delivery
	Options     Options
	ScheduleID  string // that makes it; empty: a person does
}

// MaxInstruction is the longest instruction, in bytes.
const MaxInstruction = 64 << 10

// Create writes a task, or a further stream of a task of the caller's that has ended, with the job that will
// run it. It fails with Conflict if the id is another user's, or its task has not ended.
func (ts *Tasks) Create(ctx context.Context, n NewTask) (made Task, err error) {
	err = ts.db.Tx(ctx, func(tx *db.Tx) error {
		made, err = ts.CreateIn(ctx, tx, n)
		return err
	})
	if db.IsDuplicate(err) {
		err = errs.New(errs.Conflict, "task_exists", "There is a task with this id.").At("id")
	}
	return made, err
}

// CreateIn is Create in the caller's transaction.
func (ts *Tasks) CreateIn(ctx context.Context, tx *db.Tx, n NewTask) (made Task, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return made, err
	}
	if err := n.check(ts); err != nil {
		return made, err
	}
	if err := project.Check(ctx, tx, c.TeamID, c.UserID, n.Options.ProjectID); err != nil {
		return made, err
	}
	n.ID = cmp.Or(n.ID, ids.New())
	last, err := ts.lockOwnTask(ctx, tx, c, n.ID)
	switch {
	case db.IsNoRows(err):
		err = ts.insert(ctx, tx, c, n)
	case err == nil:
		err = ts.continueTask(ctx, tx, last, n)
	}
	if err != nil {
		return made, err
	}
	return ts.byID(ctx, tx, n.ID)
}

func (n NewTask) check(ts *Tasks) error {
	if strings.TrimSpace(n.Instruction) == "" {
		return errs.Field("task", "task is required: say what should be done.")
	}
	if len(n.Instruction) > MaxInstruction {
		return errs.Field("task", "task must have at most %d bytes.", MaxInstruction)
	}
	if n.Options.Scope != nil {
		return n.Options.Scope.Check(ts.now())
	}
	return nil
}

// lockOwnTask reads a task of the caller's, locked until tx ends.
func (ts *Tasks) lockOwnTask(ctx context.Context, tx *db.Tx, c account.Caller, id string) (Task, error) {
	_, err := db.Value[string](ctx, tx, `SELECT id FROM task WHERE id = ? AND team_id = ? AND user_id = ?`+
		tx.Dialect().ForUpdate(), id, c.TeamID, c.UserID)
	if err != nil {
		return Task{}, err
	}
	return ts.byID(ctx, tx, id)
}

func (ts *Tasks) insert(ctx context.Context, tx *db.Tx, c account.Caller, n NewTask) error {
	title, stream := db.Clean(headline(n.Instruction, 80)), ids.New()
	_, err := tx.Exec(ctx, `INSERT INTO task (id, team_id, user_id, title, visibility, completion_delivery, stream_id,
		schedule_id, project_id, created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`, n.ID, c.TeamID, c.UserID, title,
		cmp.Or(n.Options.Visibility, string(Team)), n.Delivery, stream, n.ScheduleID, n.Options.ProjectID, db.At(ts.now()))
	if err == nil {
		err = project.NameAfter(ctx, tx, n.Options.ProjectID, title)
	}
	if err != nil {
		return err
	}
	return ts.insertStream(ctx, tx, c.TeamID, n, stream, 0)
}

// continueTask adds a stream to a task that has ended. The delivery and visibility of n apply to the task from now on.
func (ts *Tasks) continueTask(ctx context.Context, tx *db.Tx, last Task, n NewTask) error {
	if !last.Status.Final() {
		return errs.New(errs.Conflict, "task_exists",
			"There is a task with this id, and it is %s: it can be continued when it has ended.", last.Status).At("id")
	}
	if n.Options.ProjectID != "" && n.Options.ProjectID != last.ProjectID {
		return errs.Field("project_id", "project_id: a task stays in the project in which it was created.")
	}
	n.Options.ProjectID = last.ProjectID
	stream := ids.New()
	_, err := tx.Exec(ctx, `UPDATE task SET stream_id = ?, completion_delivery = ?, visibility = ? WHERE id = ?`, stream,
		cmp.Or(n.Delivery, last.Delivery), cmp.Or(n.Options.Visibility, string(last.Visibility)), n.ID)
	if err == nil && n.Options.Visibility != "" {
		err = ts.shareIssues(ctx, tx, n.ID)
	}
	if err != nil {
		return err
	}
	return ts.insertStream(ctx, tx, last.TeamID, n, stream, last.Index+1)
}

func (ts *Tasks) insertStream(
	ctx context.Context, tx *db.Tx, teamID string, n NewTask, stream string, index int,
) error {
	if err := ts.db.CheckRoom(); err != nil {
		return err
	}
	job, err := ts.queue.Insert(ctx, tx, teamID, RunArgs{n.ID, stream})
	if err != nil {
		return err
	}
	now := db.At(ts.now())
	_, err = tx.Exec(ctx, `INSERT INTO task_stream (id, task_id, turn, instruction, options, status, job_id, created_at,
		updated_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`,
		stream, n.ID, index, n.Instruction, db.Doc(n.Options), Queued, job, now, now)
	if err != nil {
		return err
	}
	return ts.emit(ctx, tx, stream, EventStatus, StatusData{Status: Queued})
}

// Abort stops a task: at once if it has not begun or waits for a person, else within seconds, when its worker
// has stored its findings.
func (ts *Tasks) Abort(ctx context.Context, id string) (Task, error) {
	t, err := ts.findToWrite(ctx, id)
	if err != nil || t.Status.Final() {
		return t, err
	}
	if err := ts.abort(ctx, t.StreamID); err != nil {
		return Task{}, err
	}
	return ts.Find(ctx, id)
}

// abort stops a stream; see Abort.
func (ts *Tasks) abort(ctx context.Context, stream string) error {
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		var status Status
		var job int64
		err := tx.QueryRow(ctx, `SELECT status, job_id FROM task_stream WHERE id = ?`+tx.Dialect().ForUpdate(), stream).
			Scan(&status, &job)
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
		return ts.finish(ctx, tx, stream, run.AnyRun, Outcome{Status: Aborted, Summary: summary})
	})
}

// Scope restricts what a task may reach; see package bounds.
type Scope = bounds.Scope

// Intrusiveness is how much a task may do to its targets; see package bounds.
type Intrusiveness = bounds.Intrusiveness

// The degrees of intrusiveness.
const (
	Passive   = bounds.Passive
	Safe      = bounds.Safe
	Active    = bounds.Active
	Intrusive = bounds.Intrusive
)
