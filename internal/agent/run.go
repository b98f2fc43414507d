package agent

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/outage"
)

// errOutOfTime is the cause of a context whose time limit was reached.
var errOutOfTime = errors.New("the time limit was reached")

// Run calls the plan's tools one after another.
//
// The end of each step is recorded before the next begins; steps that an earlier run finished are not repeated. After
// a failed step the others go on. When ctx ends, the running step is recorded as Aborted with what it has. The error
// is only about the run itself: a missing tool, a journal that fails, or an outage (package outage), after which the
// step that met it is done again.
func Run(ctx context.Context, cfg Config, plan Plan) (Outcome, error) {
	r, err := newRun(ctx, cfg, plan)
	if err != nil {
		return Outcome{}, err
	}
	names := plan.Steps()
	var out Outcome
	for i, name := range names {
		seq, last := i+1, i == len(names)-1
		done, known := r.finished[seq]
		if !known {
			if ctx.Err() != nil {
				break
			}
			if done, err = r.step(ctx, seq, name, last); err != nil {
				return out, err
			}
		}
		out.Steps = append(out.Steps, done)
		r.spent += done.Took
		if len(done.Output) > 0 {
			r.outputs[name] = done.Output
		}
	}
	out.Status = statusOf(ctx, names, out.Steps)
	return out, nil //nolint:nilerr // how each step ended is in its Done
}

type run struct {
	cfg      Config
	plan     Plan
	tools    map[string]Tool
	finished map[int]Done
	outputs  map[string]json.RawMessage
	limit    time.Duration
	spent    time.Duration
}

func newRun(ctx context.Context, cfg Config, plan Plan) (*run, error) {
	r := &run{cfg: cfg, plan: plan, tools: map[string]Tool{}, finished: map[int]Done{},
		outputs: map[string]json.RawMessage{}}
	if r.cfg.Now == nil {
		r.cfg.Now = time.Now
	}
	for _, tool := range cfg.Tools {
		r.tools[tool.Name()] = tool
	}
	for _, name := range plan.Steps() {
		if r.tools[name] == nil {
			return nil, fmt.Errorf("agent: the plan calls %q and there is no such tool", name)
		}
	}
	r.limit = cfg.Budget
	if asked := time.Duration(plan.TimeLimit) * time.Second; asked > 0 && (r.limit == 0 || asked < r.limit) {
		r.limit = asked
	}
	earlier, err := cfg.Journal.Finished(ctx)
	if err != nil {
		return nil, fmt.Errorf("agent: reading the journal: %w", err)
	}
	for _, done := range earlier {
		if done.final() {
			r.finished[done.Seq] = done
		}
	}
	return r, nil
}

func (r *run) step(ctx context.Context, seq int, name string, last bool) (Done, error) {
	uncancelled := context.WithoutCancel(ctx)
	done := Done{Seq: seq, Tool: name}
	left := r.timeLeft(last)
	if left <= 0 {
		done.Status, done.Error = Skipped, errOutOfTime.Error()
		return done, r.end(uncancelled, done)
	}
	input, err := json.Marshal(Input{Plan: r.plan, Before: r.outputs})
	if err != nil {
		return done, fmt.Errorf("agent: the input of step %d: %w", seq, err)
	}
	if err := r.cfg.Journal.Begin(ctx, Step{Seq: seq, Tool: name, Input: input}); err != nil {
		return done, fmt.Errorf("agent: recording the intent of step %d: %w", seq, err)
	}
	started := r.cfg.Now()
	limited, cancel := context.WithTimeoutCause(ctx, left, errOutOfTime)
	result, err := r.call(limited, seq, r.tools[name], input)
	cause := context.Cause(limited)
	cancel()
	if found := outage.Of(err); found != nil && cause == nil { // the step says nothing about the targets: it is done again
		return done, fmt.Errorf("agent: step %d: %w", seq, found)
	}
	done.Output, done.Summary, done.Took = result.Output, result.Summary, r.cfg.Now().Sub(started)
	switch {
	case err == nil:
		done.Status = Completed
	case errors.Is(cause, errOutOfTime):
		done.Status, done.Error = Timeout, errOutOfTime.Error()
	case ctx.Err() != nil:
		done.Status, done.Error = Aborted, "the run was stopped"
	default:
		done.Status, done.Error = Failed, err.Error()
	}
	return done, r.end(uncancelled, done)
}

const noLimit = 100 * 365 * 24 * time.Hour

// timeLeft is the time of a step. A fifth of the limit is kept for the last step, so that findings are verified even
// if the search took too long.
func (r *run) timeLeft(last bool) time.Duration {
	switch {
	case r.limit == 0:
		return noLimit
	case last:
		return r.limit - r.spent
	}
	return r.limit*4/5 - r.spent
}

// call turns a panic of the tool into a failed step: an answer from a target must not end other tasks of the process.
func (r *run) call(ctx context.Context, seq int, tool Tool, input json.RawMessage) (result Result, err error) {
	defer func() {
		if v := recover(); v != nil {
			err = fmt.Errorf("the tool %s broke: %v", tool.Name(), v)
		}
	}()
	var emitting sync.Mutex
	return tool.Call(ctx, input, func(u Update) {
		if r.cfg.Emit == nil {
			return
		}
		emitting.Lock()
		defer emitting.Unlock()
		u.Seq, u.Tool = seq, tool.Name()
		r.cfg.Emit(u)
	})
}

func (r *run) end(ctx context.Context, done Done) error {
	if err := r.cfg.Journal.End(ctx, done); err != nil {
		return fmt.Errorf("agent: recording the end of step %d: %w", done.Seq, err)
	}
	return nil
}

func statusOf(ctx context.Context, names []string, steps []Done) Status {
	has := func(s Status) bool { return slices.ContainsFunc(steps, func(d Done) bool { return d.Status == s }) }
	switch {
	case has(Aborted), ctx.Err() != nil && len(steps) < len(names):
		return Aborted
	case has(Timeout), has(Skipped):
		return Timeout
	case len(steps) > 0 && !has(Completed):
		return Failed
	}
	return Completed
}
