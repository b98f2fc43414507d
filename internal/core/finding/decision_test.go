package finding

import (
	"context"
	"maps"
	"slices"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"pgregory.net/rapid"
)

// told is a sighting at a time.
func told(i int, at time.Time) Sighting {
	s := sighting(i)
	s.Event.Timestamp = at
	return s
}

// A decision holds for the weakness in every scan: those that saw it before, those that see it later, and those that
// see it after all earlier ones were deleted. Other teams and other weaknesses have nothing of it.
func TestADecisionHoldsInEveryScan(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.add(t, "s1", 1, sighting(1), sighting(2))
		r.add(t, "s2", 1, sighting(1))
		theirs := r
		theirs.team, theirs.alice = callerTeam(t, r.stranger), r.stranger
		theirs.add(t, "s3", 1, sighting(1))
		status := func(r room, scan string, i int) Finding {
			t.Helper()
			hash := Fingerprint(sighting(i).Event, "")
			all, _ := r.list(t, Filter{ScanIDs: []string{scan}}, nil, page.Window{Limit: 10})
			at := slices.IndexFunc(all, func(f Finding) bool { return f.Hash == hash })
			if at < 0 {
				t.Fatalf("%s has no %s", scan, hash)
			}
			return all[at]
		}
		one := status(r, "s1", 1)
		if n, err := r.SetStatus(r.alice, Filter{IDs: []string{one.ID}}, FalsePositive); err != nil || n != 2 {
			t.Errorf("%d changed, %v", n, err)
		}
		if n, err := r.SetStatus(r.alice, Filter{IDs: []string{one.ID}}, FalsePositive); err != nil || n != 0 {
			t.Errorf("again: %d changed, %v", n, err)
		}
		r.add(t, "s4", 1, told(1, time.Now().Add(time.Hour)))
		for _, scan := range []string{"s1", "s2", "s4"} {
			f := status(r, scan, 1)
			_, changes, err := r.Timeline(r.alice, f.ID)
			if err != nil || f.Status != FalsePositive || f.IsRegression || len(changes) != 2 ||
				changes[1].Actor != "alice@example.com" || changes[1].To != string(FalsePositive) {
				t.Errorf("%s: %s, %+v, %v", scan, f.Status, changes, err)
			}
		}
		if f := status(r, "s1", 2); f.Status != Open {
			t.Errorf("another weakness is %s", f.Status)
		}
		if f := status(theirs, "s3", 1); f.Status != Open {
			t.Errorf("another team's is %s", f.Status)
		}
		for _, scan := range []string{"s1", "s2", "s4"} {
			if err := d.Tx(t.Context(), func(tx *db.Tx) error { return r.DeleteOfScan(t.Context(), tx, r.team, scan) }); err != nil {
				t.Fatal(err)
			}
		}
		r.add(t, "s5", 1, sighting(1))
		if f := status(r, "s5", 1); f.Status != FalsePositive {
			t.Errorf("after its scans were deleted it is %s", f.Status)
		}
	})
}

// What is seen after it was fixed is a regression in every scan; a report of a time before changes nothing.
func TestARegressionIsOneInEveryScan(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.add(t, "s1", 1, sighting(1))
		r.add(t, "s2", 1, sighting(1))
		found, _ := r.list(t, Filter{}, nil, page.Window{Limit: 10})
		if _, err := r.SetStatus(r.alice, Filter{IDs: []string{found[0].ID}}, Fixed); err != nil {
			t.Fatal(err)
		}
		r.add(t, "old report", 1, told(1, time.Now().Add(-24*time.Hour)))
		if found, _ = r.list(t, Filter{Statuses: []Status{Fixed}, Sightings: true}, nil, page.Window{Limit: 10}); len(found) != 3 {
			t.Errorf("%d are fixed", len(found))
		}
		r.add(t, "new scan", 1, told(1, time.Now().Add(time.Hour)))
		yes := true
		found, _ = r.list(t, Filter{Statuses: []Status{Open}, Regression: &yes, Sightings: true}, nil, page.Window{Limit: 10})
		if len(found) != 4 {
			t.Errorf("%d are open again", len(found))
		}
	})
}

// TestHistoriesOfDecisions holds random sightings, decisions and retests against a model: all findings of a weakness
// have one status, which is that of their timelines and of the lists.
func TestHistoriesOfDecisions(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rapid.Check(t, func(rt *rapid.T) {
			for _, table := range append([]string{"team", "user_account", "finding_tally"}, findingTables...) {
				if _, err := d.Exec(t.Context(), `DELETE FROM `+table); err != nil {
					rt.Fatal(err)
				}
			}
			r := setUp(t, d)
			model := map[string]Status{}
			for range rapid.IntRange(1, 12).Draw(rt, "steps") {
				all, _ := r.list(rt, Filter{Sightings: true}, nil, page.Window{Limit: 1000})
				if len(all) == 0 || rapid.Bool().Draw(rt, "see") {
					seeSome(rt, r, model)
				} else {
					decideOne(rt, r, model, rapid.SampledFrom(all).Draw(rt, "one"))
				}
				checkStatuses(rt, r, model)
			}
		})
	})
}

func seeSome(rt *rapid.T, r room, model map[string]Status) {
	later := rapid.Bool().Draw(rt, "later")
	at := time.Now().Add(-24 * time.Hour)
	if later {
		at = time.Now().Add(time.Hour)
	}
	var seen []Sighting
	for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, 5), 1, 4, rapid.ID).Draw(rt, "which") {
		s := told(i, at)
		seen = append(seen, s)
		hash := Fingerprint(s.Event, "")
		if model[hash] == "" || model[hash] == Fixed && later {
			model[hash] = Open
		}
	}
	scan := rapid.SampledFrom([]string{"s1", "s2", "s3"}).Draw(rt, "scan")
	r.add(rt, scan, rapid.Int64Range(1, 3).Draw(rt, "run"), seen...)
}

func decideOne(rt *rapid.T, r room, model map[string]Status, f Finding) {
	if rapid.Bool().Draw(rt, "person") {
		to := rapid.SampledFrom(Statuses).Draw(rt, "status")
		if _, err := r.SetStatus(r.alice, Filter{IDs: []string{f.ID}}, to); err != nil {
			rt.Fatal(err)
		}
		model[f.Hash] = to
		return
	}
	state := rapid.SampledFrom([]RetestState{Matched, NotMatched, RetestFailed}).Draw(rt, "retest")
	if _, err := r.db.Exec(r.alice, `INSERT INTO finding_retest (team_id, no, n, state, asked_at)
		SELECT ?, ?, coalesce(max(n), 0) + 1, 'queued', 0 FROM finding_retest WHERE team_id = ? AND no = ?`,
		r.team, f.no, r.team, f.no); err != nil {
		rt.Fatal(err)
	}
	n, err := db.Value[int64](r.alice, r.db, `SELECT max(n) FROM finding_retest WHERE team_id = ? AND no = ?`, r.team, f.no)
	if err != nil {
		rt.Fatal(err)
	}
	if err := r.EndRetest(r.alice, nil, RetestArgs{TeamID: r.team, FindingID: f.ID, N: n}, RetestResult{State: state}); err != nil {
		rt.Fatal(err)
	}
	switch {
	case state == Matched && model[f.Hash] == Fixed:
		model[f.Hash] = Open
	case state == NotMatched:
		model[f.Hash] = Fixed
	}
}

func checkStatuses(rt *rapid.T, r room, model map[string]Status) {
	all, _ := r.list(rt, Filter{Sightings: true}, nil, page.Window{Limit: 1000})
	counts := map[Status]int{}
	for _, f := range all {
		counts[f.Status]++
		if f.Status != model[f.Hash] {
			rt.Fatalf("%s of %s is %s, want %s", f.ID, f.ScanID, f.Status, model[f.Hash])
		}
		_, changes, err := r.Timeline(r.alice, f.ID)
		if err != nil {
			rt.Fatal(err)
		}
		now := ""
		for _, c := range changes {
			if c.Type != timeline.Detected && c.From != now {
				rt.Fatalf("a change from %s, which was %s: %+v", c.From, now, changes)
			}
			now = c.To
		}
		if now != string(f.Status) {
			rt.Fatalf("%s is %s, its timeline says %s", f.ID, f.Status, now)
		}
	}
	for _, status := range slices.Sorted(maps.Keys(counts)) {
		if _, n := r.list(rt, Filter{Statuses: []Status{status}, Sightings: true}, nil, page.Window{Limit: 1}); n != counts[status] {
			rt.Fatalf("the list has %d that are %s, want %d", n, status, counts[status])
		}
	}
}

func callerTeam(t *testing.T, ctx context.Context) string {
	t.Helper()
	c, err := account.From(ctx)
	if err != nil {
		t.Fatal(err)
	}
	return c.TeamID
}

// Decisions of versions that stored them with single findings hold for what is seen after the migration.
func TestMigratedDecisionsHold(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.add(t, "s1", 1, sightings(0, 3)...)
		found, _ := r.list(t, Filter{}, nil, page.Window{Limit: 10})
		kept := map[string]Status{found[0].Hash: AcceptedRisk, found[1].Hash: FalsePositive, found[2].Hash: Open}
		for i, to := range []Status{AcceptedRisk, FalsePositive} {
			if _, err := r.SetStatus(r.alice, Filter{IDs: []string{found[i].ID}}, to); err != nil {
				t.Fatal(err)
			}
		}
		for _, m := range []struct {
			version int64
			up      bool
		}{{371, false}, {330, false}, {330, true}, {371, true}} {
			if err := d.Migrate(t.Context(), m.version, m.up); err != nil {
				t.Fatal(err)
			}
		}
		r.add(t, "s2", 1, sightings(0, 3)...)
		found, _ = r.list(t, Filter{ScanIDs: []string{"s2"}}, nil, page.Window{Limit: 10})
		for _, f := range found {
			if f.Status != kept[f.Hash] {
				t.Errorf("%s, want %s", f.Status, kept[f.Hash])
			}
		}
		if len(found) != 3 {
			t.Errorf("%d findings", len(found))
		}
	})
}
