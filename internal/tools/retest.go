package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/tools/distill"
)

// Retest runs once what shows an issue. why says why it could not be tested.
func (k *Kit) Retest(ctx context.Context, issue task.Issue, t child.Template) (shown bool, why string, err error) {
	compiled := issue.RetestTemplate().Compiled
	target := issue.Target
	if compiled {
		target, _ = distill.SiteOf(issue.MatchedAt)
	}
	vars := map[string]string{}
	for name, value := range k.Secrets {
		vars["$"+name] = value
	}
	report, notes, err := k.runner.Run(ctx, child.Job{
		Targets: []string{target}, Templates: []child.Template{t}, Vars: vars,
		OnEvent: func(_ int, e engine.Event) { shown = shown || compiled || issue.IsSameFinding(e) },
	})
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil || shown {
		return shown, "", err
	}
	if len(notes) > 0 {
		return false, strings.TrimSuffix(notes[0], "."), nil
	}
	if state, reason := report.Cell(0, 0); state != engine.Tested {
		why = fmt.Sprintf("%s, %s", state, reason)
	}
	return false, why, nil
}
