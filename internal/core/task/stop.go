package task

import (
	"context"
	"encoding/json"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// StopTarget is what a person wants to end within a task.
type StopTarget string

// The targets.
const (
	StopTool     StopTarget = "tool"     // one call of a tool
	StopSubagent StopTarget = "subagent" // one sub-agent, with all that it does
)

// Stop asks the run of a task to end one call of a tool or one sub-agent, by its id; the
// process that runs it sees that within about a second. found says whether it was under
// way: an id that is wrong, or whose work has ended, is not, and changes nothing.
func (ts *Tasks) Stop(ctx context.Context, id string, target StopTarget, callID string) (t Task, found bool, err error) {
	if _, err := account.Writer(ctx); err != nil {
		return t, false, err
	}
	if t, err = ts.Find(ctx, id); err != nil || t.Status != Running {
		return t, false, err
	}
	handle, err := ts.underWay(ctx, t, target, callID)
	if err != nil || handle == "" {
		return t, false, err
	}
	_, err = ts.db.Exec(ctx, `INSERT INTO task_stop (task_id, target, call_id, created_at) VALUES (?, ?, ?, ?) ON CONFLICT DO NOTHING`, t.ID, target, handle, db.At(ts.now()))
	return t, true, err
}

// underWay looks in the journal for a call or a sub-agent that has begun and not ended,
// and gives what loop.Control knows it by; empty: there is none.
func (ts *Tasks) underWay(ctx context.Context, t Task, target StopTarget, callID string) (handle string, err error) {
	begins, ends := loop.ToolCall, loop.ToolResult
	if target == StopSubagent {
		begins, ends = loop.BranchStart, loop.BranchEnd
	}
	open, err := ts.entries(ctx, ts.db, `task_id = ? AND stream_id = ? AND kind = ? AND NOT EXISTS
		(SELECT 1 FROM task_entry e WHERE e.task_id = task_entry.task_id AND e.turn = task_entry.turn AND e.key = task_entry.key AND e.branch = task_entry.branch AND e.kind = ?)`,
		t.ID, t.StreamID, begins, ends)
	if err != nil {
		return "", err
	}
	for _, e := range open {
		var begun struct {
			ID     string `json:"id"`      // of a sub-agent
			CallID string `json:"call_id"` // the model's own name for a call
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

// Stops are the ids of calls and sub-agents that people want to end, since the task began.
func (r *Run) Stops(ctx context.Context) ([]string, error) {
	rows, err := r.tasks.db.Query(ctx, `SELECT call_id FROM task_stop WHERE task_id = ? ORDER BY created_at`, r.Task.ID)
	return db.Collect(rows, err, func(row db.Row) (id string, err error) { return id, row.Scan(&id) })
}
