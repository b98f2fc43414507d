package worker

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/builtin"
	"github.com/vedette-sec/vedette/internal/errs"
	"github.com/vedette-sec/vedette/internal/queue"
	"github.com/vedette-sec/vedette/internal/task"
	"github.com/vedette-sec/vedette/internal/toolbox"
)

// runTask takes a task from its instruction to its end. After a crash it is called again
// and takes up what the journal does not have.
func (w worker) runTask(ctx context.Context, job queue.Job[task.RunArgs]) error {
	// What is written at the end must be written although ctx may have ended by then.
	kept := context.WithoutCancel(ctx)
	run, err := w.Tasks.Start(kept, job.Args)
	if errors.Is(err, task.ErrLate) {
		return nil // it has ended
	}
	if err != nil {
		return err
	}
	err = w.carryOut(ctx, kept, run)
	switch {
	case errors.Is(err, task.ErrLate):
		return nil // another run has the task
	case err != nil && errors.Is(context.Cause(ctx), queue.ErrCancelled):
		return w.finish(kept, run, agent.Plan{}, task.Aborted, "The task was stopped.")
	}
	return err
}

func (w worker) carryOut(ctx, kept context.Context, run *task.Run) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	plan, err := w.plan(ctx, run)
	if err != nil {
		return err
	}
	if len(plan.Steps()) == 0 {
		return run.Finish(kept, task.Outcome{Status: task.Completed, Summary: plan.Words()})
	}
	kit, err := toolbox.New(toolbox.Config{Run: run, Plan: plan, Programs: w.programs, Deny: w.Deny, Logger: w.Logger})
	if e := errs.From(err); e != nil && e.Kind != errs.Internal { // the instruction names what cannot be tested
		return run.Finish(kept, task.Outcome{Status: task.Failed, Summary: e.Message})
	}
	if err != nil {
		return err
	}
	defer kit.Close()
	outcome, err := agent.Run(ctx, agent.Config{Tools: kit.Tools(), Journal: run.Steps(), Emit: w.progress(ctx, run)}, plan)
	if err != nil {
		return err
	}
	if outcome.Status == agent.Aborted {
		return context.Cause(ctx)
	}
	status := task.Completed
	if outcome.Status == agent.Failed {
		status = task.Failed
	}
	return w.finish(kept, run, plan, status, "")
}

// plan is what an earlier run of the task planned, or else a new plan: what has begun
// goes on under the plan it began with.
func (w worker) plan(ctx context.Context, run *task.Run) (plan agent.Plan, err error) {
	if len(run.Task.Plan) > 0 {
		err = json.Unmarshal(run.Task.Plan, &plan)
		return plan, err
	}
	plan = builtin.Plan(run.Task.Instruction)
	return plan, run.SetPlan(ctx, plan)
}

// progressEvery keeps a fast scan from writing to the stream all the time.
const progressEvery = 250 * time.Millisecond

// progress tells the task's stream of a step's progress, now and then.
func (w worker) progress(ctx context.Context, run *task.Run) func(agent.Update) {
	var mu sync.Mutex
	var last time.Time
	return func(u agent.Update) {
		mu.Lock()
		defer mu.Unlock()
		finished := u.Total > 0 && u.Done >= u.Total
		if time.Since(last) < progressEvery && !finished {
			return
		}
		last = time.Now()
		if err := run.Progress(ctx, u); err != nil && ctx.Err() == nil && !errors.Is(err, task.ErrLate) {
			w.Logger.WarnContext(ctx, "telling a task's progress", "task_id", run.Task.ID, "error", err)
		}
	}
}

// finish ends the task with a summary of what its steps said and what was found.
func (w worker) finish(ctx context.Context, run *task.Run, plan agent.Plan, status task.Status, opening string) error {
	found, err := run.Issues(ctx)
	if err != nil {
		return err
	}
	steps, err := run.Steps().Finished(ctx)
	if err != nil {
		return err
	}
	return run.Finish(ctx, task.Outcome{Status: status, Summary: summary(opening, plan, steps, found)})
}
