package domain

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

const (
	retryCheck = time.Hour // when a check is due again whose job failed
	sweepBatch = 500
)

// Keep queues the checks of proofs that are due, refreshes answers that are queried, and removes old ones, until
// ctx ends. It runs on every worker node.
func (ds *Domains) Keep(ctx context.Context) {
	queue.Every(ctx, time.Minute, ds.Logger, "keeping domains", ds.Sweep)
}

// Sweep inserts the jobs that are due. Of several nodes that see one, the first inserts it.
func (ds *Domains) Sweep(ctx context.Context) error {
	if err := ds.sweepLooks(ctx); err != nil {
		return err
	}
	if err := ds.sweepSearches(ctx); err != nil {
		return err
	}
	old := db.At(ds.Now().Add(-keptFor))
	if _, err := ds.db.Exec(ctx, `DELETE FROM domain_search WHERE asked_at < ?`, old); err != nil {
		return err
	}
	_, err := ds.db.Exec(ctx, `DELETE FROM domain_probe WHERE checked_at < ?`, old)
	return err
}

// sweepLooks inserts the jobs that check proofs.
func (ds *Domains) sweepLooks(ctx context.Context) error {
	now := ds.Now()
	type due struct {
		VerifyArgs
		at db.Time
	}
	scan := func(r db.Row) (d due, err error) { return d, r.Scan(&d.ID, &d.TeamID, &d.at) }
	checks, err := db.Select(ctx, ds.db, scan, `SELECT id, team_id, next_look_at FROM domain WHERE next_look_at <= ?
		ORDER BY next_look_at LIMIT ?`, db.At(now), sweepBatch)
	if err != nil {
		return err
	}
	for _, d := range checks {
		if err := ds.db.Tx(ctx, func(tx *db.Tx) error {
			n, err := tx.Exec(ctx, `UPDATE domain SET next_look_at = ? WHERE id = ? AND next_look_at = ?`,
				db.At(now.Add(retryCheck)), d.ID, d.at)
			if err != nil || n == 0 {
				return err
			}
			_, err = ds.queue.Insert(ctx, tx, d.VerifyArgs)
			return err
		}); err != nil {
			return err
		}
	}
	return nil
}

// sweepSearches starts the searches again whose answers are old and were queried lately.
func (ds *Domains) sweepSearches(ctx context.Context) error {
	now := ds.Now()
	scan := func(r db.Row) (a SearchArgs, err error) { return a, r.Scan(&a.TeamID, &a.Domain) }
	due, err := db.Select(ctx, ds.db, scan, `SELECT team_id, domain FROM domain_search
		WHERE finished_at <= ? AND asked_at >= ? ORDER BY finished_at LIMIT ?`,
		db.At(now.Add(-freshFor)), db.At(now.Add(-wantedFor)), sweepBatch)
	if err != nil {
		return err
	}
	for _, a := range due {
		if err := ds.db.Tx(ctx, func(tx *db.Tx) error {
			s, err := ds.find(ctx, tx, a.TeamID, a.Domain, tx.Speaks().ForUpdate())
			if db.IsNoRows(err) {
				return nil
			}
			if err != nil {
				return err
			}
			return ds.again(ctx, tx, a.TeamID, a.Domain, s, now)
		}); err != nil {
			return err
		}
	}
	return nil
}
