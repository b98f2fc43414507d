package scan

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// A template is set aside for its team and for a day; the last reason counts.
func TestTemplatesAreSetAside(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		now := time.Now()
		y.Scans.now = func() time.Time { return now }
		team := func(ctx context.Context) string {
			c, err := account.From(ctx)
			if err != nil {
				t.Fatal(err)
			}
			return c.TeamID
		}
		alice, stranger := team(y.alice), team(y.stranger)
		put := func(digest, why string) {
			t.Helper()
			if err := y.SetAside(t.Context(), alice, child.Template{Path: digest + ".yaml", Digest: digest}, why); err != nil {
				t.Fatal(err)
			}
		}
		check := func(team string, want ...string) {
			t.Helper()
			got, err := y.Aside(t.Context(), team)
			if err != nil || len(got) != len(want)/2 {
				t.Fatalf("%v, %v; want %v", got, err, want)
			}
			for i := 0; i < len(want); i += 2 {
				if !strings.HasSuffix(got[want[i]], "("+want[i+1]+")") {
					t.Errorf("%s: %q, want %s", want[i], got[want[i]], want[i+1])
				}
			}
		}
		put("one", "crashed")
		put("one", "over time")
		now = now.Add(asideFor / 2)
		put("two", "over memory")
		check(alice, "one", "over time", "two", "over memory")
		check(stranger)
		now = now.Add(asideFor/2 + time.Second)
		check(alice, "two", "over memory")
		put("three", "crashed")
		var rows int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM template_aside`).Scan(&rows); err != nil || rows != 2 {
			t.Errorf("%d rows, %v: what has ended is not deleted", rows, err)
		}
	})
}
