package tools

import (
	"context"
	"encoding/json"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/tools/webtask"
)

type webTest struct{ *Kit }

func (webTest) Name() string { return agent.WebTest }

// Call tests the applications that answer. Repeated, it stores nothing twice.
func (w webTest) Call(ctx context.Context, input json.RawMessage, emit func(agent.Update)) (agent.Result, error) {
	_, alive, err := aliveTargets(input)
	if err != nil {
		return agent.Result{}, err
	}
	step := webtask.Step{Run: w.Run, Scope: w.scope, Plan: w.Plan,
		Fill: w.secretReplacer(false), Hide: w.secretReplacer(true),
		Browser: w.Browser}
	return step.Test(ctx, alive, emit)
}
