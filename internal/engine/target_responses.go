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

// request sends one request of the plan and gives the response to every entry that needs it.
func (t *targetScan) request(ctx context.Context, n int) {
	if ctx.Err() != nil {
		return
	}
	p := &t.plan.Requests[n]
	e := p.First()
	on := board.Of(ctx)
	on.At(e.Program)
	req, err := t.run.programs[e.Program].Request(e.Block, e.Entry, t.input(ctx))
	on.Idle()
	if err != nil {
		t.startSessions(p, nil)
		t.deliver(p, result{End: program.NotMade(err)})
		return
	}
	first, err := t.send(ctx, req.Request)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		if !t.retryLater(err, func(ctx context.Context) { t.retry(ctx, n, err) }) {
			t.unanswered(p, err)
		}
	default:
		t.answered(ctx, p, first)
	}
}

// retry sends a request without a response again if the host has recovered.
func (t *targetScan) retry(ctx context.Context, n int, err error) {
	if t.recovered() {
		t.request(ctx, n)
	} else if ctx.Err() == nil {
		t.unanswered(&t.plan.Requests[n], err)
	}
}

// unanswered ends all entries of a request without a response.
func (t *targetScan) unanswered(p *program.PlannedRequest, err error) {
	t.startSessions(p, &firstResponse{nil, err})
	t.deliver(p, result{End: endOf(err)})
}

// answered evaluates a response for all entries that need it.
func (t *targetScan) answered(ctx context.Context, p *program.PlannedRequest, first *web.Exchange) {
	results := make([]result, len(p.Entries))
	t.evaluate(ctx, p, first, results)
	if ctx.Err() != nil {
		return
	}
	t.evaluateGlobals(ctx, first)
	if t.startSessions(p, &firstResponse{first, nil}); len(p.SessionStarts) == 0 {
		first.Release()
	}
	t.deliver(p, results...)
}

// deliver records the results of a request's entries and reports events. A single result is that of all entries.
func (t *targetScan) deliver(p *program.PlannedRequest, results ...result) {
	type ended struct {
		program int
		end     coverage.End
	}
	var events []Event
	var cells []ended
	t.mu.Lock()
	for n, e := range p.Entries {
		before := t.pending[e.Program]
		some := t.applyResult(e, results[min(n, len(results)-1)])
		if events = append(events, some...); len(some) > 0 {
			t.matchedBy(e.Program, len(some))
		}
		if before > 0 && t.pending[e.Program] == 0 && t.run.checkpoint != nil {
			cells = append(cells, ended{e.Program, t.report.cells.Cell(e.Program)})
		}
	}
	t.markEvents(events)
	t.mu.Unlock()
	t.run.emit(events)
	for _, c := range cells { // after their events
		t.run.checkpoint.Cell(t.target.Input, c.program, c.end)
	}
	t.run.counts.done.Add(1)
}

// startSessions queues the sessions that wait for the response to a request.
func (t *targetScan) startSessions(p *program.PlannedRequest, with *firstResponse) {
	for _, e := range p.SessionStarts {
		if t.pending[e.Program] > 0 {
			t.tasks.AddUrgent(func(ctx context.Context) { t.session(ctx, e.Program, with) })
		}
	}
}

// evaluate evaluates a first response and its redirects for all entries of a request.
func (t *targetScan) evaluate(ctx context.Context, p *program.PlannedRequest, first *web.Exchange, results []result) {
	ev := evaluation{targetScan: t, ctx: ctx, request: p, results: results}
	for i := range results {
		results[i].State = Tested
	}
	alone := t.views(ctx, []*web.Exchange{first})
	if !first.Redirects() || len(p.Chains) <= 1 && (len(p.Chains) == 0 || p.Chains[0].Follow.Mode == web.NoRedirects) {
		ev.all([]*web.Exchange{first}, alone, nil, p.Group)
		return
	}
	var longest []*web.Exchange
	var followed program.Follow // of longest
	for i := range p.Chains {
		c := &p.Chains[i]
		var err error
		chain := prefix(longest, followed, c.Follow)
		if chain == nil {
			chain, err = t.follow(ctx, first, c.Follow, nil)
			if longest == nil && err == nil {
				longest, followed = chain, c.Follow
			}
		}
		if err != nil {
			for _, n := range c.Entries {
				results[n] = result{End: endOf(err)}
			}
			continue
		}
		views := alone
		if len(chain) > 1 {
			views = t.views(ctx, chain)
		}
		ev.all(chain, views, c.Entries, c.Group)
	}
}

// prefix is the part of a chain, followed as how says, that a shorter way of following (less) would get; nil when
// less must be followed separately.
func prefix(chain []*web.Exchange, how, less program.Follow) []*web.Exchange {
	if chain == nil {
		return nil
	}
	n := less.PrefixLen(chain)
	if n == len(chain) && !how.Covers(less) {
		return nil
	}
	return chain[:n]
}

// evaluation evaluates the response to one request of the plan.
type evaluation struct {
	*targetScan
	ctx     context.Context
	request *program.PlannedRequest
	results []result // by entry of the request
}

// all evaluates a chain of responses, the last first, for some entries of the request (nil: all). After a panic each
// is evaluated alone, so that only the template that caused it fails.
func (ev *evaluation) all(chain []*web.Exchange, views []*match.Response, entries []int, group *match.Group) {
	if entries == nil {
		entries = make([]int, len(ev.request.Entries))
		for n := range entries {
			entries[n] = n
		}
	}
	for _, n := range entries {
		ev.run.costs[ev.request.Entries[n].Program].Request(chain[0].Duration)
	}
	if ev.group(chain, views, entries, group) == nil {
		return
	}
	for _, n := range entries {
		ev.results[n] = result{End: coverage.End{State: Tested}}
		one := match.NewGroup([]*match.Operators{ev.block(ev.request.Entries[n]).Operators})
		if cause := ev.group(chain, ev.views(ev.ctx, chain), []int{n}, one); cause != nil {
			ev.results[n] = result{End: panicked(cause)}
		}
	}
}

// group evaluates a chain for entries whose operators are those of group, in the same order; it returns the cause of
// a panic.
func (ev *evaluation) group(
	chain []*web.Exchange, views []*match.Response, entries []int, group *match.Group,
) (cause any) {
	on := board.Of(ev.ctx)
	defer func() { cause = recover(); on.Idle() }()
	before := func(k int) { on.At(ev.request.Entries[entries[k]].Program) }
	vars := func(i int) dsl.Lookup {
		e := ev.request.Entries[entries[i]]
		b := ev.run.programs[e.Program]
		return dsl.First(b.Own(), b.Variables(e.Block, e.Entry, ev.input(ev.ctx)).Lookup)
	}
	for i, view := range slices.Backward(views) {
		if view.Before = nil; on != nil {
			view.Before = before
		}
		group.Eval(view, vars, func(k int, out match.Outcome) {
			n := entries[k]
			e, got := ev.request.Entries[n], &ev.results[n]
			if got.matched && ev.block(e).StopAtFirstMatch || !ev.wanted(e) {
				return
			}
			if out.Limited != nil {
				got.End = program.Limited(out.Limited)
				return
			}
			got.matched = got.matched || out.Matched
			got.events = append(got.events, ev.events(ev.ctx, e, chain, i, out)...)
		})
	}
	return nil
}

// events makes the events of an entry's findings in response i of a chain.
func (t *targetScan) events(
	ctx context.Context, e program.EntryIndex, chain []*web.Exchange, i int, out match.Outcome,
) []Event {
	if out.Silent || len(out.Findings) == 0 {
		return nil
	}
	b := t.run.programs[e.Program]
	h := event.Hop{Exchange: chain[i], URL: program.RedirectURL(chain[i].Request.Address)}
	if i == len(chain)-1 {
		h.Body = chain[i].Body
	}
	if i == 0 {
		// Entries that share a request may write its URL in different ways.
		if req, err := b.Request(e.Block, e.Entry, t.input(ctx)); err == nil {
			h.URL = req.EventURL(chain[0])
		}
	}
	var all []Event
	for _, f := range out.Findings {
		all = append(all, event.New(event.Origin{Bound: b, Block: e.Block, Entry: e.Entry}, t.target, t.address, h, f, nil))
	}
	return all
}

// wanted is false for entries after the match of a block that stops there, for blocks that do not apply and for
// programs that do not run.
func (t *targetScan) wanted(e program.EntryIndex) bool {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.pending[e.Program] <= 0 || t.idle(t.block(e)) {
		return false
	}
	s := t.stops[[2]int{e.Program, e.Block}]
	return s == nil || !s.over
}
