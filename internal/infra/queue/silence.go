package queue

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// sight is a lease as this node saw it, and since when it has not changed.
type sight struct {
	beat
	since time.Time // of this process's monotonic clock
}

// beat changes whenever a lease is taken or prolonged.
type beat struct{ token, at int64 }

// silent are the jobs whose leases nobody has prolonged for Config.Lease. The time is measured by this process alone,
// between two looks at an unchanged lease: a clock that jumps, here or at the database, neither takes a job from a
// living node nor leaves it with a dead one.
func (q *Queue) silent(ctx context.Context) (map[int64]beat, error) {
	type row struct {
		job int64
		beat
	}
	scan := func(r db.Row) (one row, err error) { return one, r.Scan(&one.job, &one.token, &one.at) }
	rows, err := db.Select(ctx, q.db, scan, `SELECT job_id, token, beat_at FROM queue_lease WHERE node <> ''`)
	if err != nil {
		return nil, err
	}
	now := time.Now()
	seen := make(map[int64]sight, len(rows))
	jobs := map[int64]beat{}
	for _, one := range rows {
		s, known := q.seen[one.job]
		if !known || s.beat != one.beat {
			s = sight{one.beat, now}
		}
		if seen[one.job] = s; now.Sub(s.since) >= q.config.Lease {
			jobs[one.job] = one.beat
		}
	}
	q.seen = seen
	return jobs, nil
}

// stillSilent locks the leases of silent jobs and returns those that have not been prolonged since.
func stillSilent(ctx context.Context, tx *db.Tx, silent map[int64]beat) (jobs []int64, err error) {
	var w db.Where
	w.And("node <> ''")
	ids := make([]int64, 0, len(silent))
	for id := range silent {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	db.In(&w, "job_id", ids)
	scan := func(r db.Row) (id int64, err error) {
		var b beat
		if err = r.Scan(&id, &b.token, &b.at); b != silent[id] {
			id = 0
		}
		return id, err
	}
	jobs, err = db.Select(ctx, tx, scan, `SELECT job_id, token, beat_at FROM queue_lease`+w.String()+
		` ORDER BY job_id`+tx.Dialect().ForUpdate(), w.Args...)
	return slices.DeleteFunc(jobs, func(id int64) bool { return id == 0 }), err
}
