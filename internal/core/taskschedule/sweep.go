package taskschedule

import (
	"context"
	"errors"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

const (
	sweepEvery = 5 * time.Second
	atOnce     = 1000                 // schedules of one sweep
	maxMissed  = 100                  // times that are written down as missed, the latest
	maxHistory = 1000                 // executions of a schedule that are kept
	longest    = 366 * 24 * time.Hour // back to which missed times are counted
)

// Keep calls Sweep until ctx ends. It runs on every worker node.
func (ss *Schedules) Keep(ctx context.Context) {
	queue.Every(ctx, sweepEvery, ss.logger, "making the tasks that are scheduled", ss.Sweep)
}

// Sweep carries out what is due. The failure of one schedule does not keep others from being carried out.
func (ss *Schedules) Sweep(ctx context.Context) error {
	now := ss.now()
	due, err := db.Values[string](ctx, ss.db, `SELECT id FROM task_schedule WHERE next_run <= ? AND status = ?
		ORDER BY next_run, id LIMIT ?`, db.At(now), Active, atOnce)
	if err != nil {
		return err
	}
	var failed []error
	for _, id := range due {
		failed = append(failed, ss.db.Tx(ctx, func(tx *db.Tx) error { return ss.carryOut(ctx, tx, id, now) }))
	}
	return errors.Join(failed...)
}

// lock reads a schedule, locked until tx ends.
func (ss *Schedules) lock(ctx context.Context, tx *db.Tx, id string) (Schedule, error) {
	if _, err := tx.Exec(ctx, `UPDATE task_schedule SET id = id WHERE id = ?`, id); err != nil {
		return Schedule{}, err
	}
	return scan(tx.QueryRow(ctx, query+` WHERE s.id = ?`, id))
}

// carryOut does what a schedule has due, unless another node has done it.
func (ss *Schedules) carryOut(ctx context.Context, tx *db.Tx, id string, now time.Time) error {
	s, err := ss.lock(ctx, tx, id)
	if db.IsNoRows(err) {
		return nil // it was deleted
	}
	if err != nil || s.Status != Active || s.NextRun.IsZero() || s.NextRun.After(now) {
		return err
	}
	times, next, err := s.due(now)
	if err != nil {
		return err
	}
	for _, at := range times[:len(times)-1] {
		e := Execution{DueAt: at, Status: Missed, Note: "No worker was running at this time."}
		if err := ss.write(ctx, tx, &s, &e, now); err != nil {
			return err
		}
	}
	if _, err := ss.launch(ctx, tx, &s, times[len(times)-1], false, now); err != nil {
		return err
	}
	status := s.Status
	if s.Type == OneTime {
		status = Completed
	}
	_, err = tx.Exec(ctx, `UPDATE task_schedule SET status = ?, next_run = ? WHERE id = ?`, status, moment(next), s.ID)
	return err
}

// moment is a time in a column that may be NULL.
func moment(at time.Time) any {
	if at.IsZero() {
		return nil
	}
	return db.At(at)
}

// due are the times that have come, at least one, and the next one; zero: none.
func (s Schedule) due(now time.Time) (times []time.Time, next time.Time, err error) {
	times = []time.Time{s.NextRun}
	if s.Type == OneTime {
		return times, next, nil
	}
	from := s.NextRun
	if early := now.Add(-longest); from.Before(early) {
		from = early
	}
	for {
		if next, err = s.Rule.Next(from); err != nil || next.After(now) {
			break
		}
		times, from = append(times, next), next
	}
	if len(times) > maxMissed+1 {
		times = times[len(times)-maxMissed-1:]
	}
	return times, next, err
}

// launch makes the task of an execution, or writes down why there is none.
func (ss *Schedules) launch(
	ctx context.Context, tx *db.Tx, s *Schedule, at time.Time, manual bool, now time.Time,
) (e Execution, err error) {
	e = Execution{DueAt: at, Manual: manual, Status: Started}
	runs, err := ss.isRunning(ctx, tx, s.ID)
	if err != nil {
		return e, err
	}
	if runs {
		e.Status, e.Note = Skipped, "The task of the run before had not ended."
		return e, ss.write(ctx, tx, s, &e, now)
	}
	made, err := ss.make(ctx, tx, s)
	switch refusal := errs.From(err); {
	case err == nil:
		e.TaskID = made.ID
	case isCallers(refusal):
		e.Status, e.Note = Failed, refusal.Message
	default:
		return e, err
	}
	return e, ss.write(ctx, tx, s, &e, now)
}

// isCallers reports whether a refusal is about the schedule or its creator, and not about the server.
func isCallers(e *errs.Error) bool {
	switch e.Kind {
	case errs.Invalid, errs.Forbidden, errs.NotFound, errs.Conflict, errs.Unauthenticated:
		return true
	}
	return false
}

// isRunning reports whether a task of a schedule works or is about to. One that waits for a person does not keep others
// from being made.
func (ss *Schedules) isRunning(ctx context.Context, tx *db.Tx, id string) (bool, error) {
	var w db.Where
	w.And("t.schedule_id = ?", id)
	db.In(&w, "s.status", []task.Status{task.Queued, task.Running, task.Resuming})
	n, err := db.Value[int](ctx, tx, `SELECT count(*) FROM task t JOIN task_stream s ON s.id = t.stream_id`+w.String(), w.Args...)
	return n > 0, err
}

// make creates a task as the creator of the schedule, who may have lost the right to.
func (ss *Schedules) make(ctx context.Context, tx *db.Tx, s *Schedule) (task.Task, error) {
	c, err := ss.accounts.InTeam(ctx, account.Caller{UserID: s.UserID, Email: s.Owner}, s.TeamID)
	if errs.Is(err, errs.Forbidden) {
		err = errs.New(errs.Forbidden, "creator_left", "The creator of the schedule is no longer in the team, or was disabled.")
	}
	if err != nil {
		return task.Task{}, err
	}
	return ss.tasks.CreateIn(account.WithCaller(ctx, c), tx, task.NewTask{
		Instruction: s.Instruction, Delivery: s.Delivery, Options: s.Options, ScheduleID: s.ID,
	})
}

// write stores an execution, counts it, and drops those that are too old to keep.
func (ss *Schedules) write(ctx context.Context, tx *db.Tx, s *Schedule, e *Execution, now time.Time) error {
	s.executions++
	e.ID, e.N, e.CreatedAt = ids.New(), s.executions, now
	_, err := tx.Exec(ctx, `INSERT INTO task_execution (id, schedule_id, n, due_at, manual, status, note, task_id, created_at)
		VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?)`, e.ID, s.ID, e.N, db.At(e.DueAt), e.Manual, e.Status, e.Note, e.TaskID, db.At(now))
	if err != nil {
		return err
	}
	if e.Status == Started {
		s.Runs, s.LastRun = s.Runs+1, now
	}
	if _, err := tx.Exec(ctx, `UPDATE task_schedule SET executions = ?, runs = ?, last_run = ? WHERE id = ?`, s.executions, s.Runs,
		moment(s.LastRun), s.ID); err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `DELETE FROM task_execution WHERE schedule_id = ? AND n <= ?`, s.ID, s.executions-maxHistory)
	return err
}
