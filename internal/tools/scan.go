package tools

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"slices"
	"strings"
	"sync/atomic"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/tools/runner"
)

type scan struct{ *Kit }

func (scan) Name() string { return agent.Scan }

type scanOutput struct {
	Templates int                  `json:"templates"`
	Requests  int64                `json:"requests"` // to targets
	Matches   int                  `json:"matches"`
	Cells     map[engine.State]int `json:"cells"` // targets × templates by state
}

type pass struct {
	targets   []string
	templates []runner.Builtin
	event     func(engine.Event)
}

// Call scans the targets, then linked pages. Repeated, it stores nothing twice.
func (s scan) Call(ctx context.Context, input json.RawMessage, emit func(agent.Update)) (agent.Result, error) {
	in, targets, err := aliveTargets(input)
	if err != nil {
		return agent.Result{}, err
	}
	var explored exploreOutput
	_ = json.Unmarshal(in.Before[agent.Explore], &explored) // nothing if that step failed
	chosen := s.chosen()
	if len(chosen) == 0 {
		return agent.Result{Summary: "No template matches the instruction."}, nil
	}
	if len(targets) == 0 {
		return agent.Result{Summary: "There was nothing to test."}, nil
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	store := func(target string, e engine.Event) {
		// A finding is stored before the scan goes on.
		if _, err := s.Run.StoreMatch(ctx, target, e); err != nil {
			stop(fmt.Errorf("storing a finding: %w", err))
		}
	}
	reported := seen{}
	linked := withTag(chosen, linkedTag)
	return s.runPasses(ctx, emit, len(targets), len(chosen), []pass{
		{targets, slices.DeleteFunc(slices.Clone(chosen),
			func(b runner.Builtin) bool { return slices.Contains(b.Info.Tags, injectTag) }), func(e engine.Event) {
			reported.repeats(e)
			store(targetOf(e), e)
		}},
		{explored.Pages, linked, func(e engine.Event) {
			if !reported.repeats(e) {
				store(e.Target, e)
			}
		}},
	})
}

func (s scan) runPasses(
	ctx context.Context, emit func(agent.Update), targets, templates int, passes []pass,
) (agent.Result, error) {
	before, left := s.scope.Total(), s.scope.Left()
	out := scanOutput{Templates: templates, Cells: map[engine.State]int{}}
	requests := 0
	var matches atomic.Int64 // events and progress come at the same time
	var notes []string
	var err error
	for _, p := range passes {
		if len(p.targets) == 0 || len(p.templates) == 0 || err != nil {
			continue
		}
		most := 0
		if left < math.MaxInt64 { // a fifth is for verification
			most = int(max(1, left*4/5-(s.scope.Total()-before)))
		}
		var last engine.Progress
		var result *child.Result
		var more []string
		result, more, err = s.runner.Run(ctx, child.Job{
			Targets: p.targets, Templates: runner.Texts(p.templates), MaxRequests: most,
			OnEvent: func(_ int, e engine.Event) {
				matches.Add(1)
				p.event(e)
			},
			OnProgress: func(now engine.Progress) {
				last = now
				emit(agent.Update{Text: fmt.Sprintf("%d requests, %d matches", requests+now.Requests, matches.Load()),
					Done: now.Done, Total: now.Total})
			},
		})
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		notes = append(notes, more...)
		counts := map[engine.State]int{engine.Tested: last.Done} // of one that was stopped
		if result != nil {
			last.Requests, counts = result.Requests, result.Counts()
		}
		requests += last.Requests
		missing := len(p.targets) * len(p.templates)
		for state, n := range counts {
			out.Cells[state] += n
			missing -= n
		}
		if missing > 0 {
			out.Cells[engine.Failed] += missing
		}
	}
	out.Requests, out.Matches = s.scope.Total()-before, int(matches.Load())
	output, jerr := json.Marshal(out)
	words := strings.Join(append([]string{scanSummary(targets, templates, requests, out.Cells)}, notes...), " ")
	return agent.Result{Output: output, Summary: words}, errors.Join(err, jerr)
}

func (k *Kit) chosen() (chosen []runner.Builtin) {
	for _, b := range k.Builtin {
		if k.Plan.Selects(b.ID, b.Info.Tags, string(b.Info.Severity)) {
			chosen = append(chosen, b)
		}
	}
	return chosen
}

func withTag(list []runner.Builtin, tag string) (out []runner.Builtin) {
	for _, b := range list {
		if slices.Contains(b.Info.Tags, tag) {
			out = append(out, b)
		}
	}
	return out
}

// seen is what was reported of a host: a cookie on every page is one finding.
type seen map[string]bool

// repeats reports whether the same was reported of another page of the host or, by another template of the same class,
// of the same page.
func (s seen) repeats(e engine.Event) bool {
	keys := []string{e.TemplateID + " " + net.JoinHostPort(e.Host, e.Port) + " " + strings.Join(e.ExtractedResults, " ")}
	if c := e.Info.Classification; c != nil {
		for _, class := range c.CWEID {
			keys = append(keys, class+" "+e.MatchedAt)
		}
	}
	known := false
	for _, key := range keys {
		known = known || s[key]
		s[key] = true
	}
	return known
}

// targetOf is the target, as named, of an event. A template that names its hosts itself has none.
func targetOf(e engine.Event) string { return cmp.Or(e.Target, net.JoinHostPort(e.Host, e.Port)) }

func scanSummary(targets, templates, requests int, counts map[engine.State]int) string {
	words := []string{fmt.Sprintf("Templates: %d, targets: %d, requests: %d.", templates, targets, requests)}
	for _, state := range []engine.State{engine.Failed, engine.Denied, engine.Skipped} {
		if n := counts[state]; n > 0 {
			words = append(words, fmt.Sprintf("%d checks were not done (%s).", n, state))
		}
	}
	return strings.Join(words, " ")
}
