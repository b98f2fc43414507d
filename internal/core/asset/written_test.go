package asset

import (
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/asset/label"
	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// TestHostileRows: no text that was observed parts a row in other places.
func TestHostileRows(t *testing.T) {
	const bad = "\n\n a\n\n\nb \n\n"
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e")
		a := web("a.example.com"+bad, 443, bad+"title", bad, "x"+bad)
		a.Protocol, a.Service, a.Webserver, a.Domain, a.Favicon, a.IP, a.CNAME = bad, bad, bad, bad, bad,
			[]string{bad, "192.0.2.1", ""}, []string{"", bad}
		a.Misconfiguration = []discover.Misconfiguration{{Type: bad}, {Type: ""}}
		a.TLS.Serial = bad
		r.observe(t, "e", 1, a, discover.Asset{Host: "b.example.com"})
		if err := r.SetLabels(r.alice, r.list(t, Query{}).Assets[0].ID, label.Replace, []string{"one", "two"}); err != nil {
			t.Fatal(err)
		}
		for q, want := range map[string]Filters{"host": {Host: "b.example.com"}, "ip": {IP: "192.0.2.1"},
			"label": {Labels: "two"}, "title": {Title: "title"}} {
			other := &room{Assets: New(d, nil, nil), alice: r.alice} // which reads all rows
			if p := other.list(t, Query{Filter: r.filter(t, want)}); p.Total != 1 {
				t.Errorf("%s: %d", q, p.Total)
			}
		}
	})
}

// TestStill: a list as of a moment is not that of now where a run has begun since, or
// something was deleted, even if what is there has not changed.
func TestStill(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e")
		a, b := web("a.example.com", 443, "A"), web("b.example.com", 443, "B")
		r.observe(t, "e", 1, a, b)
		r.end(t, "e", 1, true)
		first := r.clock
		asOf := func(at time.Time) string { return inBrief(r.list(t, Query{AsOf: at}).Assets) }
		want := inBrief(r.list(t, Query{}).Assets)
		if got := asOf(first); got != want {
			t.Errorf("as of now:\n%s\nwant\n%s", got, want)
		}
		r.clock = r.clock.Add(time.Hour)
		r.observe(t, "e", 2, a, b) // as they were
		if now := inBrief(r.list(t, Query{}).Assets); now == want {
			t.Error("what was new still is")
		}
		if got := asOf(first); got != want {
			t.Errorf("a run later:\n%s\nwant\n%s", got, want)
		}
		second, was := r.clock, r.list(t, Query{}).Assets
		r.clock = r.clock.Add(time.Hour)
		r.tx(t, func(tx *db.Tx) error {
			_, _, rev, err := r.reserve(t.Context(), tx, r.team, 0)
			if err != nil {
				return err
			}
			return r.remove(t.Context(), tx, r.team, []int64{was[0].no}, rev)
		})
		if now := r.list(t, Query{}); now.Total != 1 {
			t.Errorf("after a deletion there are %d", now.Total)
		}
		if got := asOf(second); got != inBrief(was) {
			t.Errorf("before the deletion:\n%s\nwant\n%s", got, inBrief(was))
		}
		if got := asOf(r.clock); got != inBrief(was[1:]) {
			t.Errorf("after the deletion:\n%s", got)
		}
	})
}
