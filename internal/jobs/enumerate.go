package jobs

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/enumeration"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// purgeAttempts is how often the deletion of an enumeration's rows is tried; each attempt goes on where the last one stopped.
const purgeAttempts = 100

// handleEnumerations registers the jobs that plan enumerations, carry out chunks, and follow a run.
func (w worker) handleEnumerations(q *queue.Queue) {
	queue.Handle(q, queue.Handler[enumeration.BeginArgs]{
		Quick: true,
		Work: func(ctx context.Context, job queue.Job[enumeration.BeginArgs]) error {
			return w.Enumerations.Begin(ctx, job.Args)
		},
		GiveUp: func(ctx context.Context, tx *db.Tx, job queue.Job[enumeration.BeginArgs], cause error) error {
			w.Logger.ErrorContext(ctx, "giving up planning an enumeration", "enumeration_id", job.Args.EnumerationID, "error", cause)
			return w.Enumerations.GiveUpBegin(ctx, tx, job.Args)
		},
	})
	queue.Handle(q, queue.Handler[enumeration.ChunkArgs]{
		Work: func(ctx context.Context, job queue.Job[enumeration.ChunkArgs]) error {
			return w.Enumerations.RunChunk(ctx, job.Args, w.discovery)
		},
		GiveUp: func(ctx context.Context, tx *db.Tx, job queue.Job[enumeration.ChunkArgs], cause error) error {
			w.Logger.ErrorContext(ctx, "giving up a part of an enumeration", "enumeration_id", job.Args.EnumerationID,
				"part", job.Args.N, "error", cause)
			return w.Enumerations.GiveUpChunk(ctx, tx, job.Args)
		},
	})
	queue.Handle(q, queue.Handler[enumeration.TidyArgs]{Work: func(ctx context.Context, job queue.Job[enumeration.TidyArgs]) error {
		return w.Enumerations.Tidy(ctx, job.Args)
	}})
	queue.Handle(q, queue.Handler[enumeration.PurgeArgs]{
		MaxAttempts: purgeAttempts,
		Work: func(ctx context.Context, job queue.Job[enumeration.PurgeArgs]) error {
			return w.Enumerations.Purge(ctx, job.Args)
		},
	})
	queue.Handle(q, queue.Handler[enumeration.AlertArgs]{Quick: true, Work: w.alertOfEnumeration})
	queue.Handle(q, queue.Handler[enumeration.ScanArgs]{Work: w.scanNewAssets})
}
