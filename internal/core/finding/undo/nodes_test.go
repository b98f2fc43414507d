package undo

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/decision"
	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/core/finding/work"
	"github.com/vedette-sec/vedette/internal/core/inbox"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"pgregory.net/rapid"
)

// histories is how many TestTwoNodes looks at: a hundred, as elsewhere, take half a minute.
const histories = 20

// places is how many sightings place makes.
const places = 6

// place is a sighting; several are one weakness by a rule: a name and its address, and two checks of one class.
func place(i int, at time.Time) finding.Sighting {
	e := findingtest.Event(0)
	switch i {
	case 0, 1:
		e = findingtest.Event(i)
	case 2:
		e.MatchedAt, e.Host, e.IP = "http://shop.example/x", "shop.example", "192.0.2.7"
	case 3:
		e.MatchedAt, e.Host, e.IP = "http://192.0.2.7/x", "192.0.2.7", "192.0.2.7"
	default:
		e.TemplateID = fmt.Sprintf("check-%d", i)
		e.MatchedAt, e.Host = fmt.Sprintf("http://a.example/item/%d?q=1", i), "a.example"
		e.Fuzzed, e.FuzzingPosition, e.FuzzingParameter = true, "query", "q"
		e.Info.Classification = &syntax.Classification{CWEID: []string{"cwe-89"}}
	}
	e.Timestamp = at
	return finding.Sighting{Event: e}
}

var nodeScans = []string{"s1", "s2", "s3"}

// act is one thing that a node does, drawn before the nodes begin: what it is about is named by scans and places, as
// numbers and operations depend on who is first.
type act struct {
	what        string
	scan, scan2 string
	which       []int
	one, two    int
	run         int64
	later       bool // the clock of whoever saw it is ahead, else it tells of yesterday
	claimed     finding.Status
	status      finding.Status
	word        string
}

func drawAct(rt *rapid.T) act {
	what := rapid.SampledFrom([]string{"see", "see", "import", "decide", "label", "assign", "severity", "join", "split", "retest",
		"ticket", "undo"})
	return act{
		what: what.Draw(rt, "what"), scan: rapid.SampledFrom(nodeScans).Draw(rt, "scan"),
		scan2: rapid.SampledFrom(nodeScans).Draw(rt, "scan2"),
		which: rapid.SliceOfNDistinct(rapid.IntRange(0, places-1), 1, 4, rapid.ID).Draw(rt, "which"),
		one:   rapid.IntRange(0, places-1).Draw(rt, "one"), two: rapid.IntRange(0, places-1).Draw(rt, "two"),
		run: rapid.Int64Range(1, 3).Draw(rt, "run"), later: rapid.Bool().Draw(rt, "later"),
		claimed: rapid.SampledFrom([]finding.Status{"", finding.Fixed, finding.FalsePositive}).Draw(rt, "claimed"),
		status:  rapid.SampledFrom(finding.Statuses).Draw(rt, "status"),
		word:    rapid.SampledFrom([]string{"", "a", "b"}).Draw(rt, "word"),
	}
}

// do does an act. What it is about may not be there, or may have been changed by the other node: that is refused.
func (r room) do(a act) error {
	one := finding.IDOf(a.scan, place(a.one, time.Time{}).Event)
	two := finding.IDOf(a.scan2, place(a.two, time.Time{}).Event)
	f := finding.Filter{IDs: []string{one}}
	var err error
	switch a.what {
	case "see", "import":
		at := time.Now().Add(-24 * time.Hour)
		if a.later {
			at = time.Now().Add(time.Hour)
		}
		var seen []finding.Sighting
		for _, i := range a.which {
			s := place(i, at)
			if a.what == "import" {
				s.Status = a.claimed
			}
			seen = append(seen, s)
		}
		err = r.db.Tx(r.alice, func(tx *db.Tx) error {
			_, err := r.findings.Add(r.alice, tx, finding.Origin{TeamID: r.team, ScanID: a.scan, Run: a.run}, seen)
			return err
		})
	case "decide":
		d := decision.Decision{Status: a.status}
		if a.status == finding.AcceptedRisk {
			d.Reason, d.Until = "why "+a.word, time.Now().Add(time.Hour)
		}
		_, err = r.findings.SetDecision(r.alice, f, d)
	case "label":
		_, err = r.findings.SetLabels(r.alice, f, finding.AppendLabels, []string{"l" + a.word}, "")
	case "assign":
		to := ""
		if a.word != "" {
			to = "bob@example.com"
		}
		_, err = r.works.Assign(r.alice, f, to)
	case "severity":
		_, err = r.findings.Override(r.alice, finding.Override{TemplateID: place(a.one, time.Time{}).Event.TemplateID, FindingID: one,
			Custom: finding.Severities[a.two%len(finding.Severities)]})
	case "join":
		_, err = r.findings.Join(r.alice, []string{one, two})
	case "split":
		_, err = r.findings.Split(r.alice, one)
	case "ticket":
		var f finding.Finding
		if f, err = r.findings.Find(r.alice, one); err == nil {
			err = r.moveTicket(f, a.status)
		}
	case "retest":
		err = r.retest(one, a.later)
	case "undo":
		var last string
		last, err = db.Value[string](r.alice, r.db, `SELECT operation FROM finding_change WHERE team_id = ? AND operation <> ''
			AND NOT undone ORDER BY seq DESC LIMIT 1`, r.team)
		if err == nil {
			_, err = r.Undo(r.alice, "", last)
		}
	}
	if db.IsNoRows(err) || errs.Is(err, errs.NotFound) || errs.Is(err, errs.Conflict) ||
		errors.Is(err, finding.ErrOtherStatus) || a.what == "severity" && errs.Is(err, errs.Invalid) {
		return nil
	}
	return err
}

func (r room) retest(id string, matched bool) error {
	var no, n int64
	err := r.db.Tx(r.alice, func(tx *db.Tx) error {
		if err := r.findings.Lock(r.alice, tx, r.team); err != nil {
			return err
		}
		err := tx.QueryRow(r.alice, `SELECT f.no, (SELECT coalesce(max(n), 0) + 1 FROM finding_retest t WHERE t.team_id = f.team_id
			AND t.no = f.no) FROM finding f WHERE f.team_id = ? AND f.id = ?`, r.team, id).Scan(&no, &n)
		if err == nil {
			_, err = tx.Exec(r.alice, `INSERT INTO finding_retest (team_id, no, n, state, asked_at) VALUES (?, ?, ?, 'queued', 0)`,
				r.team, no, n)
		}
		return err
	})
	if err != nil {
		return err
	}
	state := finding.NotMatched
	if matched {
		state = finding.Matched
	}
	return r.findings.EndRetest(r.alice, nil, finding.RetestArgs{TeamID: r.team, FindingID: id, N: n}, finding.RetestResult{State: state})
}

// TestTwoNodes lets two services work on one database at once: sightings, imports, decisions, joins, splits, retests,
// undoing. However their work falls together: there is one finding for each identity, no decision is lost, each state is
// the fold of its timeline, lists are the sums of their facets, and the last change can be undone and done again.
func TestTwoNodes(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		checked := 0
		rapid.Check(t, func(rt *rapid.T) {
			if checked++; checked > histories {
				return
			}
			for _, table := range []string{"team", "user_account", "finding", "finding_doc", "finding_change", "finding_tally",
				"finding_key", "finding_retest", "evidence_run"} {
				if _, err := d.Exec(t.Context(), `DELETE FROM `+table); err != nil {
					rt.Fatal(err)
				}
			}
			one := setUp(t, d)
			other := one
			findings := finding.New(d, nil)
			other.Undos, other.works = New(d, findings), work.New(d, findings, inbox.New(d, nil, ""))
			nodes, failed := []room{one, other}, make([]error, 2)
			one.see(rt, "s1", 0)
			acts := make([][]act, len(nodes))
			for i := range acts {
				for range rapid.IntRange(1, 4).Draw(rt, "acts") {
					acts[i] = append(acts[i], drawAct(rt))
				}
			}
			var over sync.WaitGroup
			for i, node := range nodes {
				over.Go(func() {
					for _, a := range acts[i] {
						if err := node.do(a); err != nil && failed[i] == nil {
							failed[i] = fmt.Errorf("%s: %w", a.what, err)
						}
					}
				})
			}
			over.Wait()
			for i, err := range failed {
				if err != nil {
					rt.Fatalf("node %d: %v", i, err)
				}
			}
			one.check(rt)
			one.checkIdentities(rt)
			one.checkDecisions(rt)
			other.undoLast(rt)
			one.checkIdentities(rt)
		})
	})
}

// weaknesses are all rows by their weaknesses, the first row first.
func (r room) weaknesses(rt *rapid.T) map[string][]finding.Finding {
	out := map[string][]finding.Finding{}
	all := r.all(rt)
	slices.SortFunc(all, func(a, b finding.Finding) int { return int(a.No() - b.No()) })
	for _, f := range all {
		out[f.Weakness] = append(out[f.Weakness], f)
	}
	return out
}

// checkIdentities checks that each weakness has one row that stands for it, the first, and one state.
func (r room) checkIdentities(rt *rapid.T) {
	chains, err := db.Value[int](context.Background(), r.db, `SELECT count(*) FROM finding_identity a JOIN finding_identity b
		ON b.team_id = a.team_id AND b.hash = a.weakness WHERE b.weakness <> b.hash AND a.team_id = ?`, r.team)
	if err != nil || chains > 0 {
		rt.Fatalf("%d links to what is part of another weakness, %v", chains, err)
	}
	wrong, err := db.Value[int](context.Background(), r.db, `SELECT count(*) FROM finding f LEFT JOIN finding_identity i
		ON i.team_id = f.team_id AND i.hash = f.hash WHERE f.team_id = ?
		AND coalesce(i.weakness, f.hash) <> CASE WHEN f.weakness = '' THEN f.hash ELSE f.weakness END`, r.team)
	if err != nil || wrong > 0 {
		rt.Fatalf("%d findings have another weakness than their hash, %v", wrong, err)
	}
	all := r.weaknesses(rt)
	for weakness, its := range all {
		for i, f := range its {
			if f.IsRepeat != (i > 0) {
				rt.Fatalf("row %d of %s: repeat is %t", i, weakness, f.IsRepeat)
			}
			if f.Status != its[0].Status || !slices.Equal(f.Labels, its[0].Labels) || f.Assignee != its[0].Assignee {
				rt.Fatalf("%s is %s %v %q, and the first of its weakness is %s %v %q", f.ID, f.Status, f.Labels, f.Assignee,
					its[0].Status, its[0].Labels, its[0].Assignee)
			}
		}
	}
	once, total, err := r.findings.FindAll(r.alice, finding.Filter{}, nil, page.Window{Limit: 1000})
	if err != nil || total != len(all) || len(once) != len(all) {
		rt.Fatalf("%d of %d findings are listed, %d weaknesses, %v", len(once), total, len(all), err)
	}
}

// checkDecisions checks that what comes later, and tells of a time before, has the status of its weakness.
func (r room) checkDecisions(rt *rapid.T) {
	before := r.weaknesses(rt)
	for i := range places {
		s := place(i, time.Now().Add(-48*time.Hour))
		if err := r.db.Tx(r.alice, func(tx *db.Tx) error {
			_, err := r.findings.Add(r.alice, tx, finding.Origin{TeamID: r.team, ScanID: "after", Run: 1}, []finding.Sighting{s})
			return err
		}); err != nil {
			rt.Fatal(err)
		}
		got, err := r.findings.Find(r.alice, finding.IDOf("after", s.Event))
		if err != nil {
			rt.Fatal(err)
		}
		if its := before[got.Weakness]; len(its) > 0 && its[0].Status != got.Status {
			rt.Fatalf("%s was %s, and a later sighting is %s", got.Weakness, its[0].Status, got.Status)
		}
	}
	r.checkIdentities(rt)
}

// undoLast undoes the last change and undoes that again: all is as it was before.
func (r room) undoLast(rt *rapid.T) {
	last, err := db.Values[string](r.alice, r.db, `SELECT operation FROM finding_change WHERE team_id = ? AND operation <> ''
		AND NOT undone ORDER BY seq DESC LIMIT 1`, r.team)
	if err != nil {
		rt.Fatal(err)
	}
	before := r.all(rt)
	if len(last) == 0 {
		return
	}
	undone, err := r.Undo(r.alice, "", last[0])
	if errs.Is(err, errs.Conflict) { // its accepted risk has ended, or a sighting has changed the state since
		return
	}
	if err != nil {
		rt.Fatal(err)
	}
	r.check(rt)
	r.checkIdentities(rt)
	if undone.Kept > 0 {
		return
	}
	if _, err := r.Undo(r.alice, "", undone.Operation); err != nil {
		rt.Fatalf("again: %v", err)
	}
	r.check(rt)
	after := r.all(rt)
	for i := range before {
		for field, value := range state(before[i]) {
			if got := state(after[i])[field]; got != value || after[i].Weakness != before[i].Weakness {
				rt.Fatalf("%s of %s is %q in %s, was %q in %s", field, before[i].ID, got, after[i].Weakness, value, before[i].Weakness)
			}
		}
	}
}

// A report may show one weakness under a name and its address: a status that it claims for both holds for both, and one
// that it claims for one alone for neither.
func TestClaimsOfPairs(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		for scan, c := range map[string]struct{ name, address, want finding.Status }{
			"both":    {finding.Fixed, finding.Fixed, finding.Fixed},
			"name":    {finding.Fixed, "", finding.Open},
			"address": {"", finding.FalsePositive, finding.Open},
			"two":     {finding.FalsePositive, finding.Fixed, finding.Open},
		} {
			name, address := place(2, time.Now().Add(-time.Hour)), place(3, time.Now().Add(-time.Hour))
			name.Status, address.Status = c.name, c.address
			for _, s := range []*finding.Sighting{&name, &address} {
				s.Event.TemplateID = scan
			}
			if err := r.db.Tx(r.alice, func(tx *db.Tx) error {
				_, err := r.findings.Add(r.alice, tx, finding.Origin{TeamID: r.team, ScanID: scan, Run: 1},
					[]finding.Sighting{name, address})
				return err
			}); err != nil {
				t.Fatal(err)
			}
			for _, s := range []finding.Sighting{name, address} {
				if f, err := r.findings.Find(r.alice, finding.IDOf(scan, s.Event)); err != nil || f.Status != c.want {
					t.Errorf("%s: %s is %s, want %s, %v", scan, s.Event.Host, f.Status, c.want, err)
				}
			}
		}
	})
}

// A join and a split are undone, and that again: grouping, status, labels, comments and the decision that holds for later
// sightings are as they were. What is joined or split again since is refused.
func TestUndoOfJoinsAndSplits(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.see(t, "s1", 1, 2, 3)
		id := func(scan string, i int) string { return finding.IDOf(scan, findingtest.Event(i)) }
		status := func(scan string, i int, to finding.Status) {
			t.Helper()
			if _, err := r.findings.SetStatus(r.alice, finding.Filter{IDs: []string{id(scan, i)}}, to); err != nil {
				t.Fatal(err)
			}
		}
		find := func(scan string, i int) finding.Finding {
			t.Helper()
			f, err := r.findings.Find(r.alice, id(scan, i))
			if err != nil {
				t.Fatal(err)
			}
			return f
		}
		last := func(kind timeline.Kind, scan string, i int) finding.Change {
			t.Helper()
			_, changes, err := r.findings.Timeline(r.alice, id(scan, i))
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range slices.Backward(changes) {
				if c.Type == kind {
					return c
				}
			}
			t.Fatalf("%s is not in %+v", kind, changes)
			return finding.Change{}
		}
		status("s1", 2, finding.FalsePositive)
		if _, err := r.findings.Join(r.alice, []string{id("s1", 1), id("s1", 2), id("s1", 3)}); err != nil {
			t.Fatal(err)
		}
		join := last(timeline.JoinedChange, "s1", 2)
		out, err := r.Undo(r.alice, "", join.Operation)
		if err != nil || out.Kept != 0 {
			t.Fatalf("%+v, %v", out, err)
		}
		one, two := find("s1", 1), find("s1", 2)
		if one.Weakness == two.Weakness || two.Status != finding.FalsePositive || one.Status != finding.Open || two.IsRepeat {
			t.Errorf("undone: %s %s, %s %s", one.Weakness, one.Status, two.Weakness, two.Status)
		}
		if c := last(timeline.SplitChange, "s1", 2); c.Operation != out.Operation || c.Actor != "alice@example.com" ||
			!last(timeline.JoinedChange, "s1", 2).Undone {
			t.Errorf("the timeline does not show it: %+v", c)
		}
		r.see(t, "s2", 2)
		if f := find("s2", 2); f.Status != finding.FalsePositive || f.Weakness != two.Weakness {
			t.Errorf("a later sighting is %s of %s", f.Status, f.Weakness)
		}
		if _, err := r.Undo(r.alice, "", join.Operation); !errs.Is(err, errs.Conflict) {
			t.Errorf("undone twice: %v", err)
		}
		again, err := r.Undo(r.alice, "", out.Operation)
		if err != nil {
			t.Fatal(err)
		}
		if f := find("s2", 2); f.Weakness != one.Weakness || f.Status != finding.Open || !f.IsRepeat {
			t.Errorf("joined again: %s of %s", f.Status, f.Weakness)
		}
		status("s1", 1, finding.Triaged)
		if _, err := r.findings.Split(r.alice, id("s1", 1)); err != nil { // the name of the weakness
			t.Fatal(err)
		}
		split := last(timeline.SplitChange, "s1", 1)
		if _, err := r.Undo(r.alice, "", again.Operation); !errs.Is(err, errs.Conflict) {
			t.Errorf("what was split since: %v", err)
		}
		if _, err := r.Undo(r.alice, id("s1", 1), split.Operation); err != nil {
			t.Fatal(err)
		}
		if f := find("s1", 3); f.Weakness != one.Weakness || f.Status != finding.Triaged || !f.IsRepeat {
			t.Errorf("the split undone: %s of %s", f.Status, f.Weakness)
		}
		if _, err := r.Undo(r.alice, "", again.Operation); err != nil { // decided since: that stays
			t.Fatal(err)
		}
		if f := find("s2", 2); f.Weakness != two.Weakness || f.Status != finding.Triaged {
			t.Errorf("%s of %s", f.Status, f.Weakness)
		}
		r.see(t, "s3", 2)
		if f := find("s3", 2); f.Status != finding.Triaged {
			t.Errorf("a later sighting is %s", f.Status)
		}
	})
}
