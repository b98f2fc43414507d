package db_test

import (
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// TestPageIsOfOneMoment reads pages while a row comes and goes: the total counts what the page shows.
func TestPageIsOfOneMoment(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		for _, text := range []string{`CREATE TABLE thing (no BIGINT NOT NULL)`, `INSERT INTO thing VALUES (1), (2)`} {
			if _, err := d.Exec(ctx, text); err != nil {
				t.Fatal(err)
			}
		}
		stop := make(chan struct{})
		var changing sync.WaitGroup
		defer changing.Wait()
		defer close(stop)
		changing.Go(func() {
			for next, after := `DELETE FROM thing WHERE no = 2`, `INSERT INTO thing VALUES (2)`; ; next, after = after, next {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := d.Exec(ctx, next); err != nil {
					t.Error(err)
					return
				}
			}
		})
		number := func(r db.Row) (no int64, err error) { return no, r.Scan(&no) }
		var where db.Where
		where.And("no > ?", 0)
		seen := map[int]bool{}
		for i := 0; i < 500 || len(seen) < 2; i++ {
			rows, total, err := db.Page(ctx, d, number, `SELECT no FROM thing`, `thing`, where, ` ORDER BY no`,
				page.Window{Limit: 5})
			if err != nil {
				t.Fatal(err)
			}
			if seen[total] = true; total != len(rows) {
				t.Fatalf("page %d has %v and says that there are %d", i, rows, total)
			}
			if rows, total, err = db.Page(ctx, d, number, `SELECT no FROM thing`, `thing`, where, ` ORDER BY no DESC`,
				page.Window{Limit: 1, Offset: 1}); err != nil || total != len(rows)+1 {
				t.Fatalf("second page: %v of %d, %v", rows, total, err)
			}
		}
	})
}
