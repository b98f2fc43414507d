package queue

import (
	"context"
	"errors"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// TestJobsSurviveTheirDatabase: a database stops, in order or in a crash, while jobs run, stays away for longer than a
// lease, and starts again. The jobs that needed it go on without a lost attempt, those that did not are not run again,
// and nothing is written twice.
func TestJobsSurviveTheirDatabase(t *testing.T) {
	t.Parallel()
	for name, crash := range map[string]bool{"stopped": false, "crashed": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := dbtest.NewServer(t)
			d, err := db.Open(t.Context(), db.Config{URL: server.URL()})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() })
			if _, err := d.Exec(t.Context(), `CREATE TABLE effect (n BIGINT)`); err != nil {
				t.Fatal(err)
			}
			const writers, others = 2, 2 // others need the database for nothing
			q := open(t, d, writers+others)
			started, proceed := make(chan int, 100), make(chan struct{})
			tried, failed := make(chan error, 100), make(chan struct{})
			var ran [writers + others]atomic.Int32
			Handle(q, Handler[note]{MaxAttempts: 1, Work: func(ctx context.Context, job Job[note]) error {
				n := job.Args.N
				ran[n].Add(1)
				started <- n
				<-proceed
				if n >= writers {
					return nil
				}
				err := d.Tx(ctx, func(tx *db.Tx) error {
					if err := job.CheckLease(ctx, tx); err != nil {
						return err
					}
					_, err := tx.Exec(ctx, `INSERT INTO effect (n) VALUES (?)`, n)
					return err
				})
				tried <- err
				return err
			}, GiveUp: func(context.Context, *db.Tx, Job[note], error) error {
				close(failed)
				return nil
			}})
			var ids []int64
			for n := range writers + others {
				ids = append(ids, insert(t, q, note{N: n}))
			}
			start(t, q)
			for range ids {
				next(t, started)
			}
			server.Stop(crash)
			close(proceed)
			for range writers {
				if err := next(t, tried); err == nil {
					t.Error("a write without a database went well")
				}
			}
			<-time.After(2 * q.config.Lease) // it is what the test is about
			server.Start()
			var last string
			defer func() { t.Logf("the last state of a job: %q", last) }()
			for _, id := range ids {
				until(t, "the jobs end", func() bool {
					err := d.QueryRow(t.Context(), `SELECT state FROM river_job WHERE id = ?`, id).Scan(&last)
					return err == nil && last == "completed"
				})
			}
			for n := range writers {
				written, err := db.Value[int](t.Context(), d, `SELECT count(*) FROM effect WHERE n = ?`, n)
				if err != nil || written != 1 {
					t.Errorf("job %d wrote %d times, %v", n, written, err)
				}
			}
			for n := writers; n < writers+others; n++ {
				if got := ran[n].Load(); got != 1 {
					t.Errorf("job %d, which had ended, ran %d times", n, got)
				}
			}
			select {
			case <-failed:
				t.Error("a job was given up")
			default:
			}
		})
	}
}

// TestAFullDiskCostsNoAttempt: and a mistake does.
func TestAFullDiskCostsNoAttempt(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := patient(t, d, 2)
		var full atomic.Bool
		full.Store(true)
		runs, gaveUp := make(chan int, 100), make(chan int, 2)
		Handle(q, Handler[note]{MaxAttempts: 1, Work: func(_ context.Context, job Job[note]) error {
			runs <- job.Attempt
			switch {
			case job.Args.N == 1:
				return errors.New("a mistake")
			case full.Load():
				return syscall.ENOSPC
			}
			return nil
		}, GiveUp: func(_ context.Context, _ *db.Tx, job Job[note], _ error) error {
			gaveUp <- job.Args.N
			return nil
		}})
		start(t, q)
		id := insert(t, q, note{N: 0})
		for range 2 {
			if attempt := next(t, runs); attempt != 1 {
				t.Errorf("the attempt is %d", attempt)
			}
		}
		full.Store(false)
		untilState(t, q, id, "completed")
		insert(t, q, note{N: 1})
		if n := next(t, gaveUp); n != 1 {
			t.Errorf("job %d was given up", n)
		}
	})
}

// TestLongJobsWaitForRoom: while the disk is almost full no long job begins, quick ones do, and the long ones go on by
// themselves when there is room.
func TestLongJobsWaitForRoom(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		folder := t.TempDir()
		d.KeepRoom(1<<60, folder) // more than a disk has
		q := patient(t, d, 2)
		long, short := make(chan int, 10), make(chan int, 10)
		Handle(q, Handler[note]{Work: func(_ context.Context, job Job[note]) error { long <- job.Attempt; return nil }})
		Handle(q, Handler[brief]{Quick: true, Work: func(context.Context, Job[brief]) error { short <- 1; return nil }})
		start(t, q)
		id := insert(t, q, note{})
		for range 3 {
			insert(t, q, brief{})
			next(t, short)
		}
		select {
		case <-long:
			t.Error("a long job began without room")
		default:
		}
		d.KeepRoom(1, folder)
		if attempt := next(t, long); attempt != 1 {
			t.Errorf("waiting cost attempts: %d", attempt)
		}
		untilState(t, q, id, "completed")
	})
}

type brief struct{}

func (brief) Kind() string { return "brief" }
