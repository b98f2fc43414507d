package task

import (
	"context"
	"encoding/json"
	"errors"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/builtin"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/model"
)

const maxOutputTokens = 8192 // of one answer of a model

// LoopConfig is the part of a run's configuration that depends on the request and the model.
func (t Task) LoopConfig(chosen model.Chosen) loop.Config {
	o := t.Options
	c := loop.Config{
		Model: chosen.Model, ModelName: chosen.Name, Price: chosen.Price, Window: chosen.Window, Stream: t.Index,
		Instruction: t.Instruction, Mode: loop.Mode(o.Mode), AutoExecute: o.AutoExecute, AskQuestion: o.AskQuestion,
		MaxIterations: 1, // findings that are not verified are not reported
	}
	if chosen.Output > 0 {
		c.MaxTokens = min(chosen.Output, maxOutputTokens)
	}
	if o.MaxSteps != nil {
		c.MaxSteps = *o.MaxSteps
	}
	if o.MaxIterations != nil {
		c.MaxIterations = *o.MaxIterations
	}
	if b := o.Budget; b != nil {
		c.Caps = loop.Caps{Micros: b.micros(), Tokens: b.Tokens, Requests: b.Requests, Wall: b.Time()}
	}
	return c
}

// Account is the account whose money is reserved for the task.
func (t Task) Account(chosen model.Chosen) model.Account {
	return model.Account{TeamID: t.TeamID, UserID: t.UserID, TaskID: t.ID, ProjectID: t.ProjectID, BYOK: chosen.BYOK}
}

// micros is the budget's money in millionths of a US dollar; anything above zero stays so.
func (b *Budget) micros() int64 {
	if b.MoneyUSD <= 0 {
		return 0
	}
	return max(1, int64(b.MoneyUSD*1e6))
}

// Time is the budget's time; 0 is no limit.
func (b *Budget) Time() time.Duration {
	if b == nil {
		return 0
	}
	return time.Duration(b.Seconds) * time.Second
}

// PlanOf joins the plans of several instructions.
func PlanOf(streams []Stream) (all agent.Plan) {
	for _, s := range streams {
		plan := builtin.Plan(s.Instruction)
		all.Targets = append(all.Targets, plan.Targets...)
		all.Excluded = append(all.Excluded, plan.Excluded...)
		all.Ports = append(all.Ports, plan.Ports...)
		if !plan.Access.Empty() {
			all.Access = plan.Access
		}
		if plan.RateLimit > 0 {
			all.RateLimit = plan.RateLimit
		}
	}
	return all
}

const stopPollEvery = 500 * time.Millisecond

// RunLoop lets a language model work on the stream, and ends calls that people stop. Events are written under
// uncancelled, even when ctx has ended.
func (r *Run) RunLoop(ctx, uncancelled context.Context, c loop.Config) (loop.Outcome, error) {
	events := &loopEvents{ctx: uncancelled, run: r}
	c.Journal, c.Emit, c.Control = r, events.write, &loop.Control{}
	watched, stop := context.WithCancel(ctx)
	var watch sync.WaitGroup
	watch.Go(func() { r.watchStopRequests(watched, c.Control) })
	outcome, err := loop.Run(ctx, c)
	stop()
	watch.Wait()
	events.flush()
	return outcome, err
}

func (r *Run) watchStopRequests(ctx context.Context, control *loop.Control) {
	tick := time.NewTicker(stopPollEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		ids, err := r.StopRequests(ctx)
		if err != nil && ctx.Err() == nil {
			r.tasks.logger.WarnContext(ctx, "reading which calls are to be stopped", "task_id", r.Task.ID, "error", err)
		}
		for _, id := range ids {
			control.Abort(id) // does nothing for a call that has ended
		}
	}
}

// loopEvents writes the events of a language model's run into the stream. It joins pieces of text, to save
// writes.
type loopEvents struct {
	ctx context.Context
	run *Run

	mu    sync.Mutex
	text  loop.Event // pieces that are not written yet
	since time.Time  // when the first of them came
}

const (
	textEvery = 250 * time.Millisecond // how long a piece of text waits for others
	maxText   = 4096                   // bytes of a joined one
)

// Emit adds an event to the stream. A failure is only logged.
func (r *Run) Emit(ctx context.Context, kind string, data any) {
	if err := r.addEvent(ctx, kind, data); err != nil && ctx.Err() == nil && !errors.Is(err, ErrLate) {
		r.tasks.logger.WarnContext(ctx, "adding an event to a task's stream", "task_id", r.Task.ID, "error", err)
	}
}

func (t *loopEvents) write(e loop.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if e.Type == loop.EventText {
		if t.text.Branch != e.Branch || t.text.ID != e.ID {
			t.writeText()
		}
		if t.text.Text == "" {
			t.since = time.Now()
		}
		e.Text = t.text.Text + e.Text
		if t.text = e; time.Since(t.since) < textEvery && len(e.Text) < maxText {
			return
		}
		t.writeText()
		return
	}
	t.writeText()
	t.run.Emit(t.ctx, string(e.Type), e)
}

func (t *loopEvents) flush() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.writeText()
}

func (t *loopEvents) writeText() {
	if t.text.Text != "" {
		t.run.Emit(t.ctx, string(t.text.Type), t.text)
	}
	t.text = loop.Event{}
}

// RecordUsage stores what the stream has used so far.
func (r *Run) RecordUsage(ctx context.Context, models *model.Models, chosen model.Chosen, o loop.Outcome) error {
	entries, err := r.Entries(ctx)
	if err != nil {
		return err
	}
	return models.RecordUsage(ctx, nil, usage(r.Task, chosen, o, entries))
}

// Release returns what a given-up run reserved for unanswered calls of a model.
func (r *Run) Release(ctx context.Context, models *model.Models) error {
	entries, err := r.Entries(ctx)
	if err != nil {
		return err
	}
	reservations := models.Reservations(r.Task.Account(model.Chosen{}))
	for _, key := range loop.OpenReservations(entries) {
		if err := reservations.Settle(ctx, key, 0); err != nil {
			return err
		}
	}
	return nil
}

func usage(t Task, chosen model.Chosen, o loop.Outcome, entries []loop.Entry) model.Row {
	r := model.Row{
		StreamID: t.StreamID, TaskID: t.ID, TeamID: t.TeamID, UserID: t.UserID, Title: t.Title, Model: chosen.Name,
		Provider: chosen.Provider, Status: string(o.Status), BYOK: chosen.BYOK, Priced: chosen.Priced, Usage: o.Usage,
		Micros: o.Micros, Error: o.Code, CreatedAt: t.RequestedAt,
		Detail: model.Detail{Agents: map[string]int{}, Tools: map[string]int{}},
	}
	switch o.Status {
	case loop.Completed, loop.Suspended:
		r.Error = ""
	case loop.Stopped:
		r.Status = string(loop.Completed)
	}
	asked := map[string]bool{} // calls of a model without an answer so far
	for _, e := range entries {
		if e.Stream == t.Index {
			count(&r, e, asked)
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

// count adds an entry. A call of a model that a restart interrupted is made again under the same key, so it counts
// twice.
func count(r *model.Row, e loop.Entry, asked map[string]bool) {
	switch e.Kind {
	case loop.BranchStart:
		r.Agents++
	case loop.ModelCall:
		r.Steps++
		asked[e.Key] = true
	case loop.Note:
		if read[loop.Remark](e).Code == loop.CodeResumed {
			r.Steps += len(asked)
		}
	case loop.ModelAnswer:
		body := read[loop.Answered](e)
		delete(asked, e.Key)
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

func read[T any](e loop.Entry) (body T) {
	_ = json.Unmarshal(e.Body, &body)
	return body
}
