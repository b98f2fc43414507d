package task

import (
	"context"
	"encoding/json"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/core/hook"
	"github.com/vedette-sec/vedette/internal/core/run"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// ErrLate refuses writes of a worker whose run of the task is no longer the current one.
var ErrLate = run.ErrLate

// Run is a worker's hold on a stream of a task. Each start has a higher number, and writes with an older one are
// refused.
type Run struct {
	Task   Task // with the stream that is run
	tasks  *Tasks
	number int64
}

// life is the life of streams.
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

// exec is write of one statement.
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

// addEvent adds an event to the stream in a transaction of its own.
func (r *Run) addEvent(ctx context.Context, kind string, data any) error {
	return r.write(ctx, func(tx *db.Tx) error { return r.tasks.emit(ctx, tx, r.Task.StreamID, kind, data) })
}

// Streams are the streams of the task up to this one, in order.
func (r *Run) Streams(ctx context.Context) ([]Stream, error) { return r.tasks.streams(ctx, r.Task.ID) }

// Suspend releases the stream until Approve has stored an answer to what it waits for: a list of loop.Waiting.
func (r *Run) Suspend(ctx context.Context, pending json.RawMessage) error {
	ts, stream := r.tasks, r.Task.StreamID
	return ts.db.Tx(ctx, func(tx *db.Tx) error {
		if _, err := ts.life().Move(ctx, tx, stream, r.number, Suspended, ", pending = ?", db.Doc(pending)); err != nil {
			return err
		}
		return ts.emit(ctx, tx, stream, EventSuspended, SuspendedData{Suspended, pending})
	})
}

// Outcome is how a task ends.
type Outcome struct {
	Status  Status
	Summary string // for people
}

// Finish ends the task: one transaction stores its state, its artifact and the delivery to the webhook.
func (r *Run) Finish(ctx context.Context, o Outcome) error {
	return r.tasks.db.Tx(ctx, func(tx *db.Tx) error {
		return r.tasks.finish(ctx, tx, r.Task.StreamID, r.number, o)
	})
}

// GiveUp ends a stream that the queue will not run again, in the transaction that ends its job. It does nothing
// when the stream has ended, or waits for a person.
func (ts *Tasks) GiveUp(ctx context.Context, tx *db.Tx, job RunArgs, why string) error {
	stream, number, status, err := newest(ctx, tx, job)
	if err == nil && status != Suspended {
		err = ts.finish(ctx, tx, stream, number, Outcome{Status: Failed, Summary: why})
	}
	return run.IgnoreLate(err)
}

func (ts *Tasks) finish(ctx context.Context, tx *db.Tx, stream string, number int64, o Outcome) error {
	_, err := ts.life().Move(ctx, tx, stream, number, o.Status,
		", summary = ?, completed_at = ?", db.Clean(o.Summary), db.At(ts.now()))
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
	return ts.emit(ctx, tx, stream, EventFinish, FinishData{Status: t.Status, Summary: t.Summary, IssueCount: t.Issues})
}

// deliver stores the artifact of a task that was created with one, and for webhook delivery inserts the job that
// sends it, if the team has a webhook URL.
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
		ON CONFLICT (task_id) DO UPDATE SET body = excluded.body, created_at = excluded.created_at`, t.ID, body, db.At(ts.now()))
	if err != nil || t.Delivery != Webhook {
		return err
	}
	url, err := ts.accounts.WebhookURL(ctx, tx, t.TeamID)
	if err != nil || url == "" {
		return err
	}
	doc.Event = hook.TaskCompleted
	if body, err = json.Marshal(doc); err != nil {
		return err
	}
	delivery, err := ts.hooks.New(ctx, tx,
		hook.Delivery{TeamID: t.TeamID, Subject: t.ID, Event: doc.Event, URL: url, Body: body})
	if err != nil {
		return err
	}
	_, err = ts.queue.Insert(ctx, tx, hook.DeliverArgs{DeliveryID: delivery})
	return err
}
