package jobs

import (
	"context"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/tools"
)

// attach finds the files that a task names, of its owner's. gap says which are no longer
// there.
func (w worker) attach(ctx context.Context, t task.Task) (at tools.Attached, gap string, err error) {
	found, missing, err := w.Files.ForTask(ctx, t.TeamID, t.UserID, t.Options.FileKeys)
	if len(missing) > 0 {
		gap = "\nThere is no file any more with the key " + strings.Join(missing, ", ") + "."
	}
	return tools.Attached{Files: found, Read: w.Files.Read}, gap, err
}
