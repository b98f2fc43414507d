// Package taskschedule creates tasks at times that people choose: once, or again and again.
//
// A schedule has the request of its tasks and the rule of its times (package core/schedule). Worker nodes look for what
// is
// due every few seconds. One transaction locks the schedule, writes an execution for each time that has come, makes the
// task of the last one and sets the next time, so that each time is carried out once, however many nodes there are and
// whenever they stop. Times that passed while no worker ran are written down as missed. A task is made as its
// schedule's
// creator, with their rights, files and secrets as they are then.
package taskschedule

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/project"
	"github.com/vedette-sec/vedette/internal/core/schedule"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
)

// Type is how often a schedule comes due.
type Type string

// The types.
const (
	Recurring Type = "recurring"
	OneTime   Type = "one_time"
)

// Status is the state of a schedule.
type Status string

// The states.
const (
	Active    Status = "active"
	Paused    Status = "paused"
	Completed Status = "completed" // a one-time schedule that has come due
)

// Full is the reporting of a schedule whose tasks report all that they find; the other is task.ChangesOnly.
const Full = "full"

const (
	maxSchedules = 1000 // of a user in a team
	maxMetadata  = 16 << 10
	maxName      = 256
)

// Schedule makes tasks.
type Schedule struct {
	ID           string
	TeamID       string
	UserID       string
	Owner        string // email
	Name         string
	Status       Status
	Type         Type
	Instruction  string
	Delivery     task.Delivery
	Options      task.Options // of each task
	Rule         schedule.Rule
	Metadata     json.RawMessage // the caller's own
	SourceTaskID string
	Runs         int64     // tasks that it made
	LastRun      time.Time // zero: never
	NextRun      time.Time // of an active one, or a paused one-time one; zero: nothing will be due
	CreatedAt    time.Time
	UpdatedAt    time.Time

	executions int64
}

// Schedules is the service of tasks' schedules.
type Schedules struct {
	db       *db.DB
	tasks    *task.Tasks
	accounts *account.Accounts
	logger   *slog.Logger
	now      func() time.Time
}

// New makes the service.
func New(d *db.DB, tasks *task.Tasks, accounts *account.Accounts, logger *slog.Logger) *Schedules {
	return &Schedules{db: d, tasks: tasks, accounts: accounts, logger: logger, now: time.Now}
}

const query = `SELECT s.id, s.team_id, s.user_id, u.email, s.name, s.status, s.type, s.instruction, s.delivery, s.options, s.rule,
	s.metadata, s.source_task_id, s.runs, s.executions, s.last_run, s.next_run, s.created_at, s.updated_at
	FROM task_schedule s JOIN user_account u ON u.id = s.user_id`

func scan(r db.Row) (s Schedule, err error) {
	err = r.Scan(&s.ID, &s.TeamID, &s.UserID, &s.Owner, &s.Name, &s.Status, &s.Type, &s.Instruction, &s.Delivery,
		db.Into(&s.Options), db.Into(&s.Rule), db.Into(&s.Metadata), &s.SourceTaskID, &s.Runs, &s.executions,
		db.Into(&s.LastRun), db.Into(&s.NextRun), db.Into(&s.CreatedAt), db.Into(&s.UpdatedAt))
	return s, err
}

// Request describes a schedule to create.
type Request struct {
	Name         string
	Type         Type
	RunAt        string // of a one-time schedule; see parseMoment
	Instruction  string
	Delivery     task.Delivery
	Options      task.Options
	Rule         schedule.Rule // of a recurring one; TimeZone also holds for RunAt
	Metadata     json.RawMessage
	SourceTaskID string // whose secrets and files its tasks have, when the request names none
}

// Create makes a schedule of the caller's. Invalid names the field.
func (ss *Schedules) Create(ctx context.Context, r Request) (Schedule, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Schedule{}, err
	}
	if err := ss.inherit(ctx, c, &r); err != nil {
		return Schedule{}, err
	}
	now := db.At(ss.now())
	s := Schedule{
		ID: ids.New(), TeamID: c.TeamID, UserID: c.UserID, Owner: c.Email, Name: db.Clean(strings.TrimSpace(r.Name)),
		Status: Active,
		Type:   r.Type, Instruction: r.Instruction, Delivery: r.Delivery, Options: r.Options, Rule: r.Rule,
		Metadata:     r.Metadata,
		SourceTaskID: r.SourceTaskID, CreatedAt: now.Time, UpdatedAt: now.Time,
	}
	if s.Name == "" {
		line, _, _ := strings.Cut(strings.TrimSpace(r.Instruction), "\n")
		s.Name = db.Clean(errs.ClipChars(line, maxTitle))
	}
	if err := s.check(); err != nil {
		return Schedule{}, err
	}
	if err := s.time(now.Time, r.RunAt); err != nil {
		return Schedule{}, err
	}
	return s, ss.db.Tx(ctx, func(tx *db.Tx) error {
		if err := project.Check(ctx, tx, c.TeamID, c.UserID, s.Options.ProjectID); err != nil {
			return err
		}
		count, err := db.Value[int](ctx, tx, `SELECT count(*) FROM task_schedule WHERE team_id = ? AND user_id = ?`, c.TeamID,
			c.UserID)
		if err != nil {
			return err
		}
		if count >= maxSchedules {
			return errs.New(errs.Conflict, "too_many_schedules", "There are %d schedules; delete one first.", count)
		}
		_, err = tx.Exec(
			ctx,
			`INSERT INTO task_schedule (id, team_id, user_id, project_id, name, status, type, instruction, delivery,
			options, rule, metadata, source_task_id, next_run, created_at, updated_at)
			VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
			s.ID,
			s.TeamID,
			s.UserID,
			s.Options.ProjectID,
			s.Name,
			s.Status,
			s.Type,
			s.Instruction,
			s.Delivery,
			db.Doc(s.Options),
			db.Doc(s.Rule),
			db.Doc(s.Metadata),
			s.SourceTaskID,
			db.At(s.NextRun),
			now,
			now,
		)
		return err
	})
}

const maxTitle = 80 // characters of a name that is made from the instruction

// inherit takes the secrets and files of the task that a schedule is made from, where the request names none.
func (ss *Schedules) inherit(ctx context.Context, c account.Caller, r *Request) error {
	if r.SourceTaskID == "" {
		return nil
	}
	t, err := ss.tasks.Find(ctx, r.SourceTaskID)
	if err == nil && t.UserID != c.UserID {
		err = errs.Missing("task")
	}
	if errs.Is(err, errs.NotFound) {
		return errs.Field("source_task_id", "source_task_id names no task of yours.")
	}
	if err != nil {
		return err
	}
	if r.Options.Secrets == nil {
		r.Options.Secrets = t.Options.Secrets
	}
	if r.Options.FileKeys == nil {
		r.Options.FileKeys = t.Options.FileKeys
	}
	return nil
}

func (s Schedule) check() error {
	switch {
	case strings.TrimSpace(s.Instruction) == "":
		return errs.Field("task_message", "task_message is required: say what should be done.")
	case len(s.Instruction) > task.MaxInstruction:
		return errs.Field("task_message", "task_message must have at most %d bytes.", task.MaxInstruction)
	case len([]rune(s.Name)) > maxName:
		return errs.Field("name", "name must have at most %d characters.", maxName)
	case len(s.Metadata) > maxMetadata:
		return errs.Field("metadata", "metadata must have at most %d bytes.", maxMetadata)
	case s.Type != Recurring && s.Type != OneTime:
		return errs.Field("schedule_type", "schedule_type must be recurring or one_time.")
	}
	if s.Options.Scope == nil {
		return nil
	}
	return s.Options.Scope.Check(s.UpdatedAt)
}

// time sets when a schedule comes due next, from its rule or, of a one-time schedule, from runAt.
func (s *Schedule) time(now time.Time, runAt string) (err error) {
	if s.Type == OneTime {
		s.NextRun, err = parseMoment(runAt, s.Rule.TimeZone, now)
		return err
	}
	if runAt != "" {
		return errs.Field("run_at", "run_at is for one_time schedules; a recurring one has start_time.")
	}
	if s.Rule.Frequency == "" {
		return errs.Field("scan_frequency", "scan_frequency is required for a recurring schedule.")
	}
	if s.Rule.Frequency == schedule.Weekly && len(s.Rule.Weekdays) > 1 {
		return errs.Field("custom_weekdays", "custom_weekdays of a weekly schedule is one day; take custom for several.")
	}
	zone, err := time.LoadLocation(s.Rule.TimeZone)
	if s.Rule.StartTime == "" && err == nil {
		s.Rule.StartTime = now.In(zone).Format("15:04")
	}
	s.Rule.SetAt = now
	s.NextRun, err = s.Rule.Next(now)
	return err
}
