package task

import (
	"context"
	"encoding/json"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/model"
)

// RecordUsage stores what the stream used so far.
func (r *Run) RecordUsage(ctx context.Context, models *model.Models, chosen model.Chosen, o loop.Outcome) error {
	entries, err := r.Entries(ctx)
	if err != nil {
		return err
	}
	return models.RecordUsage(ctx, nil, usage(r.Task, chosen, o, entries))
}

// Release returns what a run that is given up reserved for calls of a model that were never answered.
func (r *Run) Release(ctx context.Context, models *model.Models) error {
	entries, err := r.Entries(ctx)
	if err != nil {
		return err
	}
	ledger := models.Ledger(r.Task.Account(model.Chosen{}))
	for _, key := range loop.OpenReservations(entries) {
		if err := ledger.Settle(ctx, key, 0); err != nil {
			return err
		}
	}
	return nil
}

// usage is what a stream used, as its journal says.
func usage(t Task, chosen model.Chosen, o loop.Outcome, entries []loop.Entry) model.Row {
	r := model.Row{
		StreamID: t.StreamID, TaskID: t.ID, TeamID: t.TeamID, UserID: t.UserID, Title: t.Title, Model: chosen.Name, Provider: chosen.Provider,
		Status: statusOf(o), BYOK: chosen.BYOK, Priced: chosen.Priced, Usage: o.Usage, Micros: o.Micros, Error: o.Code, CreatedAt: t.BegunAt,
		Detail: model.Detail{Agents: map[string]int{}, Tools: map[string]int{}},
	}
	if o.Status == loop.Completed || o.Status == loop.Suspended {
		r.Error = ""
	}
	for _, e := range entries {
		if e.Turn == t.Turn {
			count(&r, e)
		}
	}
	if !t.StartedAt.IsZero() && len(entries) > 0 {
		r.Total = entries[len(entries)-1].At.Sub(t.StartedAt)
	}
	return r
}

// manyNames is how many tools and branches are counted by name.
const manyNames = 100

func count(r *model.Row, e loop.Entry) {
	switch e.Kind {
	case loop.BranchStart:
		r.Agents++
	case loop.ModelAnswer:
		var body loop.Answered
		_ = json.Unmarshal(e.Body, &body) // the loop wrote it
		r.Steps++
		r.LLM += body.Took
		if _, known := r.Detail.Agents[e.Branch]; known || len(r.Detail.Agents) < manyNames {
			r.Detail.Agents[e.Branch]++
		}
	case loop.ToolResult:
		var body loop.Returned
		_ = json.Unmarshal(e.Body, &body) // as above
		if body.Tool == "" {
			return // a step of the built-in planner
		}
		r.Calls++
		r.Tools += body.Took
		if _, known := r.Detail.Tools[body.Tool]; known || len(r.Detail.Tools) < manyNames {
			r.Detail.Tools[body.Tool]++
		}
		r.Detail.History = append(r.Detail.History, model.Call{
			Tool: body.Tool, Duration: body.Took.Milliseconds(), At: e.At.Add(-body.Took).Truncate(time.Millisecond),
		})
	}
}

// statusOf is the usage's word for how a run ended.
func statusOf(o loop.Outcome) string {
	switch o.Status {
	case loop.Completed, loop.Stopped:
		return "completed"
	case loop.Failed:
		return "failed"
	case loop.Aborted:
		return "aborted"
	}
	return string(o.Status)
}
