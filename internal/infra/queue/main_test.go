package queue

import (
	"bufio"
	"context"
	"fmt"
	"log/slog"
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// childURL, when set, makes this test binary a worker process on the database it names.
const childURL = "VEDETTE_QUEUE_TEST_CHILD"

func TestMain(m *testing.M) {
	if url := os.Getenv(childURL); url != "" {
		fmt.Fprintln(os.Stderr, child(url))
		os.Exit(1)
	}
	dbtest.Main(m)
}

// child runs jobs that never end, and tells of each on its standard output.
func child(url string) error {
	ctx := context.Background()
	d, err := db.Open(ctx, db.Config{URL: url})
	if err != nil {
		return err
	}
	q, err := Open(ctx, d, Config{Logger: slog.New(slog.DiscardHandler), Workers: 4, Lease: 1500 * time.Millisecond,
		Heartbeat: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	Handle(q, Handler[note]{Work: func(ctx context.Context, job Job[note]) error {
		fmt.Println(job.ID)
		<-ctx.Done()
		return ctx.Err()
	}})
	if err := q.Start(ctx); err != nil {
		return err
	}
	select {}
}

func TestKilledProcess(t *testing.T) {
	t.Parallel()
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			url := dbtest.URL(t, engine)
			d, err := db.Open(t.Context(), db.Config{URL: url})
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { d.Close() })
			q := open(t, d, 4)
			ids := map[int64]bool{insert(t, q, note{N: 1}): true, insert(t, q, note{N: 2}): true}

			worker := exec.Command(os.Args[0])
			worker.Env = append(os.Environ(), childURL+"="+url)
			worker.Stderr = os.Stderr
			out, err := worker.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := worker.Start(); err != nil {
				t.Fatal(err)
			}
			lines := bufio.NewScanner(out)
			for range ids {
				if !lines.Scan() {
					t.Fatal("the worker process ended by itself")
				}
			}
			if err := worker.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			worker.Wait()
			killed := time.Now()

			again := make(chan Job[note], 4)
			Handle(q, Handler[note]{Work: func(_ context.Context, job Job[note]) error { again <- job; return nil }})
			start(t, q)
			for range ids {
				job := next(t, again)
				if !ids[job.ID] || job.Attempt != 2 {
					t.Errorf("%+v ran again; want one of %v as its second attempt", job, ids)
				}
				delete(ids, job.ID)
				untilState(t, q, job.ID, "completed")
			}
			if took := time.Since(killed); took > time.Minute {
				t.Errorf("taking over took %s", took)
			}
		})
	}
}
