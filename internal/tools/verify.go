package tools

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/vedette-sec/vedette/internal/agent"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/tools/brief"
	"github.com/vedette-sec/vedette/internal/tools/runner"
)

type verify struct{ *Kit }

func (verify) Name() string { return agent.Verify }

type verifyOutput struct {
	Verified   int   `json:"verified"`
	Unverified int   `json:"unverified"`
	Requests   int64 `json:"requests"` // to targets
}

// Why a match is not reported, after "Not reported, because".
const (
	notReproduced      = "a second, independent request did not show it again"
	sameAtMissingPath  = "the host answers the same at a path that cannot exist"
	sameWithoutPayload = "the host answers the same without what was sent to it"
)

// Call verifies the matches that were not verified before a restart.
func (v verify) Call(ctx context.Context, _ json.RawMessage, emit func(agent.Update)) (agent.Result, error) {
	before := v.scope.Total()
	issues, err := v.Run.PendingIssues(ctx)
	if err != nil {
		return agent.Result{}, err
	}
	builtin := map[string]child.Template{}
	for _, b := range v.Builtin {
		builtin[b.ID] = b.Text
	}
	for i, issue := range issues {
		if ctx.Err() != nil {
			break
		}
		if err := v.verifyMatch(ctx, issue, builtin[issue.TemplateID]); err != nil {
			return agent.Result{}, err
		}
		emit(agent.Update{Text: issue.MatchedAt, Done: i + 1, Total: len(issues)})
	}
	all, err := v.Run.Issues(context.WithoutCancel(ctx))
	if err != nil {
		return agent.Result{}, err
	}
	var out verifyOutput
	for _, issue := range all {
		switch issue.Verification {
		case task.Verified:
			out.Verified++
		case task.Unverified:
			out.Unverified++
		}
	}
	out.Requests = v.scope.Total() - before
	output, err := json.Marshal(out)
	words := ""
	if len(all) > 0 {
		words = fmt.Sprintf("Of %d matches, %d were shown again by a second, independent request.", len(all), out.Verified)
	}
	return agent.Result{Output: output, Summary: words}, errors.Join(err, context.Cause(ctx))
}

// verifyMatch verifies one match. An error is one of our own: the match says nothing.
func (v verify) verifyMatch(ctx context.Context, issue task.Issue, t child.Template) error {
	again, control, why, err := v.recheck(ctx, issue, t)
	var template *task.RetestTemplate
	if why == "" && err == nil {
		template = v.distiller().Write(ctx, issue, again)
	}
	switch {
	case ctx.Err() != nil:
		return nil //nolint:nilerr // the next run verifies the match
	case err != nil:
		return err
	case why != "":
		return v.Run.MarkUnverified(ctx, issue, why)
	}
	return v.Run.Confirm(ctx, issue, task.Confirmation{Last: again, Control: control, Confirmed: 1, Tried: 1,
		RetestTemplate: template})
}

// recheck sends the second request and the control: whether a match at a path also occurs at a path that does not
// exist, or one with a payload without it. why says why they do not confirm a match.
func (v verify) recheck(
	ctx context.Context, issue task.Issue, t child.Template,
) (again, control engine.Event, why string, err error) {
	if t.Path == "" {
		return again, control, "its template is no longer there", nil
	}
	again, shown, err := v.runner.Confirm(ctx, issue.Target, t, issue.Event)
	switch {
	case err != nil:
		return again, control, "the second request failed: " + brief.Reason(err), runner.Own(err)
	case !shown:
		return again, control, notReproduced, nil
	}
	control, alike, err := v.runner.Control(ctx, issue.Target, t, issue.Event)
	switch {
	case err != nil:
		return again, control, "the control request failed: " + brief.Reason(err), runner.Own(err)
	case alike && issue.Event.Fuzzed:
		why = sameWithoutPayload
	case alike:
		why = sameAtMissingPath
	}
	return again, control, why, nil
}
