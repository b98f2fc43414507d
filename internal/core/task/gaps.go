package task

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/task/action"
	"github.com/vedette-sec/vedette/internal/infra/db"
)

// Gaps are what a task began and did not finish.
type Gaps struct {
	Steps       []StepGap
	Denied      int // attempts to leave the scope that were refused
	Unconfirmed int // issues that a second request did not show
}

// StepGap is a call of a tool that did not come to its end.
type StepGap struct {
	Tool, Status, Error string
}

const maxStepGaps = 100

// FindGaps are those of a task that the caller may see.
func (ts *Tasks) FindGaps(ctx context.Context, id string) (g Gaps, err error) {
	t, err := ts.Find(ctx, id)
	if err != nil {
		return g, err
	}
	if g.Denied, err = db.Value[int](ctx, ts.db, `SELECT count(*) FROM stream_event e JOIN task_stream s ON s.id = e.stream_id
		WHERE s.task_id = ? AND e.type = ?`, t.ID, EventDenied); err != nil {
		return g, err
	}
	if g.Unconfirmed, err = db.Value[int](ctx, ts.db, `SELECT count(*) FROM issue WHERE task_id = ? AND verification NOT IN `+countedStates,
		t.ID); err != nil {
		return g, err
	}
	for _, status := range []LogStatus{action.Failed, action.Timeout, action.Aborted} {
		events, _, err := ts.FindLog(ctx, t.ID, LogFilter{Status: status, Limit: maxStepGaps})
		if err != nil {
			return g, err
		}
		for _, e := range events {
			if e.ToolName != "" {
				g.Steps = append(g.Steps, StepGap{e.ToolName, string(e.Status), e.ErrorMessage})
			}
		}
	}
	return g, nil
}
