package finding

import (
	"context"
	"slices"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding/identity"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"pgregory.net/rapid"
)

var firstPage = page.Window{Limit: 100}

// Lists without scans have a weakness once, by its first sighting; when that is deleted, by the next.
func TestAWeaknessIsListedOnce(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.add(t, "s1", 1, sighting(1), sighting(2))
		r.add(t, "s2", 1, sighting(1))
		r.add(t, "s3", 1, sighting(1), sighting(3))
		scansOf := func(f Filter) (scans []string) {
			found, total := r.list(t, f, nil, firstPage)
			for _, one := range found {
				scans = append(scans, one.ScanID+"/"+one.TemplateID)
			}
			if total != len(found) {
				t.Errorf("total %d of %d", total, len(found))
			}
			slices.Sort(scans)
			return scans
		}
		one, two, three := sighting(1).Event.TemplateID, sighting(2).Event.TemplateID, sighting(3).Event.TemplateID
		want := []string{"s1/" + one, "s1/" + two, "s3/" + three}
		if got := scansOf(Filter{}); !slices.Equal(got, want) {
			t.Errorf("once: %v, want %v", got, want)
		}
		if got := scansOf(Filter{Sightings: true}); len(got) != 5 {
			t.Errorf("sightings: %v", got)
		}
		if got := scansOf(Filter{ScanIDs: []string{"s3"}}); len(got) != 2 {
			t.Errorf("of a scan: %v", got)
		}
		if err := d.Tx(t.Context(), func(tx *db.Tx) error { return r.DeleteOfScan(t.Context(), tx, r.team, "s1") }); err != nil {
			t.Fatal(err)
		}
		if got := scansOf(Filter{}); !slices.Equal(got, []string{"s2/" + one, "s3/" + three}) {
			t.Errorf("after the first was deleted: %v", got)
		}
	})
}

// What people join is one weakness with one status and its labels, found by what any of its findings has; what they
// split off is another again.
func TestJoinAndSplit(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.add(t, "s1", 1, sighting(1), sighting(2))
		r.add(t, "s2", 1, sighting(2))
		id := func(scan string, i int) string { return identity.ID(scan, Fingerprint(sighting(i).Event, "")) }
		if _, err := r.SetStatus(r.alice, Filter{IDs: []string{id("s1", 1)}}, Triaged); err != nil {
			t.Fatal(err)
		}
		if _, err := r.SetLabels(r.alice, Filter{IDs: []string{id("s1", 1)}}, ReplaceLabels, []string{"web"}, ""); err != nil {
			t.Fatal(err)
		}
		if n, err := r.Join(r.alice, []string{id("s1", 1), id("s2", 2), id("s1", 2)}); err != nil || n != 1 {
			t.Fatalf("%d joined, %v", n, err)
		}
		found, total := r.list(t, Filter{}, nil, firstPage)
		if total != 1 || found[0].ID != id("s1", 1) {
			t.Fatalf("joined: %d, %v", total, idsOf(found))
		}
		if found, _ = r.list(t, Filter{Templates: []string{sighting(2).Event.TemplateID}}, nil, firstPage); len(found) != 1 {
			t.Errorf("not found by the template of the second: %v", idsOf(found))
		}
		r.add(t, "s3", 1, sighting(2)) // and whatever comes
		all, n, err := r.Occurrences(r.alice, id("s3", 2), firstPage)
		if err != nil || n != 4 || len(all) != 4 || all[3].Rule != "joined" || all[3].Actor != "alice@example.com" ||
			all[0].Rule != "same_check" {
			t.Errorf("%d occurrences: %+v, %v", n, all, err)
		}
		for _, o := range all {
			if o.Status != Triaged || !slices.Equal(o.Labels, []string{"web"}) {
				t.Errorf("%s of %s is %s, %v", o.ID, o.ScanID, o.Status, o.Labels)
			}
		}
		if n, err := r.Split(r.alice, id("s2", 2)); err != nil || n != 3 {
			t.Errorf("%d split off, %v", n, err)
		}
		if _, err := r.Split(r.alice, id("s2", 2)); !errs.Is(err, errs.Conflict) {
			t.Errorf("split again: %v", err)
		}
		r.add(t, "s4", 1, sighting(2))
		if found, total = r.list(t, Filter{}, nil, firstPage); total != 2 {
			t.Errorf("split: %v", idsOf(found))
		}
		if _, changes, err := r.Timeline(r.alice, id("s2", 2)); err != nil || changes[len(changes)-1].Type != timeline.SplitChange {
			t.Errorf("timeline: %+v, %v", changes, err)
		}
		if _, err := r.Join(r.stranger, []string{id("s1", 1), id("s1", 2)}); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
	})
}

// Findings of an earlier release have no keys. Seen again, they are recognized, and follow the weakness that they join.
func TestFindingsFromBeforeJoin(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		name, address := pages(3), pages(4)
		r.add(t, "old", 1, name)
		if _, err := d.Exec(t.Context(), `DELETE FROM finding_key`); err != nil {
			t.Fatal(err)
		}
		r.add(t, "s1", 1, address)
		found, _ := r.list(t, Filter{ScanIDs: []string{"s1"}}, nil, firstPage)
		if _, err := r.SetStatus(r.alice, Filter{IDs: idsOf(found)}, AcceptedRisk); err != nil {
			t.Fatal(err)
		}
		if found, _ = r.list(t, Filter{}, nil, firstPage); len(found) != 2 {
			t.Fatalf("before: %v", idsOf(found))
		}
		r.add(t, "s2", 1, name)
		found, _ = r.list(t, Filter{}, nil, firstPage)
		if len(found) != 1 || found[0].ScanID != "old" || found[0].Status != AcceptedRisk {
			t.Errorf("after: %+v", found)
		}
	})
}

// A hash of an earlier release had no parameter: what it decided holds for what is seen now.
func TestHashesOfEarlierReleases(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		now := pages(5)
		before := now
		before.Event.Fuzzed = false // as the hash was made
		r.add(t, "old", 1, before)
		found, _ := r.list(t, Filter{}, nil, firstPage)
		if _, err := r.SetStatus(r.alice, Filter{IDs: idsOf(found)}, FalsePositive); err != nil {
			t.Fatal(err)
		}
		r.add(t, "new", 1, now)
		if found, _ = r.list(t, Filter{Sightings: true}, nil, firstPage); len(found) != 2 ||
			found[0].Hash == found[1].Hash || found[0].Status != FalsePositive {
			t.Errorf("%+v", found)
		}
		if found, _ = r.list(t, Filter{}, nil, firstPage); len(found) != 1 {
			t.Errorf("listed: %v", idsOf(found))
		}
	})
}

// TestHistoriesOfWeaknesses holds random sightings, joins, splits, decisions and deletions against what must always be
// true: each weakness has one row that stands for it, the first; lists have just those; all rows of a weakness have one
// status and one set of labels; totals are sums of facets.
func TestHistoriesOfWeaknesses(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rapid.Check(t, func(rt *rapid.T) {
			for _, table := range append([]string{"team", "user_account", "finding_tally", "finding_key"}, findingTables...) {
				if _, err := d.Exec(t.Context(), `DELETE FROM `+table); err != nil {
					rt.Fatal(err)
				}
			}
			r := setUp(t, d)
			for range rapid.IntRange(1, 12).Draw(rt, "steps") {
				liveOn(rt, r)
				checkWeaknesses(rt, r)
			}
		})
	})
}

// pages are sightings of which several are one weakness by a rule: by a CVE, a parameter's class and an address.
func pages(i int) Sighting {
	s := sighting(0)
	switch i {
	case 1, 2:
		s = sighting(i)
	case 3:
		s.Event.MatchedAt, s.Event.Host, s.Event.IP = "http://shop.example/x", "shop.example", "192.0.2.7"
	case 4:
		s.Event.MatchedAt, s.Event.Host, s.Event.IP = "http://192.0.2.7/x", "192.0.2.7", "192.0.2.7"
	case 5, 6:
		s.Event.MatchedAt, s.Event.Host = "http://shop.example/item/"+string(rune('0'+i))+"?q=1", "shop.example"
		s.Event.Fuzzed, s.Event.FuzzingPosition, s.Event.FuzzingParameter = true, "query", "q"
		s.Event.TemplateID = "xss"
	}
	return s
}

func liveOn(rt *rapid.T, r room) {
	all, _ := r.list(rt, Filter{Sightings: true}, nil, page.Window{Limit: 1000})
	op := rapid.SampledFrom([]string{"see", "see", "join", "split", "decide", "label", "assign", "delete"}).Draw(rt, "op")
	if len(all) == 0 {
		op = "see"
	}
	pick := func(name string) string { return rapid.SampledFrom(all).Draw(rt, name).ID }
	var err error
	switch op {
	case "see":
		var seen []Sighting
		for _, i := range rapid.SliceOfNDistinct(rapid.IntRange(0, 6), 1, 4, rapid.ID).Draw(rt, "which") {
			seen = append(seen, pages(i))
		}
		r.add(rt, rapid.SampledFrom([]string{"s1", "s2", "s3"}).Draw(rt, "scan"), rapid.Int64Range(1, 3).Draw(rt, "run"), seen...)
	case "join":
		_, err = r.Join(r.alice, []string{pick("into"), pick("other")})
	case "split":
		if _, err = r.Split(r.alice, pick("split")); errs.Is(err, errs.Conflict) {
			err = nil
		}
	case "decide":
		_, err = r.SetStatus(r.alice, Filter{IDs: []string{pick("one")}}, rapid.SampledFrom(Statuses).Draw(rt, "status"))
	case "label":
		_, err = r.SetLabels(r.alice, Filter{IDs: []string{pick("one")}}, ReplaceLabels,
			[]string{rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "label")}, "")
	case "assign":
		to := rapid.SampledFrom([]string{"", "bob@example.com", "carl@example.com"}).Draw(rt, "assignee")
		err = r.db.Tx(r.alice, func(tx *db.Tx) error {
			numbers, _, err := r.Named(r.alice, tx, r.team, []string{pick("one")})
			if err == nil {
				_, err = r.Edit(r.alice, tx, account.Caller{TeamID: r.team}, numbers, Edit{Column: "assignee", Field: timeline.Assignee,
					Kind: timeline.AssigneeChange, Value: func(old Finding) (string, string) { return old.Assignee, to }})
			}
			return err
		})
	default:
		_, err = r.Delete(r.alice, Filter{IDs: []string{pick("one")}})
	}
	if err != nil {
		rt.Fatalf("%s: %v", op, err)
	}
}

func checkWeaknesses(rt *rapid.T, r room) {
	all, _ := r.list(rt, Filter{Sightings: true}, nil, page.Window{Limit: 1000})
	once, total := r.list(rt, Filter{}, nil, page.Window{Limit: 1000})
	slices.SortFunc(all, func(a, b Finding) int { return int(a.no - b.no) })
	first := map[string]Finding{}
	for _, f := range all {
		of, err := weaknessesOf(context.Background(), r.db, r.team, []string{f.Hash})
		if err != nil {
			rt.Fatal(err)
		}
		head, is := first[of[0]]
		if !is {
			head = f
			first[of[0]] = f
		}
		if f.Status != head.Status || !slices.Equal(f.Labels, head.Labels) || f.Assignee != head.Assignee {
			rt.Errorf("%s is %s %v, and %s of the same weakness is %s %v", f.ID, f.Status, f.Labels, head.ID, head.Status, head.Labels)
		}
	}
	var want []string
	for _, f := range first {
		want = append(want, f.ID)
	}
	got := idsOf(once)
	slices.Sort(got)
	slices.Sort(want)
	if !slices.Equal(got, want) || total != len(want) {
		rt.Errorf("listed once: %v (%d), want %v", got, total, want)
	}
	sum := 0
	for _, status := range Statuses {
		_, n := r.list(rt, Filter{Statuses: []Status{status}}, nil, page.Window{Limit: 1})
		sum += n
	}
	if sum != total {
		rt.Errorf("the statuses' totals are %d, the list's %d", sum, total)
	}
}
