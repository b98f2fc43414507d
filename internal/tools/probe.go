package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/infra/outage"
	"github.com/vedette-sec/vedette/internal/tools/brief"
)

type probe struct{ *Kit }

type probeOutput struct {
	Hosts    []host `json:"hosts"`
	Requests int64  `json:"requests"` // to targets
}

type host struct {
	Target string `json:"target"`           // as in the plan
	Alive  bool   `json:"alive"`            // it answered
	Reason string `json:"reason,omitempty"` // why not
	Alike  bool   `json:"alike,omitempty"`  // answers 2xx to every path
	err    error
}

// address is a target for the engine. Without a scheme it has no path.
func address(t agent.Target) string {
	host := t.Host
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if t.Port != 0 {
		host += ":" + strconv.Itoa(t.Port)
	}
	if t.Kind == agent.KindURL {
		return t.Scheme + "://" + host + t.Path
	}
	return host
}

// aliveTargets are the targets that answered, from the input of a step.
func aliveTargets(input json.RawMessage) (in agent.Input, alive []string, err error) {
	if err := json.Unmarshal(input, &in); err != nil {
		return in, nil, err
	}
	var probed probeOutput
	if err := json.Unmarshal(in.Before[agent.Probe], &probed); err != nil {
		return in, nil, fmt.Errorf("it is not known which targets answer: %w", err)
	}
	for _, h := range probed.Hosts {
		if h.Alive {
			alive = append(alive, h.Target)
		}
	}
	return in, alive, nil
}

const probesAtOnce = 32

func (probe) Name() string { return agent.Probe }

// Call probes the targets. It may be repeated.
func (p probe) Call(ctx context.Context, _ json.RawMessage, emit func(agent.Update)) (agent.Result, error) {
	before := p.scope.Total()
	var targets []string
	for t := range p.Plan.Expand() {
		targets = append(targets, address(t))
	}
	hosts := make([]host, len(targets))
	forEach(targets, probesAtOnce, emit, func(i int) { hosts[i] = p.probeTarget(ctx, targets[i]) })
	if i := slices.IndexFunc(hosts, func(h host) bool { return outage.Of(h.err) != nil }); i >= 0 {
		return agent.Result{}, hosts[i].err // ours, such as too many open files: it says nothing about a target
	}
	output, err := json.Marshal(probeOutput{hosts, p.scope.Total() - before})
	if err != nil {
		return agent.Result{}, err
	}
	return agent.Result{Output: output, Summary: probeSummary(hosts)}, context.Cause(ctx)
}

func (p probe) probeTarget(ctx context.Context, target string) host {
	if ctx.Err() != nil {
		return host{Target: target, Reason: "it was not asked in time"}
	}
	c, err := p.engine.Canary(ctx, target)
	if err != nil {
		return host{Target: target, Reason: brief.Reason(err), err: err}
	}
	return host{Target: target, Alive: true, Alike: c.AnswersAlike}
}

func probeSummary(hosts []host) string {
	alive := 0
	var silent, softNotFound []string
	for _, h := range hosts {
		if !h.Alive {
			silent = append(silent, fmt.Sprintf("%s was not tested: %s.", h.Target, h.Reason))
			continue
		}
		alive++
		if h.Alike {
			softNotFound = append(softNotFound,
				h.Target+" answers with success to every path, also to ones that cannot exist (a soft 404); what is found at a path there is not reported unless it differs.")
		}
	}
	words := []string{fmt.Sprintf("%d of %d targets answered.", alive, len(hosts))}
	words = append(words, brief.FirstFew(silent, "did not answer")...)
	words = append(words, brief.FirstFew(softNotFound, "answer alike")...)
	return strings.Join(words, " ")
}
