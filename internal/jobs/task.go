package jobs

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/builtin"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/tools"
)

// runTask carries out a stream of a task until it ends or waits for a person. After a crash it continues from the
// journal.
func (w worker) runTask(ctx context.Context, a task.RunArgs) error {
	storeCtx := context.WithoutCancel(ctx) // the end is stored although ctx ends
	run, err := w.Tasks.Start(storeCtx, a)
	if errors.Is(err, task.ErrLate) {
		return nil // it has ended
	}
	if err != nil {
		return err
	}
	err = w.carryOut(ctx, storeCtx, run)
	switch {
	case errors.Is(err, task.ErrLate):
		return nil // another run has the task
	case err != nil && errors.Is(context.Cause(ctx), queue.ErrCancelled):
		if err := run.Release(storeCtx, w.Models); err != nil {
			return err
		}
		return run.Conclude(storeCtx, task.Ending{Status: task.Aborted, Opening: "The task was stopped."})
	}
	return err
}

// carryOut lets a language model do the work; without one, or where it fails, the built-in planner.
func (w worker) carryOut(ctx, storeCtx context.Context, run *task.Run) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	chosen, err := w.Models.Resolve(ctx, run.Task.TeamID, run.Task.UserID, run.Task.Options.Model)
	switch e := errs.From(err); {
	case err == nil:
		return w.think(ctx, storeCtx, run, chosen)
	case errors.Is(err, model.ErrBuiltin):
		return w.plan(ctx, storeCtx, run, "")
	case e.Kind == errs.Internal:
		return err
	default:
		return w.plan(ctx, storeCtx, run, "No language model worked on this: "+task.Sentence(e.Message))
	}
}

// plan carries out the built-in planner's plan. gap says why no language model did the work.
func (w worker) plan(ctx, storeCtx context.Context, run *task.Run, gap string) error {
	plan, err := w.planOf(ctx, run)
	if err != nil {
		return refused(storeCtx, run, err)
	}
	about, err := w.Projects.Prompt(ctx, run.Task.ProjectID)
	if err != nil {
		return err
	}
	if about != "" {
		gap = strings.TrimSpace(gap + " The settings and the memory of the project were not used: they are for language models.")
	}
	if len(plan.Steps()) == 0 {
		return run.Finish(storeCtx, task.Outcome{
			Status: task.Completed, Summary: strings.TrimSpace(gap + "\n" + plan.Describe()),
		})
	}
	if allowed, err := permitted(storeCtx, run, plan, gap); err != nil || !allowed {
		return err
	}
	budget, err := requestBudget(ctx, run)
	if err != nil {
		return err
	}
	kit, err := w.tools.Kit(ctx, run, plan, budget, nil)
	if err != nil {
		return refused(storeCtx, run, err)
	}
	defer kit.Close()
	outcome, err := agent.Run(ctx, agent.Config{
		Tools: kit.Tools(), Journal: run.Steps(), Emit: progress(ctx, run), Budget: run.Task.Options.Budget.Time(),
	}, plan)
	if err != nil {
		return err
	}
	kit.Boundary().Capture.Close() // a task that has ended has all of its events
	if outcome.Status == agent.Aborted {
		return context.Cause(ctx)
	}
	if kit.Spent() {
		gap = strings.TrimSpace(gap + " The budget of requests was used up: what could not be tested any more was left out.")
	}
	status := task.Completed
	if outcome.Status == agent.Failed {
		status = task.Failed
	}
	return run.Conclude(storeCtx, task.Ending{Status: status, Opening: gap, Plan: plan})
}

// permitted reports whether the mode of a task allows the built-in planner's plan. If not, the stream waits for a
// person, or has ended.
func permitted(ctx context.Context, run *task.Run, plan agent.Plan, gap string) (bool, error) {
	o := run.Task.Options
	words := strings.TrimSpace(gap + "\n" + plan.Describe())
	switch {
	case loop.Mode(o.Mode) == loop.ModeChat:
		words += "\n\nNothing was sent: in the mode chat no target is asked, and the built-in planner cannot talk."
		return false, run.Finish(ctx, task.Outcome{Status: task.Completed, Summary: words})
	case loop.Mode(o.Mode) != loop.ModePlan || o.AutoExecute:
		return true, nil
	}
	ask := loop.Plan{Summary: words}
	for _, tool := range plan.Steps() {
		ask.Steps = append(ask.Steps, loop.PlanStep{Title: tool})
	}
	reply, answered, err := run.Ask(ctx, "plan", loop.Ask{Kind: loop.AskPlan, Text: words, Plan: &ask})
	if err != nil || !answered {
		return false, err
	}
	if !reply.Approve {
		words = fmt.Sprintf("The run was stopped (%s). The plan was declined, and nothing was sent.", loop.CodePlanDeclined)
		return false, run.Finish(ctx, task.Outcome{Status: task.Completed, Summary: words})
	}
	return true, nil
}

// refused ends a stream whose instruction cannot be carried out. Internal errors are returned.
func refused(storeCtx context.Context, run *task.Run, err error) error {
	if e := errs.From(err); e.Kind != errs.Internal {
		return run.Finish(storeCtx, task.Outcome{Status: task.Failed, Summary: e.Message})
	}
	return err
}

// planOf is the plan of an earlier run of the stream, or else a new one.
func (w worker) planOf(ctx context.Context, run *task.Run) (plan agent.Plan, err error) {
	if len(run.Task.Plan) > 0 {
		err = json.Unmarshal(run.Task.Plan, &plan)
		plan.Access = builtin.Plan(run.Task.Instruction).Access // it has secrets, and is not stored
		return plan, err
	}
	if plan, err = w.underAgents(ctx, run.Task, builtin.Plan(run.Task.Instruction)); err != nil {
		return plan, err
	}
	return plan, run.SetPlan(ctx, plan)
}

// progressInterval bounds how often progress is written to the stream.
const progressInterval = 250 * time.Millisecond

// progress writes the progress of steps to the task's stream.
func progress(ctx context.Context, run *task.Run) func(agent.Update) {
	var mu sync.Mutex
	var last time.Time
	return func(u agent.Update) {
		mu.Lock()
		defer mu.Unlock()
		finished := u.Total > 0 && u.Done >= u.Total
		if time.Since(last) < progressInterval && !finished {
			return
		}
		last = time.Now()
		run.Emit(ctx, task.EventProgress, u)
	}
}

// requestBudget is the budget of requests of the built-in planner; the model's loop has its own.
func requestBudget(ctx context.Context, run *task.Run) (b tools.Budget, err error) {
	if run.Task.Options.Budget == nil {
		return b, nil
	}
	sent, err := run.RequestsSent(ctx)
	return tools.Budget{Requests: run.Task.Options.Budget.Requests, Sent: sent}, err
}
