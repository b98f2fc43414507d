package task

import (
	"context"
	"encoding/json"

	"github.com/vedette-sec/vedette/internal/agent/loop"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// StopTarget is what a person wants to end within a task.
type StopTarget string

// The targets.
const (
	StopTool     StopTarget = "tool"     // one call of a tool
	StopSubagent StopTarget = "subagent" // one sub-agent, with all that it does
)

// Stop makes the run of a task end one call of a tool or one sub-agent, by its id, within about a second.
// found is false, and nothing happens, when the id is wrong or its work has ended.
func (ts *Tasks) Stop(ctx context.Context, id string, target StopTarget, callID string) (t Task, found bool, err error) {
	if t, err = ts.findToWrite(ctx, id); err != nil || t.Status != Running {
		return t, false, err
	}
	controlID, err := ts.underWay(ctx, t, target, callID)
	if err != nil || controlID == "" {
		return t, false, err
	}
	_, err = ts.db.Exec(ctx, `INSERT INTO task_stop (task_id, target, call_id, created_at) VALUES (?, ?, ?, ?)
		ON CONFLICT DO NOTHING`, t.ID, target, controlID, db.At(ts.now()))
	return t, true, err
}

// underWay looks in the journal for a call or a sub-agent that has begun and not ended, and returns its id for
// loop.Control; empty: there is none.
func (ts *Tasks) underWay(ctx context.Context, t Task, target StopTarget, callID string) (controlID string, err error) {
	begins, ends := loop.ToolCall, loop.ToolResult
	if target == StopSubagent {
		begins, ends = loop.BranchStart, loop.BranchEnd
	}
	open, err := ts.entries(ctx, `task_id = ? AND stream_id = ? AND kind = ? AND NOT EXISTS
		(SELECT 1 FROM task_entry e WHERE e.task_id = task_entry.task_id AND e.turn = task_entry.turn
		AND e.key = task_entry.key AND e.branch = task_entry.branch AND e.kind = ?)`, t.ID, t.StreamID, begins, ends)
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

// Stops are the ids of all calls and sub-agents of the task that people stopped.
func (r *Run) Stops(ctx context.Context) ([]string, error) {
	return db.Values[string](ctx, r.tasks.db,
		`SELECT call_id FROM task_stop WHERE task_id = ? ORDER BY created_at`, r.Task.ID)
}
