package engine

import (
	"context"
	"maps"
	"sync/atomic"

	"github.com/vedette-sec/vedette/internal/engine/canary"
	"github.com/vedette-sec/vedette/internal/engine/event"
	"github.com/vedette-sec/vedette/internal/engine/prober"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/targets"
)

// HasControl reports whether Control applies to an event: it concerns a path, or a payload in the URL.
func HasControl(p *program.Program, ev Event) bool {
	return p.PathSpecific() || inAddress(ev)
}

// inAddress reports whether the event comes from a payload in the URL.
func inAddress(ev Event) bool {
	return ev.Fuzzed && (ev.FuzzingPosition == "query" || ev.FuzzingPosition == "path")
}

// Control repeats the request of an event for a path that cannot exist beside the matched one (same folder and
// extension; for the root, below it), or without the payload in its URL. If the same matcher holds there, the event
// says nothing about its path. seen has the request and the answer, whether it matched or not.
func (e *Engine) Control(
	ctx context.Context, target string, p *program.Program, ev Event,
) (seen Event, matched bool, err error) {
	change := func(req *web.Request) { req.Address.Path = canary.Beside(req.Address.Path) }
	if inAddress(ev) {
		_, plain, err := e.address(ctx, target, p, ev)
		if err != nil {
			return seen, false, err
		}
		change = func(req *web.Request) { req.Address = plain }
	}
	var last atomic.Pointer[web.Exchange]
	send := func(ctx context.Context, req web.Request) (x *web.Exchange, err error) {
		if x, err = e.sendAlone(ctx, req); err == nil {
			last.Store(x)
		}
		return x, err
	}
	_, matched, err = e.repeat(ctx, target, p, ev, requester{send: send, change: change})
	if x := last.Load(); x != nil {
		seen.Request, seen.Response = event.Texts(x)
	}
	return seen, matched, err
}

// Confirm repeats the request of an event on a new connection without cookies and returns the new event when the same
// matcher holds. A template whose requests depend on each other runs from its beginning.
func (e *Engine) Confirm(ctx context.Context, target string, p *program.Program, ev Event) (Event, bool, error) {
	return e.repeat(ctx, target, p, ev, requester{send: e.sendAlone, newConnection: true})
}

// repeat repeats the requests of an event, changed and sent as r says, and looks for the same finding.
func (e *Engine) repeat(
	ctx context.Context, target string, p *program.Program, ev Event, r requester,
) (Event, bool, error) {
	t, address, err := e.address(ctx, target, p, ev)
	if err != nil {
		return Event{}, false, err
	}
	var found []Event
	r.engine, r.target, r.address, r.beforeSend, r.tupleSlots = e, t, address, e.sender.Wait, e.tupleSlots()
	r.begin, r.dials = e.beginAlone, &prober.Dials{}
	s := session{requester: &r, jar: web.NewJar(), emit: func(events []Event) { found = append(found, events...) }}
	if s.bound = p.Bind(program.Vars{}); ev.Origin != nil && ev.Origin.Bound.Program == p {
		s.bound, s.onlyOrigin = ev.Origin.Bound, ev.Origin
	}
	if s.bound.Plannable {
		for _, o := range ev.Origins(s.bound, address) {
			got := s.entry(ctx, o.Block, o.Entry, o.Tuple, 0, nil)
			if got.fault != nil {
				return Event{}, false, got.fault
			}
			found = append(found, got.events...)
		}
	} else if s.run(ctx); len(found) == 0 && s.fault != nil {
		return Event{}, false, s.fault
	}
	if err := ctx.Err(); err != nil {
		return Event{}, false, err
	}
	for _, again := range found {
		if again.MatcherName == ev.MatcherName && again.ExtractorName == ev.ExtractorName &&
			maps.Equal(again.Meta, ev.Meta) &&
			again.FuzzingPosition == ev.FuzzingPosition && again.FuzzingParameter == ev.FuzzingParameter {
			return again, true, nil
		}
	}
	return Event{}, false, nil
}

// address is where the target answered when the event was made, or answers now.
func (e *Engine) address(
	ctx context.Context, target string, p *program.Program, ev Event,
) (targets.Target, rawurl.URL, error) {
	if p.SelfContained {
		return targets.Target{}, rawurl.URL{}, nil
	}
	t, err := e.readTarget(target)
	if err != nil {
		return t, rawurl.URL{}, err
	}
	if len(t.Schemes) <= 1 || !p.UsesHTTP() {
		return t, t.Address, nil
	}
	if seen, err := rawurl.Parse(ev.MatchedAt); err == nil && seen.HostPort() == t.With(seen.Scheme).HostPort() {
		return t, t.With(seen.Scheme), nil
	}
	address, _, err := e.locate(ctx, t, false, e.probeAlone)
	return t, address, err
}
