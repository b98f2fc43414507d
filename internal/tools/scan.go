package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
)

type scan struct{ *Kit }

func (scan) Name() string { return agent.Scan }

// scanOutput is the coverage that a scan reached.
type scanOutput struct {
	Templates int                  `json:"templates"`
	Requests  int64                `json:"requests"` // sent to targets
	Matches   int                  `json:"matches"`
	Cells     map[engine.State]int `json:"cells"` // targets × templates by state
}

// pass is a part of a scan: some templates on some places.
type pass struct {
	targets  []string
	programs []*program.Program
	event    func(engine.Event)
}

// Call scans: the targets, then the pages that they link to, then the places that take
// parameters. Called again, it finds the same: what is stored is keyed by what was found
// where.
func (s scan) Call(ctx context.Context, input json.RawMessage, emit func(agent.Update)) (agent.Result, error) {
	in, targets, err := aliveTargets(input)
	if err != nil {
		return agent.Result{}, err
	}
	var explored exploreOutput
	_ = json.Unmarshal(in.Before[agent.Explore], &explored) // nothing when that step failed
	chosen := s.chosen()
	if len(chosen) == 0 {
		return agent.Result{Words: "There is no template for what the task asks."}, nil
	}
	if len(targets) == 0 {
		return agent.Result{Words: "There was nothing to test."}, nil
	}
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	keep := func(target string, e engine.Event) {
		// A finding is on disk before the scan goes on; one that cannot be stored ends it.
		if _, err := s.Run.Found(ctx, target, e); err != nil {
			stop(fmt.Errorf("storing a finding: %w", err))
		}
	}
	told := seen{}
	inject, linked := withTag(chosen, injectTag), withTag(chosen, linkedTag)
	return s.carryOut(ctx, emit, len(targets), len(chosen), []pass{
		{targets, slices.DeleteFunc(slices.Clone(chosen), func(p *program.Program) bool { return slices.Contains(inject, p) }), func(e engine.Event) {
			told.again(e)
			keep(targetOf(targets, e), e)
		}},
		{explored.Pages, linked, func(e engine.Event) {
			if !told.again(e) {
				keep(e.Target, e)
			}
		}},
		{explored.Places, inject, func(e engine.Event) { keep(e.Target, e) }},
	})
}

// carryOut runs the passes and adds up what they did.
func (s scan) carryOut(ctx context.Context, emit func(agent.Update), targets, templates int, passes []pass) (agent.Result, error) {
	before, left := s.scope.Total(), s.scope.Left()
	out := scanOutput{Templates: templates, Cells: map[engine.State]int{}}
	requests := 0
	var err error
	for _, p := range passes {
		if len(p.targets) == 0 || len(p.programs) == 0 || err != nil {
			continue
		}
		most := 0
		if left < math.MaxInt64 { // a fifth is kept for verifying
			most = int(max(1, left*4/5-(s.scope.Total()-before)))
		}
		var report *engine.Report
		report, err = s.engine.Run(ctx, engine.Scan{
			Targets: p.targets, Programs: p.programs, OnEvent: p.event, MaxRequests: most,
			OnProgress: func(now engine.Progress) {
				emit(agent.Update{Text: fmt.Sprintf("%d requests, %d matches", requests+now.Requests, out.Matches+now.Matched), Done: now.Done, Total: now.Total})
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
	return agent.Result{Output: output, Words: scanWords(targets, templates, requests, out.Cells)}, errors.Join(err, jerr)
}

// chosen are the templates that the plan asks for.
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

// seen is what was said of a host already, so that a cookie which every page sets, or a
// form that every page shows, is one finding.
type seen map[string]bool

// again remembers an event, and reports whether the same was reported of another page of its host or, by another
// template of the same class, of the same page.
func (s seen) again(e engine.Event) bool {
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

// targetOf is the target, as it was named, that an event is about.
func targetOf(targets []string, e engine.Event) string {
	for _, target := range targets {
		t, err := engine.ParseTarget(target)
		if err != nil {
			continue
		}
		u, err := url.Parse(t.URL())
		samePath := err == nil && (u.Path == e.Path || u.Path == "" && e.Path == "/")
		if samePath && u.Hostname() == e.Host && (u.Port() == "" || u.Port() == e.Port) {
			return target
		}
	}
	return net.JoinHostPort(e.Host, e.Port)
}

func scanWords(targets, templates, requests int, counts map[engine.State]int) string {
	words := []string{fmt.Sprintf("Templates: %d, targets: %d, requests: %d.", templates, targets, requests)}
	for _, state := range []engine.State{engine.Failed, engine.Denied, engine.Skipped} {
		if n := counts[state]; n > 0 {
			words = append(words, fmt.Sprintf("%d checks were not done (%s).", n, state))
		}
	}
	return strings.Join(words, " ")
}
