package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/tools/brief"
)

type targetsArgs struct {
	Targets []string `json:"targets"`
}

const maxTargets = 100

// probeCost is the most requests of probing one target.
const probeCost = 4

func (k *Kit) probeHosts() action[targetsArgs] {
	return action[targetsArgs]{
		name: "probe_hosts", repeatable: true,
		schema:   `{"type": "object", "required": ["targets"], "properties": {"targets": {"type": "array", "maxItems": 100, "items": {"type": "string", "description": "a URL, or a host with or without a port"}}}}`,
		requests: func(a targetsArgs) int { return probeCost * len(a.Targets) },
		call: func(ctx context.Context, a targetsArgs, progress func(string)) (loop.Result, error) {
			if len(a.Targets) == 0 || len(a.Targets) > maxTargets {
				return loop.Result{}, fmt.Errorf("targets must have 1 to %d entries", maxTargets)
			}
			before := k.scope.Total()
			var r loop.Result
			var lines []string
			for _, target := range a.Targets[:min(len(a.Targets), loop.Allowance(ctx)/probeCost)] {
				progress(target)
				c, err := k.engine.Canary(ctx, target)
				switch {
				case ctx.Err() != nil:
					return r, context.Cause(ctx)
				case err != nil:
					lines = append(lines, target+": no answer: "+brief.Reason(err))
					continue
				case c.AnswersAlike:
					lines = append(lines, target+": answers, with success also to paths that cannot exist")
				default:
					lines = append(lines, target+": answers")
				}
				r.Evidence = append(r.Evidence, "alive "+target)
			}
			if left := len(a.Targets) - len(lines); left > 0 {
				lines = append(lines, fmt.Sprintf("%d targets were not asked: the budget of requests is used up", left))
			}
			r.Text, r.Requests = strings.Join(lines, "\n"), int(k.scope.Total()-before)
			return r, nil
		},
	}
}
