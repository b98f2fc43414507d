package queue

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// loop beats and reaps until ctx ends, for the first time at once. One goroutine does both,
// beating first: a node that was suspended keeps its jobs unless another has taken them
// meanwhile.
func (q *Queue) loop(ctx context.Context) {
	defer close(q.loopDone)
	beat := time.NewTicker(q.config.Beat)
	defer beat.Stop()
	reapEvery := max(1, int(q.config.Lease/3/q.config.Beat))
	for n := 0; ; n++ {
		if err := q.beat(ctx); err != nil && ctx.Err() == nil {
			// Nothing is lost yet: while the database is away no other node reaches it either.
			q.log.Warn("the jobs of this node could not beat", "error", err)
		} else if n%reapEvery == 0 {
			if err := q.reap(ctx); err != nil && ctx.Err() == nil {
				q.log.Warn("could not look for jobs of silent nodes", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-beat.C:
		}
	}
}

// beat prolongs the leases of this node's runs in one transaction, however many they
// are, and ends the runs that were cancelled or lost.
func (q *Queue) beat(ctx context.Context) error {
	runs := q.beating()
	if len(runs) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var w db.Where
	w.And("node = ?", q.node)
	jobIDs := make([]int64, 0, len(runs))
	for id := range runs {
		jobIDs = append(jobIDs, id)
	}
	db.In(&w, "job_id", jobIDs)
	var leases []lease
	err := q.db.Tx(ctx, func(tx *db.Tx) error {
		rows, err := tx.Query(ctx, `SELECT job_id, token, EXISTS (SELECT 1 FROM river_job
			WHERE id = job_id AND metadata->>'cancel_attempted_at' IS NOT NULL)
			FROM queue_lease`+w.String()+` ORDER BY job_id`+tx.Speaks().ForUpdate(), w.Args...)
		leases, err = db.Collect(rows, err, func(row db.Row) (l lease, err error) {
			return l, row.Scan(&l.jobID, &l.token, &l.cancelled)
		})
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE queue_lease SET beat_at = `+q.river.words().now+w.String(), w.Args...)
		return err
	})
	if err != nil {
		return err
	}
	for _, l := range leases {
		if r := runs[l.jobID]; r.token == l.token {
			delete(runs, l.jobID)
			if l.cancelled {
				r.cancel(ErrCancelled)
			}
		}
	}
	for id, r := range runs {
		if q.runOf(id) == r { // else it was settled during the query
			r.cancel(ErrLeaseLost)
		}
	}
	return nil
}

// beating are the runs whose leases this node prolongs.
func (q *Queue) beating() map[int64]*run {
	q.mu.Lock()
	defer q.mu.Unlock()
	runs := make(map[int64]*run, len(q.runs))
	for id, r := range q.runs {
		if !r.forsaken.Load() {
			runs[id] = r
		}
	}
	return runs
}

// reap gives the jobs of silent nodes back to the queue. The attempt counts: a job that
// takes its process down must not do so for ever. The run after its last attempt gives
// it up (worker.attempt).
func (q *Queue) reap(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var stale db.Where
	stale.And("node <> '' AND beat_at < "+q.river.words().now+" - ?", q.config.Lease.Microseconds())
	var found bool // outside a transaction, so that an idle node does not take the write lock
	if err := q.db.QueryRow(ctx, `SELECT EXISTS (SELECT 1 FROM queue_lease`+stale.String()+`)`, stale.Args...).Scan(&found); err != nil || !found {
		return err
	}
	var silent []lease
	err := q.db.Tx(ctx, func(tx *db.Tx) error {
		rows, err := tx.Query(ctx, `SELECT job_id, token FROM queue_lease`+stale.String()+` ORDER BY job_id`+tx.Speaks().ForUpdate(), stale.Args...)
		if silent, err = db.Collect(rows, err, scanLease); err != nil || len(silent) == 0 {
			return err
		}
		var leases, jobs db.Where
		jobIDs := make([]int64, len(silent))
		for i, l := range silent {
			jobIDs[i] = l.jobID
		}
		db.In(&leases, "job_id", jobIDs)
		db.In(&jobs, "id", jobIDs)
		if _, err := tx.Exec(ctx, `UPDATE queue_lease SET node = '', token = token + 1`+leases.String(), leases.Args...); err != nil {
			return err
		}
		jobs.And("state = 'running'")
		_, err = tx.Exec(ctx, `UPDATE river_job SET state = 'available'`+jobs.String(), jobs.Args...)
		return err
	})
	if err != nil || len(silent) == 0 {
		return err
	}
	q.log.Warn("took over jobs whose node went silent", "jobs", len(silent))
	q.wake()
	return nil
}
