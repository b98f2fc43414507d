package jobs

import (
	"context"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/scan"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// handleScans registers the jobs that plan scans, test chunks, and retest findings.
func (w worker) handleScans(q *queue.Queue) {
	queue.Handle(q, queue.Handler[scan.BeginArgs]{
		Quick: true,
		Work:  func(ctx context.Context, job queue.Job[scan.BeginArgs]) error { return w.Scans.Begin(ctx, job.Args) },
		GiveUp: func(ctx context.Context, tx *db.Tx, job queue.Job[scan.BeginArgs], cause error) error {
			w.Logger.ErrorContext(ctx, "giving up planning a scan", "scan_id", job.Args.ScanID, "error", cause)
			return w.Scans.GiveUpBegin(ctx, tx, job.Args)
		},
	})
	queue.Handle(q, queue.Handler[scan.ChunkArgs]{
		Work: func(ctx context.Context, job queue.Job[scan.ChunkArgs]) error {
			return w.Scans.RunChunk(ctx, job.Args, w.Deny)
		},
		GiveUp: func(ctx context.Context, tx *db.Tx, job queue.Job[scan.ChunkArgs], cause error) error {
			w.Logger.ErrorContext(ctx, "giving up a part of a scan", "scan_id", job.Args.ScanID, "part", job.Args.N, "error", cause)
			return w.Scans.GiveUpChunk(ctx, tx, job.Args)
		},
	})
	queue.Handle(q, queue.Handler[finding.RetestArgs]{
		Work: func(ctx context.Context, job queue.Job[finding.RetestArgs]) error {
			return w.Scans.Retest(ctx, job.Args, w.Deny)
		},
		GiveUp: func(ctx context.Context, tx *db.Tx, job queue.Job[finding.RetestArgs], cause error) error {
			w.Logger.ErrorContext(ctx, "giving up a retest", "vuln_id", job.Args.FindingID, "error", cause)
			return w.Findings.EndRetest(ctx, tx, job.Args, finding.RetestResult{
				State: finding.RetestFailed, Note: "The retest could not be run. The server's log says why.",
			})
		},
	})
}
