package db_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

func table(t *testing.T, d *db.DB) {
	t.Helper()
	_, err := d.Exec(t.Context(), `CREATE TABLE thing (id BIGINT PRIMARY KEY, name TEXT, at BIGINT, doc `+docType(d)+`)`)
	if err != nil {
		t.Fatal(err)
	}
}

func docType(d *db.DB) string {
	if d.URL != "" {
		return "JSONB"
	}
	return "TEXT"
}

func bytesType(d *db.DB) string {
	if d.URL != "" {
		return "BYTEA"
	}
	return "BLOB"
}

func TestValuesComeBackAlike(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		table(t, d)
		ctx := t.Context()
		type doc struct {
			Text string
			N    []int
		}
		id := int64(0)
		rapid.Check(t, func(rt *rapid.T) {
			id++
			text := rapid.OneOf(rapid.String(),
				rapid.SampledFrom([]string{"\x00", "\xff\xfe", `\u0000`, `\\u0000` + "\x00", `"`})).Draw(rt, "text")
			at := time.UnixMicro(rapid.Int64Range(1, 1<<52).Draw(rt, "micros"))
			if _, err := d.Exec(ctx, `INSERT INTO thing (id, name, at, doc) VALUES (?, ?, ?, ?)`,
				id, db.Clean(text), db.At(at), db.Doc(doc{db.Clean(text) + "\x00", []int{1}})); err != nil {
				rt.Fatalf("insert: %v", err)
			}
			var name string
			var got db.Time
			var back db.JSON[doc]
			if err := d.QueryRow(ctx, `SELECT name, at, doc FROM thing WHERE id = ?`, id).Scan(&name, &got, &back); err != nil {
				rt.Fatalf("select: %v", err)
			}
			if name != db.Clean(text) || !got.Equal(at) || back.V.Text != db.Clean(text)+"\uFFFD" {
				rt.Fatalf("got %q %v %q, want %q %v", name, got, back.V.Text, db.Clean(text), at)
			}
		})
	})
}

func TestProcessesThatStartAtOnceMigrateOnce(t *testing.T) {
	for _, url := range []string{"sqlite:" + t.TempDir() + "/new.db", dbtest.URL(t, "postgres")} {
		var wg sync.WaitGroup
		for range 8 {
			wg.Go(func() {
				d, err := db.Open(t.Context(), db.Config{URL: url})
				if err != nil {
					t.Errorf("opening %.20s…: %v", url, err)
					return
				}
				d.Close()
			})
		}
		wg.Wait()
	}
}

// A process that freezes in a transaction loses it after a while, of which the URL may say
// how long it is.
func TestFrozenTransactionsEnd(t *testing.T) {
	t.Parallel()
	u, err := url.Parse(dbtest.URL(t, "postgres"))
	if err != nil {
		t.Fatal(err)
	}
	for said, want := range map[string]string{"": "10s", "1min": "1min"} {
		q := u.Query()
		q.Del("idle_in_transaction_session_timeout")
		if said != "" {
			q.Set("idle_in_transaction_session_timeout", said)
		}
		u.RawQuery = q.Encode()
		d, err := db.Open(t.Context(), db.Config{URL: u.String()})
		if err != nil {
			t.Fatal(err)
		}
		var got string
		if err := d.QueryRow(t.Context(), `SHOW idle_in_transaction_session_timeout`).Scan(&got); err != nil || got != want {
			t.Errorf("said %q: %q, %v", said, got, err)
		}
		d.Close()
	}
}

func TestTxRollsBackAndCommits(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		table(t, d)
		ctx := t.Context()
		insert := func(id int, fail error) (told bool) {
			err := d.Tx(ctx, func(tx *db.Tx) error {
				tx.AfterCommit(func() { told = true })
				if _, err := tx.Exec(ctx, `INSERT INTO thing (id) VALUES (?)`, id); err != nil {
					return err
				}
				return fail
			})
			if !errors.Is(err, fail) {
				t.Errorf("insert %d: %v", id, err)
			}
			return told
		}
		if insert(1, errors.New("no")) {
			t.Error("AfterCommit ran after a rollback")
		}
		if !insert(2, nil) {
			t.Error("AfterCommit did not run after a commit")
		}
		ids, err := collectIDs(ctx, d, `SELECT id FROM thing`)
		if err != nil || fmt.Sprint(ids) != "[2]" {
			t.Errorf("rows %v, %v; want [2]", ids, err)
		}
		_, err = d.Exec(ctx, `INSERT INTO thing (id) VALUES (2)`)
		if !db.IsDuplicate(err) {
			t.Errorf("a second 2: %v, want a duplicate", err)
		}
	})
}

func TestParallelWritersAllLand(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		table(t, d)
		var wg sync.WaitGroup
		for i := range 200 {
			wg.Go(func() {
				err := d.Tx(t.Context(), func(tx *db.Tx) error {
					_, err := tx.Exec(t.Context(), `INSERT INTO thing (id) VALUES (?)`, i)
					return err
				})
				if err != nil {
					t.Errorf("writer %d: %v", i, err)
				}
			})
		}
		wg.Wait()
		var n int
		if err := d.QueryRow(t.Context(), `SELECT count(*) FROM thing`).Scan(&n); err != nil || n != 200 {
			t.Errorf("%d rows, %v; want 200", n, err)
		}
	})
}

func TestContainsTakesWildcardsLiterally(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		table(t, d)
		for i, name := range []string{"50% off", "500 OFF", `a\b`, "under_score", "underXscore"} {
			if _, err := d.Exec(t.Context(), `INSERT INTO thing (id, name) VALUES (?, ?)`, i, name); err != nil {
				t.Fatal(err)
			}
		}
		for text, want := range map[string]string{"50%": "[0]", "OFF": "[0 1]", `\`: "[2]", "r_s": "[3]", "": "[0 1 2 3 4]"} {
			var w db.Where
			cond, arg := d.Dialect().Contains("name", text)
			w.And(cond, arg)
			ids, err := collectIDs(t.Context(), d, `SELECT id FROM thing`+w.String()+` ORDER BY id`, w.Args...)
			if err != nil || fmt.Sprint(ids) != want {
				t.Errorf("contains %q: %v, %v; want %s", text, ids, err, want)
			}
		}
	})
}

func TestPagesNeverOverlap(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		table(t, d)
		for i := range 20 {
			if _, err := d.Exec(t.Context(), `INSERT INTO thing (id, name) VALUES (?, 'same')`, i); err != nil {
				t.Fatal(err)
			}
		}
		seen := map[int64]bool{}
		for offset := 0; offset < 20; offset += 6 {
			limit, args := db.Limit(page.Window{Offset: offset, Limit: 6})
			ids, err := collectIDs(t.Context(), d,
				`SELECT id FROM thing`+db.OrderBy([]page.Sort{{Column: "name", Desc: true}}, "id")+limit, args...)
			if err != nil {
				t.Fatal(err)
			}
			for _, id := range ids {
				if seen[id] {
					t.Errorf("row %d is on two pages", id)
				}
				seen[id] = true
			}
		}
		if len(seen) != 20 {
			t.Errorf("pages held %d rows of 20", len(seen))
		}
	})
}

func TestInOfNothingMatchesNothing(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		table(t, d)
		if _, err := d.Exec(t.Context(), `INSERT INTO thing (id) VALUES (1)`); err != nil {
			t.Fatal(err)
		}
		for want, values := range map[string][]int64{"[]": nil, "[1]": {7, 1}} {
			var w db.Where
			db.In(&w, "id", values)
			ids, err := collectIDs(t.Context(), d, `SELECT id FROM thing`+w.String(), w.Args...)
			if err != nil || fmt.Sprint(ids) != want {
				t.Errorf("in %v: %v, %v; want %s", values, ids, err, want)
			}
		}
	})
}

func TestRawBytesStayAsTheyAre(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		raw := []byte("\x00\xff\xfe'; DROP TABLE team; --")
		if _, err := d.Exec(t.Context(), `INSERT INTO server_secret (name, value) VALUES ('raw?', ?)`, raw); err != nil {
			t.Fatal(err)
		}
		var back []byte
		if err := d.QueryRow(t.Context(), `SELECT value FROM server_secret WHERE name = 'raw?'`).Scan(&back); err != nil ||
			!bytes.Equal(back, raw) {
			t.Errorf("got %q, %v", back, err)
		}
	})
}

func collectIDs(ctx context.Context, d *db.DB, query string, args ...any) ([]int64, error) {
	rows, err := d.Query(ctx, query, args...)
	return db.Collect(rows, err, func(r db.Row) (id int64, err error) { return id, r.Scan(&id) })
}

// A program refuses a schema that it does not know, and a command leaves an older one to the server.
func TestOtherVersionsOfTheSchema(t *testing.T) {
	for _, url := range []string{"sqlite:" + t.TempDir() + "/new.db", dbtest.URL(t, "postgres")} {
		first, err := db.Open(t.Context(), db.Config{URL: url, KeepSchema: true})
		if err != nil {
			t.Fatalf("%.8s: a command on a new database: %v", url, err)
		}
		defer first.Close()
		expect := func(what, statement string, keep, upgrade error) {
			t.Helper()
			if _, err := first.Exec(t.Context(), statement); err != nil {
				t.Fatal(err)
			}
			for i, want := range []error{keep, upgrade} {
				again, err := db.Open(t.Context(), db.Config{URL: url, KeepSchema: i == 0})
				if !errors.Is(err, want) {
					t.Errorf("%.8s: %s, KeepSchema %v: %v", url, what, i == 0, err)
				}
				if err == nil {
					again.Close()
				}
			}
		}
		expect("one change less", `DROP TABLE user_session; DELETE FROM goose_db_version WHERE version_id = 285`, db.ErrOlderSchema, nil)
		expect("up to date again", `SELECT 1`, nil, nil)
		expect("one change more", `INSERT INTO goose_db_version (version_id, is_applied) VALUES (999999, true)`,
			db.ErrNewerSchema, db.ErrNewerSchema)
	}
}
