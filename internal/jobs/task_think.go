package jobs

import (
	"context"
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/tools"
)

// think lets a language model work on a stream until it ends or waits for a person.
func (w worker) think(ctx, storeCtx context.Context, run *task.Run, chosen model.Chosen) error {
	if err := run.SetModel(ctx, chosen.Name); err != nil {
		return err
	}
	streams, err := run.Streams(ctx)
	if err != nil {
		return err
	}
	t := run.Task
	secrets, missing, err := w.Secrets.ForTask(ctx, t.TeamID, t.UserID, t.ProjectID, t.Options.Secrets)
	if err != nil {
		return err
	}
	kit, err := w.tools.Kit(ctx, run, task.PlanOf(streams), tools.Budget{}, secrets)
	if err != nil {
		return refused(storeCtx, run, err)
	}
	defer kit.Close()
	session, err := w.tools.Session(ctx, run, kit, chosen)
	if err != nil {
		return refused(storeCtx, run, err)
	}
	defer session.Close()
	session.Reservations = w.Models.Reservations(t.Account(chosen))
	for _, s := range streams[:t.Index] {
		session.Earlier = append(session.Earlier, loop.Exchange{Instruction: s.Instruction, Answer: s.Summary})
	}
	outcome, err := run.RunLoop(ctx, storeCtx, session.Config)
	if err != nil {
		return err
	}
	kit.Boundary().Capture.Close() // a task that has ended has all of its events
	if err := run.RecordUsage(storeCtx, w.Models, chosen, outcome); err != nil {
		return err
	}
	if outcome.NeedsPlanner(session.Mode) {
		return w.planInstead(ctx, storeCtx, run, chosen, outcome)
	}
	e, err := session.Ending(storeCtx, run, outcome)
	if err != nil {
		return err
	}
	if len(missing) > 0 {
		e.Opening += "\nThere is no secret named " + strings.Join(missing, ", ") + "."
	}
	switch outcome.Status {
	case loop.Suspended:
		return run.Suspend(storeCtx, outcome.Pending)
	case loop.Aborted:
		return context.Cause(ctx)
	case loop.Stopped:
		e.Opening = strings.TrimSpace(fmt.Sprintf("The run was stopped (%s). %s", outcome.Code, e.Opening))
	}
	return run.Conclude(storeCtx, e)
}

// planInstead lets the built-in planner do the work that the model did not. The summary quotes the model's last words.
func (w worker) planInstead(ctx, storeCtx context.Context, run *task.Run, chosen model.Chosen, o loop.Outcome) error {
	const most = 300
	quote := o.Summary
	if len(quote) > most {
		quote = strings.ToValidUTF8(quote[:most], "") + " …"
	}
	return w.plan(ctx, storeCtx, run, fmt.Sprintf(
		"The language model %s did not finish the work (%s): %s The built-in planner did what follows.", chosen.Name, o.Code,
		task.Sentence(quote)))
}
