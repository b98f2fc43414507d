package tools

import (
	"context"
	"encoding/json"
	"fmt"
	"net/url"
	"path"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/tools/brief"
	"github.com/vedette-sec/vedette/internal/tools/distill"
	"github.com/vedette-sec/vedette/internal/tools/runner"
)

// reproductions is how often an issue must be reproduced.
const reproductions = 3

func (k *Kit) verifyIssue() action[idArgs] {
	return action[idArgs]{
		name: "verify_issue", repeatable: true,
		schema:   `{"type": "object", "required": ["id"], "properties": {"id": {"type": "string", "description": "of an issue"}}}`,
		requests: func(idArgs) int { return reproductions + 1 + distill.Cost },
		call: func(ctx context.Context, a idArgs, _ func(string)) (loop.Result, error) {
			issue, err := k.Run.Issue(ctx, a.ID)
			if err != nil {
				return loop.Result{}, err
			}
			j, err := k.verify(ctx, issue)
			return loop.Result{
				Text: fmt.Sprintf("%s: shown %d of %d times. %s", j.Result, j.Confirmed, j.Tried, j.Reason), Requests: j.Requests,
				Evidence: []string{"verdict " + a.ID + " " + j.Result},
			}, err
		},
	}
}

// Verify verifies the issues of a candidate and stores the results. It is confirmed when one of them is.
func (k *Kit) Verify(ctx context.Context, finding json.RawMessage) (loop.Verification, error) {
	var c candidate
	if err := json.Unmarshal(finding, &c); err != nil {
		return loop.Verification{}, fmt.Errorf("the finding: %w", err)
	}
	sum := loop.Verification{Result: loop.FalsePositive}
	var lines []string
	for _, id := range c.Issues {
		issue, err := k.Run.Issue(ctx, id)
		if err != nil {
			return sum, err
		}
		j, err := k.verify(ctx, issue)
		if err != nil {
			return sum, err
		}
		sum.Confirmed, sum.Tried, sum.Requests = sum.Confirmed+j.Confirmed, sum.Tried+j.Tried, sum.Requests+j.Requests
		switch {
		case j.Result == loop.Confirmed, j.Result == loop.Inconclusive && sum.Result == loop.FalsePositive:
			sum.Result = j.Result
		}
		lines = append(lines, errs.Clip(issue.Title, brief.MaxReason)+" at "+errs.Clip(issue.MatchedAt, brief.MaxReason)+": "+
			j.Result)
	}
	evidence, err := json.Marshal(lines)
	sum.Evidence = evidence
	return sum, err
}

// verify reproduces an issue from its evidence and stores the result. A stored result stays.
func (k *Kit) verify(ctx context.Context, issue task.Issue) (loop.Verification, error) {
	switch {
	case issue.VerificationResult.Result != "":
		return issue.VerificationResult, nil
	case issue.Verification == task.Verified:
		last := issue.Evidence[len(issue.Evidence)-1]
		return loop.Verification{Result: loop.Confirmed, Confirmed: last.Confirmed, Tried: last.Tried}, nil
	case issue.Verification == task.Unverified:
		return loop.Verification{Result: loop.FalsePositive, Reason: issue.Note}, nil
	}
	before := k.scope.Total()
	j, last, control, err := k.reproduce(ctx, issue)
	if err != nil {
		return j, err
	}
	var retest *task.RetestTemplate
	if j.Result == loop.Confirmed {
		if retest = k.distiller().Write(ctx, issue, last); ctx.Err() != nil {
			return j, context.Cause(ctx)
		}
	}
	j.Requests = int(k.scope.Total() - before)
	issue.VerificationResult = j
	if j.Result == loop.Confirmed {
		return j, k.Run.Confirm(ctx, issue,
			task.Confirmation{Last: last, Control: control, Confirmed: j.Confirmed, Tried: j.Tried, RetestTemplate: retest})
	}
	return j, k.Run.MarkUnverified(ctx, issue, strings.TrimRight(j.Reason, "."))
}

// reproduce tests for an issue several times; last is the last event, and seen what the control was answered. The error
// is that of ctx.
func (k *Kit) reproduce(
	ctx context.Context, issue task.Issue,
) (j loop.Verification, last, seen engine.Event, err error) {
	again, control, err := k.checks(ctx, issue)
	if err != nil {
		return loop.Verification{Result: loop.Inconclusive, Reason: "it could not be tested again: " + brief.Reason(err)},
			last, seen, context.Cause(ctx)
	}
	for range reproductions {
		event, shown, err := again(ctx)
		if ctx.Err() != nil {
			return j, last, seen, context.Cause(ctx)
		}
		j.Tried++
		switch {
		case err != nil:
			j.Reason = brief.Reason(err)
		case shown:
			j.Confirmed++
			last = event
		}
	}
	switch {
	case j.Confirmed == 0 && j.Reason == "":
		j.Result, j.Reason = loop.FalsePositive, notReproduced
	case j.Confirmed < reproductions:
		j.Result = loop.Inconclusive
		j.Reason = strings.TrimSpace(fmt.Sprintf("it showed again %d of %d times. %s", j.Confirmed, reproductions, j.Reason))
	default:
		answered, alike, err := control(ctx)
		switch seen = answered; {
		case ctx.Err() != nil:
			return j, last, seen, context.Cause(ctx)
		case err != nil:
			j.Result, j.Reason = loop.Inconclusive, "the control request failed: "+brief.Reason(err)
		case alike:
			j.Result, j.Reason = loop.FalsePositive, sameAtMissingPath
		default:
			j.Result = loop.Confirmed
		}
	}
	return j, last, seen, nil
}

// checks returns a function that tests for an issue again, and one that makes its control request, which must not
// match.
func (k *Kit) checks(
	ctx context.Context, issue task.Issue,
) (again, control func(context.Context) (engine.Event, bool, error), err error) {
	if p := issue.Proof; p != nil && p.Template == "" {
		again = func(ctx context.Context) (engine.Event, bool, error) {
			e, why, err := k.tryProof(ctx, *p, "")
			return e, why == "", err
		}
		return again, func(ctx context.Context) (engine.Event, bool, error) { return k.showsAtMissingPath(ctx, *p) }, nil
	}
	t, err := k.text(ctx, issue)
	if err != nil {
		return nil, nil, err
	}
	again = func(ctx context.Context) (engine.Event, bool, error) {
		return k.runner.Confirm(ctx, issue.Target, t, issue.Event)
	}
	return again, func(ctx context.Context) (engine.Event, bool, error) {
		return k.runner.Control(ctx, issue.Target, t, issue.Event)
	}, nil
}

// showsAtMissingPath reports whether a proof also holds at a path that does not exist; for a root and for absent texts
// that means nothing.
func (k *Kit) showsAtMissingPath(ctx context.Context, p task.Proof) (seen engine.Event, shows bool, err error) {
	u, err := url.Parse(p.URL)
	if err != nil || len(p.Contains) == 0 || strings.Trim(u.Path, "/") == "" {
		return seen, false, err
	}
	seen, why, err := k.tryProof(ctx, p,
		path.Join(path.Dir(strings.TrimSuffix(u.Path, "/")), ids.Random(12)+path.Ext(u.Path)))
	return seen, why == "", err
}

// text is the template that found an issue.
func (k *Kit) text(ctx context.Context, issue task.Issue) (child.Template, error) {
	if issue.Proof != nil {
		return runner.Text(distill.OwnTemplate, issue.Proof.Template), nil
	}
	found, err := k.Templates.Texts(ctx, []string{issue.TemplateID})
	if err != nil {
		return child.Template{}, err
	}
	if t, ok := found[issue.TemplateID]; ok {
		return t, nil
	}
	return child.Template{}, fmt.Errorf("its template %s is no longer there", issue.TemplateID)
}
