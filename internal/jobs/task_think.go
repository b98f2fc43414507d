package jobs

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/agent/builtin"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/catalog"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/tools"
)

// think lets a language model work on a stream until it is done, or waits for a person.
func (w worker) think(ctx, kept context.Context, run *task.Run, chosen model.Chosen) error {
	if err := run.SetModel(ctx, chosen.Name); err != nil {
		return err
	}
	streams, err := run.Streams(ctx)
	if err != nil {
		return err
	}
	t := run.Task
	secrets, missing, err := w.Secrets.ForTask(ctx, t.TeamID, t.UserID, t.Options.ProjectID, t.Options.Secrets)
	if err != nil {
		return err
	}
	kit, err := w.kit(ctx, run, thread(streams), tools.Budget{}, secrets)
	if e := errs.From(err); e != nil && e.Kind != errs.Internal {
		return run.Finish(kept, task.Outcome{Status: task.Failed, Summary: e.Message})
	}
	if err != nil {
		return err
	}
	defer kit.Close()
	gap, err := w.equip(ctx, run, kit)
	if err != nil {
		return err
	}
	tools, err := kit.Actions()
	if err != nil {
		return err
	}
	recalled, err := run.Recall(ctx)
	if err != nil {
		return err
	}
	c := runConfig(t, chosen)
	c.Tools, c.Journal, c.Verify, c.Secrets, c.Logger = tools, run, kit.Verify, secrets, w.Logger
	c.Context = strings.TrimSpace(kit.Scope() + "\n" + recalled)
	brought, err := w.bring(ctx, run, &c)
	if err != nil {
		return err
	}
	defer brought.Close()
	unstaffed, err := w.staff(ctx, t, &c)
	if err != nil {
		return err
	}
	c.Attachments = kit.Attached.Previews()
	c.Ledger = w.Models.Ledger(w.account(t, chosen))
	for _, s := range streams[:t.Turn] {
		c.Earlier = append(c.Earlier, loop.Exchange{Instruction: s.Instruction, Answer: s.Summary})
	}
	teller := w.newTeller(kept, run)
	c.Emit, c.Control = teller.tell, &loop.Control{}
	outcome, err := w.loop(ctx, run, c)
	teller.flush()
	if err != nil {
		return err
	}
	if err := w.record(kept, run, chosen, outcome); err != nil {
		return err
	}
	elsewhere, err := broughtCalls(kept, run)
	if err != nil {
		return err
	}
	if outcome.Status == loop.Failed || c.Mode != loop.ModeChat && lost(outcome) {
		return w.planInstead(ctx, kept, run, chosen, outcome)
	}
	e := ending{status: task.Completed, outcome: outcome, requests: outcome.Requests - elsewhere}
	e.opening = opening(outcome.Summary, elsewhere, missingWords(brought.Missing)) + gap + unstaffed
	if len(missing) > 0 {
		e.opening += "\nThere is no secret named " + strings.Join(missing, ", ") + "."
	}
	switch outcome.Status {
	case loop.Suspended:
		return run.Suspend(kept, outcome.Pending)
	case loop.Aborted:
		return context.Cause(ctx)
	case loop.Stopped:
		e.opening = strings.TrimSpace(fmt.Sprintf("The run was stopped (%s). %s", outcome.Code, e.opening))
	}
	return w.finish(kept, run, e)
}

// planInstead has the built-in planner do what the model did not. What the model said last
// is told in few words: it may be all that it could say.
func (w worker) planInstead(ctx, kept context.Context, run *task.Run, chosen model.Chosen, o loop.Outcome) error {
	const most = 300
	said := o.Summary
	if len(said) > most {
		said = strings.ToValidUTF8(said[:most], "") + " …"
	}
	return w.plan(ctx, kept, run, fmt.Sprintf("The language model %s did not finish the work (%s): %s The built-in planner did what follows.", chosen.Name, o.Code, sentence(said)))
}

// lost reports whether a run was stopped because the model did not find its way, before
// anything was sent to a target.
func lost(o loop.Outcome) bool {
	return o.Requests == 0 && len(o.Findings) == 0 &&
		slices.Contains([]string{loop.CodeTruncated, loop.CodeMalformed, loop.CodeSameCall, loop.CodeAlternating, loop.CodeNoEvidence}, o.Code)
}

// equip gives a kit what a task has from before: the files that are attached to it, and the
// sessions of its earlier calls. gap says which files are missing.
func (w worker) equip(ctx context.Context, run *task.Run, kit *tools.Kit) (gap string, err error) {
	if kit.Attached, gap, err = w.attach(ctx, run.Task); err != nil {
		return gap, err
	}
	entries, err := run.Entries(ctx)
	kit.Resume(entries)
	return gap, err
}

// opening is what a summary begins with: the model's words, how many calls of tools from
// elsewhere there were, and which of these tools were missing.
func opening(said string, elsewhere int, missing string) string {
	said = strings.TrimSpace(said)
	if elsewhere > 0 {
		said += fmt.Sprintf("\nCalls of tools that were brought: %d.", elsewhere)
	}
	return strings.TrimSpace(said + "\n" + missing)
}

// loop runs the loop, and ends what people want to end within it.
func (w worker) loop(ctx context.Context, run *task.Run, c loop.Config) (loop.Outcome, error) {
	watched, stop := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		w.watchStops(watched, run, c.Control)
	}()
	outcome, err := loop.Run(ctx, c)
	stop()
	<-done
	return outcome, err
}

// stopsEvery is how late a wish to end a call of a tool can be seen.
const stopsEvery = 500 * time.Millisecond

func (w worker) watchStops(ctx context.Context, run *task.Run, control *loop.Control) {
	tick := time.NewTicker(stopsEvery)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		ids, err := run.Stops(ctx)
		if err != nil && ctx.Err() == nil {
			w.Logger.WarnContext(ctx, "reading which calls are to be stopped", "task_id", run.Task.ID, "error", err)
		}
		for _, id := range ids {
			control.Abort(id) // what has ended is not there any more
		}
	}
}

// thread is the plan of a task's instructions together: what one of them names is in
// scope of the later ones, and what one of them excludes is excluded.
func thread(streams []task.Stream) (all agent.Plan) {
	for _, s := range streams {
		plan := builtin.Plan(s.Instruction)
		all.Targets = append(all.Targets, plan.Targets...)
		all.Excluded = append(all.Excluded, plan.Excluded...)
		all.Ports = append(all.Ports, plan.Ports...)
		if plan.RateLimit > 0 {
			all.RateLimit = plan.RateLimit
		}
	}
	return all
}

// runConfig are the parts of a run's configuration that the request and the model decide.
func runConfig(t task.Task, chosen model.Chosen) loop.Config {
	o, once := t.Options, 1
	c := loop.Config{
		Model: chosen.Model, ModelName: chosen.Name, Price: chosen.Price, Window: chosen.Window, Turn: t.Turn, Instruction: t.Instruction,
		Mode: loop.Mode(o.Mode), AutoExecute: o.AutoExecute, AskQuestion: o.AskQuestion, MaxIterations: o.MaxIterations,
	}
	if chosen.Output > 0 {
		c.MaxTokens = min(chosen.Output, 8192)
	}
	if o.MaxSteps != nil {
		c.MaxSteps = *o.MaxSteps
	}
	if c.MaxIterations == nil {
		c.MaxIterations = &once // what nobody verifies is not reported
	}
	if b := o.Budget; b != nil {
		c.Caps = loop.Caps{Micros: micros(b), Tokens: b.Tokens, Requests: b.Requests, Wall: seconds(b)}
	}
	return c
}

// micros is a budget's money in millionths of a US dollar; what is above zero stays so.
func micros(b *task.Budget) int64 {
	if b == nil || b.MoneyUSD <= 0 {
		return 0
	}
	return max(1, int64(b.MoneyUSD*1e6))
}

func (w worker) account(t task.Task, chosen model.Chosen) model.Account {
	return model.Account{TeamID: t.TeamID, UserID: t.UserID, TaskID: t.ID, BYOK: chosen.BYOK}
}

// release settles what a run that is given up has set aside for calls of a model that
// were never answered.
func (w worker) release(ctx context.Context, run *task.Run) error {
	entries, err := run.Entries(ctx)
	if err != nil {
		return err
	}
	ledger := w.Models.Ledger(w.account(run.Task, model.Chosen{}))
	for _, key := range loop.OpenReservations(entries) {
		if err := ledger.Settle(ctx, key, 0); err != nil {
			return err
		}
	}
	return nil
}

// record stores what the stream used so far.
func (w worker) record(ctx context.Context, run *task.Run, chosen model.Chosen, o loop.Outcome) error {
	entries, err := run.Entries(ctx)
	if err != nil {
		return err
	}
	return w.Models.RecordUsage(ctx, nil, usage(run.Task, chosen, o, entries))
}

// templates are what a language model may choose from.
func (w worker) templates(teamID string) (ts tools.Templates) {
	ts.Known = func(ctx context.Context) ([]catalog.Known, error) { return w.Catalog.ForScan(ctx, teamID) }
	ts.Text = func(ctx context.Context, id string) ([]byte, error) {
		texts, err := w.Catalog.Texts(ctx, teamID, []string{id})
		if err != nil {
			return nil, err
		}
		text, ok := texts[id]
		if !ok {
			return nil, errs.Missing("template")
		}
		return text.Data, nil
	}
	ts.Find = func(ctx context.Context, ids []string) (map[string]*program.Program, error) {
		found, err := w.Catalog.Programs(ctx, teamID, ids)
		out := make(map[string]*program.Program, len(found))
		for id, m := range found {
			if m.Err == nil {
				out[id] = m.Program
			}
		}
		return out, err
	}
	ts.Compile = func(text string) (*program.Program, error) {
		_, p, err := templates.Compile("task.yaml", []byte(text), nil)
		return p, err
	}
	return ts
}
