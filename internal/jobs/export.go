package jobs

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/export"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// handleExports registers the job that makes a file.
func (w worker) handleExports(q *queue.Queue) {
	queue.Handle(q, queue.Handler[export.RunArgs]{
		Work: w.Exports.Run,
		GiveUp: func(ctx context.Context, tx *db.Tx, job queue.Job[export.RunArgs], cause error) error {
			w.Logger.ErrorContext(ctx, "giving up an export", "export_id", job.Args.ExportID, "error", cause)
			return w.Exports.GiveUp(ctx, tx, job.Args.ExportID)
		},
	})
}
