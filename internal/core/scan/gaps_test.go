package scan

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// TestGapsAreTheCoverage: what was not tested is counted by its reason, and the sum is that of the coverage.
func TestGapsAreTheCoverage(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		s := y.create(t, Config{Targets: []string{"a.example.com", "b.example.com"}, Templates: []string{"vcs"}})
		y.begin(t, s.ID)
		gaps, rest, err := y.FindGaps(y.alice, s.ID, 10)
		if err != nil || len(gaps) != 1 || gaps[0].State != Pending || rest != 0 {
			t.Fatalf("%+v, %d, %v", gaps, rest, err)
		}
		c, err := y.StartChunk(t.Context(), ChunkArgs{s.ID, 1, 0})
		if err != nil {
			t.Fatal(err)
		}
		l := NewCells(c.Targets, c.Templates)
		for i := range c.Targets {
			for j := range c.Templates {
				switch {
				case i == 0 && j == 0:
					l.Set(i, j, engine.Tested, "")
				case i == 0:
					l.Set(i, j, engine.Skipped, "")
				default:
					l.Set(i, j, engine.Failed, "no answer")
				}
			}
		}
		if err := c.Finish(t.Context(), l, 1); err != nil {
			t.Fatal(err)
		}
		cover, err := y.FindCoverage(y.alice, s.ID, CoverageFilter{}, page.Window{})
		if err != nil {
			t.Fatal(err)
		}
		want := cover.Counts[engine.Skipped] + cover.Counts[engine.Failed] + cover.Counts[Pending]
		for _, most := range []int{0, 1, 10} {
			gaps, rest, err := y.FindGaps(y.alice, s.ID, most)
			sum := rest
			for _, g := range gaps {
				sum += g.N
				if g.State == engine.Failed && (g.Reason != "no answer" || g.Target != "b.example.com") {
					t.Errorf("%+v", g)
				}
			}
			if err != nil || sum != want || want == 0 || len(gaps) > most {
				t.Errorf("at most %d: %+v, %d, %v; want %d", most, gaps, rest, err, want)
			}
		}
		if _, _, err := y.FindGaps(y.stranger, s.ID, 10); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
	})
}
