package queue

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// loop sends heartbeats and takes over the jobs of silent nodes until ctx ends, for the first time at once. One
// goroutine does both, heartbeats first: a node that was suspended keeps its jobs unless another one has taken
// them meanwhile.
func (q *Queue) loop(ctx context.Context) {
	defer close(q.loopDone)
	tick := time.NewTicker(q.config.Heartbeat)
	defer tick.Stop()
	reapEvery := max(1, int(q.config.Lease/3/q.config.Heartbeat))
	for n := 0; ; n++ {
		if err := q.heartbeat(ctx); err != nil && ctx.Err() == nil {
			// Nothing is lost yet: no other node reaches the database either.
			q.log.Warn("could not prolong the leases of this node's jobs", "error", err)
		} else if n%reapEvery == 0 {
			if err := q.reap(ctx); err != nil && ctx.Err() == nil {
				q.log.Warn("could not look for jobs of silent nodes", "error", err)
			}
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

// heartbeat prolongs the leases of this node's runs, in one transaction for all, and ends the runs that were
// cancelled or whose lease was lost.
func (q *Queue) heartbeat(ctx context.Context) error {
	runs := q.live()
	if len(runs) == 0 {
		return nil
	}
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var w db.Where
	w.And("node = ?", q.node)
	db.In(&w, "job_id", slices.Collect(maps.Keys(runs)))
	var leases []lease
	err := q.db.Tx(ctx, func(tx *db.Tx) (err error) {
		scan := func(row db.Row) (l lease, err error) { return l, row.Scan(&l.jobID, &l.token, &l.cancelled) }
		leases, err = db.Select(ctx, tx, scan, `SELECT job_id, token, EXISTS (SELECT 1 FROM river_job
			WHERE id = job_id AND metadata->>'cancel_attempted_at' IS NOT NULL)
			FROM queue_lease`+w.String()+` ORDER BY job_id`+tx.Speaks().ForUpdate(), w.Args...)
		if err != nil {
			return err
		}
		_, err = tx.Exec(ctx, `UPDATE queue_lease SET beat_at = `+q.sql.now+w.String(), w.Args...)
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

// live are the runs whose leases this node prolongs.
func (q *Queue) live() map[int64]*run {
	q.mu.Lock()
	defer q.mu.Unlock()
	runs := maps.Clone(q.runs)
	maps.DeleteFunc(runs, func(_ int64, r *run) bool { return r.dropped.Load() })
	return runs
}

// reap gives the jobs of silent nodes back to the queue. The attempt counts: a job that kills its process must
// not run for ever. The run after its last attempt gives it up (worker.attempt).
func (q *Queue) reap(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, writeTimeout)
	defer cancel()
	var stale db.Where
	stale.And("node <> '' AND beat_at < "+q.sql.now+" - ?", q.config.Lease.Microseconds())
	// Outside a transaction, so that an idle node does not take the write lock.
	found, err := db.Value[bool](ctx, q.db, `SELECT EXISTS (SELECT 1 FROM queue_lease`+stale.String()+`)`, stale.Args...)
	if err != nil || !found {
		return err
	}
	var jobIDs []int64
	err = q.db.Tx(ctx, func(tx *db.Tx) (err error) {
		jobIDs, err = db.Values[int64](ctx, tx, `SELECT job_id FROM queue_lease`+stale.String()+
			` ORDER BY job_id`+tx.Speaks().ForUpdate(), stale.Args...)
		if err != nil || len(jobIDs) == 0 {
			return err
		}
		var leases, jobs db.Where
		db.In(&leases, "job_id", jobIDs)
		db.In(&jobs, "id", jobIDs)
		_, err = tx.Exec(ctx, `UPDATE queue_lease SET node = '', token = token + 1`+leases.String(), leases.Args...)
		if err != nil {
			return err
		}
		jobs.And("state = 'running'")
		_, err = tx.Exec(ctx, `UPDATE river_job SET state = 'available'`+jobs.String(), jobs.Args...)
		return err
	})
	if err != nil || len(jobIDs) == 0 {
		return err
	}
	q.log.Warn("took over jobs whose node went silent", "jobs", len(jobIDs))
	q.wake()
	return nil
}
