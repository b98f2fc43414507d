package engine

import (
	"context"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine/board"
	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/workflow"
)

// boundWorkflow is a workflow with its programs bound to the variables of a scan.
type boundWorkflow struct {
	*workflow.Workflow
	bound map[*program.Program]*program.Bound
}

// addWorkflow adds a workflow and, among the programs, a placeholder whose cell is the workflow's.
func (r *run) addWorkflow(w *workflow.Workflow, vars program.Vars) {
	b := &boundWorkflow{w, map[*program.Program]*program.Bound{}}
	digests := []string{w.Digest}
	for _, p := range w.Programs() {
		b.bound[p] = p.Bind(vars)
		digests = append(digests, p.Digest)
		r.canaries = r.canaries || p.PathSpecific()
	}
	placeholder := (&program.Program{ID: w.ID, Path: w.Path, Digest: strings.Join(digests, " "), Info: w.Info}).Bind(vars)
	placeholder.Plannable = false
	r.workflows[len(r.programs)] = b
	r.add(placeholder, vars)
}

// steps runs the session's workflow. Each program is a session of its own; all share cookies.
func (s *session) steps(ctx context.Context) {
	var mu sync.Mutex          // guards s.end
	ctx = board.With(ctx, nil) // several steps run at a time
	run := func(
		ctx context.Context, programs []*program.Program, values map[string]any, collect bool,
	) ([]workflow.Outcome, error) {
		var found []workflow.Outcome
		for _, p := range programs {
			step := s.step(s.workflow.bound[p], values)
			if collect {
				step.emit = func([]Event) {}
				step.onOutcome = func(o match.Outcome) { found = append(found, outcomeOf(o)) }
			}
			step.run(ctx)
			mu.Lock()
			s.addEnd(step.end)
			mu.Unlock()
			if ctx.Err() != nil {
				return nil, ctx.Err()
			}
		}
		return found, nil
	}
	// The error is that of a context that has ended.
	_ = s.workflow.Run(ctx, &workflow.Host{Run: run, Parallel: s.engine.cfg.PerHost}, nil)
}

// step is the session of one program of the workflow; values are what earlier steps extracted.
func (s *session) step(bound *program.Bound, values map[string]any) *session {
	step := &session{
		requester: s.requester, bound: bound, index: s.index, jar: s.jar, end: coverage.End{State: NotApplicable},
		emit: s.emit, onReceive: s.onReceive, onReply: s.onReply, onPending: s.onPending, onLog: s.onLog,
	}
	for name, value := range values {
		step.history.Set(name, value)
	}
	return step
}

// outcomeOf is what a workflow needs to know about a response.
func outcomeOf(o match.Outcome) workflow.Outcome {
	var out workflow.Outcome
	for _, f := range o.Findings {
		if f.Matcher != "" {
			out.Names = append(out.Names, f.Matcher)
		}
	}
	for _, f := range o.Named {
		out.Names = append(out.Names, f.Extractor)
		out.Extracts = append(out.Extracts, match.Values{Name: f.Extractor, Values: f.Extracted})
	}
	return out
}
