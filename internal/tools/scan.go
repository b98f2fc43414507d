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

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
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
	targets  []string
	programs []*program.Program
	event    func(engine.Event)
}

// Call scans the targets, then linked pages, then addresses with parameters. Repeated, it stores nothing twice.
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
	inject, linked := withTag(chosen, injectTag), withTag(chosen, linkedTag)
	return s.runPasses(ctx, emit, len(targets), len(chosen), []pass{
		{targets, slices.DeleteFunc(slices.Clone(chosen),
			func(p *program.Program) bool { return slices.Contains(inject, p) }), func(e engine.Event) {
			reported.repeats(e)
			store(targetOf(e), e)
		}},
		{explored.Pages, linked, func(e engine.Event) {
			if !reported.repeats(e) {
				store(e.Target, e)
			}
		}},
		{explored.WithParams, inject, func(e engine.Event) { store(e.Target, e) }},
	})
}

func (s scan) runPasses(
	ctx context.Context, emit func(agent.Update), targets, templates int, passes []pass,
) (agent.Result, error) {
	before, left := s.scope.Total(), s.scope.Left()
	out := scanOutput{Templates: templates, Cells: map[engine.State]int{}}
	requests := 0
	var err error
	for _, p := range passes {
		if len(p.targets) == 0 || len(p.programs) == 0 || err != nil {
			continue
		}
		most := 0
		if left < math.MaxInt64 { // a fifth is for verification
			most = int(max(1, left*4/5-(s.scope.Total()-before)))
		}
		var report *engine.Report
		report, err = s.engine.Run(ctx, engine.Scan{
			Targets: p.targets, Programs: p.programs, OnEvent: p.event, MaxRequests: most,
			OnProgress: func(now engine.Progress) {
				emit(agent.Update{Text: fmt.Sprintf("%d requests, %d matches", requests+now.Requests, out.Matches+now.Matched),
					Done: now.Done, Total: now.Total})
			},
		})
		if cause := context.Cause(ctx); cause != nil {
			err = cause
		}
		if report == nil {
			return agent.Result{}, err
		}
		requests += report.Requests
		out.Matches += report.Events
		for state, n := range report.Counts() {
			out.Cells[state] += n
		}
	}
	out.Requests = s.scope.Total() - before
	output, jerr := json.Marshal(out)
	return agent.Result{Output: output, Summary: scanSummary(targets, templates, requests, out.Cells)},
		errors.Join(err, jerr)
}

func (k *Kit) chosen() (chosen []*program.Program) {
	for _, p := range k.Programs {
		if k.Plan.Selects(p.ID, p.Info.Tags, string(p.Info.Severity)) {
			chosen = append(chosen, p)
		}
	}
	return chosen
}

func withTag(list []*program.Program, tag string) (out []*program.Program) {
	for _, p := range list {
		if slices.Contains(p.Info.Tags, tag) {
			out = append(out, p)
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
