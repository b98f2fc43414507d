package finding

import (
	"slices"
	"strconv"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/ids"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"pgregory.net/rapid"
)

// walker reads a list page by page while others write. Each has scans of its own.
type walker struct {
	room
	*rapid.T
	scan  string
	made  int
	alive []string // ids that were there at the first page and still are
	gone  []string // and those that were deleted since
}

func (w *walker) arrive(n int) {
	w.add(w.T, w.scan, 1, sightings(w.made, w.made+n)...)
	w.made += n
}

// write adds findings, deletes some, and changes others.
func (w *walker) write(deletes bool) {
	w.arrive(w.drawn("arrive", 0, 4))
	if len(w.alive) > 0 && deletes {
		for range w.drawn("delete", 0, 3) {
			i := w.drawn("which", 0, len(w.alive)-1)
			if _, err := w.Delete(w.alice, Filter{IDs: []string{w.alive[i]}}); err != nil {
				w.Fatal(err)
			}
			w.gone = append(w.gone, w.alive[i])
			if w.alive = slices.Delete(w.alive, i, i+1); len(w.alive) == 0 {
				return
			}
		}
	}
	if len(w.alive) > 0 {
		id := w.alive[w.drawn("changed", 0, len(w.alive)-1)]
		if _, err := w.SetLabels(w.alice, Filter{IDs: []string{id}}, AppendLabels,
			[]string{strconv.Itoa(w.made)}, ""); err != nil {
			w.Fatal(err)
		}
	}
}

func (w *walker) drawn(what string, low, high int) int {
	return rapid.IntRange(low, high).Draw(w.T, what)
}

func (w *walker) page(f Filter, sorts []page.Sort, window page.Window) Page {
	f.ScanIDs = []string{w.scan}
	p, err := w.FindPage(w.alice, f, sorts, window)
	if err != nil {
		w.Fatal(err)
	}
	return p
}

// TestPagesDoNotShift reads lists while findings arrive, change and are deleted. What was
// there all the time is seen once; what arrived is not seen, nothing is seen twice, and
// what was deleted is seen once or not at all.
func TestPagesDoNotShift(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		rapid.Check(t, func(t *rapid.T) {
			w := &walker{room: r, T: t, scan: ids.New()}
			w.arrive(w.drawn("findings", 0, 40))
			first := w.page(Filter{}, nil, page.Window{Limit: 1000})
			w.alive = idsOf(first.Results)
			all := slices.Clone(w.alive)
			limit := w.drawn("limit", 1, 15)

			var seen []string
			sorts := rapid.SampledFrom([][]page.Sort{nil, {{Column: "host"}},
				{{Column: "severity", Desc: true}, {Column: "template"}}, {{Column: "created_at"}}}).Draw(t, "sorts")
			if sorts == nil { // behind the last of the page before
				for next := first.End; next > 0; {
					p := w.page(Filter{Before: next}, nil, page.Window{Limit: limit})
					seen, next = append(seen, idsOf(p.Results)...), p.Next
					w.write(true)
				}
			} else { // by offset, without what arrives
				for offset := 0; offset < first.Total; offset += limit {
					p := w.page(Filter{Before: first.End}, sorts, page.Window{Offset: offset, Limit: limit})
					if p.Total != first.Total {
						t.Fatalf("the total was %d and is %d", first.Total, p.Total)
					}
					seen = append(seen, idsOf(p.Results)...)
					w.write(false)
				}
			}
			for _, id := range all {
				times := 0
				for _, s := range seen {
					if s == id {
						times++
					}
				}
				if deleted := slices.Contains(w.gone, id); times > 1 || times == 0 && !deleted {
					t.Fatalf("%s is seen %d times of %d findings, %d deleted", id, times, len(all), len(w.gone))
				}
			}
			for _, id := range seen {
				if !slices.Contains(all, id) {
					t.Fatalf("%s arrived later and is seen", id)
				}
			}
		})
	})
}
