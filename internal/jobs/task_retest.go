package jobs

import (
	"context"
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/tools"
)

// retestIssue tests for an issue of a task again, within the scope of the task.
func (w worker) retestIssue(ctx context.Context, a task.RetestArgs) error {
	issue, t, turns, err := w.Tasks.ForRetest(ctx, a)
	if errs.Is(err, errs.NotFound) {
		return nil // it was deleted meanwhile
	}
	if err != nil {
		return err
	}
	state, note, err := w.lookAgain(ctx, issue, t, turns)
	if e := errs.From(err); err != nil && e.Kind != errs.Internal {
		state, note, err = task.RetestFailed, e.Message, nil
	}
	if err != nil {
		return err
	}
	return w.Tasks.EndRetest(context.WithoutCancel(ctx), nil, a, state, note)
}

// lookAgain runs what tests for an issue: a proof of the tester of web applications, or a template.
func (w worker) lookAgain(
	ctx context.Context, issue task.Issue, t task.Task, turns []task.Stream,
) (task.RetestState, string, error) {
	means := issue.RetestTemplate()
	var shown bool
	var why string
	var err error
	if means.Program {
		shown, why, err = w.lookByProof(ctx, issue, t, turns)
	} else {
		shown, why, err = w.lookByTemplate(ctx, issue, t, turns, means)
	}
	switch {
	case err != nil:
		return "", "", err
	case shown:
		return task.Matched, "", nil
	case why != "":
		return task.RetestFailed, fmt.Sprintf("It could not be tested: %s.", strings.TrimSuffix(why, ".")), nil
	}
	return task.NotMatched, "", nil
}

// lookByProof runs the proof of an issue, with the secrets and as the users of its task.
func (w worker) lookByProof(ctx context.Context, issue task.Issue, t task.Task, turns []task.Stream) (
	shown bool, why string, err error,
) {
	secrets, _, err := w.Secrets.ForTask(ctx, t.TeamID, t.UserID, t.Options.ProjectID, t.Options.Secrets)
	if err != nil {
		return false, "", err
	}
	kit, err := w.retestKit(ctx, t, turns, secrets)
	if err != nil {
		return false, "", err
	}
	defer kit.Close()
	return kit.Reprove(ctx, issue)
}

// retestKit are the tools of a task that has ended.
func (w worker) retestKit(ctx context.Context, t task.Task, turns []task.Stream, secrets map[string]string) (
	*tools.Kit, error,
) {
	boundary, err := w.tools.Boundary(ctx, t, task.PlanOf(turns))
	if err != nil {
		return nil, err
	}
	return tools.New(tools.Config{
		Boundary: boundary, Secrets: secrets, Logger: w.Logger, Runs: w.tools.Runs(t.TeamID, nil),
	})
}

// lookByTemplate runs the template of an issue. It gets the task's secrets only if it has not changed since.
func (w worker) lookByTemplate(ctx context.Context, issue task.Issue, t task.Task, turns []task.Stream,
	template *task.RetestTemplate,
) (shown bool, why string, err error) {
	known, err := w.Catalog.Texts(ctx, t.TeamID, []string{template.TemplateID})
	p, found := known[template.TemplateID]
	if err != nil || !found {
		return false, "the template is not in the catalogue any more, or cannot be run", err
	}
	secrets := map[string]string{}
	if template.Compiled && p.Digest == template.Digest {
		if secrets, _, err = w.Secrets.ForTask(ctx, t.TeamID, t.UserID, t.Options.ProjectID, t.Options.Secrets); err != nil {
			return false, "", err
		}
	}
	kit, err := w.retestKit(ctx, t, turns, secrets)
	if err != nil {
		return false, "", err
	}
	defer kit.Close()
	return kit.Retest(ctx, issue, scan.TextOf(p))
}
