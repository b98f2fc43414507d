package queue

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

func TestInsertRollsBackWithItsTransaction(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := patient(t, d, 2)
		ran := make(chan note, 10)
		Handle(q, Handler[note]{Work: func(_ context.Context, job Job[note]) error { ran <- job.Args; return nil }})
		start(t, q)
		no := errors.New("no")
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			if _, err := q.Insert(t.Context(), tx, "", note{N: 1}); err != nil {
				return err
			}
			return no
		})
		if !errors.Is(err, no) {
			t.Fatal(err)
		}
		id := insert(t, q, note{N: 2, Text: "a\x00b\xff"})
		if got := next(t, ran); got != (note{2, "a\uFFFDb\uFFFD"}) {
			t.Errorf("ran %+v", got)
		}
		untilState(t, q, id, "completed")
		var n int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM river_job`).Scan(&n); err != nil || n != 1 {
			t.Errorf("%d jobs, %v; want the committed one", n, err)
		}
		if n := leases(t, q); n != 0 {
			t.Errorf("%d leases are left", n)
		}
	})
}

func TestEachJobRunsOnceOnTwoNodes(t *testing.T) {
	t.Parallel()
	const jobs = 1000
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		var mu sync.Mutex
		runs, nodes := map[int]int{}, map[int]int{}
		done := make(chan struct{}, jobs)
		var queues []*Queue
		for node := range 2 {
			q := patient(t, d, 8)
			Handle(q, Handler[note]{Work: func(_ context.Context, job Job[note]) error {
				mu.Lock()
				defer mu.Unlock()
				runs[job.Args.N]++
				nodes[node]++
				done <- struct{}{}
				return nil
			}})
			queues = append(queues, q)
		}
		err := d.Tx(t.Context(), func(tx *db.Tx) error {
			for i := range jobs {
				if _, err := queues[0].Insert(t.Context(), tx, "", note{N: i}); err != nil {
					return err
				}
			}
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
		for _, q := range queues {
			start(t, q)
		}
		for range jobs {
			next(t, done)
		}
		until(t, "all are completed", func() bool {
			var n int
			err := d.QueryRow(t.Context(), `SELECT count(*) FROM river_job WHERE state = 'completed'`).Scan(&n)
			return err == nil && n == jobs
		})
		mu.Lock()
		defer mu.Unlock()
		for i := range jobs {
			if runs[i] != 1 {
				t.Errorf("job %d ran %d times", i, runs[i])
			}
		}
		if nodes[0] == 0 || nodes[1] == 0 {
			t.Errorf("jobs by node: %v; want both to share the work", nodes)
		}
	})
}

func TestParallelInserts(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := patient(t, d, 4)
		ran := make(chan int, 200)
		Handle(q, Handler[note]{Work: func(_ context.Context, job Job[note]) error { ran <- job.Args.N; return nil }})
		start(t, q)
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				err := d.Tx(t.Context(), func(tx *db.Tx) error {
					_, err := q.Insert(t.Context(), tx, "", note{N: i})
					return err
				})
				if err != nil {
					t.Errorf("insert %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		var got []int
		for range 200 {
			got = append(got, next(t, ran))
		}
		slices.Sort(got)
		if len(slices.Compact(got)) != 200 {
			t.Error("some job ran twice")
		}
	})
}

func TestCancelReachesARunningJob(t *testing.T) {
	t.Parallel()
	for _, from := range []string{"this node", "another node"} {
		t.Run(from, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				q := patient(t, d, 2)
				started, ended := make(chan int64), make(chan error, 1)
				Handle(q, Handler[note]{
					Work: func(ctx context.Context, job Job[note]) error {
						started <- job.ID
						<-ctx.Done()
						ended <- context.Cause(ctx)
						return ctx.Err()
					},
					GiveUp: func(context.Context, *db.Tx, Job[note], error) error {
						t.Error("a cancelled job was given up")
						return nil
					},
				})
				start(t, q)
				insert(t, q, note{})
				id := next(t, started)
				by := q
				if from == "another node" {
					by = patient(t, d, 0)
					t.Cleanup(func() { stop(t, by) })
				}
				begun := time.Now()
				if err := by.Cancel(t.Context(), nil, id); err != nil {
					t.Fatal(err)
				}
				if cause := next(t, ended); !errors.Is(cause, ErrCancelled) {
					t.Errorf("cause %v, want ErrCancelled", cause)
				}
				if took := time.Since(begun); took > 9*time.Second {
					t.Errorf("the cancellation took %s", took)
				}
				untilState(t, q, id, "cancelled")
				if n := leases(t, q); n != 0 {
					t.Errorf("%d leases are left", n)
				}
			})
		})
	}
}

func TestCancelledWaitingJobNeverRuns(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := patient(t, d, 1)
		ran := make(chan int, 3)
		Handle(q, Handler[note]{Work: func(_ context.Context, job Job[note]) error { ran <- job.Args.N; return nil }})
		first, second := insert(t, q, note{N: 1}), insert(t, q, note{N: 2})
		var third int64
		err := d.Tx(t.Context(), func(tx *db.Tx) (err error) { // both in one transaction
			if third, err = q.Insert(t.Context(), tx, "", note{N: 3}); err != nil {
				return err
			}
			return errors.Join(q.Cancel(t.Context(), tx, first), q.Cancel(t.Context(), tx, third))
		})
		if err != nil {
			t.Fatal(err)
		}
		start(t, q)
		if n := next(t, ran); n != 2 {
			t.Errorf("job %d ran", n)
		}
		untilState(t, q, second, "completed")
		for _, id := range []int64{first, third} {
			if s := state(t, q, id); s != "cancelled" {
				t.Errorf("job %d is %s", id, s)
			}
		}
		for _, id := range []int64{second, 1 << 40} { // ended; never existed
			if err := q.Cancel(t.Context(), nil, id); err != nil {
				t.Error(err)
			}
		}
		if s := state(t, q, second); s != "completed" {
			t.Errorf("cancelling a completed job made it %s", s)
		}
	})
}

func TestRetriesEndInGivingUp(t *testing.T) {
	t.Parallel()
	type end struct {
		job   Job[note]
		cause string
	}
	cases := []struct {
		name     string
		work     func(Job[note]) error
		attempts int
		cause    string
	}{
		{"errors", func(job Job[note]) error { return fmt.Errorf("error %d", job.Attempt) }, 3, "error 3"},
		{"panics", func(job Job[note]) error { panic(fmt.Sprint("p", job.Attempt)) }, 3, "panic: p3"},
		{"abandoned", func(Job[note]) error { return fmt.Errorf("so: %w", Abandon(errors.New("hopeless"))) }, 1,
			"so: hopeless"},
	}
	for _, c := range cases {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				q := open(t, d, 1)
				ends, told := make(chan end, 5), 0
				attempts := 0
				Handle(q, Handler[note]{
					MaxAttempts: 3,
					Backoff:     func(int) time.Duration { return time.Millisecond },
					Work: func(_ context.Context, job Job[note]) error {
						attempts++
						if job.Attempt != attempts {
							t.Errorf("run %d says it is attempt %d", attempts, job.Attempt)
						}
						return c.work(job)
					},
					GiveUp: func(ctx context.Context, tx *db.Tx, job Job[note], cause error) error {
						if err := job.CheckLease(ctx, tx); err != nil {
							t.Errorf("Held: %v", err)
						}
						if told++; told == 1 {
							return errors.New("not now") // asked again when the lease has run out
						}
						ends <- end{job, cause.Error()}
						return nil
					},
				})
				start(t, q)
				id := insert(t, q, note{N: 7})
				got := next(t, ends)
				untilState(t, q, id, "discarded")
				if attempts < c.attempts || got.job.Args.N != 7 || !strings.HasPrefix(got.cause, c.cause) && told == 1 {
					t.Errorf("%d attempts, gave up %+v; want %d, %q", attempts, got, c.attempts, c.cause)
				}
				if n := leases(t, q); n != 0 {
					t.Errorf("%d leases are left", n)
				}
			})
		})
	}
}

func TestCommitWakesAWorker(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q, err := Open(t.Context(), d, Config{Logger: slog.New(slog.DiscardHandler), Workers: 2, Poll: time.Hour})
		if err != nil {
			t.Fatal(err)
		}
		ran := make(chan int, 1)
		Handle(q, Handler[note]{Work: func(_ context.Context, job Job[note]) error { ran <- job.Args.N; return nil }})
		start(t, q)
		for i := range 3 { // the first may be found by the look around at the start
			insert(t, q, note{N: i})
			if n := next(t, ran); n != i {
				t.Errorf("job %d ran, want %d", n, i)
			}
		}
	})
}

func TestTimeoutEndsAnAttempt(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := patient(t, d, 1)
		Handle(q, Handler[note]{
			Timeout: 300 * time.Millisecond,
			Backoff: func(int) time.Duration { return time.Millisecond },
			Work: func(ctx context.Context, job Job[note]) error {
				if job.Attempt == 1 {
					<-ctx.Done()
				}
				return ctx.Err()
			},
		})
		start(t, q)
		id := insert(t, q, note{})
		untilState(t, q, id, "completed")
		var attempts int
		if err := d.QueryRow(t.Context(), `SELECT attempt FROM river_job WHERE id = ?`, id).Scan(&attempts); err != nil ||
			attempts < 2 {
			t.Errorf("%d attempts, %v; want the first to run into its timeout", attempts, err)
		}
	})
}

func TestStats(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := patient(t, d, 1)
		started, release := make(chan struct{}), make(chan struct{})
		Handle(q, Handler[note]{Work: func(context.Context, Job[note]) error {
			started <- struct{}{}
			<-release
			return nil
		}})
		if got, err := q.Stats(t.Context()); err != nil || len(got) != 0 {
			t.Fatalf("an empty queue: %v, %v", got, err)
		}
		start(t, q)
		for i := range 3 {
			insert(t, q, note{N: i})
		}
		next(t, started)
		got, err := q.Stats(t.Context())
		if err != nil || len(got) != 1 {
			t.Fatalf("%v, %v", got, err)
		}
		if s := got[0]; s.Kind != "note" || s.Waiting != 2 || s.Running != 1 || s.Late <= 0 || s.Late > patience {
			t.Errorf("%+v", s)
		}
		close(release)
		next(t, started)
		next(t, started)
	})
}
