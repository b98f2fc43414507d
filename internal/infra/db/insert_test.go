package db_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
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
		if err := d.QueryRow(ctx, `SELECT count(*), max(n) FROM number WHERE name = ?`, "it's?").Scan(&count,
			&last); err != nil || count != next || last != next-1 {
			t.Errorf("%d rows up to %d, want %d: %v", count, last, next, err)
		}
	})
}

// TestInsertAnyValue: each kind of value comes back, also none, and rows larger than one statement takes.
func TestInsertAnyValue(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := t.Context()
		list := "TEXT"
		if d.Dialect().HasArrays() {
			list = "BIGINT[]"
		}
		if _, err := d.Exec(ctx, `CREATE TABLE anything (id BIGINT PRIMARY KEY, name TEXT, body `+bytesType(d)+`, small SMALLINT,
			yes BOOLEAN, at BIGINT, doc `+docType(d)+`, list `+list+`)`); err != nil {
			t.Fatal(err)
		}
		one, at := func(list ...int64) any {
			if d.Dialect().HasArrays() {
				return list
			}
			return fmt.Sprint(list)
		}, db.At(time.UnixMicro(5))
		rows := [][]any{
			{1, "a", []byte{0, 1}, 1, true, at, db.Doc([]string{`x\"`}), one(1, 2)},
			{2, "", []byte{}, 2, false, db.Time{}, db.Doc(map[string]int{"a": 1}), one()},
			{3, nil, nil, nil, nil, nil, nil, nil},
			{4, strings.Repeat("b", 3<<20), bytes.Repeat([]byte{9}, 3<<20), int64(4), true, at, db.Doc([]int(nil)), one(3)},
			{5, strings.Repeat("c", 5<<20), nil, 5, true, at, db.Doc(1), one(4, 5, 6)},
			{6, "d", []byte("d"), 6, true, at, db.Doc("d"), one(7)},
		}
		if err := d.Tx(ctx, func(tx *db.Tx) error {
			return tx.Insert(ctx, `anything (id, name, body, small, yes, at, doc, list)`, rows)
		}); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(ctx, `CREATE TABLE alike (id BIGINT PRIMARY KEY, name TEXT, body `+bytesType(d)+`, small SMALLINT,
			yes BOOLEAN, at BIGINT, doc `+docType(d)+`, list `+list+`)`); err != nil {
			t.Fatal(err)
		}
		for _, row := range rows {
			if _, err := d.Exec(ctx, `INSERT INTO alike VALUES (?, ?, ?, ?, ?, ?, ?, ?)`, row...); err != nil {
				t.Fatal(err)
			}
		}
		var n, differ int
		if err := d.QueryRow(ctx, `SELECT (SELECT count(*) FROM anything), (SELECT count(*) FROM
			(SELECT * FROM anything EXCEPT SELECT * FROM alike) d)`).Scan(&n, &differ); err != nil || n != len(rows) || differ != 0 {
			t.Errorf("%d rows, %d of them unlike those of single statements: %v", n, differ, err)
		}
	})
}

// TestInsertNew writes rows of which some are there, around what one statement takes: those
// are left as they are, and are among the places that it gives.
func TestInsertNew(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx := context.Background()
		if _, err := d.Exec(ctx, `CREATE TABLE number (n BIGINT PRIMARY KEY, name TEXT NOT NULL)`); err != nil {
			t.Fatal(err)
		}
		insert := func(name string, from, to int) (perhaps []int) {
			t.Helper()
			var rows [][]any
			for n := from; n < to; n++ {
				rows = append(rows, []any{n, name})
			}
			if err := d.Tx(ctx, func(tx *db.Tx) (err error) {
				perhaps, err = tx.InsertNew(ctx, `number (n, name)`, "n", rows)
				return err
			}); err != nil {
				t.Fatal(err)
			}
			return perhaps
		}
		if perhaps := insert("old", 100, 170); len(perhaps) > 0 {
			t.Errorf("of new rows, %d may be there", len(perhaps))
		}
		perhaps := insert("new", 0, 1000)
		for n := 100; n < 170; n++ {
			if !slices.Contains(perhaps, n) {
				t.Errorf("the row at %d was there, and is not among %d", n, perhaps)
			}
		}
		if len(perhaps) > 250 {
			t.Errorf("%d of 1000 rows may be there", len(perhaps))
		}
		var all, old int
		if err := d.QueryRow(ctx, `SELECT count(*), sum(CASE WHEN name = 'old' THEN 1 ELSE 0 END) FROM number`).Scan(&all,
			&old); err != nil || all != 1000 || old != 70 {
			t.Errorf("%d rows, %d as they were, want 1000 and 70: %v", all, old, err)
		}
	})
}
