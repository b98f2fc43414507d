package export

import (
	"bytes"
	"context"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/queue"
)

// work starts workers that run exports as run does.
func (r room) work(t *testing.T, run func(ctx context.Context, job queue.Job[RunArgs]) error) {
	t.Helper()
	queue.Handle(r.queue, queue.Handler[RunArgs]{
		Work: run, MaxAttempts: 2, Backoff: func(int) time.Duration { return 0 },
		GiveUp: func(ctx context.Context, tx *db.Tx, job queue.Job[RunArgs], _ error) error {
			_, _, err := r.GiveUp(ctx, tx, job.Args.ExportID)
			return err
		},
	})
	if err := r.queue.Start(t.Context()); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := r.queue.Stop(context.Background()); err != nil {
			t.Error(err)
		}
	})
}

// ends waits until an export has ended.
func (r room) ends(t *testing.T, id string) Export {
	t.Helper()
	tick := time.NewTicker(10 * time.Millisecond)
	defer tick.Stop()
	for deadline := time.Now().Add(90 * time.Second); time.Now().Before(deadline); <-tick.C {
		e, err := r.Find(r.alice, id)
		if err != nil {
			t.Fatal(err)
		}
		if p := e.Progress(); p < 0 || p > 100 || (p == 100) != (e.State == Finished) {
			t.Fatalf("%d%% while %s", p, e.State)
		}
		if e.State == Finished || e.State == Failed {
			return e
		}
	}
	t.Fatal("the export does not end")
	return Export{}
}

func TestBackgroundFileIsTheSame(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.add(t, "s", events(0, 2500)...) // more than one part
		runs := 0
		r.work(t, func(ctx context.Context, job queue.Job[RunArgs]) error {
			if runs++; runs == 1 { // as if the process died after some parts
				out := &partWriter{ctx: ctx, es: r.Exports, job: job, total: 7}
				if err := out.begin(); err != nil {
					return err
				}
				if _, err := out.Write(bytes.Repeat([]byte("left over"), partSize)); err != nil {
					return err
				}
				return context.DeadlineExceeded
			}
			return r.Run(ctx, job)
		})
		request := Request{Format: JSON, Name: "All", Filter: finding.Filter{ScanIDs: []string{"s"}}}
		started, err := r.Start(r.alice, request)
		if err != nil || started.State != Queued {
			t.Fatal(started, err)
		}
		done := r.ends(t, started.ID)
		var got bytes.Buffer
		if err := r.Download(r.alice, done, &got); err != nil {
			t.Fatal(err)
		}
		want := r.file(t, request)
		if runs != 2 || done.State != Finished || done.Total != 2500 || done.Done != 2500 || done.Size != int64(len(want)) ||
			len(want) < 2*partSize/3 || !bytes.Equal(got.Bytes(), want) {
			t.Errorf("%d runs: %+v, %d bytes of %d", runs, done, got.Len(), len(want))
		}
		if err := done.Ready(); err != nil {
			t.Error(err)
		}
	})
}

func TestExportThatCannotBeMadeHasFailed(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.work(t, func(context.Context, queue.Job[RunArgs]) error { return context.DeadlineExceeded })
		started, err := r.Start(r.alice, Request{Format: CSV})
		if err != nil {
			t.Fatal(err)
		}
		if e := r.ends(t, started.ID); e.State != Failed || !errs.Is(e.Ready(), errs.Conflict) {
			t.Errorf("%+v", e)
		}
	})
}

// TestLateRunWritesNothing: a run that has lost its job cannot write into its successor's
// file, and one whose export is gone ends.
func TestLateRunWritesNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		started, err := r.Start(r.alice, Request{Format: CSV})
		if err != nil {
			t.Fatal(err)
		}
		late := queue.Job[RunArgs]{ID: 1 << 40, Args: RunArgs{started.ID}}
		if err := r.Run(t.Context(), late); err == nil {
			t.Error("a run without the job writes")
		}
		if e, err := r.Find(r.alice, started.ID); err != nil || e.State != Queued {
			t.Errorf("%+v, %v", e, err)
		}
		if err := r.Delete(r.alice, started.ID); err != nil {
			t.Fatal(err)
		}
		if err := r.Run(t.Context(), late); err != nil {
			t.Errorf("a run of what was deleted: %v", err)
		}
	})
}

func TestExportsExpire(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		now := time.Now()
		r.now = func() time.Time { return now }
		r.work(t, r.Run)
		old, err := r.Start(r.alice, Request{Format: JSON})
		if err != nil {
			t.Fatal(err)
		}
		r.ends(t, old.ID)
		now = now.Add(keepFor - time.Second)
		young, err := r.Start(r.alice, Request{Format: JSON})
		if err != nil {
			t.Fatal(err)
		}
		r.ends(t, young.ID)
		if n, err := r.Sweep(t.Context()); n != 0 || err != nil {
			t.Errorf("%d are deleted too early, %v", n, err)
		}
		now = now.Add(time.Second)
		if _, err := r.Find(r.alice, old.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("what has expired is found: %v", err)
		}
		if n, err := r.Sweep(t.Context()); n != 1 || err != nil {
			t.Errorf("%d are deleted, %v", n, err)
		}
		var parts int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM export_part`).Scan(&parts); err != nil || parts != 1 {
			t.Errorf("%d parts are left, %v", parts, err)
		}
		if found, total, err := r.FindAll(r.alice, Finished, "", page.Window{Limit: 10}); err != nil || total != 1 ||
			found[0].ID != young.ID {
			t.Errorf("%d of %d, %v", len(found), total, err)
		}
	})
}

func TestExportsAreTheTeams(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		mine, err := r.Start(r.alice, Request{Format: JSON})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := r.Find(r.stranger, mine.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger finds it: %v", err)
		}
		if err := r.Delete(r.stranger, mine.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger deletes it: %v", err)
		}
		if _, total, err := r.FindAll(r.stranger, "", "", page.Window{Limit: 10}); total != 0 || err != nil {
			t.Errorf("a stranger lists %d, %v", total, err)
		}
		if _, err := r.Start(account.WithCaller(t.Context(), account.Caller{TeamID: r.team, Role: account.Viewer}),
			Request{Format: JSON}); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a viewer starts one: %v", err)
		}
		for range maxExports - 1 {
			if _, err := r.db.Exec(t.Context(), `INSERT INTO export (id, team_id, user_id, name, format, scan_id, filter, state, total, done, size, job_id, created_at, updated_at, expires_at)
				SELECT id || '-' || (SELECT count(*) FROM export), team_id, user_id, name, format, scan_id, filter, state, total, done, size, job_id, created_at, updated_at, expires_at FROM export WHERE id = ?`, mine.ID); err != nil {
				t.Fatal(err)
			}
		}
		if _, err := r.Start(r.alice, Request{Format: JSON}); !errs.Is(err, errs.Conflict) {
			t.Errorf("one too many: %v", err)
		}
	})
}
