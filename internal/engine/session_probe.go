package engine

import (
	"context"
	"errors"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/board"
	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/event"
	"github.com/vedette-sec/vedette/internal/engine/prober"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
)

// isPath is why a template does not apply to a path.
const isPath = "the target is a file or a folder"

// probe runs a block of another protocol than HTTP, for one tuple of payloads after the other.
func (s *session) probe(ctx context.Context, j int) (matched bool, err error) {
	if err := s.probePayloads(ctx, j); err != nil {
		got := entryResult{End: coverage.End{State: NotApplicable}}
		s.probeFailed(ctx, err, &got)
		s.apply(got)
		return false, errors.Join(got.err, ctx.Err())
	}
	for t := range s.bound.Blocks[j].Tuples() {
		got := s.probeTuple(ctx, j, t)
		s.apply(got)
		if matched = matched || got.flowMatched; got.over || got.err != nil || ctx.Err() != nil {
			return matched, errors.Join(got.err, ctx.Err())
		}
	}
	return matched, nil
}

func (s *session) probeTuple(ctx context.Context, j, t int) entryResult {
	if s.bound.Blocks[j].Protocol == "headless" {
		return s.probeAt(ctx, j, t, s.address)
	}
	return s.probeAt(ctx, j, t, s.target.AsGiven())
}

// probeAt runs a block on the target at an address.
func (s *session) probeAt(ctx context.Context, j, t int, at rawurl.URL) entryResult {
	if s.target.Path && s.bound.Blocks[j].Protocol != "file" {
		return entryResult{End: coverage.End{State: NotApplicable, Reason: isPath}}
	}
	r := s.prober(ctx, j, t, at).Do(ctx)
	got := entryResult{
		End: coverage.End{State: NotApplicable}, flowMatched: r.FlowMatched, matched: r.Matched, over: r.Over,
	}
	switch {
	case r.Limited != nil:
		got.End = program.Limited(r.Limited)
	case r.Replied:
		got.State = Tested
	}
	if s.onOutcome != nil {
		got.outcomes = r.Outcomes
	}
	for _, f := range r.Findings {
		got.events = append(got.events, s.probeEvent(j, t, f, r))
	}
	got.pending = s.probePending(j, t, r)
	got.alreadyFound()
	if r.Err != nil {
		s.probeFailed(ctx, r.Err, &got)
	}
	return got
}

// probePayloads replaces the payloads of a block where its probe wants that.
func (s *session) probePayloads(ctx context.Context, j int) error {
	if b := &s.bound.Blocks[j]; b.Protocol != "javascript" || !b.HasPayloads() || s.target.Path {
		return nil
	}
	with, err := s.prober(ctx, j, 0, s.target.AsGiven()).Payloads(ctx)
	if err == nil {
		s.bound = with
	}
	return err
}

func (s *session) prober(ctx context.Context, j, t int, at rawurl.URL) *prober.Run {
	in := s.input(ctx)
	in.Target, in.Tuple, in.Earlier = at, t, s.history.Lookup(0)
	cfg := &s.engine.cfg
	return &prober.Run{
		Bound: s.bound, Block: j, Input: in, History: &s.history, Dials: s.dials, Names: s.bound.Own(),
		Env: proto.Env{
			Input: s.target.Input, Target: in.Target, Timeout: cfg.Timeout, Files: cfg.Files, DNS: cfg.Resolvers,
			Program: cfg.Program, Begin: s.begin, Dial: cfg.Dial, DialHelper: cfg.DialHelper,
			Pages: cfg.Pages, Headers: cfg.Headers, Jar: s.jar, Allow: cfg.Allow, Log: s.onLog.Of(s.bound.ID),
			Scripts: s.engine.scripts,
		},
		OnReply: func(waited time.Duration) {
			s.requests.Add(1)
			if s.onReply != nil {
				s.onReply(waited)
			}
		},
		Working: func(working bool) {
			if working {
				board.Of(ctx).At(s.index)
			} else {
				board.Of(ctx).Waits(s.index)
			}
		},
	}
}

// probeFailed adds the error of a probe to the result of its block.
func (s *session) probeFailed(ctx context.Context, err error, got *entryResult) {
	end, ok := prober.EndOf(err)
	var failed entryResult
	switch {
	case ok:
		failed.End = end
	case prober.IsRendering(err):
		failed = s.notMade(err)
	default:
		failed = unanswered(ctx, err)
	}
	if failed.State.WorseThan(got.State) || failed.State == got.State && got.Reason == "" {
		got.End = failed.End
	}
	got.err, got.over = failed.err, got.over || failed.over
}

// probeEvent is the event of a finding in a reply.
func (s *session) probeEvent(j, t int, f prober.Finding, r prober.Result) Event {
	ev := event.Base(event.Origin{Bound: s.bound, Block: j, Tuple: t}, s.target, f.Finding, r.Payload)
	reply := f.Reply
	ev.Type, ev.IP = s.bound.Blocks[j].Protocol, reply.IP
	ev.Host, ev.Port, ev.Scheme = reply.Host, reply.Port, reply.Scheme
	ev.MatchedAt, ev.Path, ev.MatchedLine = Clean(reply.MatchedAt), Clean(reply.Path), f.Lines
	ev.Request, ev.Response = Clean(event.Dump([]byte(reply.Request))), Clean(event.Dump([]byte(reply.Response)))
	if reply.Host != "" {
		ev.URL = Clean(s.target.Address.String())
	}
	return ev
}

// answeredProbe notes that a target is there although it was not looked for over HTTP.
func (t *targetScan) answeredProbe() {
	if t.targetless() {
		return
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if !t.report.Alive {
		t.report.Alive = true
		if !t.target.Path {
			t.report.URL = t.target.AsGiven().String()
		}
	}
}

// find finds out where the target answers over HTTP, if a program needs that. Programs of HTTP alone end there
// otherwise; the error is for all programs.
func (t *targetScan) find(ctx context.Context) error {
	http, probes := t.uses()
	t.address = t.target.Address
	switch {
	case t.target.Path:
		t.endHTTP(coverage.End{State: NotApplicable, Reason: isPath})
		return nil
	case !http:
		return nil
	case len(t.target.Schemes) == 0:
		t.endHTTP(coverage.End{State: NotApplicable, Reason: "the target is a WebSocket"})
		return nil
	}
	err := t.locate(ctx)
	if err == nil || !probes || ctx.Err() != nil {
		return err
	}
	end := endOf(err)
	t.report.Reason = end.Reason
	t.run.counts.errors.Add(1)
	t.endHTTP(end)
	return nil
}

// uses reports whether programs that run speak HTTP, and other protocols.
func (t *targetScan) uses() (http, probes bool) {
	http = len(t.run.globals) > 0
	for i, b := range t.run.programs {
		if !t.runs(i) {
			continue
		}
		probes = probes || b.UsesProbes()
		http = http || b.UsesHTTP()
	}
	return http, probes
}

// endHTTP ends the programs that speak nothing but HTTP.
func (t *targetScan) endHTTP(end coverage.End) {
	for i, b := range t.run.programs {
		if t.pending[i] == 0 && t.runs(i) && !b.UsesProbes() {
			t.report.cells.Set(i, end.State, end.Reason)
			t.checkpoint(i)
			t.pending[i] = -1
		}
	}
}
