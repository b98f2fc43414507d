package queue

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// silence makes q look like a paused process: its handlers go on, its beats do not.
func silence(q *Queue) {
	q.stopLoop()
	<-q.loopDone
}

func TestSilentNodeLosesItsJob(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, b := open(t, d, 1), open(t, d, 1)
		started, release := make(chan Job[note], 1), make(chan error)
		late := make(chan error, 2)
		Handle(a, Handler[note]{Work: func(ctx context.Context, job Job[note]) error {
			started <- job
			err := <-release // it does not see its context: its process is paused
			late <- context.Cause(ctx)
			ctx = context.WithoutCancel(ctx)
			late <- d.Tx(ctx, func(tx *db.Tx) error { return job.CheckLease(ctx, tx) })
			return err
		}})
		start(t, a)
		id := insert(t, a, note{})
		if job := next(t, started); job.ID != id || job.Attempt != 1 {
			t.Fatalf("first run %+v", job)
		}
		silence(a)

		second, finish := make(chan Job[note], 1), make(chan struct{})
		Handle(b, Handler[note]{Work: func(ctx context.Context, job Job[note]) error {
			second <- job
			<-finish
			return d.Tx(ctx, func(tx *db.Tx) error { return job.CheckLease(ctx, tx) })
		}})
		start(t, b)
		if job := next(t, second); job.ID != id || job.Attempt != 2 {
			t.Fatalf("second run %+v", job)
		}

		if err := a.heartbeat(t.Context()); err != nil { // the paused process awakes
			t.Fatal(err)
		}
		release <- Abandon(errors.New("late"))
		if cause := next(t, late); !errors.Is(cause, ErrLeaseLost) {
			t.Errorf("the late run's context ended with %v, want ErrLeaseLost", cause)
		}
		if err := next(t, late); !errors.Is(err, ErrLeaseLost) {
			t.Errorf("the late run's Held: %v, want ErrLeaseLost", err)
		}
		until(t, "a has dealt with its late run", func() bool { return a.running() == 0 })
		if s := state(t, b, id); s != "running" {
			t.Errorf("the late run made the job %s", s)
		}
		close(finish)
		untilState(t, b, id, "completed")
	})
}

// A late run that never learnt of its loss ends like any other; only the token tells.
func TestLateResultIsRefused(t *testing.T) {
	t.Parallel()
	for name, result := range map[string]error{"success": nil, "failure": errors.New("late"),
		"giving up": Abandon(errors.New("late"))} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dbtest.Each(t, func(t *testing.T, d *db.DB) {
				a, b := open(t, d, 1), open(t, d, 1)
				started, release := make(chan struct{}, 1), make(chan struct{})
				Handle(a, Handler[note]{
					Work: func(context.Context, Job[note]) error { started <- struct{}{}; <-release; return result },
					GiveUp: func(context.Context, *db.Tx, Job[note], error) error {
						t.Error("a late run gave the job up")
						return nil
					},
				})
				start(t, a)
				id := insert(t, a, note{})
				next(t, started)
				silence(a)
				second, finish := make(chan struct{}, 1), make(chan struct{})
				Handle(b, Handler[note]{Work: func(context.Context, Job[note]) error { second <- struct{}{}; <-finish; return nil }})
				start(t, b)
				next(t, second)
				close(release)
				until(t, "a has dealt with its late run", func() bool { return a.running() == 0 })
				if s := state(t, b, id); s != "running" {
					t.Errorf("the late run made the job %s", s)
				}
				close(finish)
				untilState(t, b, id, "completed")
			})
		})
	}
}

// A node that is handed a job which an older run still occupies there puts it back.
func TestNodeDoesNotRunAJobTwiceAtOnce(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		q := open(t, d, 2)
		started, release := make(chan int, 2), make(chan struct{})
		Handle(q, Handler[note]{Work: func(_ context.Context, job Job[note]) error {
			started <- job.Attempt
			<-release
			return nil
		}})
		start(t, q)
		id := insert(t, q, note{})
		next(t, started)
		silence(q)
		until(t, "the lease is reaped", func() bool {
			if err := q.reap(t.Context()); err != nil {
				t.Fatal(err)
			}
			var node string
			err := d.QueryRow(t.Context(), `SELECT node FROM queue_lease WHERE job_id = ?`, id).Scan(&node)
			return err == nil && node == ""
		})
		until(t, "the job was claimed and put back", func() bool {
			var future bool
			err := d.QueryRow(t.Context(), `SELECT scheduled_at > created_at FROM river_job WHERE id = ? AND state = 'available'`, id).Scan(&future)
			return err == nil && future
		})
		select {
		case n := <-started:
			t.Errorf("attempt %d started beside the first", n)
		default:
		}
		close(release)
		next(t, started)
		untilState(t, q, id, "completed")
	})
}

func TestJobThatKillsItsProcessIsGivenUp(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, b := open(t, d, 1), open(t, d, 1)
		started, release := make(chan struct{}, 1), make(chan struct{})
		Handle(a, Handler[note]{MaxAttempts: 1, Work: func(context.Context, Job[note]) error {
			started <- struct{}{}
			<-release
			return nil
		}})
		start(t, a)
		id := insert(t, a, note{})
		next(t, started)
		silence(a)
		gaveUp := make(chan error, 1)
		Handle(b, Handler[note]{
			MaxAttempts: 1,
			Work:        func(context.Context, Job[note]) error { t.Error("it ran again"); return nil },
			GiveUp:      func(_ context.Context, _ *db.Tx, _ Job[note], cause error) error { gaveUp <- cause; return nil },
		})
		start(t, b)
		if cause := next(t, gaveUp); !strings.Contains(cause.Error(), "process") {
			t.Errorf("cause %v", cause)
		}
		untilState(t, b, id, "discarded")
		close(release)
	})
}

func TestJobCancelledOnASilentNodeIsHandedOverEnded(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a, b := open(t, d, 1), open(t, d, 1)
		started, release := make(chan struct{}, 1), make(chan struct{})
		Handle(a, Handler[note]{Work: func(context.Context, Job[note]) error {
			started <- struct{}{}
			<-release
			return errors.New("late")
		}})
		start(t, a)
		id := insert(t, a, note{})
		next(t, started)
		silence(a)
		if err := b.Cancel(t.Context(), nil, id); err != nil {
			t.Fatal(err)
		}
		causes := make(chan error, 2)
		Handle(b, Handler[note]{Work: func(ctx context.Context, _ Job[note]) error {
			causes <- context.Cause(ctx)
			return ctx.Err()
		}})
		start(t, b)
		if cause := next(t, causes); !errors.Is(cause, ErrCancelled) {
			t.Errorf("cause %v", cause)
		}
		untilState(t, b, id, "cancelled")
		if len(causes) > 0 {
			t.Error("it was handed over twice")
		}
		until(t, "no lease is left", func() bool { return leases(t, b) == 0 })
		close(release)
	})
}

// A node starts also while another, which froze in a transaction, holds the lease of its job.
func TestStartDoesNotWaitForTheFrozen(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "postgres")
	a, b := open(t, d, 1), open(t, d, 1)
	started, release := make(chan struct{}, 1), make(chan struct{})
	Handle(a, Handler[note]{Work: func(context.Context, Job[note]) error { started <- struct{}{}; <-release; return nil }})
	start(t, a)
	insert(t, a, note{})
	next(t, started)
	silence(a)
	locked, thaw, ended := make(chan struct{}, 1), make(chan struct{}), make(chan error, 1)
	go func() {
		ended <- d.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := tx.Exec(t.Context(), `SELECT 1 FROM queue_lease FOR UPDATE`)
			locked <- struct{}{}
			<-thaw
			return err
		})
	}()
	next(t, locked)
	until(t, "the lease has run out", func() (out bool) {
		err := d.QueryRow(t.Context(), `SELECT beat_at < `+b.sql.now+` - ? FROM queue_lease`,
			b.config.Lease.Microseconds()).Scan(&out)
		return err == nil && out
	})
	second := make(chan int, 1)
	Handle(b, Handler[note]{Work: func(_ context.Context, job Job[note]) error { second <- job.Attempt; return nil }})
	start(t, b)
	close(thaw)
	if err := next(t, ended); err != nil {
		t.Fatal(err)
	}
	if attempt := next(t, second); attempt != 2 {
		t.Errorf("it took over with attempt %d", attempt)
	}
	close(release)
}

func TestStopGivesRunningJobsBack(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		a := patient(t, d, 2)
		started, causes := make(chan int, 2), make(chan error, 2)
		slow := make(chan struct{})
		Handle(a, Handler[note]{MaxAttempts: 1, Work: func(ctx context.Context, job Job[note]) error {
			started <- job.Args.N
			if job.Args.N == 1 { // this one ends while Stop waits
				<-slow
				return nil
			}
			<-ctx.Done()
			causes <- context.Cause(ctx)
			return errors.New("interrupted")
		}})
		if err := a.Start(t.Context()); err != nil {
			t.Fatal(err)
		}
		short, long := insert(t, a, note{N: 1}), insert(t, a, note{N: 2})
		next(t, started)
		next(t, started)
		ctx, cancel := context.WithCancel(t.Context())
		stopped := make(chan error, 1)
		go func() { stopped <- a.Stop(ctx) }()
		close(slow)
		until(t, "the short job is done", func() bool { return a.running() == 1 || state(t, a, short) == "completed" })
		cancel() // no more patience
		if cause := next(t, causes); !errors.Is(cause, ErrStopping) {
			t.Errorf("cause %v, want ErrStopping", cause)
		}
		if err := next(t, stopped); err != nil {
			t.Error(err)
		}
		if s := state(t, a, short); s != "completed" {
			t.Errorf("the short job is %s", s)
		}
		if s := state(t, a, long); s != "available" {
			t.Errorf("the long job is %s", s)
		}

		b := patient(t, d, 1)
		again := make(chan Job[note], 1)
		Handle(b, Handler[note]{MaxAttempts: 1,
			Work: func(_ context.Context, job Job[note]) error { again <- job; return nil }})
		start(t, b)
		if job := next(t, again); job.ID != long || job.Attempt != 1 {
			t.Errorf("after the restart %+v ran; want job %d, still in its first attempt", job, long)
		}
	})
}

// Not parallel: it looks at all goroutines.
func TestStopLeavesNothingBehind(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			d := dbtest.Open(t, engine)
			q := patient(t, d, 4)
			ran := make(chan struct{}, 1)
			Handle(q, Handler[note]{Work: func(context.Context, Job[note]) error { ran <- struct{}{}; return nil }})
			if err := q.Start(t.Context()); err != nil {
				t.Fatal(err)
			}
			insert(t, q, note{})
			next(t, ran)
			stop(t, q)
			d.Close() // what still used it would fail
			var left string
			until(t, "all goroutines have ended", func() bool { left = strangers(); return left == "" })
			stop(t, q) // a second Stop is nothing
			if left != "" {
				t.Error(left)
			}
		})
	}
}

// strangers are the goroutines of River, of its pool and of this package that are not
// this test.
func strangers() string {
	buf := make([]byte, 1<<20)
	var left []string
	for g := range strings.SplitSeq(string(buf[:runtime.Stack(buf, true)]), "\n\n") {
		ours := strings.Contains(g, "riverqueue") || strings.Contains(g, "pgxpool") ||
			strings.Contains(g, "/internal/queue.(")
		if ours && !strings.Contains(g, "testing.tRunner") {
			left = append(left, g)
		}
	}
	return strings.Join(left, "\n\n")
}

func TestSeveralProcessesOpenAtOnce(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t, engine)
			opened := make(chan error)
			for range 4 {
				d, err := db.Open(t.Context(), db.Config{URL: url})
				if err != nil {
					t.Fatal(err)
				}
				defer d.Close()
				go func() {
					q, err := Open(context.Background(), d, Config{})
					if err == nil {
						err = q.Stop(context.Background())
					}
					opened <- err
				}()
			}
			for range 4 {
				if err := next(t, opened); err != nil {
					t.Error(err)
				}
			}
		})
	}
}

func TestLeaseMustOutliveBeats(t *testing.T) {
	t.Parallel()
	d := dbtest.Open(t, "sqlite")
	if _, err := Open(t.Context(), d, Config{Lease: time.Second, Heartbeat: time.Second}); err == nil {
		t.Error("a lease as short as a beat is accepted")
	}
}
