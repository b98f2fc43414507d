package list_test

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/list"
)

// numbered are plain things with numbers from one to another.
func numbered(from, to int64) (all []thing) {
	for no := from; no <= to; no++ {
		all = append(all, thing{no: no, port: no % 30, seen: no * 7 % 100, severity: severities[no%3], host: "h.test",
			internal: no%2 == 0})
	}
	return all
}

// TestPagesWhileRowsArrive reads pages by cursor, and by offset below End, while others arrive
// and some are deleted: each row that was there all along is shown once, in order.
func TestPagesWhileRowsArrive(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		setUp(t, d)
		ctx := t.Context()
		if err := write(ctx, d, "one", true, numbered(1, 500)...); err != nil {
			t.Fatal(err)
		}
		var arriving sync.WaitGroup
		arriving.Go(func() {
			for no := int64(501); no < 700; no++ {
				if err := write(ctx, d, "one", true, numbered(no, no)...); err != nil {
					t.Error(err)
				}
			}
		})
		var want []int64
		for no := int64(500); no > 0; no -= 2 {
			want = append(want, no)
		}
		even := list.Has("internal", "true")
		for round := range 3 {
			got := cursor(t, d, list.Query{Filter: even, Limit: 7 + round, Before: 501})
			if !slices.Equal(got, want) {
				t.Errorf("by cursor: %v", got)
			}
		}
		by := []list.Order{{Column: "seen", Desc: true}}
		first, err := things.Page(ctx, d, "one", list.Query{Filter: even, Limit: 9, Orders: by})
		if err != nil {
			t.Fatal(err)
		}
		var all []int64
		for offset := 0; ; offset += 9 {
			p, err := things.Page(ctx, d, "one",
				list.Query{Filter: even, Limit: 9, Offset: offset, Before: first.End, Orders: by})
			if err != nil {
				t.Fatal(err)
			}
			if all = append(all, p.Numbers...); len(p.Numbers) == 0 {
				break
			}
		}
		if slices.Sort(all); len(all) != len(slices.Compact(slices.Clone(all))) || len(all) != first.Total {
			t.Errorf("by offset: %d rows of %d, %v", len(all), first.Total, all)
		}
		arriving.Wait()
		if err := remove(ctx, d, "one", 100, 102); err != nil {
			t.Fatal(err)
		}
		var each []int64
		err = things.Each(ctx, d, "one", list.Query{Filter: even, Before: 501}, func(numbers []int64) error {
			each = append(each, numbers...)
			return nil
		})
		want = slices.DeleteFunc(want, func(no int64) bool { return no == 100 || no == 102 })
		if err != nil || !slices.Equal(each, want) {
			t.Errorf("each: %v, %v", each, err)
		}
		if got := cursor(t, d, list.Query{Filter: even, Limit: 50, Before: 501}); !slices.Equal(got, want) {
			t.Errorf("after a deletion: %v", got)
		}
	})
}

// cursor reads all pages by their Next.
func cursor(t *testing.T, d *db.DB, q list.Query) (all []int64) {
	t.Helper()
	for {
		p, err := things.Page(t.Context(), d, "one", q)
		if err != nil {
			t.Fatal(err)
		}
		if all = append(all, p.Numbers...); p.Next == 0 {
			return all
		}
		q.Before = p.Next
	}
}

// TestBackfill brings in rows that have no entries, in parts, twice, and after a failure.
func TestBackfill(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		setUp(t, d)
		ctx := t.Context()
		for _, team := range []string{"one", "two"} {
			err := d.Tx(ctx, func(tx *db.Tx) error {
				for _, o := range numbered(1, 25) {
					if _, err := tx.Exec(ctx, `INSERT INTO thing (team_id, no, host, port, severity, seen) VALUES (?, ?, ?, ?, ?, ?)`,
						team, o.no, o.host, o.port, o.severity, o.seen); err != nil {
						return err
					}
				}
				return nil
			})
			if err != nil {
				t.Fatal(err)
			}
		}
		calls := 0
		read := func(ctx context.Context, tx *db.Tx, team string, no int64) ([]list.TeamRow, error) {
			if calls++; calls == 3 {
				return nil, fmt.Errorf("the power fails")
			}
			rows, err := tx.Query(ctx, `SELECT team_id, no, host, severity FROM thing
				WHERE team_id > ? OR team_id = ? AND no > ? ORDER BY team_id, no LIMIT 10`, team, team, no)
			return db.Collect(rows, err, func(r db.Row) (one list.TeamRow, err error) {
				var o thing
				err = r.Scan(&one.Team, &o.no, &o.host, &o.severity)
				one.Row = o.row()
				return one, err
			})
		}
		if err := things.Backfill(ctx, d, read); err == nil {
			t.Error("a failure is not reported")
		}
		for range 2 {
			if err := things.Backfill(ctx, d, read); err != nil {
				t.Fatal(err)
			}
		}
		if calls != 7 {
			t.Errorf("%d parts were read, want 7: 5 with rows, one without, and one that failed", calls)
		}
		for _, team := range []string{"one", "two", "three"} {
			p, err := things.Page(ctx, d, team, list.Query{Filter: list.Has("host", "h.test"), Limit: 10})
			if want := map[bool]int{false: 25}[team == "three"]; err != nil || p.Total != want ||
				len(p.Numbers) != min(want, 10) {
				t.Errorf("team %s: %+v, %v", team, p, err)
			}
		}
	})
}

// exampleDatabase is a database for an example, with a table and a list.
func exampleDatabase(ctx context.Context, table, name string) (d *db.DB, closes func()) {
	dir, err := os.MkdirTemp("", "list")
	if err == nil {
		d, err = db.Open(ctx, db.Config{Dir: dir})
	}
	for _, text := range []string{table, db.Dialect{}.ListTables(name)} {
		if err == nil {
			_, err = d.Exec(ctx, text)
		}
	}
	if err != nil {
		panic(err)
	}
	return d, func() {
		d.Close()
		os.RemoveAll(dir)
	}
}

// TestPageIsOfOneMoment reads pages while a row leaves and enters what the filter picks: the total counts
// what the page shows.
func TestPageIsOfOneMoment(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		setUp(t, d)
		ctx, rows := t.Context(), numbered(1, 3)
		if err := write(ctx, d, "one", true, rows...); err != nil {
			t.Fatal(err)
		}
		var changing sync.WaitGroup
		defer changing.Wait()
		stop := make(chan struct{})
		defer close(stop)
		changing.Go(func() {
			for one := rows[1]; ; {
				select {
				case <-stop:
					return
				default:
				}
				one.internal = !one.internal
				if err := write(ctx, d, "one", false, one); err != nil {
					t.Error(err)
					return
				}
			}
		})
		seen := map[int]bool{}
		odd := list.Not(list.Has("internal", "true"))
		for i := 0; i < 300 || len(seen) < 2; i++ {
			q := list.Query{Filter: odd, Limit: 10}
			if i%2 == 0 {
				q.Orders = []list.Order{{Column: "seen"}}
			}
			p, err := things.Page(ctx, d, "one", q)
			if err != nil {
				t.Fatal(err)
			}
			if seen[p.Total] = true; p.Total != len(p.Numbers) {
				t.Fatalf("page %d has %v and says that there are %d", i, p.Numbers, p.Total)
			}
		}
	})
}

// TestTotalsThatTakeLongAreBounded counts 20,000 rows on PostgreSQL, in a time that is too short for that.
func TestTotalsThatTakeLongAreBounded(t *testing.T) {
	d := dbtest.Open(t, "postgres")
	setUp(t, d)
	ctx := t.Context()
	for no := int64(1); no < 20_000; no += 2000 {
		if err := write(ctx, d, "one", true, numbered(no, no+1999)...); err != nil {
			t.Fatal(err)
		}
	}
	q := list.Query{Filter: list.Has("host", "h.test"), Limit: 10}
	exact, err := things.Page(ctx, d, "one", q)
	if err != nil || exact.Total != 20_000 || exact.TotalIsEstimate {
		t.Fatalf("%d, estimated %v, %v", exact.Total, exact.TotalIsEstimate, err)
	}
	// A page that is wanted alone says how far it reaches, and whether more may follow.
	q.WithoutTotal = true
	for offset, want := range map[int]bool{0: true, 19_995: false} {
		q.Offset = offset
		p, err := things.Page(ctx, d, "one", q)
		if err != nil || p.Total != offset+len(p.Numbers) || p.TotalIsEstimate != want {
			t.Errorf("after %d: %d, estimated %v, %v", offset, p.Total, p.TotalIsEstimate, err)
		}
	}
	q.WithoutTotal, q.Offset = false, 0
	t.Cleanup(list.CountFor(time.Millisecond))
	for _, orders := range [][]list.Order{nil, {{Column: "seen"}}} {
		q.Orders = orders
		p, err := things.Page(ctx, d, "one", q)
		if err != nil || len(p.Numbers) != 10 || !p.TotalIsEstimate || p.Total < 10 || p.Total >= 20_000 {
			t.Errorf("%v: page %v, total %d, estimated %v, %v", orders, p.Numbers, p.Total, p.TotalIsEstimate, err)
		}
	}
}
