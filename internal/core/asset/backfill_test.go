package asset

import (
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// TestRowsFromBefore: assets that were stored before lists came from the index are listed once
// they are brought in, in every order, as they are and as of a date; those of a deleted enumeration
// are not.
func TestRowsFromBefore(t *testing.T) {
	const version = 240
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e", "f")
		first, second := web("a.example.com", 443, "A", "Nginx:1.25.1"), web("b.example.com", 443, "B")
		first.IP, second.IP = []string{"192.0.2.10"}, []string{"192.0.2.9"}
		r.observe(t, "e", 1, first, second)
		r.observe(t, "f", 1, first)
		then := r.clock
		r.clock = r.clock.Add(time.Hour)
		second.Title = "changed"
		r.observe(t, "e", 2, second)
		if err := d.Migrate(t.Context(), version, false); err != nil {
			t.Fatal(err)
		}
		if _, err := d.Exec(t.Context(), `DELETE FROM asset_enumeration WHERE id = 'f'`); err != nil {
			t.Fatal(err)
		}
		if err := d.Migrate(t.Context(), version, true); err != nil {
			t.Fatal(err)
		}
		if n := r.list(t, Query{}).Total; n != 0 {
			t.Fatalf("%d assets are in the index already", n)
		}
		for range 2 {
			if err := r.Backfill(t.Context()); err != nil {
				t.Fatal(err)
			}
		}
		byIP := []page.Sort{{Column: "ip"}}
		for name, c := range map[string]struct {
			q    Query
			want int
		}{
			"all": {Query{}, 2}, "technology": {Query{Filter: r.filter(t, Filters{Technologies: "nginx"})}, 1},
			"title": {Query{Filter: r.filter(t, Filters{Title: "chang"})}, 1},
		} {
			if p := r.list(t, c.q); p.Total != c.want || len(p.Assets) != c.want {
				t.Errorf("%s: %v", name, hostsOf(p.Assets))
			}
		}
		for _, at := range []time.Time{{}, then} {
			if p := r.list(t, Query{Sorts: byIP, AsOf: at}); len(p.Assets) != 2 || p.Assets[0].Host != "b.example.com" {
				t.Errorf("by address, as of %v: %v", at, hostsOf(p.Assets))
			}
		}
		if err := r.Purge(t.Context(), r.team, "f"); err != nil || r.left(t, "asset_deleted") != 0 ||
			r.list(t, Query{}).Total != 2 {
			t.Errorf("after the rest of f was deleted: %v", err)
		}
	})
}
