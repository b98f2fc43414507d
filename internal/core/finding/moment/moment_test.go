package moment

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

type room struct {
	*Moments
	alice, eve context.Context
	team       string
}

func setUp(t *testing.T, d *db.DB) (r room) {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	r.Moments = New(d, finding.New(d, nil))
	for email, ctx := range map[string]*context.Context{"alice@example.com": &r.alice, "eve@example.com": &r.eve} {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email})
		if err != nil {
			t.Fatal(err)
		}
		*ctx = account.WithCaller(t.Context(), account.Caller{UserID: u.ID, Email: email, TeamID: u.TeamID, Role: account.Admin})
		if ctx == &r.alice {
			r.team = u.TeamID
		}
	}
	return r
}

func (r room) see(t rapid.TB, scan string, at time.Time, which ...int) {
	t.Helper()
	var seen []finding.Sighting
	for _, i := range which {
		s := finding.Sighting{Event: findingtest.Event(i)}
		s.Event.Timestamp = at
		seen = append(seen, s)
	}
	if err := r.db.Tx(context.Background(), func(tx *db.Tx) error {
		_, err := r.findings.Add(context.Background(), tx, finding.Origin{TeamID: r.team, ScanID: scan, Run: 1}, seen)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

// lines are findings as text, without what is not kept of the past.
func lines(all []finding.Finding) (out []string) {
	for _, f := range all {
		out = append(out, fmt.Sprint(f.ID, f.Status, f.IsRegression, f.Severity, f.Labels, f.Assignee))
	}
	return out
}

var all = page.Window{Limit: 1000}

// TestListsOfThePast makes random changes and keeps the list after each. Later, each is listed as it was then, whatever
// the filter; and the difference between two moments has as many new findings as came between them, and none that is
// the same at both.
func TestListsOfThePast(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rapid.Check(t, func(rt *rapid.T) {
			for _, table := range []string{"team", "user_account", "finding", "finding_doc", "finding_change", "finding_tally",
				"finding_key"} {
				if _, err := d.Exec(t.Context(), `DELETE FROM `+table); err != nil {
					rt.Fatal(err)
				}
			}
			r := setUp(t, d)
			var moments []time.Time
			var lists [][]finding.Finding
			for range rapid.IntRange(1, 8).Draw(rt, "steps") {
				r.step(rt)
				now, _, err := r.findings.FindAll(r.alice, finding.Filter{Sightings: true}, nil, all)
				if err != nil {
					rt.Fatal(err)
				}
				moments, lists = append(moments, time.Now()), append(lists, now)
			}
			for i, at := range moments {
				f := finding.Filter{Sightings: true}
				want := lists[i]
				if rapid.Bool().Draw(rt, "filter") {
					f.Statuses = []finding.Status{rapid.SampledFrom(finding.Statuses).Draw(rt, "status")}
					want = slices.DeleteFunc(slices.Clone(want), func(one finding.Finding) bool { return one.Status != f.Statuses[0] })
				}
				got, total, err := r.List(r.alice, f, at, false, all)
				if err != nil || total != len(want) || !slices.Equal(lines(got), lines(want)) {
					rt.Fatalf("%+v at %v: %v\n%q, want\n%q", f, at, err, lines(got), lines(want))
				}
				if i == 0 {
					continue
				}
				r.checkDiff(rt, moments[0], at, lists[0], lists[i])
			}
		})
	})
}

func (r room) checkDiff(rt *rapid.T, from, to time.Time, before, after []finding.Finding) {
	found, counts, err := r.Diff(r.alice, finding.Filter{Sightings: true}, from, to, nil, all)
	if err != nil {
		rt.Fatal(err)
	}
	sum := 0
	for n := range maps.Values(counts) {
		sum += n
	}
	if sum != len(found) || counts[Appeared] != len(after)-len(before) {
		rt.Fatalf("%v of %d; %d before, %d after", counts, len(found), len(before), len(after))
	}
	differ := map[string]bool{}
	for _, d := range found {
		differ[d.ID] = true
	}
	for _, a := range after {
		i := slices.IndexFunc(before, func(b finding.Finding) bool { return b.ID == a.ID })
		if i >= 0 && !stateOf(before[i]).equal(stateOf(a)) && !differ[a.ID] {
			rt.Fatalf("%s has changed, and is no difference", a.ID)
		}
	}
}

func (r room) step(rt *rapid.T) {
	f := finding.Filter{Severities: []string{rapid.SampledFrom(finding.Severities).Draw(rt, "severity")}}
	var err error
	switch rapid.IntRange(0, 3).Draw(rt, "what") {
	case 0, 1:
		r.see(rt, rapid.SampledFrom([]string{"s1", "s2"}).Draw(rt, "scan"), time.Now().Add(time.Hour),
			rapid.SliceOfNDistinct(rapid.IntRange(0, 9), 1, 5, rapid.ID).Draw(rt, "which")...)
	case 2:
		_, err = r.findings.SetStatus(r.alice, f, rapid.SampledFrom(finding.Statuses).Draw(rt, "status"))
	case 3:
		_, err = r.findings.SetLabels(r.alice, f, finding.ReplaceLabels, []string{rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "label")}, "")
	}
	if err != nil {
		rt.Fatal(err)
	}
}

// Each kind of difference, and what is refused.
func TestDiff(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		early := time.Now().Add(-24 * time.Hour)
		r.see(t, "s1", early, 1, 2, 3, 4, 5)
		found, _, err := r.findings.FindAll(r.alice, finding.Filter{}, nil, all)
		if err != nil || len(found) != 5 {
			t.Fatal(len(found), err)
		}
		set := func(i int, to finding.Status) {
			t.Helper()
			if _, err := r.findings.SetStatus(r.alice, finding.Filter{IDs: []string{found[i].ID}}, to); err != nil {
				t.Fatal(err)
			}
		}
		set(0, finding.Fixed)
		set(1, finding.FalsePositive)
		from := time.Now()
		r.see(t, "s2", time.Now().Add(time.Hour), 5) // found[0], the newest, is back
		set(1, finding.Open)
		set(2, finding.Fixed)
		set(3, finding.Triaged)
		r.see(t, "s2", early, 6)
		to := time.Now()
		set(3, finding.Fixed)
		differences, counts, err := r.Diff(r.alice, finding.Filter{}, from, to, nil, all)
		got := map[string]Kind{}
		for _, d := range differences {
			got[d.ID] = d.Kind
		}
		want := map[string]Kind{found[0].ID: Regressed, found[1].ID: Reopened, found[2].ID: Fixed, found[3].ID: Changed}
		for id, kind := range want {
			if got[id] != kind {
				t.Errorf("%s is %q, want %q", id, got[id], kind)
			}
		}
		if err != nil || len(differences) != 5 || counts[Appeared] != 1 {
			t.Errorf("%v, %v, %v", got, counts, err)
		}
		one, counts, err := r.Diff(r.alice, finding.Filter{}, from, to, []Kind{Fixed}, all)
		if err != nil || len(one) != 1 || counts[Regressed] != 1 || one[0].Before.Name() != "open" {
			t.Errorf("%+v, %v, %v", one, counts, err)
		}
		if none, _, err := r.Diff(r.eve, finding.Filter{}, from, to, nil, all); err != nil || len(none) != 0 {
			t.Errorf("a stranger: %d, %v", len(none), err)
		}
		for name, at := range map[string][2]time.Time{"backwards": {to, from}, "the future": {from, time.Now().Add(time.Hour)}} {
			if _, _, err := r.Diff(r.alice, finding.Filter{}, at[0], at[1], nil, all); !errs.Is(err, errs.Invalid) {
				t.Errorf("%s: %v", name, err)
			}
		}
		if _, _, err := r.List(r.alice, finding.Filter{}, time.Now().Add(time.Hour), false, all); !errs.Is(err, errs.Invalid) {
			t.Errorf("a list of the future: %v", err)
		}
	})
}
