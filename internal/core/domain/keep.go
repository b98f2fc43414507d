package domain

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

const (
	sweepEvery = time.Minute
	// retryLook is when a look is due again whose job came to nothing.
	retryLook  = time.Hour
	sweepBatch = 500
)

// Keep looks for the proofs that are due, refreshes answers that are asked for, and removes
// those that nobody asks for any more, until ctx ends. It runs on every node that works.
func (ds *Domains) Keep(ctx context.Context) {
	tick := time.NewTicker(sweepEvery)
	defer tick.Stop()
	for {
		if err := ds.Sweep(ctx); err != nil && ctx.Err() == nil {
			ds.Logger.ErrorContext(ctx, "keeping domains", "error", err)
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return
		}
	}
}

// Sweep makes the jobs that are due, once: of several nodes that see one, the first makes it.
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

// sweepLooks makes the jobs that look for proofs.
func (ds *Domains) sweepLooks(ctx context.Context) error {
	now := ds.Now()
	type due struct {
		VerifyArgs
		at db.Time
	}
	rows, err := ds.db.Query(ctx, `SELECT id, team_id, next_look_at FROM domain WHERE next_look_at <= ? ORDER BY next_look_at LIMIT ?`, db.At(now), sweepBatch)
	looks, err := db.Collect(rows, err, func(r db.Row) (d due, err error) { return d, r.Scan(&d.ID, &d.TeamID, &d.at) })
	if err != nil {
		return err
	}
	for _, d := range looks {
		if err := ds.db.Tx(ctx, func(tx *db.Tx) error {
			n, err := tx.Exec(ctx, `UPDATE domain SET next_look_at = ? WHERE id = ? AND next_look_at = ?`, db.At(now.Add(retryLook)), d.ID, d.at)
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

// sweepSearches begins again the searches whose answers are old and were asked for lately.
func (ds *Domains) sweepSearches(ctx context.Context) error {
	now := ds.Now()
	rows, err := ds.db.Query(ctx, `SELECT team_id, domain FROM domain_search WHERE finished_at <= ? AND asked_at >= ? ORDER BY finished_at LIMIT ?`,
		db.At(now.Add(-freshFor)), db.At(now.Add(-wantedFor)), sweepBatch)
	due, err := db.Collect(rows, err, func(r db.Row) (a SearchArgs, err error) { return a, r.Scan(&a.TeamID, &a.Domain) })
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
