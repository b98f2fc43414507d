package task

import (
	"context"
	"encoding/json"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// ErrLate refuses writes of a worker whose run of the task is no longer the current one.
var ErrLate = run.ErrLate

// Run is one worker's run of a stream. Each has a higher number than the one before, whose writes are then refused.
type Run struct {
	Task   Task // with the stream that is run
	tasks  *Tasks
	number int64
}

func (ts *Tasks) life() run.Life[Status] {
	return run.Life[Status]{Table: "task_stream", Moves: moves, Now: ts.now}
}

// Start begins to run a stream of a task, for the first time or after a crash or an answer.
func (ts *Tasks) Start(ctx context.Context, job RunArgs) (*Run, error) {
	r := &Run{tasks: ts}
	err := ts.db.Tx(ctx, func(tx *db.Tx) error {
		stream, _, _, err := newest(ctx, tx, job)
		if err != nil {
			return err
		}
		r.number, err = ts.life().Move(ctx, tx, stream, run.AnyRun, Running,
			", run = run + 1, started_at = coalesce(started_at, ?)", db.At(ts.now()))
		if err != nil {
			return err
		}
		if err := ts.emit(ctx, tx, stream, EventStatus, StatusData{Status: Running, Run: r.number}); err != nil {
			return err
		}
		r.Task, err = ts.byID(ctx, tx, job.TaskID)
		return err
	})
	return r, err
}

// newest is the stream of a job with its run and state, or ErrLate when the task has a newer one.
func newest(ctx context.Context, tx *db.Tx, job RunArgs) (id string, number int64, status Status, err error) {
	err = tx.QueryRow(ctx, `SELECT s.id, s.run, s.status FROM task t JOIN task_stream s ON s.id = t.stream_id WHERE t.id = ?`,
		job.TaskID).Scan(&id, &number, &status)
	if db.IsNoRows(err) || err == nil && job.StreamID != "" && job.StreamID != id {
		err = ErrLate
	}
	return id, number, status, err
}

// write runs fn in a transaction that holds the stream, or fails with ErrLate.
func (r *Run) write(ctx context.Context, fn func(tx *db.Tx) error) error {
	return r.tasks.db.Tx(ctx, func(tx *db.Tx) error {
		if err := r.tasks.life().Hold(ctx, tx, r.Task.StreamID, r.number, Running); err != nil {
			return err
		}
		return fn(tx)
	})
}

func (r *Run) exec(ctx context.Context, query string, args ...any) error {
	return r.write(ctx, func(tx *db.Tx) error {
		_, err := tx.Exec(ctx, query, args...)
		return err
	})
}

// SetModel stores the name of the model that plans.
func (r *Run) SetModel(ctx context.Context, name string) error {
	return r.exec(ctx, `UPDATE task_stream SET model = ? WHERE id = ?`, db.Clean(name), r.Task.StreamID)
}

// SetPlan stores the plan of the instruction, and adds it to the stream as an event.
func (r *Run) SetPlan(ctx context.Context, plan agent.Plan) error {
	return r.write(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE task_stream SET plan = ? WHERE id = ?`, db.Doc(plan), r.Task.StreamID); err != nil {
			return err
		}
		return r.tasks.emit(ctx, tx, r.Task.StreamID, EventPlan, plan)
	})
}

func (r *Run) addEvent(ctx context.Context, kind string, data any) error {
	return r.write(ctx, func(tx *db.Tx) error { return r.tasks.emit(ctx, tx, r.Task.StreamID, kind, data) })
}

// Streams are the streams of the task up to this one, in order.
func (r *Run) Streams(ctx context.Context) ([]Stream, error) { return r.tasks.streams(ctx, r.Task.ID) }

// Suspend releases the stream until Approve has stored an answer to one of pending, a list of loop.Waiting.
func (r *Run) Suspend(ctx context.Context, pending json.RawMessage) error {
	ts, stream := r.tasks, r.Task.StreamID
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := ts.life().Move(ctx, tx, stream, r.number, Suspended, ", pending = ?", db.Doc(pending)); err != nil {
			return err
		}
		if err := ts.emit(ctx, tx, stream, EventSuspended, SuspendedData{Suspended, pending}); err != nil {
			return err
		}
		return ts.tell(ctx, tx, r.Task, MomentAsks)
	})
}

// Outcome is how a task ends.
type Outcome struct {
	Status  Status
	Summary string // for people
	ending  *Ending
}

// Finish ends the task: one transaction stores its state, its artifact and the delivery to the webhook.
func (r *Run) Finish(ctx context.Context, o Outcome) error {
	return r.tasks.db.Tx(ctx, func(tx *db.Tx) error {
		return r.tasks.finish(ctx, tx, r.Task.StreamID, r.number, o)
	})
}

// GiveUp ends a stream that the queue will not run again, in the transaction that ends its job, unless it
// waits for a person.
func (ts *Tasks) GiveUp(ctx context.Context, tx *db.Tx, job RunArgs, why string) error {
	stream, number, status, err := newest(ctx, tx, job)
	if err == nil && status != Suspended {
		err = ts.finish(ctx, tx, stream, number, Outcome{Status: Failed, Summary: why})
	}
	return run.IgnoreLate(err)
}

func (ts *Tasks) finish(ctx context.Context, tx *db.Tx, stream string, number int64, o Outcome) error {
	_, err := ts.life().Move(ctx, tx, stream, number, o.Status,
		", summary = ?, ending = ?, completed_at = ?", db.Clean(o.Summary), db.Doc(o.ending), db.At(ts.now()))
	if err != nil {
		return err
	}
	t, err := scanTask(tx.QueryRow(ctx, taskQuery+` WHERE s.id = ?`, stream))
	if err != nil {
		return err
	}
	if err := ts.deliver(ctx, tx, t); err != nil {
		return err
	}
	err = ts.emit(ctx, tx, stream, EventFinish, FinishData{Status: t.Status, Summary: t.Summary, IssueCount: t.Issues})
	if err != nil {
		return err
	}
	return ts.tell(ctx, tx, t, MomentEnded)
}

// deliver stores the artifact of a task, if one was requested, and queues its delivery to the team's webhook.
func (ts *Tasks) deliver(ctx context.Context, tx *db.Tx, t Task) error {
	if t.Delivery == NoDelivery {
		return nil
	}
	doc, err := ts.buildArtifact(ctx, tx, t)
	if err != nil {
		return err
	}
	body, err := json.Marshal(doc)
	if err != nil {
		return err
	}
	_, err = tx.Exec(ctx, `INSERT INTO task_artifact (task_id, body, created_at) VALUES (?, ?, ?)
		ON CONFLICT (task_id) DO UPDATE SET body = excluded.body, created_at = excluded.created_at`, t.ID, body,
		db.At(ts.now()))
	if err != nil || t.Delivery != Webhook || doc.Changes != nil && doc.Changes.Quiet {
		return err
	}
	url, secret, err := ts.accounts.Webhook(ctx, tx, t.TeamID)
	if err != nil || url == "" {
		return err
	}
	doc.Event = hook.TaskCompleted
	if body, err = json.Marshal(doc); err != nil {
		return err
	}
	delivery, err := ts.hooks.New(ctx, tx, hook.Delivery{TeamID: t.TeamID, Subject: t.ID, Event: doc.Event, URL: url,
		Body: body, SecretName: secret})
	if err != nil {
		return err
	}
	_, err = ts.queue.Insert(ctx, tx, t.TeamID, hook.DeliverArgs{DeliveryID: delivery})
	return err
}

// StopTarget is what a person wants to end within a task.
type StopTarget string

// The targets.
const (
	StopTool     StopTarget = "tool"     // one call of a tool
	StopSubagent StopTarget = "subagent" // one sub-agent, with all that it does
)

// Stop makes a running task end a tool call or a sub-agent within about a second. found is false when the id
// is wrong or its work has ended.
func (ts *Tasks) Stop(
	ctx context.Context, id string, target StopTarget, callID string,
) (t Task, found bool, err error) {
	if t, err = ts.findToWrite(ctx, id); err != nil || t.Status != Running {
		return t, false, err
	}
	controlID, err := ts.findRunning(ctx, t, target, callID)
	if err != nil || controlID == "" {
		return t, false, err
	}
	_, err = ts.db.Exec(ctx, `INSERT INTO task_stop (task_id, target, call_id, created_at) VALUES (?, ?, ?, ?)
		ON CONFLICT DO NOTHING`, t.ID, target, controlID, db.At(ts.now()))
	return t, true, err
}

// findRunning finds a call or a sub-agent without an end in the journal, and returns its id for loop.Control.
func (ts *Tasks) findRunning(
	ctx context.Context, t Task, target StopTarget, callID string,
) (controlID string, err error) {
	begins, ends, same := loop.ToolCall, loop.ToolResult, `AND e.key = task_entry.key`
	if target == StopSubagent { // a branch begins and ends once, under two keys
		begins, ends, same = loop.BranchStart, loop.BranchEnd, ``
	}
	open, err := ts.entries(ctx, `task_id = ? AND stream_id = ? AND kind = ? AND NOT EXISTS
		(SELECT 1 FROM task_entry e WHERE e.task_id = task_entry.task_id AND e.turn = task_entry.turn
		AND e.branch = task_entry.branch AND e.kind = ? `+same+`)`, t.ID, t.StreamID, begins, ends)
	if err != nil {
		return "", err
	}
	for _, e := range open {
		var begun struct {
			ID     string `json:"id"`      // of a sub-agent
			CallID string `json:"call_id"` // the model's own id of a call
		}
		if err := json.Unmarshal(e.Body, &begun); err != nil {
			return "", err
		}
		switch callID {
		case begun.ID:
			return begun.ID, nil
		case e.Key, begun.CallID:
			return e.Key, nil
		}
	}
	return "", nil
}

// StopRequests are the ids of all calls and sub-agents of the task that people stopped.
func (r *Run) StopRequests(ctx context.Context) ([]string, error) {
	return db.Values[string](ctx, r.tasks.db,
		`SELECT call_id FROM task_stop WHERE task_id = ? ORDER BY created_at`, r.Task.ID)
}
