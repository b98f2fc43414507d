package tools

import (
	"context"
	"encoding/json"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/core/task"
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
	return w.WebStep().Test(ctx, alive, emit)
}

// WebStep is the step that tests web applications.
func (k *Kit) WebStep() webtask.Step {
	return webtask.Step{Run: k.Run, Scope: k.scope, Plan: k.Plan, Fill: k.secretReplacer(false),
		Hide: k.secretReplacer(true), Browser: k.Browser}
}

// Reprove runs the proof that the tester of web applications has kept with an issue. why says why it could not be.
func (k *Kit) Reprove(ctx context.Context, issue task.Issue) (shown bool, why string, err error) {
	return k.WebStep().Reprove(ctx, issue)
}
