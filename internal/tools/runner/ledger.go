package runner

import (
	"context"
	"regexp"

	"github.com/vedette-sec/vedette/internal/core/task/change"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/child"
)

// writtenID finds the id of a template in its text, of which the engine takes the first at the beginning of a line too.
var writtenID = regexp.MustCompile(`(?m)^id:[ \t]*["']?([A-Za-z0-9_.-]+)`)

// keep writes into the ledger of the task which targets were tested with which templates. That a template does not
// apply to a target was found out by a test.
func (r *Runner) keep(ctx context.Context, job child.Job, result *child.Result) error {
	if r.Task == nil || r.Task.Task.ScheduleID == "" || job.Repeat != nil {
		return nil
	}
	l := change.Ledger{Targets: job.Targets}
	for _, t := range job.Templates {
		id := ""
		if m := writtenID.FindSubmatch(t.Data); m != nil {
			id = string(m[1])
		}
		l.Templates = append(l.Templates, id)
	}
	for i := range job.Targets {
		for j := range job.Templates {
			if state, _ := result.Cell(i, j); state == engine.Tested || state == engine.NotApplicable {
				l.Mark(i, j)
			}
		}
	}
	return r.Task.StoreLedger(context.WithoutCancel(ctx), l)
}
