package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/board"
	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/event"
	"github.com/vedette-sec/vedette/internal/engine/fuzz"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// fuzz sends the mutations that the rules of a block make of the target's request, one by one (template language
// 2.10). A request that does not meet the pre-condition leaves the program's state as it is.
func (s *session) fuzz(ctx context.Context, j int) (matched bool, err error) {
	f := fuzzing{session: s, block: j, program: &s.bound.Blocks[j], facts: map[string]any{},
		outcomes: map[fuzz.ParameterKey]bool{}}
	defer f.count()
	made, err := f.make(ctx, 0)
	if err != nil && made.Address.Host == "" {
		s.apply(s.notMade(err))
		return false, ctx.Err()
	}
	f.base = made.Request
	if !slices.ContainsFunc(f.base.Headers, func(h web.Header) bool { return strings.EqualFold(h.Name, "User-Agent") }) {
		f.base.Headers = append(f.base.Headers,
			web.Header{Name: "User-Agent", Value: cmp.Or(s.engine.cfg.UserAgent, web.DefaultUserAgent)})
	}
	f.known = fuzz.Input(&f.base)
	if !f.program.Fuzz.Fits(f.known, &dsl.Env{Ctx: ctx, Host: s.engine.host}) {
		return false, ctx.Err()
	}
	source := fuzz.Source{Base: &f.base, Skip: f.skip,
		Payloads: func(yield func(fuzz.Render) bool) { f.payloads(ctx, yield) }}
	for m, failed := range f.program.Fuzz.All(source) {
		var got entryResult
		if failed != nil {
			got = s.notMade(failed)
		} else if s.onlyOrigin == nil || s.onlyOrigin.Fuzzed == "" || s.onlyOrigin.Fuzzed == m.Key() {
			got = f.send(ctx, m)
			at := f.parameterKey(m.Position, m.Parameter)
			f.outcomes[at] = f.outcomes[at] || got.matched || got.State != Tested
		}
		s.apply(got)
		if matched = matched || got.flowMatched; got.over || got.err != nil {
			return matched, got.err
		}
	}
	f.applySkipped()
	return matched, ctx.Err()
}

// fuzzing runs a block with fuzzing rules in a session.
type fuzzing struct {
	*session
	block   int
	program *program.Block

	base     web.Request                // of the target
	known    dsl.Lookup                 // of base
	facts    map[string]any             // what the analyzer confirmed, for operators
	compared *web.Exchange              // that the analyzer saw answered otherwise; nil: it confirmed nothing
	outcomes map[fuzz.ParameterKey]bool // whether parameters are worth another try
	skipped  []string                   // parameters that were fuzzed in vain on too many pages

	tuple int             // of payloads, the current one
	made  program.Request // the target's request with that tuple
}

// make makes the target's request with one tuple of payload values.
func (f *fuzzing) make(ctx context.Context, tuple int) (program.Request, error) {
	in := f.input(ctx)
	in.Tuple, in.Earlier = tuple, dsl.First(dsl.Map(f.facts), f.history.Lookup(0))
	return f.bound.Request(f.block, 0, in)
}

// payloads renders the tuples and skips those that cannot be rendered.
func (f *fuzzing) payloads(ctx context.Context, yield func(fuzz.Render) bool) {
	for t := range f.program.Tuples() {
		if ctx.Err() != nil {
			return
		}
		made, err := f.make(ctx, t)
		if err != nil {
			f.apply(entryResult{End: f.notMade(err).End, fault: err})
			continue
		}
		f.tuple, f.made = t, made
		if !yield(f.program.Render(&f.made, f.known)) {
			return
		}
	}
}

// parameterKey identifies a parameter across all targets of the scan.
func (f *fuzzing) parameterKey(position, parameter string) fuzz.ParameterKey {
	return fuzz.ParameterKey{Template: f.bound.ID, Host: f.base.Address.HostPort(), Position: position,
		Parameter: parameter}
}

func (f *fuzzing) skip(position, parameter string) bool {
	if f.frequency == nil || f.onlyOrigin != nil || !f.frequency.Exhausted(f.parameterKey(position, parameter)) {
		return false
	}
	if name := position + " " + Clean(parameter); !slices.Contains(f.skipped, name) {
		f.skipped = append(f.skipped, name)
	}
	return true
}

// applySkipped says in the cell which parameters were not fuzzed on this page.
func (f *fuzzing) applySkipped() {
	if len(f.skipped) > 0 {
		slices.Sort(f.skipped)
		f.apply(entryResult{End: coverage.End{State: Skipped,
			Reason: "fuzzed on enough pages without a match: " + strings.Join(f.skipped, ", ")}})
	}
}

// count counts the parameters that were fuzzed without a match.
func (f *fuzzing) count() {
	if f.frequency == nil || f.onlyOrigin != nil {
		return
	}
	for at, worth := range f.outcomes {
		f.frequency.Count(at, worth)
	}
}

// send sends one mutation and evaluates the response.
func (f *fuzzing) send(ctx context.Context, m *fuzz.Mutation) entryResult {
	req := f.made
	req.Request = m.Request
	req.Address = req.Address.Sent()
	req.Jar = f.jar
	f.heard.Drop(f.block, f.tuple) // those of the last mutation
	if f.program.Probe != nil {
		got := f.probeAt(ctx, f.block, f.tuple, m.Request.Address)
		f.describe(&got, m)
		return got
	}
	chain, err := f.exchange(ctx, f.block, 0, &req)
	if err != nil || ctx.Err() != nil {
		got := ofPayload(true, unanswered(ctx, err))
		got.pending = f.unansweredPending(ctx, f.block, 0, f.tuple, &req, err)
		f.describe(&got, m)
		return got
	}
	clear(f.facts)
	f.compared = nil
	if err := f.analyze(ctx, m, chain[0]); err != nil {
		return unanswered(ctx, err)
	}
	got := f.evaluate(ctx, f.block, 0, f.tuple, &req, chain)
	f.describe(&got, m)
	return got
}

// describe notes the mutation in all events of a result.
func (f *fuzzing) describe(got *entryResult, m *fuzz.Mutation) {
	all := make([]*Event, 0, len(got.events)+len(got.pending))
	for i := range got.events {
		all = append(all, &got.events[i])
	}
	for _, p := range got.pending {
		all = append(all, &p.Event)
	}
	for _, ev := range all {
		ev.Fuzzed, ev.FuzzingMethod, ev.FuzzingParameter, ev.FuzzingPosition = true, m.Request.Method, Clean(m.Parameter),
			m.Position
		if details, ok := f.facts["analyzer_details"].(string); ok {
			ev.AnalyzerDetails = Clean(details)
		}
		if x := f.compared; x != nil {
			request, response := event.Texts(x)
			ev.CompareWith("the analyzer sent it for comparison", request, response)
		}
		ev.Origin.Fuzzed = m.Key()
	}
}

// analyze runs the block's analyzer; operators see its result as analyzer and analyzer_details.
func (f *fuzzing) analyze(ctx context.Context, m *fuzz.Mutation, first *web.Exchange) error {
	a := f.program.Fuzz.Analyzer()
	if a == nil {
		return nil
	}
	var other *web.Exchange // the second: the short delay, or the condition that does not hold
	n := 0
	again := func(ctx context.Context, r *web.Request) (fuzz.Answer, error) {
		r.Address = r.Address.Sent()
		if f.change != nil {
			f.change(r)
		}
		board.Of(ctx).Waits(f.index)
		x, err := f.requester.send(ctx, *r)
		board.Of(ctx).At(f.index)
		if err != nil {
			return fuzz.Answer{}, err
		}
		f.requests.Add(1)
		if n++; n <= 2 {
			other = x
		}
		return fuzz.Answer{Status: x.Status, Body: x.Body, Took: x.Duration}, nil
	}
	confirmed, details, err := a.Analyze(ctx, m, fuzz.Answer{Status: first.Status, Body: first.Body, Took: first.Duration},
		again)
	if confirmed {
		f.facts["analyzer"], f.facts["analyzer_details"], f.compared = true, details, other
	}
	return err
}
