package asset

import (
	"encoding/json"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"pgregory.net/rapid"
)

// TestWritten: what was written of assets is what they are, whatever changes meanwhile of
// them, their enumerations and the runs of these, as it is and as of a moment before.
func TestWritten(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e", "f")
		group, err := r.CreateGroup(r.alice, "web", Filters{Port: "443"})
		if err != nil {
			t.Fatal(err)
		}
		wrote := 0
		write := func(a Asset) ([]byte, error) { wrote++; return json.Marshal(a) }
		same := func(what string, q Query) {
			t.Helper()
			q.Window = page.Window{Limit: 100}
			var want []string
			p := r.list(t, q)
			for _, a := range p.Assets {
				want = append(want, asJSON(t, a))
			}
			for _, again := range []bool{false, true} {
				got, err := r.Write(r.alice, q, write)
				if err != nil || got.Listed != p.Listed {
					t.Fatalf("%s: %+v, %v, want %+v", what, got.Listed, err, p.Listed)
				}
				var texts []string
				for _, text := range got.Assets {
					texts = append(texts, string(text))
				}
				if !slices.Equal(texts, want) {
					t.Fatalf("%s, again %v:\n%s\nwant\n%s", what, again, strings.Join(texts, "\n"), strings.Join(want, "\n"))
				}
			}
		}
		for i, step := range []func(){
			func() { r.observe(t, "e", 1, web("a.example.com", 443, "A"), web("b.example.com", 80, "B")) },
			func() { r.observe(t, "f", 1, web("a.example.com", 443, "F")) },
			func() { r.end(t, "e", 1, true) },
			func() { // only seen again
				r.observe(t, "e", 2, web("a.example.com", 443, "A"))
			},
			func() { r.end(t, "e", 2, true) },
			func() {
				if err := r.SetLabels(r.alice, r.list(t, Query{}).Assets[0].ID, AppendLabels, []string{"x"}); err != nil {
					t.Fatal(err)
				}
			},
			func() {
				r.tx(t, func(tx *db.Tx) error {
					return r.Enroll(t.Context(), tx, Enumeration{ID: "f", TeamID: r.team, Name: "Another name", SourceType: "cloud"})
				})
			},
			func() { r.end(t, "f", 2, false) }, // saw nothing: what was new is not
			func() { r.observe(t, "e", 3, web("a.example.com", 443, "A, changed")) },
			func() {
				r.tx(t, func(tx *db.Tx) error { return r.DeleteEnumerations(t.Context(), tx, r.team, []string{"f"}) })
			},
		} {
			before := r.clock
			r.clock = r.clock.Add(time.Hour)
			step()
			same(fmt.Sprint("step ", i), Query{})
			same(fmt.Sprint("of e, step ", i), Query{Of: "e"})
			same(fmt.Sprint("of the group, step ", i), Query{Of: group, Sorts: []page.Sort{{Column: "host"}}})
			same(fmt.Sprint("before step ", i), Query{AsOf: before})
			same(fmt.Sprint("since step ", i), Query{AsOf: r.clock})
			wrote = 0
			if same(fmt.Sprint("again, step ", i), Query{}); wrote > 0 {
				t.Errorf("step %d: %d assets are written again", i, wrote)
			}
		}
		past := Query{AsOf: r.clock, Window: page.Window{Limit: 100}}
		for _, want := range []int{2, 0} { // deleted a moment after somebody looked
			if p, err := r.Write(r.alice, past, write); err != nil || len(p.Assets) != want {
				t.Errorf("of the past there are %d, %v, want %d", len(p.Assets), err, want)
			}
			r.tx(t, func(tx *db.Tx) error { return r.DeleteEnumerations(t.Context(), tx, r.team, []string{"e"}) })
		}
		for _, of := range []string{"e", "f", "g"} {
			if _, err := r.Write(r.alice, Query{Of: of}, write); !errs.Is(err, errs.NotFound) {
				t.Errorf("of %s: %v", of, err)
			}
		}
		if _, err := r.Write(r.stranger, Query{Of: "e"}, write); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
	})
}

// TestRemembered: an index that was asked for other lists before, and has changed since,
// shows what one does that was asked for none.
func TestRemembered(t *testing.T) {
	filters := []Filters{
		{}, {CustomFilter: "port = 443"}, {CustomFilter: "port = 80"}, {Port: "443"}, {Port: "443,80"}, {Host: "h5.*"}, {Title: "shop"}, {Search: "h1"}, {Search: "H2"},
		{Technologies: "nginx"}, {IP: "10.0.0.0/28"}, {EnumerationIDs: []string{"e"}}, {EnumerationIDs: []string{"none"}}, {Time: "last_week"}, {StartDate: "2026-10-31"},
	}
	for _, yes := range []bool{true, false} {
		filters = append(filters, Filters{IsTech: &yes}, Filters{IsNew: &yes}, Filters{OnlyDNS: &yes}, Filters{IsInternal: &yes, Port: "443"})
	}
	now := time.Date(2026, 11, 1, 12, 0, 0, 0, time.UTC)
	grow := func(x *index, to int) *index {
		for i := x.size; i < to; i++ {
			r, _, err := rowOf("e", many(i))
			if err != nil {
				t.Fatal(err)
			}
			r.no, r.firstRun, r.createdAt = uint32(i), int64(i%2+1), db.At(now.Add(-time.Duration(i)*time.Hour))
			x.put(&r)
		}
		x.runs["e"] = runs{latest: 2}
		x.tidy()
		return x
	}
	asked, plain := grow(newIndex(), 5000), map[int]*index{5000: grow(newIndex(), 5000), 6000: grow(newIndex(), 6000)}
	rapid.Check(t, func(t *rapid.T) {
		if rapid.IntRange(0, 30).Draw(t, "grow") == 0 {
			grow(asked, 6000)
		}
		like := plain[asked.size]
		f, err := rapid.SampledFrom(filters).Draw(t, "filter").Parse(now)
		if err != nil {
			t.Fatal(err)
		}
		f.Before = rapid.SampledFrom([]int64{0, 1, 64, 999, 1 << 40}).Draw(t, "before")
		q := Query{Filter: f, Sorts: rapid.SampledFrom(benchOrders).Draw(t, "order"), Window: page.Window{Offset: rapid.SampledFrom([]int{0, 100, 2500}).Draw(t, "offset"), Limit: rapid.SampledFrom([]int{1, 100}).Draw(t, "limit")}}
		like.sets.forget()
		like.pages.forget()
		got, want := asked.page(q), like.page(q)
		if got.Listed != want.Listed || !slices.Equal(got.shown, want.shown) {
			t.Fatalf("%s: %+v, want %+v", strconv.Quote(asJSON(t, q)), got, want)
		}
	})
}

// TestHostileRows: no text that was observed parts a row in other places.
func TestHostileRows(t *testing.T) {
	const bad = "\n\n a\n\n\nb \n\n"
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.enroll(t, "e")
		a := web("a.example.com"+bad, 443, bad+"title", bad, "x"+bad)
		a.Protocol, a.Service, a.Webserver, a.Domain, a.Favicon, a.IP, a.CNAME = bad, bad, bad, bad, bad, []string{bad, "192.0.2.1", ""}, []string{"", bad}
		a.Misconfiguration = []discover.Misconfiguration{{Type: bad}, {Type: ""}}
		a.TLS.Serial = bad
		r.observe(t, "e", 1, a, discover.Asset{Host: "b.example.com"})
		if err := r.SetLabels(r.alice, r.list(t, Query{}).Assets[0].ID, ReplaceLabels, []string{"one", "two"}); err != nil {
			t.Fatal(err)
		}
		for q, want := range map[string]Filters{"host": {Host: "b.example.com"}, "ip": {IP: "192.0.2.1"}, "label": {Labels: "two"}, "title": {Title: "title"}} {
			other := &room{Assets: New(d, nil, nil, nil), alice: r.alice} // which reads all rows
			if p := other.list(t, Query{Filter: r.filter(t, want)}); p.Total != 1 {
				t.Errorf("%s: %d", q, p.Total)
			}
		}
	})
}

// TestMemory: what is dear is found once, however many ask; and no more is kept than may be.
func TestMemory(t *testing.T) {
	var m memory[int]
	var found atomic.Int64
	ask := func(name string, bytes int) int {
		return m.recall(name, func() (int, int) { found.Add(1); return len(name), bytes })
	}
	var all sync.WaitGroup
	for range 50 {
		all.Go(func() {
			if got := ask("dear", 1); got != 4 {
				t.Errorf("got %d", got)
			}
		})
	}
	all.Wait()
	if ask("cheap", 0); ask("cheap", 0) != 5 || found.Load() != 3 || len(m.found) != 1 {
		t.Errorf("found %d times, %d are kept", found.Load(), len(m.found))
	}
	for i := range 100 {
		if ask(strings.Repeat("x", i+1), maxMemory/10); m.kept > maxMemory || len(m.found) > 11 {
			t.Fatalf("%d bytes of %d are kept", m.kept, len(m.found))
		}
	}
	found.Store(0)
	if ask(strings.Repeat("x", 100), 1); found.Load() != 0 {
		t.Error("what was found last is gone")
	}
	m.forget()
	if ask("dear", 1); found.Load() != 1 || m.kept != 5 {
		t.Errorf("forgotten, it is found %d times", found.Load())
	}
	func() {
		defer func() { _ = recover() }()
		m.recall("broken", func() (int, int) { panic("broken") })
	}()
	if got := ask("broken", 1); got != 6 {
		t.Errorf("what broke is remembered as %d", got)
	}
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
			_, _, rev, err := r.number(t.Context(), tx, r.team, 0)
			if err != nil {
				return err
			}
			return r.remove(t.Context(), tx, r.team, []uint32{was[0].no}, rev)
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
