package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/flow"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// session is one program at work on one target, from its first request to its last.
type session struct {
	*seat
	bound  *program.Bound
	jar    *web.Jar
	memory memory
	opener *opened // the answer to the first request, when it is there already

	tell func([]Event)       // takes events as they come
	seen func(*web.Exchange) // is told of every answer; may be nil
	only *origin             // the request that seat.change is for

	workflow *boundWorkflow      // that is run instead of bound; nil for none
	found    func(match.Outcome) // is told of what operators found in each answer; may be nil

	state    uint8 // the worst so far
	reason   string
	fault    error        // why there was no answer, the first time
	requests atomic.Int32 // that were made
	used     atomic.Bool  // a cookie was set
}

// opened is the answer to a probe that a session begins with.
type opened struct {
	first *web.Exchange
	err   error
}

// session runs a program that is not plain. One that had no answer, and has told nothing
// yet, may be put off to the end.
func (v *visit) session(ctx context.Context, i int, with *opened) {
	expected := v.run.programs[i].Requests()
	if with != nil {
		expected--
	}
	v.begin(ctx, i, with, expected)
}

// begin runs a session, of which so many requests are expected and not counted yet.
func (v *visit) begin(ctx context.Context, i int, with *opened, requests int) {
	if ctx.Err() != nil {
		return
	}
	bound := v.run.programs[i]
	s := &session{seat: &v.seat, bound: bound, jar: web.NewJar(), opener: with, state: notApplicable, workflow: v.run.workflows[i]}
	told := false
	s.tell = func(events []Event) {
		v.mu.Lock()
		told = true
		v.note(i, len(events))
		v.markEvents(events)
		v.mu.Unlock()
		v.run.emit(events)
	}
	var expected atomic.Int64
	expected.Store(int64(requests))
	s.seen = func(x *web.Exchange) {
		v.run.times[i].add(x)
		if expected.Add(-1) >= 0 {
			v.run.counts.done.Add(1)
		}
		v.seeAll(ctx, x)
	}
	s.run(ctx)
	if ctx.Err() != nil {
		return
	}
	v.run.counts.done.Add(max(0, expected.Load()))
	settle := func() {
		v.mu.Lock()
		defer v.mu.Unlock()
		v.settle(i, answer{state: s.state, reason: s.reason})
		v.ended(i)
	}
	again := func(ctx context.Context) {
		if v.back() {
			v.begin(ctx, i, nil, 0)
		} else {
			settle()
		}
	}
	if s.state != failed || told || !v.lose(s.fault, again) {
		settle()
	}
}

// run runs the program: as its flow says, or block by block. A template that makes the
// engine panic ends alone, as failed.
func (s *session) run(ctx context.Context) {
	defer func() {
		if cause := recover(); cause != nil {
			s.note(failed, broke(cause))
		}
	}()
	if s.workflow != nil {
		s.steps(ctx)
		return
	}
	if s.bound.Flow != nil {
		err := s.bound.Flow.Run(ctx, &flow.Host{Call: s.call, Values: s.values, Field: s.memory.field, Set: s.memory.set})
		if stopped := (*flow.Error)(nil); errors.As(err, &stopped) {
			s.note(failed, err.Error())
		}
		return
	}
	for j := range s.bound.Blocks {
		if _, err := s.block(ctx, j); err != nil {
			return
		}
	}
}

// call is a protocol call of a flow.
func (s *session) call(ctx context.Context, c flow.Call) (matched bool, err error) {
	if c.Protocol != "http" {
		return false, nil
	}
	if len(c.IDs) == 0 {
		for j := range s.bound.Blocks {
			hit, err := s.block(ctx, j)
			if matched = matched || hit; err != nil {
				return matched, err
			}
		}
		return matched, nil
	}
	for _, id := range c.IDs {
		j, ok := s.bound.Find(id)
		if !ok {
			return matched, nil
		}
		hit, err := s.block(ctx, j)
		if matched = matched || hit; err != nil {
			return matched, err
		}
	}
	return matched, nil
}

// values are what a flow sees in its template object.
func (s *session) values() map[string]any {
	all := s.bound.Values(s.input(context.Background()))
	s.memory.snapshot(all)
	return all
}

// note remembers how something ended; the first reason of the worst state stays.
func (s *session) note(state uint8, reason string) {
	if state > s.state || state == s.state && s.reason == "" {
		s.state, s.reason = state, reason
	}
}

// take takes over what came of a turn.
func (s *session) take(t turn) {
	s.memory.extract(t.learned)
	s.note(t.state, t.reason)
	if s.fault == nil {
		s.fault = t.fault
	}
	if len(t.events) > 0 {
		s.tell(t.events)
	}
	for _, out := range t.found {
		s.found(out)
	}
}

// block makes all requests of a block, and says whether one of them matched as a flow
// sees it. The error is that of the context, or the budget's.
func (s *session) block(ctx context.Context, j int) (gate bool, err error) {
	b := &s.bound.Blocks[j]
	if b.NeedsTLS && s.address.Scheme != "https" && !s.bound.SelfContained {
		return false, nil
	}
	s.memory.begin()
	switch {
	case b.Fuzz != nil:
		return s.fuzz(ctx, j)
	case b.Pipeline != nil, b.Race > 0, b.Gate:
		return s.together(ctx, j)
	case b.HasPayloads() && !b.Chained && b.Tuples() > 1 && b.Threads != 1 && !s.used.Load():
		return s.abreast(ctx, j)
	}
	for t := range b.Tuples() {
		for k := range b.Entries {
			if b.Entries[k].Once && t > 0 {
				continue
			}
			rounds := 1
			if b.IterateAll {
				rounds = s.memory.rounds()
			}
			for round := range rounds {
				got := s.entry(ctx, j, k, t, round, s.jar)
				s.take(got)
				if gate = gate || got.gate; got.over || got.err != nil {
					return gate, got.err
				}
			}
		}
	}
	return gate, nil
}

// entry makes one request, follows it, and judges the answers.
func (s *session) entry(ctx context.Context, j, k, t, round int, jar *web.Jar) turn {
	in := s.input(ctx)
	in.Tuple, in.Carried = t, s.memory.carried(round)
	req, err := s.bound.Request(j, k, in)
	if ctx.Err() != nil {
		return turn{err: ctx.Err()}
	}
	if err != nil {
		return s.unmade(err)
	}
	req.Jar = jar
	chain, err := s.exchange(ctx, j, k, &req)
	if err != nil || ctx.Err() != nil {
		return unanswered(ctx, err)
	}
	return s.judge(ctx, j, k, t, &req, chain)
}

// exchange sends a request, or takes the answer that is there already, and follows
// redirects.
func (s *session) exchange(ctx context.Context, j, k int, req *program.Request) ([]*web.Exchange, error) {
	var first *web.Exchange
	var err error
	if with := s.opener; with != nil {
		if s.opener = nil; with.err != nil {
			return nil, with.err
		}
		first = with.first
		req.Jar.Keep(first)
	} else {
		if s.change != nil && (s.only == nil || s.only.block == j && s.only.entry == k) {
			s.change(&req.Request)
		}
		req.Fresh = req.Fresh || s.fresh
		if first, err = s.send(ctx, req.Request); err != nil {
			return nil, err
		}
	}
	s.requests.Add(1)
	chain, err := s.follow(ctx, first, s.bound.Follow(j, k), req.Jar)
	if s.seen != nil {
		for _, x := range chain {
			s.seen(x)
		}
	}
	return chain, err
}

// judge judges the answers to a request: the last first, then the redirects before it,
// backwards.
func (s *session) judge(ctx context.Context, j, k, t int, req *program.Request, chain []*web.Exchange) turn {
	b := &s.bound.Blocks[j]
	got := turn{state: tested}
	views := s.views(ctx, chain)
	if s.bound.Flow != nil || len(s.bound.Blocks) > 1 {
		for _, view := range views { // what blocks have learned wins over what an answer says
			view.Named = dsl.First(s.memory.learned, view.Named)
		}
	}
	vars := dsl.First(about(s.bound), s.memory.history, req.Scope.Lookup)
	for i, x := range slices.Backward(chain) {
		if x.Header("Set-Cookie") != "" {
			s.used.Store(true)
		}
		facts := dsl.First(views[i].Named, req.Scope.Lookup)
		if body := views[i].Body; body == nil && len(x.Body) > 0 {
			facts = withoutBody(facts)
		}
		s.memory.answered(b.ID, k+1, facts)
		out := b.Operators.Eval(views[i], vars)
		got.gate, got.matched = got.gate || out.Gate, got.matched || out.Matched
		got.learned = append(got.learned, out.Internal...)
		if s.found != nil && !out.Silent && len(out.Findings) > 0 {
			got.found = append(got.found, out)
		}
		h := hop{exchange: x, at: program.SpellHop(x.Request.Address), body: views[i].Body}
		if i == 0 {
			h.at = req.URL()
		}
		if !out.Silent {
			for _, f := range out.Findings {
				o := origin{bound: s.bound, block: j, entry: k, tuple: t}
				got.events = append(got.events, newEvent(o, s.target, s.address, h, f, req.Payload))
			}
		}
		if out.Matched && b.StopAtFirstMatch {
			got.over = true
			break
		}
	}
	return got
}

// withoutBody is the facts of an answer that was followed: it counts as having no body.
func withoutBody(facts dsl.Lookup) dsl.Lookup {
	return func(name string) (any, bool) {
		switch name {
		case "body":
			return "", true
		case "response":
			return facts("header")
		}
		return facts(name)
	}
}
