package task

import (
	"context"
	"encoding/json"
	"fmt"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// planned is the branch under which the built-in planner's steps stand in the journal.
const planned = "builtin"

// Entries implements loop.Journal: what this task's runs have written, of all its turns,
// without the steps of the built-in planner.
func (r *Run) Entries(ctx context.Context) ([]loop.Entry, error) {
	return r.tasks.entries(ctx, r.tasks.db, "task_id = ? AND branch <> ?", r.Task.ID, planned)
}

// Append implements loop.Journal. It fails with ErrLate when the task is another run's.
func (r *Run) Append(ctx context.Context, e loop.Entry) (seq int64, err error) {
	err = r.write(ctx, func(tx *db.Tx) error {
		seq, err = r.tasks.append(ctx, tx, r.Task, e)
		return err
	})
	return seq, err
}

// append writes an entry behind all others of its task. The caller's transaction holds
// the task's newest stream, so that no other run appends.
func (ts *Tasks) append(ctx context.Context, tx *db.Tx, t Task, e loop.Entry) (seq int64, err error) {
	if e.At.IsZero() {
		e.At = ts.now()
	}
	if len(e.Body) == 0 {
		e.Body = json.RawMessage("null")
	}
	err = tx.QueryRow(ctx, `INSERT INTO task_entry (task_id, seq, stream_id, turn, branch, kind, key, body, cost, at)
		SELECT ?, coalesce(max(seq), 0) + 1, ?, ?, ?, ?, ?, ?, ?, ? FROM task_entry WHERE task_id = ? RETURNING seq`,
		t.ID, t.StreamID, e.Turn, e.Branch, e.Kind, e.Key, string(e.Body), e.Cost, db.At(e.At), t.ID).Scan(&seq)
	return seq, err
}

func (ts *Tasks) entries(ctx context.Context, q db.Querier, cond string, args ...any) ([]loop.Entry, error) {
	rows, err := q.Query(ctx, `SELECT seq, turn, branch, kind, key, body, cost, at FROM task_entry WHERE `+cond+` ORDER BY seq`, args...)
	return db.Collect(rows, err, func(row db.Row) (e loop.Entry, err error) {
		var body string // as it was written
		var at db.Time
		err = row.Scan(&e.Seq, &e.Turn, &e.Branch, &e.Kind, &e.Key, &body, &e.Cost, &at)
		e.Body, e.At = json.RawMessage(body), at.Time
		return e, err
	})
}

// Steps is the memory of the built-in planner for this run: its steps are entries of the
// same journal.
func (r *Run) Steps() agent.Journal {
	return agent.Journal{Finished: r.finished, Begin: r.begin, End: r.end}
}

func stepKey(seq int) string { return fmt.Sprintf("step/%d", seq) }

// finished gives the last recorded end of each step.
func (r *Run) finished(ctx context.Context) (out []agent.Done, err error) {
	entries, err := r.tasks.entries(ctx, r.tasks.db, "task_id = ? AND stream_id = ? AND branch = ? AND kind = ?", r.Task.ID, r.Task.StreamID, planned, loop.ToolResult)
	if err != nil {
		return nil, err
	}
	at := map[int]int{} // step → its place in out
	for _, e := range entries {
		var done agent.Done
		if err := json.Unmarshal(e.Body, &done); err != nil {
			return nil, fmt.Errorf("entry %d of the journal: %w", e.Seq, err)
		}
		if i, seen := at[done.Seq]; seen {
			out[i] = done
			continue
		}
		at[done.Seq] = len(out)
		out = append(out, done)
	}
	return out, nil
}

func (r *Run) begin(ctx context.Context, step agent.Step) error {
	body, err := json.Marshal(loop.Called{Tool: step.Tool, Args: step.Input})
	if err != nil {
		return err
	}
	return r.write(ctx, func(tx *db.Tx) error {
		e := loop.Entry{Turn: r.Task.Turn, Branch: planned, Kind: loop.ToolCall, Key: stepKey(step.Seq), Body: body}
		if _, err := r.tasks.append(ctx, tx, r.Task, e); err != nil {
			return err
		}
		return r.tasks.emit(ctx, tx, r.Task.StreamID, EventStepStarted, StepData{Seq: step.Seq, Tool: step.Tool})
	})
}

func (r *Run) end(ctx context.Context, done agent.Done) error {
	body, err := json.Marshal(done)
	if err != nil {
		return err
	}
	return r.write(ctx, func(tx *db.Tx) error {
		e := loop.Entry{Turn: r.Task.Turn, Branch: planned, Kind: loop.ToolResult, Key: stepKey(done.Seq), Body: body}
		if _, err := r.tasks.append(ctx, tx, r.Task, e); err != nil {
			return err
		}
		return r.tasks.emit(ctx, tx, r.Task.StreamID, EventStepFinished, StepData{
			Seq: done.Seq, Tool: done.Tool, Status: string(done.Status), Words: done.Words, Error: done.Error,
		})
	})
}
