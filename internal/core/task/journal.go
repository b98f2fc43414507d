package task

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/task/action"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// planner is the branch of the journal with the built-in planner's steps.
const planner = action.Planner

// Entries implements loop.Journal: the entries of all streams of the task, except the built-in planner's steps.
func (r *Run) Entries(ctx context.Context) ([]loop.Entry, error) {
	return r.tasks.entries(ctx, "task_id = ? AND branch <> ?", r.Task.ID, planner)
}

// Append implements loop.Journal. It fails with ErrLate when another run has the task.
func (r *Run) Append(ctx context.Context, e loop.Entry) (seq int64, err error) {
	err = r.write(ctx, func(tx *db.Tx) error {
		seq, err = r.tasks.append(ctx, tx, r.Task, e)
		return err
	})
	return seq, err
}

// append writes an entry after all others of its task. The caller's transaction has locked the task's newest stream, so
// that no other run appends.
func (ts *Tasks) append(ctx context.Context, tx *db.Tx, t Task, e loop.Entry) (int64, error) {
	if e.At.IsZero() {
		e.At = ts.now()
	}
	if len(e.Body) == 0 {
		e.Body = json.RawMessage("null")
	}
	return db.Value[int64](ctx, tx, `INSERT INTO task_entry (task_id, seq, stream_id, turn, branch, kind, key, body, cost, at)
		SELECT ?, coalesce(max(seq), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ? FROM task_entry WHERE task_id = ? RETURNING seq`,
		t.ID, t.StreamID, e.Stream, e.Branch, e.Kind, e.Key, string(e.Body), e.Cost, db.At(e.At), t.ID)
}

func (ts *Tasks) entries(ctx context.Context, cond string, args ...any) ([]loop.Entry, error) {
	scan := func(row db.Row) (e loop.Entry, err error) {
		var body string // as it was written
		err = row.Scan(&e.Seq, &e.Stream, &e.Branch, &e.Kind, &e.Key, &body, &e.Cost, db.Into(&e.At))
		e.Body = json.RawMessage(body)
		return e, err
	}
	return db.Select(ctx, ts.db, scan,
		`SELECT seq, turn, branch, kind, key, body, cost, at FROM task_entry WHERE `+cond+` ORDER BY seq`, args...)
}

// plannerEntries are the entries of the built-in planner in this stream for which cond holds.
func (r *Run) plannerEntries(ctx context.Context, cond string, arg any) ([]loop.Entry, error) {
	return r.tasks.entries(ctx, "task_id = ? AND stream_id = ? AND branch = ? AND "+cond,
		r.Task.ID, r.Task.StreamID, planner, arg)
}

// Steps is the journal of the built-in planner for this run.
func (r *Run) Steps() agent.Journal {
	return agent.Journal{Finished: r.finished, Begin: r.begin, End: r.end}
}

// finished are the last results of all steps.
func (r *Run) finished(ctx context.Context) (out []agent.Done, err error) {
	entries, err := r.plannerEntries(ctx, "kind = ?", loop.ToolResult)
	if err != nil {
		return nil, err
	}
	for _, e := range entries {
		var done agent.Done
		if err := json.Unmarshal(e.Body, &done); err != nil {
			return nil, fmt.Errorf("entry %d of the journal: %w", e.Seq, err)
		}
		if i := slices.IndexFunc(out, func(d agent.Done) bool { return d.Seq == done.Seq }); i >= 0 {
			out[i] = done
		} else {
			out = append(out, done)
		}
	}
	return out, nil
}

func (r *Run) begin(ctx context.Context, step agent.Step) error {
	return r.step(ctx, loop.ToolCall, step.Seq, loop.Called{Tool: step.Tool, Args: step.Input},
		EventStepStarted, StepData{Seq: step.Seq, Tool: step.Tool})
}

func (r *Run) end(ctx context.Context, done agent.Done) error {
	return r.step(ctx, loop.ToolResult, done.Seq, done, EventStepFinished, StepData{
		Seq: done.Seq, Tool: done.Tool, Status: string(done.Status), Summary: done.Summary, Error: done.Error,
	})
}

func (r *Run) step(ctx context.Context, kind loop.EntryKind, seq int, body any, event string, data StepData) error {
	text, err := json.Marshal(body)
	if err != nil {
		return err
	}
	return r.write(ctx, func(tx *db.Tx) error {
		e := loop.Entry{Stream: r.Task.Index, Branch: planner, Kind: kind, Key: fmt.Sprintf("step/%d", seq), Body: text}
		if _, err := r.tasks.append(ctx, tx, r.Task, e); err != nil {
			return err
		}
		return r.tasks.emit(ctx, tx, r.Task.StreamID, event, data)
	})
}
