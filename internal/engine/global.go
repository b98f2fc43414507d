package engine

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/engine/board"
	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/event"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// globalBlock is a block whose operators are evaluated on every response of the scan (template language 2.1,
// global-matchers).
type globalBlock struct {
	program, block int
	operators      *match.Operators
}

// globalMatch identifies a finding that is reported once per target.
type globalMatch struct {
	program, block    int
	matcher, at, what string
}

// addGlobals adds the global blocks of a program if the scan uses them.
func (r *run) addGlobals(i int, b *program.Bound) {
	if !r.scan.GlobalMatchers {
		return
	}
	for j := range b.Blocks {
		if b.Blocks[j].GlobalMatchers {
			r.globals = append(r.globals, globalBlock{i, j, b.Blocks[j].Operators})
		}
	}
}

// makesRequests reports whether a program makes requests of its own.
func (r *run) makesRequests(i int) bool {
	return !slices.ContainsFunc(r.globals, func(g globalBlock) bool { return g.program == i })
}

// evaluateGlobals evaluates the global blocks on a response.
func (t *targetScan) evaluateGlobals(ctx context.Context, x *web.Exchange) {
	if len(t.run.globals) == 0 {
		return
	}
	on := board.Of(ctx)
	defer on.Idle()
	for _, g := range t.run.globals {
		if t.pending[g.program] < 0 {
			continue
		}
		b := t.run.programs[g.program]
		on.At(g.program)
		out := g.operators.Eval(t.view(ctx, x, x.Body), dsl.First(b.Own(), b.TargetVariables(t.input(ctx)).Lookup))
		if out.Silent {
			continue
		}
		var events []Event
		for _, f := range out.Findings {
			o := event.Origin{Bound: b, Block: g.block}
			h := event.Hop{Exchange: x, URL: program.RedirectURL(x.Request.Address), Body: x.Body}
			ev := event.New(o, t.target, t.address, h, f, nil)
			ev.Global, ev.Origin = true, nil
			events = append(events, ev)
		}
		t.mu.Lock()
		events = slices.DeleteFunc(events, func(ev Event) bool {
			hit := globalMatch{g.program, g.block, ev.MatcherName, ev.MatchedAt, ev.Fingerprint()}
			known := t.global[hit]
			if t.global == nil {
				t.global = map[globalMatch]bool{}
			}
			t.global[hit] = true
			return known
		})
		if len(events) > 0 {
			t.matchedBy(g.program, len(events))
			t.markEvents(events)
		}
		t.mu.Unlock()
		t.run.emit(events)
	}
}

// endGlobals sets the cells of programs with global blocks.
func (t *targetScan) endGlobals(ctx context.Context) {
	end := coverage.End{State: Tested}
	switch {
	case t.targetless():
		return
	case ctx.Err() != nil:
		end = coverage.End{State: Skipped, Reason: Interrupted}
	}
	for i := range t.run.programs {
		if !t.run.makesRequests(i) && t.pending[i] == 0 {
			t.report.cells.Set(i, end.State, end.Reason)
			if ctx.Err() == nil {
				t.checkpoint(i)
			}
		}
	}
}
