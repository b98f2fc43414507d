package queue

import (
	"context"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// each is a started queue on each engine, with the leases of production.
func each(b *testing.B, workers int, work func(context.Context, Job[note]) error, fn func(b *testing.B, q *Queue)) {
	for _, engine := range dbtest.Engines {
		b.Run(engine, func(b *testing.B) {
			q, err := Open(b.Context(), dbtest.Open(b, engine), Config{Workers: workers})
			if err != nil {
				b.Fatal(err)
			}
			Handle(q, Handler[note]{Work: work})
			if workers > 0 {
				start(b, q)
			}
			fn(b, q)
		})
	}
}

// One insert in a transaction of its own.
func BenchmarkInsert(b *testing.B) {
	each(b, 0, nil, func(b *testing.B, q *Queue) {
		for b.Loop() {
			insert(b, q, note{})
		}
	})
}

// Inserts of a hundred in a transaction; an op is one job.
func BenchmarkInsertBatch(b *testing.B) {
	each(b, 0, nil, func(b *testing.B, q *Queue) {
		for left := b.N; left > 0; left -= 100 {
			err := q.db.Tx(b.Context(), func(tx *db.Tx) error {
				for range min(left, 100) {
					if _, err := q.Insert(b.Context(), tx, "", note{}); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
		}
	})
}

// The time from an insert's commit to the handler, on an idle queue.
func BenchmarkPickUp(b *testing.B) {
	started := make(chan time.Time, 1)
	work := func(context.Context, Job[note]) error { started <- time.Now(); return nil }
	each(b, 4, work, func(b *testing.B, q *Queue) {
		var took time.Duration
		for b.Loop() {
			insert(b, q, note{})
			committed := time.Now()
			took += next(b, started).Sub(committed)
			until(b, "the queue is idle", func() bool { return q.running() == 0 })
		}
		b.ReportMetric(float64(took.Microseconds())/float64(b.N)/1000, "ms-to-start/op")
	})
}

// Jobs that do nothing, from insert to completion, sixteen at once; an op is one job.
func BenchmarkWork(b *testing.B) {
	done := make(chan struct{}, 1000)
	work := func(context.Context, Job[note]) error { done <- struct{}{}; return nil }
	each(b, 16, work, func(b *testing.B, q *Queue) {
		for left := b.N; left > 0; left -= 1000 {
			n := min(left, 1000)
			err := q.db.Tx(b.Context(), func(tx *db.Tx) error {
				for range n {
					if _, err := q.Insert(b.Context(), tx, "", note{}); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				b.Fatal(err)
			}
			for range n {
				next(b, done)
			}
		}
	})
}
