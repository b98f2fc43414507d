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
	"github.com/vedette-sec/vedette/internal/core/exclusion"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/queue"
	"github.com/vedette-sec/vedette/internal/tools"
)

// runTask takes a stream of a task from its instruction to its end, or to where it waits
// for a person. After a crash it is called again and takes up what the journal does not
// have.
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
		if err := w.release(kept, run); err != nil {
			return err
		}
		return w.finish(kept, run, ending{status: task.Aborted, opening: "The task was stopped."})
	}
	return err
}

// carryOut lets a language model do the work where there is one; else, and where it
// cannot be reached or refuses, the built-in planner.
func (w worker) carryOut(ctx, kept context.Context, run *task.Run) error {
	if ctx.Err() != nil {
		return context.Cause(ctx)
	}
	chosen, err := w.Models.Resolve(ctx, run.Task.TeamID, run.Task.UserID, run.Task.Options.Model)
	switch e := errs.From(err); {
	case err == nil:
		return w.think(ctx, kept, run, chosen)
	case errors.Is(err, model.ErrBuiltin):
		return w.plan(ctx, kept, run, "")
	case e.Kind == errs.Internal:
		return err
	default:
		return w.plan(ctx, kept, run, "No language model worked on this: "+sentence(e.Message))
	}
}

// plan carries out the built-in planner's plan. gap says why no language model did it.
func (w worker) plan(ctx, kept context.Context, run *task.Run, gap string) error {
	plan, err := w.planOf(ctx, run)
	if err != nil {
		return err
	}
	if len(plan.Steps()) == 0 {
		return run.Finish(kept, task.Outcome{Status: task.Completed, Summary: strings.TrimSpace(gap + "\n" + plan.Words())})
	}
	if allowed, err := permitted(kept, run, plan, gap); err != nil || !allowed {
		return err
	}
	budget, err := requestBudget(ctx, run)
	if err != nil {
		return err
	}
	kit, err := w.kit(ctx, run, plan, budget, nil)
	if e := errs.From(err); e != nil && e.Kind != errs.Internal { // the instruction names what cannot be tested
		return run.Finish(kept, task.Outcome{Status: task.Failed, Summary: e.Message})
	}
	if err != nil {
		return err
	}
	defer kit.Close()
	outcome, err := agent.Run(ctx, agent.Config{Tools: kit.Tools(), Journal: run.Steps(), Emit: w.progress(ctx, run), Budget: seconds(run.Task.Options.Budget)}, plan)
	if err != nil {
		return err
	}
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
	return w.finish(kept, run, ending{status: status, opening: gap, plan: plan})
}

// permitted reports whether the mode of a task lets the built-in planner carry a plan out.
// Where it does not, the stream waits for a person's word, or has ended.
func permitted(ctx context.Context, run *task.Run, plan agent.Plan, gap string) (bool, error) {
	o := run.Task.Options
	words := strings.TrimSpace(gap + "\n" + plan.Words())
	switch {
	case loop.Mode(o.Mode) == loop.ModeChat:
		return false, run.Finish(ctx, task.Outcome{Status: task.Completed, Summary: words + "\n\nNothing was sent: in the mode chat no target is asked, and the built-in planner cannot talk."})
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
		return false, run.Finish(ctx, task.Outcome{Status: task.Completed, Summary: fmt.Sprintf("The run was stopped (%s). The plan was declined, and nothing was sent.", loop.CodePlanDeclined)})
	}
	return true, nil
}

// seconds is a budget's time; 0 is no bound.
func seconds(b *task.Budget) time.Duration {
	if b == nil {
		return 0
	}
	return time.Duration(b.Seconds) * time.Second
}

// planOf is what an earlier run of the stream planned, or else a new plan: what has begun
// goes on under the plan it began with.
func (w worker) planOf(ctx context.Context, run *task.Run) (plan agent.Plan, err error) {
	if len(run.Task.Plan) > 0 {
		err = json.Unmarshal(run.Task.Plan, &plan)
		return plan, err
	}
	plan = builtin.Plan(run.Task.Instruction)
	return plan, run.SetPlan(ctx, plan)
}

// kit makes the tools of a task within its scope.
func (w worker) kit(ctx context.Context, run *task.Run, plan agent.Plan, budget tools.Budget, secrets map[string]string) (*tools.Kit, error) {
	boundary, err := w.boundary(ctx, run.Task, plan)
	if err != nil {
		return nil, err
	}
	boundary.OnDenied = w.denials(ctx, run)
	boundary.Budget = budget
	c := tools.Config{
		Run: run, Boundary: boundary, Templates: w.templates(run.Task.TeamID), Keep: w.keeper(run.Task), Inventory: w.inventoryOf(run.Task), Secrets: secrets, Logger: w.Logger,
	}
	for i, t := range w.starter {
		if tools.Within(boundary.Doc, t) {
			c.Programs = append(c.Programs, w.programs[i])
		}
	}
	return tools.New(c)
}

// boundary is the scope of a task: what the plan names, what the request says, what the
// team leaves out and what the operator denies.
func (w worker) boundary(ctx context.Context, t task.Task, plan agent.Plan) (b tools.Boundary, err error) {
	rules, err := w.Exclusions.Of(ctx, t.TeamID)
	if err != nil {
		return b, err
	}
	var left []string
	for _, rule := range rules {
		if rule.Type == exclusion.Target && rule.ScanID == "" && rule.EnumerationID == "" {
			left = append(left, rule.Value)
		}
	}
	b = tools.Boundary{Plan: plan, Deny: w.Deny}
	if t.Options.Scope != nil {
		b.Doc = *t.Options.Scope
	}
	b.Team, err = exclusion.ParsePatterns(left)
	return b, err
}

// maxDenials is how many attempts to leave the scope one run tells of.
const maxDenials = 200

// denials tells the stream of attempts to leave the scope.
func (w worker) denials(ctx context.Context, run *task.Run) func(tools.Denial) {
	var mu sync.Mutex
	told := 0
	kept := context.WithoutCancel(ctx)
	return func(d tools.Denial) {
		mu.Lock()
		defer mu.Unlock()
		w.Logger.InfoContext(kept, "a dial was refused", "task_id", run.Task.ID, "address", d.Place, "why", d.Why)
		if told++; told > maxDenials {
			return
		}
		w.emit(kept, run, task.EventDenied, d)
	}
}

// emit adds an event to the stream. Nothing hangs on it, so that a failure is only logged.
func (w worker) emit(ctx context.Context, run *task.Run, kind string, data any) {
	if err := run.Tell(ctx, kind, data); err != nil && ctx.Err() == nil && !errors.Is(err, task.ErrLate) {
		w.Logger.WarnContext(ctx, "telling a task's stream", "task_id", run.Task.ID, "error", err)
	}
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
		w.emit(ctx, run, task.EventProgress, u)
	}
}

// requestBudget is how many requests a run of the built-in planner may send. The loop of
// a language model keeps its own account.
func requestBudget(ctx context.Context, run *task.Run) (b tools.Budget, err error) {
	if run.Task.Options.Budget == nil {
		return b, nil
	}
	steps, err := run.Steps().Finished(ctx)
	return tools.Budget{Requests: run.Task.Options.Budget.Requests, Sent: sent(steps)}, err
}

// sent is how many requests steps sent to targets.
func sent(steps []agent.Done) (sum int64) {
	for _, step := range steps {
		var output struct{ Requests int64 }
		_ = json.Unmarshal(step.Output, &output) // a step that failed has no output
		sum += output.Requests
	}
	return sum
}

// ending is how a stream ends, as far as its worker knows.
type ending struct {
	status   task.Status
	opening  string
	plan     agent.Plan   // of the built-in planner
	outcome  loop.Outcome // of a language model's run
	requests int          // that it sent to targets
}

// finish ends the stream with a summary of what was said, done and found.
func (w worker) finish(ctx context.Context, run *task.Run, e ending) error {
	found, err := run.Issues(ctx)
	if err != nil {
		return err
	}
	steps, err := run.Steps().Finished(ctx)
	if err != nil {
		return err
	}
	e.requests += int(sent(steps))
	denied, err := run.Denials(ctx)
	if err != nil {
		return err
	}
	text := summary(e.opening, e.plan, steps, found) + "\n" + boundaryWords(e.requests, denied)
	return run.Finish(ctx, task.Outcome{Status: e.status, Summary: text})
}
