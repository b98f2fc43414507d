package db_test

import (
	"context"
	"errors"
	"testing"

	"github.com/vedette-sec/vedette/internal/db"
	"github.com/vedette-sec/vedette/internal/db/dbtest"
)

// TestInsert writes numbers of rows around what one statement takes: all of them, once; and
// none of those of a transaction that one of them breaks.
func TestInsert(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		if _, err := d.Exec(ctx, `CREATE TABLE number (n BIGINT PRIMARY KEY, name TEXT NOT NULL)`); err != nil {
			t.Fatal(err)
		}
		next := 0
		insert := func(count int, twice bool) error {
			rows := make([][]any, count)
			for i := range rows {
				rows[i] = []any{next + i, "it's?"}
			}
			if twice {
				rows[count-1] = rows[0]
			}
			err := d.Tx(ctx, func(tx *db.Tx) error { return tx.Insert(ctx, `number (n, name)`, rows) })
			if err == nil {
				next += count
			}
			return err
		}
		for _, count := range []int{0, 1, 2, 3, 63, 64, 65, 127, 300} {
			if err := insert(count, false); err != nil {
				t.Fatalf("%d rows: %v", count, err)
			}
		}
		if err := insert(200, true); !db.IsDuplicate(err) {
			t.Errorf("a row that is there twice: %v", err)
		}
		ended, end := context.WithCancel(ctx)
		if err := d.Tx(ctx, func(tx *db.Tx) error {
			end()
			return tx.Insert(ended, `number (n, name)`, [][]any{{-1, ""}, {-2, ""}})
		}); !errors.Is(err, context.Canceled) {
			t.Errorf("an end: %v", err)
		}
		var count, last int
		if err := d.QueryRow(ctx, `SELECT count(*), max(n) FROM number WHERE name = ?`, "it's?").Scan(&count, &last); err != nil || count != next || last != next-1 {
			t.Errorf("%d rows up to %d, want %d: %v", count, last, next, err)
		}
	})
}
