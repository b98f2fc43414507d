package task

import (
	"context"
	"encoding/json"

	"github.com/vedette-sec/vedette/internal/agent/loop"
)

// Ask returns a person's reply to a question of the built-in planner. Without one it suspends the stream until
// Approve.
func (r *Run) Ask(ctx context.Context, key string, ask loop.Ask) (reply loop.Reply, answered bool, err error) {
	entries, err := r.planned(ctx, "key = ?", key)
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
		entry := loop.Entry{Turn: r.Task.Index, Branch: planner, Kind: loop.Question, Key: key, Body: body}
		if _, err := r.Append(ctx, entry); err != nil {
			return reply, false, err
		}
	}
	pending, err := json.Marshal([]loop.Waiting{{Turn: r.Task.Index, Branch: planner, Key: key, Ask: ask}})
	if err != nil {
		return reply, false, err
	}
	return reply, false, r.Suspend(ctx, pending)
}
