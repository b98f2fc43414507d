package engine

import (
	"context"
	"maps"
	"path"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
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
// says nothing about its path.
func (e *Engine) Control(ctx context.Context, target string, p *program.Program, ev Event) (matched bool, err error) {
	change := func(req *web.Request) { req.Address.Path = sibling(req.Address.Path) }
	if inAddress(ev) {
		_, plain, err := e.address(ctx, target, p, ev)
		if err != nil {
			return false, err
		}
		change = func(req *web.Request) { req.Address = plain }
	}
	_, matched, err = e.repeat(ctx, target, p, ev, false, change)
	return matched, err
}

// Confirm repeats the request of an event on a new connection without cookies and returns the new event when the same
// matcher holds. A template whose requests depend on each other runs from its beginning.
func (e *Engine) Confirm(ctx context.Context, target string, p *program.Program, ev Event) (Event, bool, error) {
	return e.repeat(ctx, target, p, ev, true, nil)
}

// repeat repeats the requests of an event, changed, and looks for the same finding.
func (e *Engine) repeat(
	ctx context.Context, target string, p *program.Program, ev Event, newConnection bool, change func(*web.Request),
) (Event, bool, error) {
	t, address, err := e.address(ctx, target, p, ev)
	if err != nil {
		return Event{}, false, err
	}
	var found []Event
	s := session{
		requester: &requester{
			engine: e, target: t, address: address, send: e.sendAlone, beforeSend: e.sender.Wait, tupleSlots: e.tupleSlots(),
			newConnection: newConnection, change: change,
		},
		jar: web.NewJar(), emit: func(events []Event) { found = append(found, events...) },
	}
	if s.bound = p.Bind(program.Vars{}); ev.origin != nil && ev.origin.bound.Program == p {
		s.bound, s.onlyOrigin = ev.origin.bound, ev.origin
	}
	if s.bound.Plannable {
		for _, o := range origins(s.bound, address, ev) {
			got := s.entry(ctx, o.block, o.entry, o.tuple, 0, nil)
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
func (e *Engine) address(ctx context.Context, target string, p *program.Program, ev Event) (Target, rawurl.URL, error) {
	if p.SelfContained {
		return Target{}, rawurl.URL{}, nil
	}
	t, err := ParseTarget(target)
	if err != nil {
		return t, rawurl.URL{}, err
	}
	if len(t.Schemes) == 1 {
		return t, t.Address, nil
	}
	if seen, err := rawurl.Parse(ev.MatchedAt); err == nil && seen.HostPort() == t.With(seen.Scheme).HostPort() {
		return t, t.With(seen.Scheme), nil
	}
	address, _, err := e.locate(ctx, t, false, e.sendAlone)
	return t, address, err
}

// origins are the requests of a plain program that can have made an event: the one it remembers; for an event that
// was stored in between, those with its URL, or else all.
func origins(b *program.Bound, target rawurl.URL, ev Event) []origin {
	if ev.origin != nil && ev.origin.bound == b {
		return []origin{*ev.origin}
	}
	var all, exact []origin
	for j := range b.Blocks {
		for k := range b.Blocks[j].Entries {
			o := origin{bound: b, block: j, entry: k}
			req, err := b.Request(j, k, program.Input{Target: target})
			if err != nil {
				continue
			}
			all = append(all, o)
			if Clean(req.URL()) == ev.MatchedAt {
				exact = append(exact, o)
			}
		}
	}
	if len(exact) > 0 {
		return exact
	}
	return all
}

// sibling is a path beside another one that cannot exist.
func sibling(p string) string {
	if p == "" || p == "/" {
		return "/" + randomWord()
	}
	folder := strings.HasSuffix(p, "/")
	dir, base := path.Split(strings.TrimSuffix(p, "/"))
	word := randomWord()
	if rest, hidden := strings.CutPrefix(base, "."); hidden {
		base, word = rest, "."+word
	}
	if !folder {
		word += path.Ext(base)
	} else {
		word += "/"
	}
	return dir + word
}
