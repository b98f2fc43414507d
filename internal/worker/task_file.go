package worker

import (
	"context"
	"strings"

	"github.com/vedette-sec/vedette/internal/task"
	"github.com/vedette-sec/vedette/internal/toolbox"
)

// attach finds the files that a task names, of its owner's. gap says which are no longer
// there.
func (w worker) attach(ctx context.Context, t task.Task) (at toolbox.Attached, gap string, err error) {
	found, missing, err := w.Files.ForTask(ctx, t.TeamID, t.UserID, t.Options.FileKeys)
	if len(missing) > 0 {
		gap = "\nThere is no file any more with the key " + strings.Join(missing, ", ") + "."
	}
	return toolbox.Attached{Files: found, Read: w.Files.Read}, gap, err
}
