package audit

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

const (
	sweepEvery = time.Hour
	// sweepBatch is how many entries one transaction removes, so that it holds up nobody.
	sweepBatch = 1000
)

// Keep removes what is too old, now and then every hour, until ctx ends. Several nodes may
// do it at once.
func (l *Log) Keep(ctx context.Context) {
	if l.keep == 0 {
		return
	}
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := l.Sweep(ctx); err != nil && ctx.Err() == nil {
			l.logger.ErrorContext(ctx, "removing old entries of the audit log", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Sweep removes the entries that are older than they are to be kept.
func (l *Log) Sweep(ctx context.Context) error {
	if l.keep == 0 {
		return nil
	}
	before := db.At(l.now().Add(-l.keep))
	for {
		n, err := l.db.Exec(ctx, `DELETE FROM audit_entry WHERE id IN (SELECT id FROM audit_entry WHERE created_at < ? ORDER BY created_at LIMIT ?)`, before, sweepBatch)
		if err != nil || n < sweepBatch {
			return err
		}
	}
}
