package db_test

import (
	"context"
	"fmt"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// TestQueryOften asks one text from many goroutines at once: each sees what was committed
// before it asked, also after a column came; a text that is wrong says so each time.
func TestQueryOften(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		change := func(text string) {
			t.Helper()
			if _, err := d.Exec(ctx, text); err != nil {
				t.Fatal(err)
			}
		}
		change(`CREATE TABLE number (n BIGINT PRIMARY KEY, name TEXT NOT NULL)`)
		for round := range 3 {
			change(fmt.Sprintf(`INSERT INTO number (n, name) VALUES (%d, 'x')`, round))
			if round == 1 {
				change(`ALTER TABLE number ADD COLUMN more TEXT NOT NULL DEFAULT ''`)
			}
			var asking sync.WaitGroup
			for i := range 20 {
				asking.Go(func() {
					var n int
					if err := d.QueryOften(ctx, `SELECT count(*) FROM number WHERE name = ? AND n <> ?`, "x",
						100+i).Scan(&n); err != nil || n != round+1 {
						t.Errorf("%d of %d: %v", n, round+1, err)
					}
				})
			}
			asking.Wait()
		}
		for range 2 {
			if err := d.QueryOften(ctx, `SELECT nothing FROM number`).Scan(new(int)); err == nil || db.IsNoRows(err) {
				t.Errorf("a wrong text: %v", err)
			}
			if err := d.QueryOften(ctx, `SELECT n FROM number WHERE n = ?`, -1).Scan(new(int)); !db.IsNoRows(err) {
				t.Errorf("no row: %v", err)
			}
		}
	})
}
