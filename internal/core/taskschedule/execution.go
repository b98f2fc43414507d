package taskschedule

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/core/task/change"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Outcome is what became of a time at which a schedule came due.
type Outcome string

// The outcomes.
const (
	Started Outcome = "started" // a task was made
	Skipped Outcome = "skipped" // the task of the run before had not ended
	Missed  Outcome = "missed"  // no worker ran then
	Failed  Outcome = "failed"  // no task could be made; the note says why
)

// Execution is one time that a schedule came due, or was run by hand.
type Execution struct {
	ID         string
	ScheduleID string
	N          int64 // 1, 2, 3, …
	DueAt      time.Time
	Manual     bool
	Status     Outcome
	Note       string
	TaskID     string // empty: none was made
	CreatedAt  time.Time
	Report     *change.Report // nil: its task has not ended

	TaskStatus  task.Status // empty: there is no task, or it was deleted
	StartedAt   time.Time   // of the task; zero: not yet
	CompletedAt time.Time   // of the task; zero: not yet
}

const executionQuery = `SELECT e.id, e.schedule_id, e.n, e.due_at, e.manual, e.status, e.note, e.task_id, e.created_at, e.report,
	coalesce(s.status, ''), s.started_at, s.completed_at FROM task_execution e
	LEFT JOIN task t ON t.id = e.task_id LEFT JOIN task_stream s ON s.task_id = t.id AND s.turn = 0`

func scanExecution(r db.Row) (e Execution, err error) {
	err = r.Scan(&e.ID, &e.ScheduleID, &e.N, db.Into(&e.DueAt), &e.Manual, &e.Status, &e.Note, &e.TaskID,
		db.Into(&e.CreatedAt),
		db.Into(&e.Report), &e.TaskStatus, db.Into(&e.StartedAt), db.Into(&e.CompletedAt))
	return e, err
}

// History lists executions of a schedule of the caller's, the latest first, at most limit of those before a number (0:
// all), and how many are kept.
func (ss *Schedules) History(
	ctx context.Context, id string, before int64, limit int,
) (found []Execution, total int, err error) {
	s, err := ss.Find(ctx, id)
	if err != nil {
		return nil, 0, err
	}
	var w db.Where
	w.And("e.schedule_id = ?", s.ID)
	if total, err = db.Value[int](ctx, ss.db, `SELECT count(*) FROM task_execution e`+w.String(), w.Args...); err != nil {
		return nil, 0, err
	}
	if before > 0 {
		w.And("e.n < ?", before)
	}
	found, err = db.Select(ctx, ss.db, scanExecution, executionQuery+w.String()+` ORDER BY e.n DESC LIMIT ?`,
		append(w.Args, limit)...)
	return found, total, err
}

// OfTask are the schedule and the execution that made a task, which the caller may see. ok is false when no
// schedule did,
// or it was deleted.
func (ss *Schedules) OfTask(ctx context.Context, t task.Task) (s Schedule, e Execution, ok bool, err error) {
	if t.ScheduleID == "" {
		return s, e, false, nil
	}
	e, err = scanExecution(ss.db.QueryRow(ctx, executionQuery+` WHERE e.task_id = ?`, t.ID))
	if err == nil {
		s, err = scan(ss.db.QueryRow(ctx, query+` WHERE s.id = ? AND s.team_id = ?`, t.ScheduleID, t.TeamID))
	}
	if db.IsNoRows(err) {
		return s, e, false, nil
	}
	return s, e, err == nil, err
}
