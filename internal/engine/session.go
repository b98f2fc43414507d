package engine

import (
	"context"
	"errors"
	"slices"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/board"
	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/event"
	"github.com/vedette-sec/vedette/internal/engine/flow"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// session runs one program on one target, from its first request to its last.
type session struct {
	*requester
	bound   *program.Bound
	index   int // of the program in the scan
	jar     *web.Jar
	history program.History
	first   *firstResponse // when it is there already

	emit       func([]Event)              // reports events
	onReceive  func(*web.Exchange)        // called for every response; may be nil
	onReply    func(waited time.Duration) // the same for every reply to a probe
	onlyOrigin *event.Origin              // what requester.change changes

	workflow  *boundWorkflow      // runs instead of bound; may be nil
	onLog     *event.Logger       // of scripts; nil: nobody reads it
	onOutcome func(match.Outcome) // called for the findings of each response; may be nil
	onPending func(awaited)       // called for requests that interactions may come for; may be nil

	heard oob.Tuples

	end      coverage.End // the worst so far
	unsent   int          // payloads that cannot be sent
	fault    error        // the first reason for no response
	requests atomic.Int32 // that were answered
	cookies  atomic.Bool  // a response has set a cookie

	unsentEnd coverage.End // why the first of unsent cannot be sent
}

// firstResponse is the response to a planned request that a session starts with.
type firstResponse struct {
	exchange *web.Exchange
	err      error
}

// session runs a program that is not plain.
func (t *targetScan) session(ctx context.Context, i int, with *firstResponse) {
	expected := t.run.programs[i].Requests()
	if with != nil {
		expected--
	}
	t.runSession(ctx, i, with, expected)
}

// runSession runs a session; requests is how many of its expected requests are not counted yet. A session without a
// response that has reported nothing may be retried at the end.
func (t *targetScan) runSession(ctx context.Context, i int, with *firstResponse, requests int) {
	if ctx.Err() != nil {
		return
	}
	s := &session{
		requester: &t.requester, bound: t.run.programs[i], index: i, jar: web.NewJar(), first: with,
		end: coverage.End{State: NotApplicable}, workflow: t.run.workflows[i],
	}
	emitted := false
	s.emit = func(events []Event) {
		t.mu.Lock()
		emitted = true
		t.matchedBy(i, len(events))
		t.markEvents(events)
		t.mu.Unlock()
		board.Of(ctx).Waits(i)
		t.run.emit(events)
		board.Of(ctx).At(i)
	}
	if t.run.scan.Expect != nil {
		s.onPending = func(p awaited) { t.await(i, p) }
	}
	var expected atomic.Int64
	expected.Store(int64(requests))
	s.onReceive = func(x *web.Exchange) {
		t.run.costs[i].Request(x.Duration)
		if expected.Add(-1) >= 0 {
			t.run.counts.done.Add(1)
		}
		t.evaluateGlobals(ctx, x)
		board.Of(ctx).At(i)
	}
	s.onLog = event.NewLogger(t.report.Target, t.run.scan.OnLog, &t.run.emitting)
	s.onReply = func(waited time.Duration) {
		t.run.costs[i].Request(waited)
		if expected.Add(-1) >= 0 {
			t.run.counts.done.Add(1)
		}
		t.answeredProbe()
	}
	board.Of(ctx).At(i)
	s.run(ctx)
	board.Of(ctx).Idle()
	if ctx.Err() != nil {
		return
	}
	t.run.counts.done.Add(max(0, expected.Load()))
	finish := func() {
		t.mu.Lock()
		defer t.mu.Unlock()
		t.record(i, s.end)
		t.checkpoint(i)
	}
	retry := func(ctx context.Context) {
		if t.recovered() {
			t.runSession(ctx, i, nil, 0)
		} else {
			finish()
		}
	}
	if s.end.State != Failed || emitted || !t.retryLater(s.fault, retry) {
		finish()
	}
}

// run runs the program as its flow says, or block by block. A template that makes the engine panic fails alone.
func (s *session) run(ctx context.Context) {
	defer s.endUnsent()
	defer func() {
		if cause := recover(); cause != nil {
			s.addEnd(panicked(cause))
		}
	}()
	if s.workflow != nil {
		s.steps(ctx)
		return
	}
	if s.bound.Flow != nil {
		err := s.bound.Flow.Run(ctx, &flow.Host{Call: s.call, Values: s.values, Field: s.history.Field, Set: s.history.Set,
			Log: s.onLog.Of(s.bound.ID), Compute: s.engine.cfg.Compute})
		if _, stopped := errors.AsType[*flow.Error](err); stopped {
			s.addEnd(coverage.End{State: Failed, Reason: err.Error()})
		}
		return
	}
	for j := range s.bound.Blocks {
		if _, err := s.block(ctx, j); err != nil {
			return
		}
	}
}

// call runs a protocol call of a flow.
func (s *session) call(ctx context.Context, c flow.Call) (matched bool, err error) {
	var blocks []int
	for _, id := range c.IDs {
		j, ok := s.bound.Find(c.Protocol, id)
		if !ok {
			break
		}
		blocks = append(blocks, j)
	}
	if len(c.IDs) == 0 {
		for j := range s.bound.Blocks {
			if s.bound.Blocks[j].Protocol == c.Protocol {
				blocks = append(blocks, j)
			}
		}
	}
	for _, j := range blocks {
		hit, err := s.block(ctx, j)
		if matched = matched || hit; err != nil {
			return matched, err
		}
	}
	return matched, nil
}

// values are the fields of the template object of a flow.
func (s *session) values() map[string]any {
	all := s.bound.Values(s.input(context.Background()))
	s.history.Snapshot(all)
	return all
}

// addEnd keeps the worst state, with its first reason.
func (s *session) addEnd(end coverage.End) {
	if end.State.WorseThan(s.end.State) || !s.end.State.WorseThan(end.State) && s.end.Reason == "" {
		s.end = end
	}
}

// apply applies the result of an entry.
func (s *session) apply(r entryResult) {
	s.history.Extract(r.extracted)
	if r.unsent {
		if s.unsent++; s.unsent == 1 {
			s.unsentEnd = r.End
		}
		r.End, r.fault = coverage.End{State: NotApplicable}, nil
	}
	s.addEnd(r.End)
	if s.fault == nil {
		s.fault = r.fault
	}
	if len(r.events) > 0 {
		s.emit(r.events)
	}
	for _, out := range r.outcomes {
		s.onOutcome(out)
	}
	for _, p := range r.pending {
		s.onPending(p)
	}
}

// block sends all requests of a block and reports whether one matched as a flow sees it. The error is that of the
// context, or sender.ErrBudget.
func (s *session) block(ctx context.Context, j int) (matched bool, err error) {
	b := &s.bound.Blocks[j]
	if b.NeedsTLS && s.address.Scheme != "https" && !s.bound.SelfContained {
		return false, nil
	}
	s.history.BeginBlock()
	switch {
	case b.Fuzz != nil:
		return s.fuzz(ctx, j)
	case b.Probe != nil:
		return s.probe(ctx, j)
	case b.Pipeline != nil, b.Race > 0, b.AllAtOnce:
		return s.raceOrPipeline(ctx, j)
	case b.HasPayloads() && !b.Chained && b.Tuples() > 1 && b.Threads != 1 && !s.cookies.Load():
		return s.parallel(ctx, j)
	}
	for t := range b.Tuples() {
	entries:
		for k := range b.Entries {
			if b.Entries[k].Once && t > 0 {
				continue
			}
			rounds := 1
			if b.IterateAll {
				rounds = s.history.Rounds()
			}
			for round := range rounds {
				got := s.entry(ctx, j, k, t, round, s.jar)
				s.apply(got)
				if matched = matched || got.flowMatched; got.over || got.err != nil {
					return matched, got.err
				}
				if got.unsent {
					break entries
				}
			}
		}
	}
	return matched, nil
}

// entry sends the request of one entry, follows redirects and evaluates the responses.
func (s *session) entry(ctx context.Context, j, k, t, round int, jar *web.Jar) entryResult {
	in := s.input(ctx)
	in.Tuple, in.Earlier = t, s.history.Lookup(round)
	req, err := s.bound.Request(j, k, in)
	if ctx.Err() != nil {
		return entryResult{err: ctx.Err()}
	}
	if err != nil {
		return ofPayload(s.bound.Blocks[j].Tuples() > 1, s.notMade(err))
	}
	req.Jar = jar
	chain, err := s.exchange(ctx, j, k, &req)
	if err != nil || ctx.Err() != nil {
		got := ofPayload(s.bound.Blocks[j].Tuples() > 1, unanswered(ctx, err))
		got.pending = s.unansweredPending(ctx, j, k, t, &req, err)
		return got
	}
	return s.evaluate(ctx, j, k, t, &req, chain)
}

// exchange sends a request, unless its response is there already, and follows redirects.
func (s *session) exchange(ctx context.Context, j, k int, req *program.Request) ([]*web.Exchange, error) {
	var first *web.Exchange
	var err error
	if with := s.first; with != nil {
		if s.first = nil; with.err != nil {
			return nil, with.err
		}
		first = with.exchange
		req.Jar.Keep(first)
	} else {
		if s.change != nil && (s.onlyOrigin == nil || s.onlyOrigin.Block == j && s.onlyOrigin.Entry == k) {
			s.change(&req.Request)
		}
		req.Fresh = req.Fresh || s.newConnection
		board.Of(ctx).Waits(s.index)
		first, err = s.send(ctx, req.Request)
		if board.Of(ctx).At(s.index); err != nil {
			return nil, err
		}
	}
	s.requests.Add(1)
	board.Of(ctx).Waits(s.index)
	chain, err := s.follow(ctx, first, s.bound.Follow(j, k), req.Jar)
	board.Of(ctx).At(s.index)
	if s.onReceive != nil {
		for _, x := range chain {
			s.onReceive(x)
		}
	}
	return chain, err
}

// evaluate evaluates the responses to a request, the last first.
func (s *session) evaluate(ctx context.Context, j, k, t int, req *program.Request, chain []*web.Exchange) entryResult {
	b := &s.bound.Blocks[j]
	got := entryResult{End: coverage.End{State: Tested}}
	views := s.views(ctx, chain)
	if s.bound.Flow != nil || len(s.bound.Blocks) > 1 {
		for _, view := range views { // extracted values win over fields of the response
			view.Named = dsl.First(s.history.Value, view.Named)
		}
	}
	vars := dsl.First(s.bound.Own(), req.Variables.Sent, s.history.Numbered, req.Variables.Lookup)
	for i, x := range slices.Backward(chain) {
		if x.Header("Set-Cookie") != "" {
			s.cookies.Store(true)
		}
		fields := dsl.First(views[i].Named, req.Variables.Sent, req.Variables.Lookup)
		if body := views[i].Body; body == nil && len(x.Body) > 0 {
			fields = withoutBody(fields)
		}
		s.history.AddResponse(b.ID, k+1, fields)
		out := b.Operators.Eval(views[i], vars)
		if out.Limited != nil {
			got.End = program.Limited(out.Limited)
		}
		got.flowMatched, got.matched = got.flowMatched || out.FlowMatched, got.matched || out.Matched
		got.extracted = append(got.extracted, out.Internal...)
		if s.onOutcome != nil && !out.Silent && len(out.Findings) > 0 {
			got.outcomes = append(got.outcomes, out)
		}
		h := event.Hop{Exchange: x, URL: program.RedirectURL(x.Request.Address), Body: views[i].Body}
		if i == 0 {
			h.URL = req.EventURL(x)
		}
		if !out.Silent {
			for _, f := range out.Findings {
				o := event.Origin{Bound: s.bound, Block: j, Entry: k, Tuple: t}
				got.events = append(got.events, event.New(o, s.target, s.address, h, f, req.Payload))
			}
		}
		if out.Matched && b.StopAtFirstMatch {
			got.over = true
			break
		}
	}
	last := len(chain) - 1
	final := event.Hop{Exchange: chain[last], URL: req.EventURL(chain[last]), Body: views[last].Body}
	got.pending = s.httpPending(j, k, t, req, final, views[last], vars)
	got.alreadyFound()
	return got
}

// withoutBody are the fields of a response whose redirect was followed.
func withoutBody(fields dsl.Lookup) dsl.Lookup {
	return func(name string) (any, bool) {
		switch name {
		case "body":
			return "", true
		case "response":
			return fields("header")
		}
		return fields(name)
	}
}
