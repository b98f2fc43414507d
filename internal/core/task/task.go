// Package task stores agent tasks: their instructions, state, journal, issues, and completion artifact.
package task

import (
	"context"
	"encoding/json"
	"log/slog"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/core/project"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// Status is the state of a task; docs/reference/states.md has the drawing.
type Status string

// The states of a stream; a task has that of its newest one. The last three are final.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Suspended Status = "suspended" // waits for a person's answer, without a worker
	Resuming  Status = "resuming"  // answered, and waits for a worker
	Completed Status = "completed" // finished, whatever it found
	Failed    Status = "failed"    // could not be done; the summary says why
	Aborted   Status = "aborted"   // stopped by its user; earlier findings are kept
)

// moves has Running after Running for a worker that takes over after a crash.
var moves = run.Moves[Status]{
	Queued:    {Running, Failed, Aborted},
	Running:   {Running, Suspended, Completed, Failed, Aborted},
	Suspended: {Resuming, Failed, Aborted},
	Resuming:  {Running, Failed, Aborted},
}

// Statuses are all states, in the order of a task's life.
var Statuses = []Status{Queued, Running, Suspended, Resuming, Completed, Failed, Aborted}

// Final reports whether a task in this state will not change again.
func (s Status) Final() bool { return len(moves[s]) == 0 }

// Delivery is what happens with the artifact when a task ends (specification, Events).
type Delivery string

// The ways of completion delivery; without one the results stay in the service.
const (
	NoDelivery Delivery = ""
	Webhook    Delivery = "webhook"
	Artifact   Delivery = "artifact"
)

// Visibility is who may see a task besides its owner (agent API, POST /tasks).
type Visibility string

// The visibilities. What Shared shows of a public or unlisted task needs no credentials, only its id.
const (
	Private  Visibility = "private"
	Team     Visibility = "team"
	Unlisted Visibility = "unlisted"
	Public   Visibility = "public"
)

// Task is a task with its newest stream.
type Task struct {
	ID         string
	TeamID     string
	UserID     string
	Owner      string // email
	Title      string // one line
	Visibility Visibility
	Delivery   Delivery
	ScheduleID string // that made it; empty: a person did
	ProjectID  string // empty: none
	closed     bool   // its project is not everybody's in the team
	Issues     int    // verified ones
	CreatedAt  time.Time

	Stream
}

// Stream is an instruction of a task and its results.
type Stream struct {
	StreamID    string
	Index       int // 0 for the task's first instruction
	Instruction string
	Options     Options
	Status      Status
	Model       string // that plans; "builtin": no language model
	LastSeq     int64  // of its events
	Plan        json.RawMessage
	Pending     json.RawMessage // what a suspended one waits for
	Summary     string
	RequestedAt time.Time // when it was requested
	UpdatedAt   time.Time
	StartedAt   time.Time // zero: not yet
	CompletedAt time.Time // zero: not yet
}

const maxTitle = 200 // characters

func headline(text string, most int) string {
	line, _, _ := strings.Cut(strings.TrimSpace(text), "\n")
	return errs.ClipChars(line, most)
}

// Options are the further fields of a request. They are stored with the stream and shown.
type Options struct {
	Mode          string   `json:"mode,omitempty"`
	AutoExecute   bool     `json:"auto_execute,omitempty"`
	AskQuestion   bool     `json:"ask_question,omitempty"`
	AgentID       string   `json:"agent_id,omitempty"`
	AgentIDs      []string `json:"agent_ids,omitempty"`
	MaxSteps      *int     `json:"max_steps,omitempty"`
	MaxIterations *int     `json:"max_iterations,omitempty"`
	Isolated      bool     `json:"isolated,omitempty"`
	Model         string   `json:"model,omitempty"`
	ProjectID     string   `json:"project_id,omitempty"`
	FileKeys      []string `json:"file_keys,omitempty"`
	Secrets       []string `json:"secrets,omitempty"` // names
	Visibility    string   `json:"visibility,omitempty"`
	Budget        *Budget  `json:"budget,omitempty"`
	Scope         *Scope   `json:"scope,omitempty"`
	Reporting     string   `json:"reporting_mode,omitempty"` // of a schedule's task; see ChangesOnly
	Chat          string   `json:"chat,omitempty"`           // that is told what becomes of it; see TellArgs
}

// Budget limits what a stream may use; zero is no limit.
type Budget struct {
	MoneyUSD float64 `json:"money_usd,omitempty" minimum:"0" maximum:"1000000" doc:"Spent on models, in US dollars."`
	Tokens   int64   `json:"tokens,omitempty" minimum:"0" doc:"Of models, all kinds together."`
	Requests int64   `json:"requests,omitempty" minimum:"0" doc:"Sent to targets."`
	Seconds  int64   `json:"seconds,omitempty" minimum:"0" maximum:"31536000" doc:"Of working time; waiting for an answer does not count."`
}

// RunArgs is the job that runs a stream of a task.
type RunArgs struct {
	TaskID   string `json:"task_id"`
	StreamID string `json:"stream_id,omitempty"` // empty in jobs of earlier releases: the newest
}

// Kind implements queue.Args.
func (RunArgs) Kind() string { return "task.run" }

// Tasks is the service of tasks.
type Tasks struct {
	db       *db.DB
	queue    *queue.Queue
	accounts *account.Accounts
	hooks    *hook.Hooks
	logger   *slog.Logger
	now      func() time.Time
	hub      hub
	findings *finding.Findings
}

// New makes the service.
func New(
	d *db.DB, q *queue.Queue, accounts *account.Accounts, hooks *hook.Hooks, findings *finding.Findings,
	logger *slog.Logger,
) *Tasks {
	return &Tasks{db: d, queue: q, accounts: accounts, hooks: hooks, findings: findings, logger: logger, now: time.Now}
}

const streamColumns = `s.id, s.turn, s.instruction, s.options, s.status, s.model, s.last_seq, s.plan, s.pending, s.summary,
	s.created_at, s.updated_at, s.started_at, s.completed_at`

const taskQuery = `SELECT t.id, t.team_id, t.user_id, u.email, t.title, t.visibility, t.completion_delivery,
	t.schedule_id, t.project_id, EXISTS (SELECT 1 FROM project p WHERE p.id = t.project_id AND NOT p.shared), t.created_at,
	(SELECT count(*) FROM issue i WHERE i.task_id = t.id AND i.verification IN ` + countedStates + `), ` + streamColumns + `
	FROM task t JOIN task_stream s ON s.id = t.stream_id JOIN user_account u ON u.id = t.user_id`

func scanTask(r db.Row) (t Task, err error) {
	err = r.Scan(append([]any{
		&t.ID, &t.TeamID, &t.UserID, &t.Owner, &t.Title, &t.Visibility, &t.Delivery, &t.ScheduleID,
		&t.ProjectID, &t.closed, db.Into(&t.CreatedAt), &t.Issues,
	}, t.columns()...)...)
	t.Title = headline(t.Title, maxTitle)
	return t, err
}

func scanStream(r db.Row) (s Stream, err error) {
	return s, r.Scan(s.columns()...)
}

func (s *Stream) columns() []any {
	return []any{
		&s.StreamID, &s.Index, &s.Instruction, db.Into(&s.Options), &s.Status, &s.Model, &s.LastSeq, db.Into(&s.Plan),
		db.Into(&s.Pending), &s.Summary, db.Into(&s.RequestedAt), db.Into(&s.UpdatedAt), db.Into(&s.StartedAt),
		db.Into(&s.CompletedAt),
	}
}

func (ts *Tasks) byID(ctx context.Context, q db.Querier, id string) (Task, error) {
	return scanTask(q.QueryRow(ctx, taskQuery+` WHERE t.id = ?`, id))
}

// Filter picks tasks of the caller's.
type Filter struct {
	Status    Status // empty: any
	Scheduled *bool  // nil: whether a schedule made them or not
	ProjectID string // those of this project, whoever owns them; empty: the caller's own
	After     string // the id of the last task of the page before
	Limit     int
}

// visible is the condition that a user may see a task: it is theirs, or neither private nor of a project they do
// not see.
var visible = `(t.user_id = ? OR t.visibility <> ? AND (t.project_id = '' OR ` + project.Sees("t.project_id") + `))`

// VisibleTo is the condition in SQL that a caller sees the task t, with its arguments.
func VisibleTo(c account.Caller) (cond string, args []any) {
	return visible, []any{c.UserID, Private, c.UserID}
}

// Find is a task of the caller's, or one that is visible to them.
func (ts *Tasks) Find(ctx context.Context, id string) (Task, error) {
	c, err := account.From(ctx)
	if err != nil {
		return Task{}, err
	}
	return find(ctx, ts.db, seen, db.Clean(id), c.TeamID, c.UserID, Private, c.UserID)
}

// seen picks a task that a user of a team sees, by its id.
var seen = ` WHERE t.id = ? AND t.team_id = ? AND ` + visible

func find(ctx context.Context, q db.Querier, where string, args ...any) (Task, error) {
	t, err := scanTask(q.QueryRow(ctx, taskQuery+where, args...))
	if err != nil {
		return Task{}, db.OrMissing(err, "task")
	}
	return t, nil
}

func (ts *Tasks) findToWrite(ctx context.Context, id string) (Task, error) {
	if _, err := account.Writer(ctx); err != nil {
		return Task{}, err
	}
	return ts.Find(ctx, id)
}

// Shared is a public or unlisted task with its verified issues, without its owner, options and evidence.
func (ts *Tasks) Shared(ctx context.Context, id string) (t Task, streams []Stream, issues []Issue, err error) {
	t, err = find(ctx, ts.db, ` WHERE t.id = ? AND t.visibility IN (?, ?)`, db.Clean(id), Public, Unlisted)
	if err != nil {
		return t, nil, nil, err
	}
	if streams, err = ts.streams(ctx, t.ID); err != nil {
		return t, nil, nil, err
	}
	t.Owner, t.UserID, t.TeamID, t.Options, t.Pending = "", "", "", Options{}, nil
	for i := range streams {
		streams[i].Options, streams[i].Pending = Options{}, nil
	}
	issues, err = ts.reported(ctx, ts.db, t.ID)
	for i := range issues {
		issues[i].Evidence = []Evidence{}
	}
	return t, streams, issues, err
}

// Streams are the streams of a task that the caller may see, in order.
func (ts *Tasks) Streams(ctx context.Context, id string) ([]Stream, error) {
	if _, err := ts.Find(ctx, id); err != nil {
		return nil, err
	}
	return ts.streams(ctx, id)
}

func (ts *Tasks) streams(ctx context.Context, id string) ([]Stream, error) {
	return db.Select(ctx, ts.db, scanStream,
		`SELECT `+streamColumns+` FROM task_stream s WHERE s.task_id = ? ORDER BY s.turn`, id)
}

// FindAll lists the caller's tasks, newest first, and their number on all pages.
func (ts *Tasks) FindAll(ctx context.Context, f Filter) (tasks []Task, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	var w db.Where
	w.And("t.team_id = ?", c.TeamID)
	if f.ProjectID == "" {
		w.And("t.user_id = ?", c.UserID)
	} else {
		w.And("t.project_id = ?", f.ProjectID)
		w.And(visible, c.UserID, Private, c.UserID)
	}
	db.Equal(&w, "s.status", f.Status)
	if f.Scheduled != nil {
		w.And("(t.schedule_id <> '') = ?", *f.Scheduled)
	}
	err = ts.db.Snapshot(ctx, func(q db.Querier) error {
		total, err = db.Value[int](ctx, q, `SELECT count(*) FROM task t JOIN task_stream s ON s.id = t.stream_id`+w.String(),
			w.Args...)
		if err != nil {
			return err
		}
		if f.After != "" {
			w.And("t.id < ?", f.After)
		}
		tasks, err = db.Select(ctx, q, scanTask, taskQuery+w.String()+` ORDER BY t.id DESC LIMIT ?`,
			append(w.Args, f.Limit)...)
		return err
	})
	return tasks, total, err
}

// Update changes a task; nil leaves a field as it is.
type Update struct {
	Title      *string
	Visibility *Visibility
}

// Update changes the title of a task, and who sees it.
func (ts *Tasks) Update(ctx context.Context, id string, up Update) (Task, error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return Task{}, err
	}
	t, err := ts.Find(ctx, id)
	if err != nil {
		return Task{}, err
	}
	if up.Visibility != nil && t.UserID != c.UserID {
		return Task{}, errs.New(errs.Forbidden, "owner_required", "Only its owner decides who sees a task.").At("visibility")
	}
	if up.Title != nil {
		up.Title = new(db.Clean(headline(*up.Title, maxTitle)))
	}
	err = ts.db.Tx(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, `UPDATE task SET title = coalesce(?, title), visibility = coalesce(?, visibility) WHERE id = ?`,
			up.Title, up.Visibility, t.ID)
		if err != nil || up.Visibility == nil {
			return err
		}
		return ts.shareIssues(ctx, tx, t.ID)
	})
	if err != nil {
		return Task{}, err
	}
	return ts.Find(ctx, id)
}

// Delete stops a task and removes it with its streams, journal, issues and artifact.
func (ts *Tasks) Delete(ctx context.Context, id string) error {
	t, err := ts.findToWrite(ctx, id)
	if err != nil {
		return err
	}
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		job, err := db.Value[int64](ctx, tx, `SELECT job_id FROM task_stream WHERE id = ?`, t.StreamID)
		if err != nil && !db.IsNoRows(err) {
			return err
		}
		if err := ts.queue.Cancel(ctx, tx, job); err != nil {
			return err
		}
		if _, err := tx.Exec(ctx, `DELETE FROM task_memory WHERE task_id = ?`, t.ID); err != nil {
			return err
		}
		if err := ts.findings.DeleteOfScan(ctx, tx, t.TeamID, t.ID); err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `DELETE FROM task WHERE id = ?`, t.ID)
		return err
	})
}
