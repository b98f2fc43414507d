package engine

import (
	"context"
	"strings"
	"sync"

	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/workflow"
)

// boundWorkflow is a workflow with its programs bound to the variables of a scan.
type boundWorkflow struct {
	*workflow.Workflow
	bound map[*program.Program]*program.Bound
}

// addWorkflows gives each workflow of the scan a stand-in among the programs: a session
// without requests of its own, whose cell is the workflow's.
func (r *run) addWorkflows(vars program.Vars) {
	r.workflows = map[int]*boundWorkflow{}
	for _, w := range r.scan.Workflows {
		b := &boundWorkflow{w, map[*program.Program]*program.Bound{}}
		digests := []string{w.Digest}
		for _, p := range w.Programs() {
			b.bound[p] = p.Bind(vars)
			digests = append(digests, p.Digest)
			r.specific = r.specific || p.PathSpecific()
		}
		stand := (&program.Program{ID: w.ID, Path: w.Path, Digest: strings.Join(digests, " "), Info: w.Info}).Bind(vars)
		stand.Plain = false
		r.workflows[len(r.programs)] = b
		r.programs = append(r.programs, stand)
		r.key(stand.Program, vars)
		r.report.Templates = append(r.report.Templates, w.ID)
	}
}

// steps runs the session's workflow. Each program that it runs is a session of its own;
// all share their cookies.
func (s *session) steps(ctx context.Context) {
	var mu sync.Mutex // guards the state of s
	run := func(ctx context.Context, programs []*program.Program, values map[string]any, collect bool) ([]workflow.Outcome, error) {
		var found []workflow.Outcome
		for _, p := range programs {
			step := s.step(s.workflow.bound[p], values)
			if collect {
				step.tell = func([]Event) {}
				step.found = func(o match.Outcome) { found = append(found, outcomeOf(o)) }
			}
			step.run(ctx)
			mu.Lock()
			s.note(step.state, step.reason)
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

// step is the session of one program of the workflow; values are what earlier steps
// extracted.
func (s *session) step(bound *program.Bound, values map[string]any) *session {
	step := &session{seat: s.seat, bound: bound, jar: s.jar, state: notApplicable, tell: s.tell, seen: s.seen}
	for name, value := range values {
		step.memory.set(name, value)
	}
	return step
}

// outcomeOf is what a workflow wants to know of an answer.
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
