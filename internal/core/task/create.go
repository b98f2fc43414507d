package task

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// NewTask is a request for a task. The API has checked the options.
type NewTask struct {
	ID          string // a uuid of the caller's choice, or that of a task to continue; empty: a new one
	Instruction string
	Delivery    Delivery
	Options     Options
}

// MaxInstruction is the longest instruction, in bytes.
const MaxInstruction = 64 << 10

// Create writes a task, or a further stream of a task of the caller's that has ended, with the job that will
// run it. It fails with Conflict if the id is another user's, or its task has not ended.
func (ts *Tasks) Create(ctx context.Context, n NewTask) (made Task, err error) {
	c, err := account.Writer(ctx)
	if err != nil {
		return made, err
	}
	if err := n.check(ts); err != nil {
		return made, err
	}
	n.ID = cmp.Or(n.ID, ids.New())
	err = ts.db.Tx(ctx, func(tx *db.Tx) error {
		last, err := ts.lockOwnTask(ctx, tx, c, n.ID)
		switch {
		case db.IsNoRows(err):
			err = ts.insert(ctx, tx, c, n)
		case err == nil:
			err = ts.continueTask(ctx, tx, last, n)
		}
		if err == nil {
			made, err = ts.byID(ctx, tx, n.ID)
		}
		return err
	})
	if db.IsDuplicate(err) {
		err = errs.New(errs.Conflict, "task_exists", "There is a task with this id.").At("id")
	}
	return made, err
}

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
		created_at) VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, n.ID, c.TeamID, c.UserID, title,
		cmp.Or(n.Options.Visibility, string(Team)), n.Delivery, stream, db.At(ts.now()))
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
	stream := ids.New()
	_, err := tx.Exec(ctx, `UPDATE task SET stream_id = ?, completion_delivery = ?, visibility = ? WHERE id = ?`, stream,
		cmp.Or(n.Delivery, last.Delivery), cmp.Or(n.Options.Visibility, string(last.Visibility)), n.ID)
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

// Intrusiveness is how far the tools of a task may go without asking.
type Intrusiveness string

// The degrees. Passive tools send nothing to a target. Safe ones read from targets; changes there need a person's
// approval, unless the task is intrusive.
const (
	Passive   Intrusiveness = "passive"
	Safe      Intrusiveness = "safe"
	Intrusive Intrusiveness = "intrusive"
)

// Scope restricts what a task may reach, besides its instruction. The dialer of every tool enforces it.
type Scope struct {
	Hosts         []string      `json:"hosts,omitempty" maxItems:"1000" doc:"Names, *.names, addresses and ranges, perhaps with ports. Only these may be reached; if empty, those that the instruction names."`
	Exclude       []string      `json:"exclude,omitempty" maxItems:"1000" doc:"Names, addresses, ranges and URLs that may not be reached."`
	Ports         []int         `json:"ports,omitempty" maxItems:"1000" doc:"Only these ports may be reached; if empty, all."`
	Paths         []string      `json:"paths,omitempty" maxItems:"1000" doc:"Only paths under these may be requested; if empty, all."`
	Methods       []string      `json:"methods,omitempty" maxItems:"20" doc:"Only these HTTP methods may be used; if empty, all."`
	Intrusiveness Intrusiveness `json:"intrusiveness,omitempty" enum:"passive,safe,intrusive" doc:"passive: nothing is sent to targets. safe, the default: requests that change something need an approval. intrusive: they need none."`
	ExpiresAt     *time.Time    `json:"expires_at,omitempty" doc:"Nothing is sent to targets after this."`
}

const (
	maxScopeText   = 2048 // bytes of one of its texts
	maxScopeMethod = 32
)

// check refuses a scope that cannot be enforced, and names the wrong field.
func (s Scope) check(now time.Time) error {
	for _, text := range s.Hosts {
		if _, err := netguard.ParseTarget(text); err != nil {
			return errs.Field("scope.hosts", "scope.hosts: %s", errs.From(err).Message)
		}
	}
	for _, text := range s.Exclude {
		if strings.TrimSpace(text) == "" || len(text) > maxScopeText {
			return errs.Field("scope.exclude", "scope.exclude must hold names, addresses, ranges or URLs.")
		}
	}
	for _, port := range s.Ports {
		if port < 1 || port > 65535 {
			return errs.Field("scope.ports", "scope.ports must be between 1 and 65535.")
		}
	}
	for _, path := range s.Paths {
		if !strings.HasPrefix(path, "/") || len(path) > maxScopeText {
			return errs.Field("scope.paths", "scope.paths must begin with a slash.")
		}
	}
	for _, method := range s.Methods {
		if method == "" || len(method) > maxScopeMethod ||
			strings.ContainsFunc(method, func(r rune) bool { return r < 'A' || r > 'Z' }) {
			return errs.Field("scope.methods", "scope.methods must be methods in capitals, such as GET.")
		}
	}
	if !slices.Contains([]Intrusiveness{"", Passive, Safe, Intrusive}, s.Intrusiveness) {
		return errs.Field("scope.intrusiveness", "scope.intrusiveness must be passive, safe or intrusive.")
	}
	if s.ExpiresAt != nil && !s.ExpiresAt.After(now) {
		return errs.Field("scope.expires_at", "scope.expires_at lies in the past.")
	}
	return nil
}
