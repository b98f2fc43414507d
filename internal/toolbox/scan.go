package toolbox

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"net/url"
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

// Call scans. Called again, it finds the same: what is stored is keyed by what was
// found where.
func (s scan) Call(ctx context.Context, input json.RawMessage, emit func(agent.Update)) (agent.Result, error) {
	var in agent.Input
	if err := json.Unmarshal(input, &in); err != nil {
		return agent.Result{}, err
	}
	probed, err := read[probeOutput](in, agent.Probe)
	if err != nil {
		return agent.Result{}, fmt.Errorf("it is not known which targets answer: %w", err)
	}
	var targets []string
	for _, h := range probed.Hosts {
		if h.Alive {
			targets = append(targets, h.Target)
		}
	}
	var chosen []*program.Program
	for _, p := range s.Programs {
		if s.Plan.Selects(p.ID, p.Info.Tags, string(p.Info.Severity)) {
			chosen = append(chosen, p)
		}
	}
	if len(chosen) == 0 {
		return agent.Result{Words: "There is no template for what the task asks."}, nil
	}
	if len(targets) == 0 {
		return agent.Result{Words: "There was nothing to test."}, nil
	}

	before := s.scope.sent.Load()
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	report, err := s.engine.Run(ctx, engine.Scan{
		Targets: targets, Programs: chosen,
		OnEvent: func(e engine.Event) {
			// A finding is on disk before the scan goes on; one that cannot be stored ends it.
			if _, err := s.Run.Found(ctx, targetOf(targets, e), e); err != nil {
				stop(fmt.Errorf("storing a finding: %w", err))
			}
		},
		OnProgress: func(p engine.Progress) {
			emit(agent.Update{Text: fmt.Sprintf("%d requests, %d matches", p.Requests, p.Matched), Done: p.Done, Total: p.Total})
		},
	})
	if cause := context.Cause(ctx); cause != nil {
		err = cause
	}
	if report == nil {
		return agent.Result{}, err
	}
	output, jerr := json.Marshal(scanOutput{len(chosen), s.scope.sent.Load() - before, report.Events, report.Counts()})
	return agent.Result{Output: output, Words: scanWords(report, len(targets), len(chosen))}, errors.Join(err, jerr)
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

func scanWords(r *engine.Report, targets, templates int) string {
	words := []string{fmt.Sprintf("Templates: %d, targets: %d, requests: %d.", templates, targets, r.Requests)}
	counts := r.Counts()
	for _, state := range []engine.State{engine.Failed, engine.Denied, engine.Skipped} {
		if n := counts[state]; n > 0 {
			words = append(words, fmt.Sprintf("%d checks were not done (%s).", n, state))
		}
	}
	return strings.Join(words, " ")
}
