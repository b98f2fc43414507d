package taskschedule

import (
	"context"
	"encoding/json"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/project"
	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Filter picks schedules of the caller's.
type Filter struct {
	Status    Status // empty: any
	ProjectID string // empty: any
	After     string // the id of the last schedule of the page before
	Limit     int
}

// FindAll lists the caller's schedules, newest first, and their number on all pages.
func (ss *Schedules) FindAll(ctx context.Context, f Filter) (found []Schedule, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var w db.Where
	w.And("s.team_id = ?", c.TeamID)
	w.And("s.user_id = ?", c.UserID)
	db.Equal(&w, "s.status", f.Status)
	db.Equal(&w, "s.project_id", f.ProjectID)
	err = ss.db.Snapshot(ctx, func(q db.Querier) error {
		if total, err = db.Value[int](ctx, q, `SELECT count(*) FROM task_schedule s`+w.String(), w.Args...); err != nil {
			return err
		}
		if f.After != "" {
			w.And("s.id < ?", f.After)
		}
		found, err = db.Select(ctx, q, scan, query+w.String()+` ORDER BY s.id DESC LIMIT ?`, append(w.Args, f.Limit)...)
		return err
	})
	return found, total, err
}

// Find is a schedule of the caller's.
func (ss *Schedules) Find(ctx context.Context, id string) (Schedule, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Schedule{}, err
	}
	s, err := scan(ss.db.QueryRow(ctx, query+` WHERE s.id = ? AND s.team_id = ? AND s.user_id = ?`, db.Clean(id), c.TeamID,
		c.UserID))
	return s, db.OrMissing(err, "schedule")
}

// change changes a schedule of the caller's in a transaction that holds it, and stores it.
func (ss *Schedules) change(ctx context.Context, id string, fn func(tx *db.Tx, s *Schedule) error) (s Schedule,
	err error) {
	if _, err := account.Writer(ctx); err != nil {
		return s, err
	}
	if s, err = ss.Find(ctx, id); err != nil {
		return s, err
	}
	err = ss.db.Tx(ctx, func(tx *db.Tx) error {
		if s, err = ss.lock(ctx, tx, s.ID); err != nil {
			return db.OrMissing(err, "schedule")
		}
		s.UpdatedAt = db.At(ss.now()).Time
		if err := fn(tx, &s); err != nil {
			return err
		}
		_, err := tx.Exec(ctx, `UPDATE task_schedule SET project_id = ?, name = ?, status = ?, instruction = ?, delivery = ?, options = ?,
			rule = ?, metadata = ?, next_run = ?, updated_at = ? WHERE id = ?`, s.Options.ProjectID, s.Name, s.Status, s.Instruction,
			s.Delivery, db.Doc(s.Options), db.Doc(s.Rule), db.Doc(s.Metadata), moment(s.NextRun), db.At(s.UpdatedAt), s.ID)
		return err
	})
	return s, err
}

// Update has the sent fields of a schedule: nil leaves one.
type Update struct {
	Name        *string
	Type        *Type
	Instruction *string
	Delivery    *task.Delivery
	Frequency   *schedule.Frequency
	StartTime   *string
	TimeZone    *string
	Weekdays    *[]int
	RunAt       *string
	Metadata    *json.RawMessage
	Options     func(*task.Options) // changes those that were sent
}

// Update changes a schedule of the caller's, and the tasks that it makes from then on.
func (ss *Schedules) Update(ctx context.Context, id string, up Update) (Schedule, error) {
	return ss.change(ctx, id, func(tx *db.Tx, s *Schedule) error {
		if up.Type != nil && *up.Type != s.Type {
			return errs.Field("schedule_type", "schedule_type cannot be changed: delete the schedule and create another.")
		}
		set(&s.Instruction, up.Instruction)
		set(&s.Delivery, up.Delivery)
		set(&s.Metadata, up.Metadata)
		if up.Name != nil {
			if s.Name = db.Clean(strings.TrimSpace(*up.Name)); s.Name == "" {
				return errs.Field("name", "name must not be empty.")
			}
		}
		up.Options(&s.Options)
		if err := project.Check(ctx, tx, s.TeamID, s.UserID, s.Options.ProjectID); err != nil {
			return err
		}
		if err := s.check(); err != nil {
			return err
		}
		return s.retime(up)
	})
}

func set[T any](field *T, sent *T) {
	if sent != nil {
		*field = *sent
	}
}

// retime sets the times of a schedule anew, if a field of an update is about them.
func (s *Schedule) retime(up Update) error {
	if s.Type == OneTime {
		set(&s.Rule.TimeZone, up.TimeZone)
		if up.RunAt == nil {
			return nil
		}
		if s.Status == Completed {
			s.Status = Active
		}
		return s.time(s.UpdatedAt, *up.RunAt)
	}
	if up.RunAt != nil {
		return errs.Field("run_at", "run_at is for one_time schedules; a recurring one has start_time.")
	}
	if up.Frequency == nil && up.StartTime == nil && up.TimeZone == nil && up.Weekdays == nil {
		return nil
	}
	set(&s.Rule.Frequency, up.Frequency)
	set(&s.Rule.StartTime, up.StartTime)
	set(&s.Rule.TimeZone, up.TimeZone)
	set(&s.Rule.Weekdays, up.Weekdays)
	return s.time(s.UpdatedAt, "")
}

// Pause keeps a schedule from coming due until Resume. A one-time schedule keeps its time.
func (ss *Schedules) Pause(ctx context.Context, id string) (Schedule, error) {
	return ss.change(ctx, id, func(_ *db.Tx, s *Schedule) error {
		if s.Status == Completed {
			return errs.New(errs.Conflict, "schedule_completed", "This schedule has come due, and will not again.")
		}
		s.Status = Paused
		return nil
	})
}

// Resume lets a paused schedule come due again: from its next time on, nothing is made up for.
func (ss *Schedules) Resume(ctx context.Context, id string) (Schedule, error) {
	return ss.change(ctx, id, func(_ *db.Tx, s *Schedule) (err error) {
		if s.Status != Paused {
			return errs.New(errs.Conflict, "schedule_not_paused", "This schedule is %s.", s.Status)
		}
		s.Status = Active
		if s.Type == Recurring {
			s.NextRun, err = s.Rule.Next(s.UpdatedAt)
			return err
		}
		if !s.NextRun.After(s.UpdatedAt) {
			return errs.New(errs.Conflict, "schedule_is_past", "Its time passed while it was paused: set run_at anew.").At("run_at")
		}
		return nil
	})
}

// RunNow makes a task of a schedule at once; its next time stays as it is. Conflict: the task of the run before has not
// ended, or the caller may not make tasks any more.
func (ss *Schedules) RunNow(ctx context.Context, id string) (e Execution, err error) {
	_, err = ss.change(ctx, id, func(tx *db.Tx, s *Schedule) error {
		e, err = ss.launch(ctx, tx, s, s.UpdatedAt, true, s.UpdatedAt)
		if err == nil && e.Status != Started {
			err = errs.New(errs.Conflict, "schedule_not_run", "%s", e.Note)
		}
		return err
	})
	return e, err
}

// Delete deletes a schedule of the caller's with its history. Its tasks stay.
func (ss *Schedules) Delete(ctx context.Context, id string) error {
	c, err := account.Writer(ctx)
	if err != nil {
		return err
	}
	return db.ExecOr(ctx, ss.db, errs.Missing("schedule"), `DELETE FROM task_schedule WHERE id = ? AND team_id = ? AND user_id = ?`,
		db.Clean(id), c.TeamID, c.UserID)
}
