package asset

import (
	"bytes"
	"context"
	"crypto/sha256"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/blob"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// left is how many rows tables have of the room's team.
func (r *room) left(t *testing.T, tables ...string) (n int) {
	t.Helper()
	for _, table := range tables {
		var some int
		if err := r.db.QueryRow(t.Context(), `SELECT count(*) FROM `+table+` WHERE team_id = ?`,
			r.team).Scan(&some); err != nil {
			t.Fatal(err)
		}
		n += some
	}
	return n
}

// TestDeletedIsGoneAtOnce: what was deleted is in no list, of no process and of no date,
// while its rows are still there; they go in parts, also when that breaks off; and what
// was not deleted stays.
func TestDeletedIsGoneAtOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e", "f")
		many := func(n int) (seen []discover.Asset) {
			for i := range n {
				seen = append(seen, discover.Asset{Host: fmt.Sprintf("h%d.example.com", i), Port: 80, Title: fmt.Sprint(i)})
			}
			return seen
		}
		r.observe(t, "e", 1, many(purgeRows+500)...)
		r.end(t, "e", 1, true)
		r.observe(t, "f", 1, many(3)...)
		then := r.clock
		r.clock = r.clock.Add(time.Hour)
		r.observe(t, "e", 2, discover.Asset{Host: "h0.example.com", Port: 80, Title: "another"})
		r.end(t, "e", 2, true) // misses all the others, which are in the past now
		shown := r.list(t, Query{Filter: Filter{Enumerations: []string{"e"}}}).Assets[0]
		r.list(t, Query{AsOf: then})

		r.tx(t, func(tx *db.Tx) error { return r.DeleteEnumerations(t.Context(), tx, r.team, []string{"e"}) })
		fresh := &room{Assets: New(d, nil, nil), alice: r.alice, team: r.team}
		for name, room := range map[string]*room{"this process": r, "a fresh one": fresh} {
			if p := room.list(t, Query{}); p.Total != 3 || len(p.Assets) != 3 {
				t.Errorf("%s: %d assets are listed", name, p.Total)
			}
			for _, a := range room.list(t, Query{AsOf: then}).Assets {
				if a.EnumerationID != "f" {
					t.Errorf("%s: as of before, %s is listed", name, a.Host)
				}
			}
			if _, err := room.Get(r.alice, r.team, shown.ID); err == nil {
				t.Errorf("%s: it is found by its id", name)
			}
		}
		if err := r.db.Tx(t.Context(), func(tx *db.Tx) error {
			_, err := r.Observe(t.Context(), tx, Seen{TeamID: r.team, EnumerationID: "e", Run: 3, At: r.clock, Assets: many(1)})
			return err
		}); err == nil {
			t.Error("something was added to it")
		}

		tables := []string{"asset", "asset_past", "asset_doc", "asset_change"}
		before := r.left(t, tables...)
		if last, _, err := r.purge(t.Context(), "asset", r.team, "e", -1); err != nil || last <= 0 ||
			r.left(t, "asset") != 3+500 || r.left(t, tables...) >= before {
			t.Fatalf("the first part ends with %d: %v", last, err)
		}
		ended, end := context.WithCancel(t.Context())
		end()
		if err := r.Purge(ended, r.team, "e"); err == nil {
			t.Error("it went on after its end")
		}
		for _, id := range []string{"e", "e", "f"} { // f is there: it stays
			if err := r.Purge(t.Context(), r.team, id); err != nil {
				t.Fatal(err)
			}
		}
		if n := r.left(t, tables...); n != 6 {
			t.Errorf("%d rows are left, want those of f", n)
		}
		if n := r.left(t, "asset_run"); n != 1 {
			t.Errorf("%d runs are left", n)
		}
	})
}

// TestPicturesAreSwept: a picture that no asset has, had or is about to have is deleted.
func TestPicturesAreSwept(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		dir := t.TempDir()
		var err error
		if r.blobs, err = blob.Open(dir); err != nil {
			t.Fatal(err)
		}
		png := func(name string) []byte { return []byte("\x89PNG\r\n\x1a\n" + name) }
		put := func(name string, age time.Duration) {
			digest, _, err := r.blobs.Put(t.Context(), bytes.NewReader(png(name)))
			if err != nil {
				t.Fatal(err)
			}
			at := r.clock.Add(-age)
			if err := os.Chtimes(filepath.Join(dir, digest.String()[:2], digest.String()), at, at); err != nil {
				t.Fatal(err)
			}
		}
		r.enroll(t, "e", "f")
		see := func(e string, run int64, name string) {
			r.observe(t, e, run, discover.Asset{Host: e + ".example.com", Screenshot: png(name)})
		}
		see("e", 1, "old")
		r.clock = r.clock.Add(time.Hour)
		see("e", 2, "now")
		see("f", 1, "deleted")
		for _, name := range []string{"old", "now", "deleted", "nobody's"} {
			put(name, 2*screenshotGrace)
		}
		put("young", screenshotGrace/2)
		r.tx(t, func(tx *db.Tx) error { return r.DeleteEnumerations(t.Context(), tx, r.team, []string{"f"}) })
		for i, want := range []int{1, 1, 0} {
			if n, err := r.SweepScreenshots(t.Context()); err != nil || n != want {
				t.Errorf("sweep %d: %d %v, want %d", i, n, err, want)
			}
			if err := r.Purge(t.Context(), r.team, "f"); err != nil {
				t.Fatal(err)
			}
		}
		for name, want := range map[string]bool{"old": true, "now": true, "deleted": false, "nobody's": false,
			"young": true} {
			if has, err := r.blobs.Has(sha256.Sum256(png(name))); err != nil || has != want {
				t.Errorf("%s: %v %v", name, has, err)
			}
		}
	})
}
