package task

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/model"
)

// RecordUsage stores what the stream has used so far.
func (r *Run) RecordUsage(ctx context.Context, models *model.Models, chosen model.Chosen, o loop.Outcome) error {
	entries, err := r.Entries(ctx)
	if err != nil {
		return err
	}
	return models.RecordUsage(ctx, nil, usage(r.Task, chosen, o, entries))
}

// Release returns what a run that is given up reserved for unanswered calls of a model.
func (r *Run) Release(ctx context.Context, models *model.Models) error {
	entries, err := r.Entries(ctx)
	if err != nil {
		return err
	}
	reservations := models.Ledger(r.Task.Account(model.Chosen{}))
	for _, key := range loop.OpenReservations(entries) {
		if err := reservations.Settle(ctx, key, 0); err != nil {
			return err
		}
	}
	return nil
}

// usage is what a stream has used, by its journal.
func usage(t Task, chosen model.Chosen, o loop.Outcome, entries []loop.Entry) model.Row {
	r := model.Row{
		StreamID: t.StreamID, TaskID: t.ID, TeamID: t.TeamID, UserID: t.UserID, Title: t.Title, Model: chosen.Name,
		Provider: chosen.Provider, Status: string(o.Status), BYOK: chosen.BYOK, Priced: chosen.Priced, Usage: o.Usage,
		Micros: o.Micros, Error: o.Code, CreatedAt: t.BegunAt,
		Detail: model.Detail{Agents: map[string]int{}, Tools: map[string]int{}},
	}
	switch o.Status {
	case loop.Completed, loop.Suspended:
		r.Error = ""
	case loop.Stopped:
		r.Status = string(loop.Completed)
	}
	for _, e := range entries {
		if e.Turn == t.Index {
			count(&r, e)
		}
	}
	if !t.StartedAt.IsZero() && len(entries) > 0 {
		r.Total = entries[len(entries)-1].At.Sub(t.StartedAt)
	}
	return r
}

// countName counts a name, if it is one of the first hundred.
func countName(names map[string]int, name string) {
	if _, known := names[name]; known || len(names) < 100 {
		names[name]++
	}
}

func count(r *model.Row, e loop.Entry) {
	switch e.Kind {
	case loop.BranchStart:
		r.Agents++
	case loop.ModelAnswer:
		body := read[loop.Answered](e)
		r.Steps++
		r.LLM += body.Took
		countName(r.Detail.Agents, e.Branch)
	case loop.ToolResult:
		body := read[loop.Returned](e)
		if body.Tool == "" {
			return // a step of the built-in planner
		}
		r.Calls++
		r.Tools += body.Took
		countName(r.Detail.Tools, body.Tool)
		r.Detail.History = append(r.Detail.History, model.Call{
			Tool: body.Tool, Duration: body.Took.Milliseconds(), At: e.At.Add(-body.Took).Truncate(time.Millisecond),
		})
	}
}
