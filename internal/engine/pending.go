package engine

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/event"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/engine/prober"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/oast"
)

// awaited is a request that interactions may come for.
type awaited struct {
	*event.Pending
	heard *oob.Heard
}

// alreadyFound notes what the answer alone has shown.
func (r *entryResult) alreadyFound() {
	for _, p := range r.pending {
		for i := range r.events {
			p.heard.Found(r.events[i].MatcherName, r.events[i].ExtractorName)
		}
	}
}

// pend makes the Pending of a request with names, or of a later one with the same payloads; none when nobody reads
// interactions.
func (s *session) pend(j, t int, ids []string, of func(o *match.Operators) (oob.Saved, Event)) []awaited {
	o := s.bound.Blocks[j].Operators
	if s.onPending == nil || !o.UsesOAST() {
		return nil
	}
	h, all := s.heard.Add(j, t, ids)
	if h == nil {
		return nil
	}
	saved, ev := of(o)
	return []awaited{{&event.Pending{
		IDs: all, Block: j, Saved: saved, Event: ev, Target: ev.Target, URL: ev.URL, Scheme: ev.Scheme,
	}, h}}
}

// httpPending is for an answered request; last is the answer.
func (s *session) httpPending(
	j, k, t int, req *program.Request, last event.Hop, view *match.Response, vars dsl.Lookup,
) []awaited {
	return s.pend(j, t, req.Variables.Names(), func(o *match.Operators) (oob.Saved, Event) {
		at := event.Origin{Bound: s.bound, Block: j, Entry: k, Tuple: t}
		return oob.Save(o, view, vars), event.New(at, s.target, s.address, last, match.Finding{}, req.Payload)
	})
}

// unansweredPending is for a request without an answer: the target may still have followed a name.
func (s *session) unansweredPending(ctx context.Context, j, k, t int, req *program.Request, err error) []awaited {
	end := endOf(err)
	if ctx.Err() != nil || end.State == coverage.Budget || end.State == coverage.Denied {
		return nil
	}
	return s.pend(j, t, req.Variables.Names(), func(o *match.Operators) (oob.Saved, Event) {
		x := s.engine.client.Unanswered(req.Request)
		view := &match.Response{Raw: x.Sent, Named: req.Variables.Sent, Head: func() []byte { return nil }}
		at := event.Origin{Bound: s.bound, Block: j, Entry: k, Tuple: t}
		last := event.Hop{Exchange: x, URL: req.EventURL(nil)}
		ev := event.New(at, s.target, s.address, last, match.Finding{}, req.Payload)
		ev.Response, ev.Error = "", end.Reason
		return oob.Save(o, view, nil), ev
	})
}

// probePending is for a probe.
func (s *session) probePending(j, t int, r prober.Result) []awaited {
	if r.Expect == nil {
		return nil
	}
	return s.pend(j, t, r.Expect.IDs, func(*match.Operators) (oob.Saved, Event) {
		return r.Expect.Saved, s.probeEvent(j, t, prober.Finding{Reply: r.Expect.Reply}, r)
	})
}

// Judge returns the events that an interaction with a request of the program shows.
func (e *Engine) Judge(
	ctx context.Context, p *program.Program, sent *event.Pending, one oast.Interaction,
) []event.Event {
	blocks := p.Bind(program.Vars{}).Blocks
	if sent.Block < 0 || sent.Block >= len(blocks) {
		return nil
	}
	return sent.Judge(ctx, blocks[sent.Block].Operators, one, e.host)
}

// await hands a request of a program over. What interactions show is reported once for each name of a matcher or an
// extractor.
func (t *targetScan) await(i int, p awaited) {
	judge := func(one oast.Interaction) { t.interacted(i, p, one) }
	p.Found = func(one oast.Interaction) { p.heard.Hear(one, judge) }
	p.heard.Again(judge)
	t.run.scan.Expect(p.Pending)
}

// interacted reports what an interaction shows.
func (t *targetScan) interacted(i int, p awaited, one oast.Interaction) {
	b := &p.Event.Origin.Bound.Blocks[p.Block]
	events := slices.DeleteFunc(p.Judge(context.Background(), b.Operators, one, t.engine.host), func(ev Event) bool {
		return !p.heard.First(ev.MatcherName, ev.ExtractorName)
	})
	if len(events) == 0 {
		return
	}
	t.mu.Lock()
	over := b.StopAtFirstMatch && t.over[[2]int{i, p.Block}]
	if !over {
		if t.over == nil {
			t.over = map[[2]int]bool{}
		}
		t.over[[2]int{i, p.Block}] = true
		t.matchedBy(i, len(events))
		t.report.Matched = len(t.matched)
	}
	t.mu.Unlock()
	if !over {
		t.run.emit(events)
	}
}
