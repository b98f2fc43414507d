package task

import (
	"context"
	"encoding/json"

	"github.com/vedette-sec/vedette/internal/agent/loop"
)

// Ask puts a question of the built-in planner to a person: it gives the reply where there
// is one; else it suspends the stream, which Approve hands to a worker again.
func (r *Run) Ask(ctx context.Context, key string, ask loop.Ask) (reply loop.Reply, answered bool, err error) {
	entries, err := r.tasks.entries(ctx, r.tasks.db, "task_id = ? AND stream_id = ? AND branch = ? AND key = ?", r.Task.ID, r.Task.StreamID, planned, key)
	if err != nil {
		return reply, false, err
	}
	asked := false
	for _, e := range entries {
		switch e.Kind {
		case loop.Answer:
			err := json.Unmarshal(e.Body, &reply)
			return reply, err == nil, err
		case loop.Question:
			asked = true
		}
	}
	if !asked { // a run that was killed after it asked does not ask twice
		body, err := json.Marshal(ask)
		if err != nil {
			return reply, false, err
		}
		if _, err := r.Append(ctx, loop.Entry{Turn: r.Task.Turn, Branch: planned, Kind: loop.Question, Key: key, Body: body}); err != nil {
			return reply, false, err
		}
	}
	pending, err := json.Marshal([]loop.Waiting{{Turn: r.Task.Turn, Branch: planned, Key: key, Ask: ask}})
	if err != nil {
		return reply, false, err
	}
	return reply, false, r.Suspend(ctx, pending)
}
