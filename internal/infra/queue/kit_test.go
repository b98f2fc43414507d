package queue

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// patience is how long a test waits for what must happen before it fails.
const patience = 90 * time.Second

type note struct {
	N    int
	Text string
}

func (note) Kind() string { return "note" }

// open opens a queue on d that is quick to miss a node.
func open(t testing.TB, d *db.DB, workers int) *Queue {
	t.Helper()
	q, err := Open(t.Context(), d, Config{
		Logger:    slog.New(slog.DiscardHandler),
		Workers:   workers,
		Lease:     1500 * time.Millisecond,
		Heartbeat: 100 * time.Millisecond,
		Poll:      100 * time.Millisecond,
	})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// patient opens a queue with leases of production: for tests in which no node is silent,
// and a slow machine must not make one look so.
func patient(t testing.TB, d *db.DB, workers int) *Queue {
	t.Helper()
	q, err := Open(t.Context(), d, Config{Logger: slog.New(slog.DiscardHandler), Workers: workers,
		Heartbeat: 100 * time.Millisecond, Poll: 100 * time.Millisecond})
	if err != nil {
		t.Fatal(err)
	}
	return q
}

// start starts q until the end of the test.
func start(t testing.TB, q *Queue) {
	t.Helper()
	if err := q.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { stop(t, q) })
}

func stop(t testing.TB, q *Queue) {
	t.Helper()
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := q.Stop(ctx); err != nil {
		t.Error(err)
	}
}

func insert(t testing.TB, q *Queue, args Args) (jobID int64) {
	t.Helper()
	return insertOf(t, q, "", args)
}

func insertOf(t testing.TB, q *Queue, teamID string, args Args) (jobID int64) {
	t.Helper()
	err := q.db.Tx(t.Context(), func(tx *db.Tx) (err error) {
		jobID, err = q.Insert(t.Context(), tx, teamID, args)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return jobID
}

// next waits for a value of ch.
func next[T any](t testing.TB, ch <-chan T) T {
	t.Helper()
	select {
	case v := <-ch:
		return v
	case <-time.After(patience):
		t.Fatal("waited in vain")
		panic("unreachable")
	}
}

// until waits for cond, which asks the database.
func until(t testing.TB, what string, cond func() bool) {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	deadline := time.After(patience)
	for !cond() {
		select {
		case <-tick.C:
		case <-deadline:
			t.Fatalf("waited in vain: %s", what)
		}
	}
}

// state is River's word for the state of a job.
func state(t testing.TB, q *Queue, jobID int64) (state string) {
	t.Helper()
	if err := q.db.QueryRow(t.Context(), `SELECT state FROM river_job WHERE id = ?`, jobID).Scan(&state); err != nil {
		t.Fatal(err)
	}
	return state
}

func untilState(t testing.TB, q *Queue, jobID int64, want string) {
	t.Helper()
	until(t, fmt.Sprintf("job %d is %s", jobID, want), func() bool { return state(t, q, jobID) == want })
}

func leases(t testing.TB, q *Queue) (n int) {
	t.Helper()
	if err := q.db.QueryRow(t.Context(), `SELECT count(*) FROM queue_lease`).Scan(&n); err != nil {
		t.Fatal(err)
	}
	return n
}
