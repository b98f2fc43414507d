package moment

import (
	"maps"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"pgregory.net/rapid"
)

// TestSeriesAndLists makes random changes. At the end of each period, as many weaknesses of each severity are open in
// the series as the list of that moment has, and as many were new as the lists grew by.
func TestSeriesAndLists(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rapid.Check(t, func(rt *rapid.T) {
			for _, table := range []string{"team", "user_account", "finding", "finding_doc", "finding_change", "finding_tally",
				"finding_key"} {
				if _, err := d.Exec(t.Context(), `DELETE FROM `+table); err != nil {
					rt.Fatal(err)
				}
			}
			r := setUp(t, d)
			r.step(rt)
			from := time.Now()
			for range rapid.IntRange(1, 6).Draw(rt, "steps") {
				r.step(rt)
			}
			to := time.Now()
			s, err := r.Series(r.alice, from, to, max((to.Sub(from)/5).Truncate(time.Microsecond), time.Millisecond))
			if err != nil {
				rt.Fatal(err)
			}
			before, _, err := r.List(r.alice, finding.Filter{}, from.Add(-time.Microsecond), false, all)
			if err != nil {
				rt.Fatal(err)
			}
			had := len(before)
			for _, p := range s.Points {
				// A point is what was before its end.
				list, _, err := r.List(r.alice, finding.Filter{}, db.At(p.To).Add(-time.Microsecond), false, all)
				if err != nil {
					rt.Fatal(err)
				}
				want := map[string]int{}
				for _, f := range list {
					if f.Status == "open" || f.Status == "triaged" || f.Status == "fix_in_progress" {
						want[f.Severity]++
					}
				}
				maps.DeleteFunc(p.Open, func(_ string, n int) bool { return n == 0 })
				if !maps.Equal(p.Open, want) || p.New != len(list)-had {
					rt.Fatalf("until %v: %v open and %d new, want %v and %d", p.To, p.Open, p.New, want, len(list)-had)
				}
				had = len(list)
			}
		})
	})
}

func TestSeries(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		now := time.Now().UTC()
		r.see(t, "s1", now.Add(-10*24*time.Hour), 1, 2, 3)
		found, _, err := r.findings.FindAll(r.alice, finding.Filter{}, nil, all)
		if err != nil || len(found) != 3 {
			t.Fatal(len(found), err)
		}
		for _, f := range found[:2] {
			if _, err := r.findings.SetStatus(r.alice, finding.Filter{IDs: []string{f.ID}}, finding.Fixed); err != nil {
				t.Fatal(err)
			}
		}
		r.see(t, "s2", now.Add(time.Hour), 3) // found[0], the newest, is back
		s, err := r.Series(r.alice, now.Add(-72*time.Hour), time.Now(), 24*time.Hour)
		if err != nil || len(s.Points) != 4 {
			t.Fatal(len(s.Points), err)
		}
		open := func(p Point) (n int) {
			for _, k := range p.Open {
				n += k
			}
			return n
		}
		last := s.Points[3]
		if open(s.Points[0]) != open(s.Points[2]) || open(last) != 2 || last.Fixed != 2 || last.Regressed != 1 {
			t.Errorf("%+v", s.Points)
		}
		if fix := s.Fix[All]; len(fix) != 2 || fix.Within(0.5) < 0 || Fix(nil).Within(0.9) != 0 {
			t.Errorf("%v", s.Fix)
		}
		none, err := r.Series(r.eve, now.Add(-72*time.Hour), now, 24*time.Hour)
		if err != nil || open(none.Points[2]) != 0 || len(none.Fix) != 0 {
			t.Errorf("a stranger: %+v, %v", none, err)
		}
		for name, at := range map[string][2]time.Time{
			"backwards": {now, now.Add(-time.Hour)}, "the future": {now, now.Add(time.Hour)}, "too many": {now.AddDate(-2, 0, 0), now},
		} {
			if _, err := r.Series(r.alice, at[0], at[1], 24*time.Hour); !errs.Is(err, errs.Invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
	})
}

func TestWithin(t *testing.T) {
	f := Fix{1, 2, 3, 4, 5, 6, 7, 8, 9, 10}
	if f.Within(0.5) != 6 || f.Within(0.9) != 10 || f.Within(1) != 10 || f[:1].Within(0.9) != 1 {
		t.Error(f.Within(0.5), f.Within(0.9))
	}
}
