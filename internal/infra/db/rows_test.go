package db_test

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// TestRows reads values of each kind, and stops in each way more often than there are
// connections: a query that kept its own would make the last ones wait.
func TestRows(t *testing.T) {
	type row struct {
		n         int64
		port      int
		name      string
		is        bool
		raw, none sql.RawBytes
	}
	read := func(r db.Row) (x row, err error) {
		return x, r.Scan(&x.n, &x.port, &x.name, &x.is, &x.raw, &x.none)
	}
	const query = `SELECT n, port, name, is_it, raw, NULL FROM number WHERE n >= ? AND name <> ? ORDER BY n`
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
		defer cancel()
		if err := d.Tx(ctx, func(tx *db.Tx) error {
			_, err := tx.Exec(ctx, `CREATE TABLE number (n BIGINT PRIMARY KEY, port BIGINT NOT NULL, name TEXT NOT NULL, is_it BOOLEAN NOT NULL, raw `+map[bool]string{true: "BYTEA", false: "BLOB"}[d.URL != ""]+`)`)
			for n := range 1000 {
				if err == nil {
					_, err = tx.Exec(ctx, `INSERT INTO number (n, port, name, is_it, raw) VALUES (?, ?, ?, ?, ?)`, n, n%7,
						fmt.Sprint("ü ", n), n%2 == 0, fmt.Append([]byte{0, 0xff}, n))
				}
			}
			return err
		}); err != nil {
			t.Fatal(err)
		}
		n := 10
		for r, err := range d.Rows(ctx, query, uint32(n), "?") {
			if err != nil {
				t.Fatal(err)
			}
			x, err := read(r)
			if err != nil || x.n != int64(n) || x.port != n%7 || x.name != fmt.Sprint("ü ", n) || x.is != (n%2 == 0) ||
				string(x.raw) != fmt.Sprint("\x00\xff", n) || x.none != nil {
				t.Fatalf("row %d: %+v, %v", n, x, err)
			}
			n++
		}
		if n != 1000 {
			t.Errorf("the rows end before %d", n)
		}
		failed := func(ctx context.Context, query string, args ...any) (err error) {
			for r, wrong := range d.Rows(ctx, query, args...) {
				if err = wrong; err == nil {
					_, err = read(r)
				}
				if (r == nil) != (wrong != nil) {
					t.Errorf("a row %v with an error %v", r, wrong)
				}
			}
			return err
		}
		for range 25 {
			for range d.Rows(ctx, query, 0, "") {
				break
			}
			if err := failed(ctx, `SELECT nothing FROM number`); err == nil {
				t.Error("a wrong text is read")
			}
			if err := failed(ctx, `SELECT name, port, n, is_it, raw, raw FROM number WHERE n = ?`, 1); err == nil {
				t.Error("a text is read as a number")
			}
			short, stop := context.WithCancel(ctx)
			var err error
			for _, err = range d.Rows(short, query, 0, "") {
				stop()
			}
			if stop(); !errors.Is(err, context.Canceled) && err != nil {
				t.Errorf("the end of the context: %v", err)
			}
			if err := failed(short, query, 0, ""); !errors.Is(err, context.Canceled) {
				t.Errorf("after the end of the context: %v", err)
			}
		}
	})
}
