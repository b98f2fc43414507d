package task

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/task/action"
)

// LogEvent is an action of the agent; see package action.
type LogEvent = action.Event

// LogStatus is the state of an action.
type LogStatus = action.Status

// LogFilter picks events of the log.
type LogFilter = action.Filter

// LogStatuses are all states of an action.
var LogStatuses = action.Statuses

// FindLog lists what the agent did in a task, in order. more reports whether there are further events.
func (ts *Tasks) FindLog(ctx context.Context, id string, f LogFilter) (events []LogEvent, more bool, err error) {
	t, err := ts.Find(ctx, id)
	if err != nil {
		return nil, false, err
	}
	all, err := ts.streams(ctx, t.ID)
	if err != nil {
		return nil, false, err
	}
	streams := map[int]action.Stream{}
	for _, s := range all {
		streams[s.Index] = action.Stream{ID: s.StreamID, Ended: s.Status.Final()}
	}
	entries, err := ts.entries(ctx, "task_id = ?", t.ID)
	if err != nil {
		return nil, false, err
	}
	events = []LogEvent{}
	for _, d := range action.Of(t.ID, streams, entries) {
		if d.Sequence <= f.After || !f.Picks(d) {
			continue
		}
		if len(events) == f.Limit {
			return events, true, nil
		}
		events = append(events, d)
	}
	return events, false, nil
}
