package engine

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// globalAsk is a block that wants to see every answer (template language 2.1,
// global-matchers).
type globalAsk struct {
	program, block int
	operators      *match.Operators
}

// globalHit is what is told once a target, however many answers show it.
type globalHit struct {
	program, block    int
	matcher, at, what string
}

// addGlobals takes the blocks of a program that judge all answers, if the scan wants
// that.
func (r *run) addGlobals(i int, b *program.Bound) {
	if !r.scan.GlobalMatchers {
		return
	}
	for j := range b.Blocks {
		if b.Blocks[j].GlobalMatchers {
			r.globals = append(r.globals, globalAsk{i, j, b.Blocks[j].Operators})
		}
	}
}

// isGlobal says whether a program makes no requests, because it judges those of others.
func (r *run) isGlobal(i int) bool {
	return slices.ContainsFunc(r.globals, func(g globalAsk) bool { return g.program == i })
}

// seeAll shows an answer to the blocks that want to see all.
func (v *visit) seeAll(ctx context.Context, x *web.Exchange) {
	for _, g := range v.run.globals {
		if v.left[g.program] < 0 {
			continue
		}
		b := v.run.programs[g.program]
		out := g.operators.Eval(v.view(ctx, x, x.Body), dsl.First(about(b), b.Names(v.input(ctx)).Lookup))
		if out.Silent {
			continue
		}
		var events []Event
		for _, f := range out.Findings {
			o := origin{bound: b, block: g.block}
			ev := newEvent(o, v.target, v.address, hop{exchange: x, at: program.SpellHop(x.Request.Address), body: x.Body}, f, nil)
			ev.Global, ev.origin = true, nil
			events = append(events, ev)
		}
		v.mu.Lock()
		events = slices.DeleteFunc(events, func(ev Event) bool {
			hit := globalHit{g.program, g.block, ev.MatcherName, ev.MatchedAt, ev.fingerprint()}
			known := v.global[hit]
			if v.global == nil {
				v.global = map[globalHit]bool{}
			}
			v.global[hit] = true
			return known
		})
		if len(events) > 0 {
			v.note(g.program, len(events))
			v.markEvents(events)
		}
		v.mu.Unlock()
		v.run.emit(events)
	}
}

// settleGlobals ends the cells of programs that judge all answers.
func (v *visit) settleGlobals(ctx context.Context) {
	state, reason := tested, ""
	switch {
	case v.targetless():
		return
	case ctx.Err() != nil:
		state, reason = skipped, Interrupted
	}
	for i := range v.run.programs {
		if v.run.isGlobal(i) && v.left[i] == 0 {
			v.report.cells.settle(i, state, reason)
			if ctx.Err() == nil {
				v.ended(i)
			}
		}
	}
}
