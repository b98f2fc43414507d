// Package task keeps agent tasks: what was asked, how far it is, what was found, and
// the completion artifact that is handed over.
package task

import (
	"context"
	"encoding/json"
	"log/slog"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/account"
	"github.com/vedette-sec/vedette/internal/db"
	"github.com/vedette-sec/vedette/internal/hook"
	"github.com/vedette-sec/vedette/internal/queue"
)

// Status is where a task is in its life; docs/states.md has the drawing.
type Status string

// The states. The last three are final.
const (
	Queued    Status = "queued"
	Running   Status = "running"
	Completed Status = "completed" // came to its end, whatever it found
	Failed    Status = "failed"    // could not be done; the summary says why
	Aborted   Status = "aborted"   // stopped by its user; what was found until then is kept
)

// moves are the allowed changes of state. Running to Running is a restart after the
// process under it died.
var moves = map[Status][]Status{
	Queued:  {Running, Failed, Aborted},
	Running: {Running, Completed, Failed, Aborted},
}

// Statuses are all states, in the order of a task's life.
var Statuses = []Status{Queued, Running, Completed, Failed, Aborted}

// Final reports whether a task in this state will not change again.
func (s Status) Final() bool { return len(moves[s]) == 0 }

// To reports whether a task may go from this state to next.
func (s Status) To(next Status) bool { return slices.Contains(moves[s], next) }

// from are the states from which next may be reached, for the condition of an update.
func from(next Status) (out []Status) {
	for _, s := range Statuses {
		if s.To(next) {
			out = append(out, s)
		}
	}
	return out
}

// Delivery is what happens with the artifact when a task ends (specification, Events).
type Delivery string

// The ways of completion delivery; without one the results stay in the service.
const (
	NoDelivery Delivery = ""
	Webhook    Delivery = "webhook"
	Artifact   Delivery = "artifact"
)

// Task is the record of one task.
type Task struct {
	ID          string
	TeamID      string
	UserID      string
	Owner       string // email
	Instruction string
	Status      Status
	Delivery    Delivery
	Options     Options
	StreamID    string
	LastSeq     int64 // of its stream
	Plan        json.RawMessage
	Summary     string
	Issues      int // verified ones
	CreatedAt   time.Time
	UpdatedAt   time.Time
	StartedAt   time.Time // zero: not yet
	CompletedAt time.Time // zero: not yet
}

// Title is the first line of the instruction, cut for a list.
func (t Task) Title() string {
	const most = 80
	line, _, _ := strings.Cut(strings.TrimSpace(t.Instruction), "\n")
	if r := []rune(line); len(r) > most {
		return string(r[:most-1]) + "…"
	}
	return line
}

// Options are the further fields of a request. They are kept and shown; the built-in
// planner acts on none of them.
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
}

// BuiltinModel is the model of a task that no language model plans.
const BuiltinModel = "builtin"

// RunArgs is the job that runs a task.
type RunArgs struct {
	TaskID string `json:"task_id"`
}

// Kind implements queue.Args.
func (RunArgs) Kind() string { return "task.run" }

// Tasks is the slice.
type Tasks struct {
	db       *db.DB
	queue    *queue.Queue
	accounts *account.Accounts
	hooks    *hook.Hooks
	logger   *slog.Logger
	now      func() time.Time
	hub      *hub
}

// New makes the slice. logger may be nil.
func New(d *db.DB, q *queue.Queue, accounts *account.Accounts, hooks *hook.Hooks, logger *slog.Logger) *Tasks {
	if logger == nil {
		logger = slog.New(slog.DiscardHandler)
	}
	return &Tasks{db: d, queue: q, accounts: accounts, hooks: hooks, logger: logger, now: time.Now, hub: newHub()}
}

const taskColumns = `t.id, t.team_id, t.user_id, u.email, t.instruction, t.status, t.completion_delivery, t.options, t.stream_id,
	t.last_seq, t.plan, t.summary, t.created_at, t.updated_at, t.started_at, t.completed_at,
	(SELECT count(*) FROM issue i WHERE i.task_id = t.id AND i.verification = 'verified')
	FROM task t JOIN user_account u ON u.id = t.user_id`

func scanTask(r db.Row) (t Task, err error) {
	var options db.JSON[Options]
	var plan db.JSON[json.RawMessage]
	var created, updated, started, completed db.Time
	err = r.Scan(&t.ID, &t.TeamID, &t.UserID, &t.Owner, &t.Instruction, &t.Status, &t.Delivery, &options, &t.StreamID,
		&t.LastSeq, &plan, &t.Summary, &created, &updated, &started, &completed, &t.Issues)
	t.Options, t.Plan = options.V, plan.V
	t.CreatedAt, t.UpdatedAt, t.StartedAt, t.CompletedAt = created.Time, updated.Time, started.Time, completed.Time
	return t, err
}

func (ts *Tasks) byID(ctx context.Context, q db.Querier, id string) (Task, error) {
	return scanTask(q.QueryRow(ctx, `SELECT `+taskColumns+` WHERE t.id = ?`, id))
}
