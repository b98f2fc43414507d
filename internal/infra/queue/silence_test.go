package queue

import (
	"context"
	"strconv"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// age lets a node look as if it had not prolonged its leases for twice their length, to one that watches it.
func age(ctx context.Context, watcher *Queue, node string) error {
	if _, err := watcher.silent(ctx); err != nil {
		return err
	}
	jobs, err := db.Values[int64](ctx, watcher.db, `SELECT job_id FROM queue_lease WHERE node = ?`, node)
	for _, id := range jobs {
		s := watcher.seen[id]
		s.since = s.since.Add(-2 * watcher.config.Lease)
		watcher.seen[id] = s
	}
	return err
}

// A clock that jumps by an hour, forwards or back, takes no job from a node that prolongs its lease, and keeps none for
// a node that does not.
func TestClocksMayJump(t *testing.T) {
	t.Parallel()
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		for name, hours := range map[string]int64{"forwards": 1, "back": -1} {
			a, b := patient(t, d, 1), patient(t, d, 1)
			insertOf(t, a, "team", note{})
			claimOf(t, a, 1)
			jump := func(clock *Queue) {
				clock.sql.now = "(" + clock.sql.now + " + " + strconv.FormatInt(hours*time.Hour.Microseconds(), 10) + ")"
			}
			taken := func() bool {
				t.Helper()
				if err := b.reap(t.Context()); err != nil {
					t.Fatal(err)
				}
				free, err := db.Value[bool](t.Context(), d, `SELECT EXISTS (SELECT 1 FROM queue_lease WHERE node = '')`)
				if err != nil {
					t.Fatal(err)
				}
				return free
			}
			beat := func() {
				t.Helper()
				if err := a.heartbeat(t.Context()); err != nil {
					t.Fatal(err)
				}
			}
			if taken() {
				t.Fatalf("%s: a job was taken from a node that has just begun it", name)
			}
			jump(a) // all nodes see the database's clock
			jump(b)
			if taken() {
				t.Fatalf("%s: a jump of the clock took a job", name)
			}
			if err := age(t.Context(), b, a.node); err != nil {
				t.Fatal(err)
			}
			beat()
			if taken() {
				t.Fatalf("%s: a job was taken from a node that had prolonged its lease", name)
			}
			if err := age(t.Context(), b, a.node); err != nil {
				t.Fatal(err)
			}
			if !taken() {
				t.Fatalf("%s: a silent node kept its job", name)
			}
			if _, err := d.Exec(t.Context(), `DELETE FROM queue_lease`); err != nil {
				t.Fatal(err)
			}
			if _, err := d.Exec(t.Context(), `DELETE FROM river_job`); err != nil {
				t.Fatal(err)
			}
			stop(t, a)
			stop(t, b)
		}
	})
}
