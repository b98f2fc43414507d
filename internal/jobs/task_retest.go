package jobs

import (
	"context"
	"fmt"

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

// lookAgain runs the template of an issue. It gets the task's secrets only if it has not changed since.
func (w worker) lookAgain(
	ctx context.Context, issue task.Issue, t task.Task, turns []task.Stream,
) (task.RetestState, string, error) {
	template := issue.RetestTemplate()
	known, err := w.Catalog.Texts(ctx, t.TeamID, []string{template.TemplateID})
	p, found := known[template.TemplateID]
	if err != nil || !found {
		return task.RetestFailed, "The template is not in the catalogue any more, or cannot be run.", err
	}
	secrets := map[string]string{}
	if template.Compiled && p.Digest == template.Digest {
		if secrets, _, err = w.Secrets.ForTask(ctx, t.TeamID, t.UserID, t.Options.ProjectID, t.Options.Secrets); err != nil {
			return "", "", err
		}
	}
	boundary, err := w.tools.Boundary(ctx, t, task.PlanOf(turns))
	if err != nil {
		return "", "", err
	}
	kit, err := tools.New(tools.Config{Boundary: boundary, Secrets: secrets, Logger: w.Logger,
		Runs: w.tools.Runs(t.TeamID, nil)})
	if err != nil {
		return "", "", err
	}
	defer kit.Close()
	shown, why, err := kit.Retest(ctx, issue, scan.TextOf(p))
	switch {
	case err != nil:
		return "", "", err
	case shown:
		return task.Matched, "", nil
	case why != "":
		return task.RetestFailed, fmt.Sprintf("It could not be tested: %s.", why), nil
	}
	return task.NotMatched, "", nil
}
