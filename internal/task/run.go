package task

import (
	"context"
	"encoding/json"
	"errors"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/db"
	"github.com/vedette-sec/vedette/internal/hook"
)

// ErrLate is what a run gets that is no longer the task's: another took over, or the
// task has ended. Nothing was written.
var ErrLate = errors.New("this run of the task is no longer the current one")

// Run is a worker's hold on a task. Each start of a task has a higher number, and what
// a run writes is refused once a later one has begun.
type Run struct {
	Task   Task
	tasks  *Tasks
	number int64
}

// Start begins, or after a crash begins again, to run a task.
func (ts *Tasks) Start(ctx context.Context, id string) (*Run, error) {
	r := &Run{tasks: ts}
	err := ts.db.Tx(ctx, func(tx *db.Tx) error {
		now := db.At(ts.now())
		var w db.Where
		w.And("id = ?", id)
		db.In(&w, "status", from(Running))
		err := tx.QueryRow(ctx, `UPDATE task SET status = ?, run = run + 1, started_at = coalesce(started_at, ?), updated_at = ?`+w.String()+` RETURNING run`,
			append([]any{Running, now, now}, w.Args...)...).Scan(&r.number)
		if db.IsNoRows(err) {
			return ErrLate
		}
		if err != nil {
			return err
		}
		if err := ts.emit(ctx, tx, id, EventStatus, StatusData{Status: Running, Run: r.number}); err != nil {
			return err
		}
		r.Task, err = ts.byID(ctx, tx, id)
		return err
	})
	return r, err
}

// write runs fn in a transaction that holds the task, or fails with ErrLate.
func (r *Run) write(ctx context.Context, fn func(tx *db.Tx) error) error {
	return r.tasks.db.Tx(ctx, func(tx *db.Tx) error {
		// The update locks the row, so that no later run begins while fn writes.
		n, err := tx.Exec(ctx, `UPDATE task SET updated_at = ? WHERE id = ? AND run = ? AND status = ?`, db.At(r.tasks.now()), r.Task.ID, r.number, Running)
		if err != nil {
			return err
		}
		if n == 0 {
			return ErrLate
		}
		return fn(tx)
	})
}

// SetPlan records what the planner made of the instruction, and tells the stream.
func (r *Run) SetPlan(ctx context.Context, plan agent.Plan) error {
	return r.write(ctx, func(tx *db.Tx) error {
		if _, err := tx.Exec(ctx, `UPDATE task SET plan = ? WHERE id = ?`, db.Doc(plan), r.Task.ID); err != nil {
			return err
		}
		return r.tasks.emit(ctx, tx, r.Task.ID, EventPlan, plan)
	})
}

// Journal is the memory of the agent's loop for this run.
func (r *Run) Journal() agent.Journal {
	return agent.Journal{
		Finished: func(ctx context.Context) ([]agent.Done, error) {
			rows, err := r.tasks.db.Query(ctx, `SELECT done FROM task_step WHERE task_id = ? AND done IS NOT NULL ORDER BY seq`, r.Task.ID)
			return db.Collect(rows, err, func(row db.Row) (agent.Done, error) {
				var done db.JSON[agent.Done]
				err := row.Scan(&done)
				return done.V, err
			})
		},
		Begin: func(ctx context.Context, step agent.Step) error {
			return r.write(ctx, func(tx *db.Tx) error {
				_, err := tx.Exec(ctx, `INSERT INTO task_step (task_id, seq, tool, input, begun_at) VALUES (?, ?, ?, ?, ?)
					ON CONFLICT (task_id, seq) DO UPDATE SET tool = excluded.tool, input = excluded.input, done = NULL, begun_at = excluded.begun_at, ended_at = NULL`,
					r.Task.ID, step.Seq, step.Tool, db.Doc(step.Input), db.At(r.tasks.now()))
				if err != nil {
					return err
				}
				return r.tasks.emit(ctx, tx, r.Task.ID, EventStepStarted, StepData{Seq: step.Seq, Tool: step.Tool})
			})
		},
		End: func(ctx context.Context, done agent.Done) error {
			return r.write(ctx, func(tx *db.Tx) error {
				now := db.At(r.tasks.now())
				_, err := tx.Exec(ctx, `INSERT INTO task_step (task_id, seq, tool, input, done, begun_at, ended_at) VALUES (?, ?, ?, ?, ?, ?, ?)
					ON CONFLICT (task_id, seq) DO UPDATE SET done = excluded.done, ended_at = excluded.ended_at`,
					r.Task.ID, done.Seq, done.Tool, db.Doc(json.RawMessage("{}")), db.Doc(done), now, now)
				if err != nil {
					return err
				}
				return r.tasks.emit(ctx, tx, r.Task.ID, EventStepFinished, StepData{
					Seq: done.Seq, Tool: done.Tool, Status: string(done.Status), Words: done.Words, Error: done.Error,
				})
			})
		},
	}
}

// Progress tells the stream how far a step is.
func (r *Run) Progress(ctx context.Context, u agent.Update) error {
	return r.write(ctx, func(tx *db.Tx) error { return r.tasks.emit(ctx, tx, r.Task.ID, EventProgress, u) })
}

// Outcome is how a task ends.
type Outcome struct {
	Status  Status
	Summary string // for people
}

// Finish ends the task: its state, its artifact and the hand-over to the webhook are one
// transaction.
func (r *Run) Finish(ctx context.Context, o Outcome) error {
	return r.tasks.db.Tx(ctx, func(tx *db.Tx) error { return r.tasks.finish(ctx, tx, r.Task.ID, r.number, o) })
}

// GiveUp ends a task that the queue will not run again, in the transaction that ends
// its job. It does nothing when the task has ended.
func (ts *Tasks) GiveUp(ctx context.Context, tx *db.Tx, id, why string) error {
	var run int64
	err := tx.QueryRow(ctx, `SELECT run FROM task WHERE id = ?`, id).Scan(&run)
	if err == nil {
		err = ts.finish(ctx, tx, id, run, Outcome{Status: Failed, Summary: why})
	}
	if errors.Is(err, ErrLate) || db.IsNoRows(err) {
		return nil
	}
	return err
}

func (ts *Tasks) finish(ctx context.Context, tx *db.Tx, id string, run int64, o Outcome) error {
	var w db.Where
	w.And("id = ?", id)
	w.And("run = ?", run)
	db.In(&w, "status", from(o.Status))
	now := db.At(ts.now())
	n, err := tx.Exec(ctx, `UPDATE task SET status = ?, summary = ?, completed_at = ?, updated_at = ?`+w.String(),
		append([]any{o.Status, db.Clean(o.Summary), now, now}, w.Args...)...)
	if err != nil {
		return err
	}
	if n == 0 {
		return ErrLate
	}
	t, err := ts.byID(ctx, tx, id)
	if err != nil {
		return err
	}
	if err := ts.handOver(ctx, tx, t); err != nil {
		return err
	}
	return ts.emit(ctx, tx, id, EventFinish, FinishData{Status: t.Status, Summary: t.Summary, IssueCount: t.Issues})
}

// handOver stores the artifact of a task that asked for one, and for webhook delivery
// hands the frozen bytes on. A team without a webhook URL gets no push; the stored
// artifact is the source of truth either way.
func (ts *Tasks) handOver(ctx context.Context, tx *db.Tx, t Task) error {
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
	if _, err := tx.Exec(ctx, `INSERT INTO task_artifact (task_id, body, created_at) VALUES (?, ?, ?)`, t.ID, body, db.At(ts.now())); err != nil {
		return err
	}
	if t.Delivery != Webhook {
		return nil
	}
	url, err := ts.accounts.WebhookURL(ctx, tx, t.TeamID)
	if err != nil || url == "" {
		return err
	}
	doc.Event = hook.TaskCompleted
	if body, err = json.Marshal(doc); err != nil {
		return err
	}
	delivery, err := ts.hooks.New(ctx, tx, hook.Delivery{TeamID: t.TeamID, Subject: t.ID, Event: doc.Event, URL: url, Body: body})
	if err != nil {
		return err
	}
	_, err = ts.queue.Insert(ctx, tx, hook.DeliverArgs{DeliveryID: delivery})
	return err
}
