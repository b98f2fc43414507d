package engine

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/board"
	"github.com/vedette-sec/vedette/internal/engine/dsl"
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
		} else if s.onlyOrigin == nil || s.onlyOrigin.fuzzed == "" || s.onlyOrigin.fuzzed == m.Key() {
			got = f.send(ctx, m)
			at := f.parameterKey(m.Position, m.Parameter)
			f.outcomes[at] = f.outcomes[at] || got.matched || got.State != Tested
		}
		s.apply(got)
		if matched = matched || got.flowMatched; got.over || got.err != nil {
			return matched, got.err
		}
	}
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
	outcomes map[fuzz.ParameterKey]bool // whether parameters are worth another try

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
	return f.frequency != nil && f.onlyOrigin == nil && f.frequency.Exhausted(f.parameterKey(position, parameter))
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
	req.Jar = f.jar
	chain, err := f.exchange(ctx, f.block, 0, &req)
	if err != nil || ctx.Err() != nil {
		return unanswered(ctx, err)
	}
	clear(f.facts)
	if err := f.analyze(ctx, m, chain[0]); err != nil {
		return unanswered(ctx, err)
	}
	got := f.evaluate(ctx, f.block, 0, f.tuple, &req, chain)
	for i := range got.events {
		ev := &got.events[i]
		ev.Fuzzed, ev.FuzzingMethod, ev.FuzzingParameter, ev.FuzzingPosition = true, m.Request.Method, Clean(m.Parameter),
			m.Position
		if details, ok := f.facts["analyzer_details"].(string); ok {
			ev.AnalyzerDetails = Clean(details)
		}
		ev.origin.fuzzed = m.Key()
	}
	return got
}

// analyze runs the block's analyzer; operators see its result as analyzer and analyzer_details.
func (f *fuzzing) analyze(ctx context.Context, m *fuzz.Mutation, first *web.Exchange) error {
	a := f.program.Fuzz.Analyzer()
	if a == nil {
		return nil
	}
	again := func(ctx context.Context, r *web.Request) (fuzz.Answer, error) {
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
		return fuzz.Answer{Status: x.Status, Body: x.Body, Took: x.Duration}, nil
	}
	confirmed, details, err := a.Analyze(ctx, m, fuzz.Answer{Status: first.Status, Body: first.Body, Took: first.Duration},
		again)
	if confirmed {
		f.facts["analyzer"], f.facts["analyzer_details"] = true, details
	}
	return err
}
