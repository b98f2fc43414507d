package queue

import (
	"context"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// KindStats counts the jobs of one kind that have not ended.
type KindStats struct {
	Kind    string
	Waiting int           // due or not, retries included
	Running int           // on any node
	Late    time.Duration // how long the oldest due job has waited for a worker; 0 when none waits
}

// Stats counts the jobs of all nodes that have not ended, by kind. Kinds without any are absent.
func (q *Queue) Stats(ctx context.Context) ([]KindStats, error) {
	scan := func(row db.Row) (s KindStats, err error) {
		var late float64
		err = row.Scan(&s.Kind, &s.Waiting, &s.Running, &late)
		s.Late = time.Duration(late * float64(time.Second))
		return s, err
	}
	return db.Select(ctx, q.db, scan, `SELECT kind,
		sum(CASE WHEN state = 'running' THEN 0 ELSE n END), sum(CASE WHEN state = 'running' THEN n ELSE 0 END),
		max(CASE WHEN state = 'available' AND late > 0 THEN late ELSE 0 END)
		FROM (SELECT kind, state, count(*) AS n, CAST(`+q.sql.late+` AS DOUBLE PRECISION) AS late
			FROM river_job WHERE state IN ('available', 'pending', 'retryable', 'running', 'scheduled')
			GROUP BY kind, state) AS counted
		GROUP BY kind ORDER BY kind`)
}
