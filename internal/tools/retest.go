package tools

import (
	"context"
	"fmt"

	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/tools/distill"
)

// Retest runs once what shows an issue. why says why it could not be tested.
func (k *Kit) Retest(ctx context.Context, issue task.Issue, p *program.Program) (shown bool, why string, err error) {
	compiled := issue.RetestTemplate().Compiled
	target := issue.Target
	if compiled {
		target, _ = distill.SiteOf(issue.MatchedAt)
	}
	vars := map[string]string{}
	for name, value := range k.Secrets {
		vars["$"+name] = value
	}
	report, err := k.engine.Run(ctx,
		engine.Scan{Targets: []string{target}, Programs: []*program.Program{p}, Vars: vars, OnEvent: func(e engine.Event) {
			shown = shown || compiled || issue.IsSameFinding(e)
		}})
	if err == nil {
		err = context.Cause(ctx)
	}
	if err != nil || shown {
		return shown, "", err
	}
	if state, reason := report.Targets[0].Cell(0); state != engine.Tested {
		why = fmt.Sprintf("%s, %s", state, reason)
	}
	return false, why, nil
}
