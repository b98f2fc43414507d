package engine

import (
	"context"
	"net/http"
	"slices"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/fuzz"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// sender sends one request in whatever limits apply.
type sender func(ctx context.Context, req web.Request) (*web.Exchange, error)

// seat is from where one target is looked at.
type seat struct {
	engine  *Engine
	target  Target
	address rawurl.URL // where the target answers
	send    sender
	gate    gateFunc      // for the requests that follow redirects
	hands   chan struct{} // a place for each payload tuple under way
	budget  *budget       // of the scan; nil outside of one

	frequency *fuzz.Frequency // of the scan; nil outside of one

	fresh  bool                   // nothing is shared with other requests, not even connections
	change func(req *web.Request) // of the request that is asked again; nil for none
}

// input is what requests are made from on the target.
func (s *seat) input(ctx context.Context) program.Input {
	return program.Input{Ctx: ctx, Target: s.address, Host: s.engine.world}
}

// follow goes on from a first answer as a program wants, with the cookies of a jar; nil
// for a jar of the chain's own. A redirect out of scope is one that is not followed.
func (s *seat) follow(ctx context.Context, first *web.Exchange, how program.Follow, jar *web.Jar) ([]*web.Exchange, error) {
	if how.Mode == web.NoRedirects || !redirects(first) {
		return []*web.Exchange{first}, nil
	}
	chain, err := s.engine.client.Follow(ctx, first, web.Policy{
		Mode: how.Mode, SameScheme: how.SameScheme, Max: how.Max, Jar: jar, Gate: s.gate,
		Allow: s.engine.allows,
	})
	if err != nil && errs.Is(err, errs.Forbidden) {
		err = nil
	}
	return chain, err
}

// redirects says whether an answer sends somewhere else.
func redirects(x *web.Exchange) bool {
	switch x.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		return x.Header("Location") != ""
	}
	return false
}

// view is an answer as matchers see it; body is nil for one that was followed.
func (s *seat) view(ctx context.Context, x *web.Exchange, body []byte) *match.Response {
	return &match.Response{
		Status: x.Status, Body: body, Head: x.Head, Raw: x.Sent,
		Named: func(name string) (any, bool) {
			if name == "host" {
				return s.target.Input, true
			}
			return x.Named(name)
		},
		Ctx: ctx, Host: s.engine.world,
	}
}

// views are the answers of a chain as matchers see them: only the last has a body.
func (s *seat) views(ctx context.Context, chain []*web.Exchange) []*match.Response {
	all := make([]*match.Response, len(chain))
	for i, x := range chain {
		if i == len(chain)-1 {
			all[i] = s.view(ctx, x, x.Body)
		} else {
			all[i] = s.view(ctx, x, nil)
		}
	}
	return all
}

// about is what names mean to operators of a program besides answers and variables.
func about(b *program.Bound) dsl.Lookup {
	return func(name string) (any, bool) {
		switch name {
		case "template-id":
			return b.ID, true
		case "template-path":
			return b.Path, true
		}
		return nil, false
	}
}

// probe sends one request and gives everyone who asked for it the answer.
func (v *visit) probe(ctx context.Context, n int) {
	if ctx.Err() != nil {
		return
	}
	p := &v.plan.probes[n]
	a := p.first()
	req, err := v.run.programs[a.program].Request(a.block, a.entry, v.input(ctx))
	if err != nil {
		v.open(p, nil)
		state, reason := unmade(err)
		v.deliver(p, answer{state: state, reason: reason})
		return
	}
	first, err := v.send(ctx, req.Request)
	switch {
	case ctx.Err() != nil:
	case err != nil:
		if !v.lose(err, func(ctx context.Context) { v.reprobe(ctx, n, err) }) {
			v.unanswered(p, err)
		}
	default:
		v.answered(ctx, p, first)
	}
}

// reprobe sends a probe again that had no answer, if there is hope.
func (v *visit) reprobe(ctx context.Context, n int, err error) {
	if v.back() {
		v.probe(ctx, n)
	} else if ctx.Err() == nil {
		v.unanswered(&v.plan.probes[n], err)
	}
}

// unanswered tells all who wait for a probe that it has no answer.
func (v *visit) unanswered(p *probe, err error) {
	v.open(p, &opened{nil, err})
	state, reason := outcome(err)
	v.deliver(p, answer{state: state, reason: reason})
}

// answered gives all who wait for a probe the answer.
func (v *visit) answered(ctx context.Context, p *probe, first *web.Exchange) {
	answers := make([]answer, len(p.asks))
	v.judgeProbe(ctx, p, first, answers)
	if ctx.Err() != nil {
		return
	}
	v.seeAll(ctx, first)
	if v.open(p, &opened{first, nil}); len(p.openers) == 0 {
		first.Release()
	}
	v.deliver(p, answers...)
}

// deliver puts the answers to a probe in their places and hands events on. One answer is
// everybody's.
func (v *visit) deliver(p *probe, answers ...answer) {
	type over struct {
		program int
		ended
	}
	var events []Event
	var overs []over
	v.mu.Lock()
	for n, a := range p.asks {
		before := v.left[a.program]
		some := v.take(a, answers[min(n, len(answers)-1)])
		if events = append(events, some...); len(some) > 0 {
			v.note(a.program, len(some))
		}
		if before > 0 && v.left[a.program] == 0 && v.run.saved != nil {
			overs = append(overs, over{a.program, v.end(a.program)})
		}
	}
	v.markEvents(events)
	v.mu.Unlock()
	v.run.emit(events)
	for _, o := range overs {
		v.run.saved.cell(v.target.Input, o.program, o.ended)
	}
	v.run.counts.done.Add(1)
}

// open lets the sessions begin that wait for the answer to a probe.
func (v *visit) open(p *probe, with *opened) {
	for _, a := range p.openers {
		if v.left[a.program] > 0 {
			v.work.hurry(func(ctx context.Context) { v.session(ctx, a.program, with) })
		}
	}
}

// judgeProbe judges a first answer, and what follows when it is a redirect, for all who
// asked for it.
func (v *visit) judgeProbe(ctx context.Context, p *probe, first *web.Exchange, answers []answer) {
	j := probeJudge{visit: v, ctx: ctx, probe: p, answers: answers}
	for i := range answers {
		answers[i].state = tested
	}
	if !redirects(first) || len(p.follows) <= 1 && (len(p.follows) == 0 || p.follows[0].how.Mode == web.NoRedirects) {
		j.all([]*web.Exchange{first}, v.views(ctx, []*web.Exchange{first}), nil, p.group)
		return
	}
	var longest []*web.Exchange
	var same program.Follow
	alone := v.views(ctx, []*web.Exchange{first})
	for i := range p.follows {
		f := &p.follows[i]
		var err error
		chain := prefix(longest, same, f.how)
		if chain == nil {
			chain, err = v.follow(ctx, first, f.how, nil)
			if longest == nil && err == nil {
				longest, same = chain, f.how
			}
		}
		if err != nil {
			j.fail(f.asks, err)
			continue
		}
		views := alone
		if len(chain) > 1 {
			views = v.views(ctx, chain)
		}
		j.all(chain, views, f.asks, f.group)
	}
}

// probeJudge judges the answer to one probe.
type probeJudge struct {
	visit   *visit
	ctx     context.Context
	probe   *probe
	answers []answer
}

// prefix is the chain of who follows less far, cut off one that is there already; nil
// when it has to be followed by itself.
func prefix(chain []*web.Exchange, how, less program.Follow) []*web.Exchange {
	if chain == nil {
		return nil
	}
	n := less.Within(chain)
	if n == len(chain) && !how.Covers(less) {
		return nil
	}
	return chain[:n]
}

// fail settles those asks whose redirects had no answer.
func (j *probeJudge) fail(asks []int, err error) {
	state, reason := outcome(err)
	for _, n := range asks {
		j.answers[n] = answer{state: state, reason: reason}
	}
}

// all judges a chain of answers: the last first, then the redirects before it,
// backwards. asks are places in the probe's list, nil for all of it. A template that makes
// the engine panic fails alone: then each is judged by itself.
func (j *probeJudge) all(chain []*web.Exchange, views []*match.Response, asks []int, group *match.Group) {
	if asks == nil {
		asks = j.every()
	}
	for _, n := range asks {
		j.visit.run.times[j.probe.asks[n].program].add(chain[0])
	}
	if j.judge(chain, views, asks, group) == nil {
		return
	}
	for _, n := range asks {
		j.answers[n] = answer{state: tested}
		one := match.NewGroup([]*match.Operators{j.visit.block(j.probe.asks[n]).Operators})
		if cause := j.judge(chain, j.visit.views(j.ctx, chain), []int{n}, one); cause != nil {
			j.answers[n] = answer{state: failed, reason: broke(cause)}
		}
	}
}

// every is the places of all asks.
func (j *probeJudge) every() []int {
	all := make([]int, len(j.probe.asks))
	for n := range all {
		all[n] = n
	}
	return all
}

// judge judges a chain of answers for some asks, which are those of group in its order;
// it gives the cause of a panic.
func (j *probeJudge) judge(chain []*web.Exchange, views []*match.Response, asks []int, group *match.Group) (cause any) {
	defer func() { cause = recover() }()
	vars := func(i int) dsl.Lookup {
		a := j.probe.asks[asks[i]]
		b := j.visit.run.programs[a.program]
		return dsl.First(about(b), b.Scope(a.block, a.entry, j.visit.input(j.ctx)).Lookup)
	}
	for i, view := range slices.Backward(views) {
		group.Eval(view, vars, func(k int, out match.Outcome) {
			n := asks[k]
			a, got := j.probe.asks[n], &j.answers[n]
			if got.matched && j.visit.block(a).StopAtFirstMatch || !j.visit.wanted(a) {
				return
			}
			got.matched = got.matched || out.Matched
			got.events = append(got.events, j.visit.events(j.ctx, a, chain, i, out)...)
		})
	}
	return nil
}

// events tells of the findings of an ask in answer i of a chain.
func (v *visit) events(ctx context.Context, a ask, chain []*web.Exchange, i int, out match.Outcome) []Event {
	if out.Silent || len(out.Findings) == 0 {
		return nil
	}
	b := v.run.programs[a.program]
	h := hop{exchange: chain[i], at: program.SpellHop(chain[i].Request.Address)}
	if i == len(chain)-1 {
		h.body = chain[i].Body
	}
	if i == 0 {
		// Those who share a request may write its URL in different ways.
		if req, err := b.Request(a.block, a.entry, v.input(ctx)); err == nil {
			h.at = req.URL()
		}
	}
	var all []Event
	for _, f := range out.Findings {
		all = append(all, newEvent(origin{bound: b, block: a.block, entry: a.entry}, v.target, v.address, h, f, nil))
	}
	return all
}

// wanted is false for entries that come after the match of a block that stops there,
// for blocks that do not apply, and for programs that are not run.
func (v *visit) wanted(a ask) bool {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.left[a.program] <= 0 || v.idle(v.block(a)) {
		return false
	}
	s := v.stops[[2]int{a.program, a.block}]
	return s == nil || !s.over
}
