package undo

import (
	"context"
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/decision"
	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/core/finding/work"
	"github.com/vedette-sec/vedette/internal/core/inbox"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

type room struct {
	*Undos
	works         *work.Works
	alice, viewer context.Context
	team          string
}

func setUp(t *testing.T, d *db.DB) room {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{DefaultPlan: account.Enterprise})
	if err != nil {
		t.Fatal(err)
	}
	findings := finding.New(d, nil)
	r := room{Undos: New(d, findings), works: work.New(d, findings, inbox.New(d, nil, ""))}
	for _, email := range []string{"alice@example.com", "bob@example.com"} {
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Team: "blue"})
		if err != nil {
			t.Fatal(err)
		}
		c := account.Caller{UserID: u.ID, Email: email, TeamID: u.TeamID, Role: account.Member}
		if r.team = u.TeamID; r.alice == nil {
			r.alice = account.WithCaller(t.Context(), c)
			c.Role = account.Viewer
			r.viewer = account.WithCaller(t.Context(), c)
		}
	}
	return r
}

// see stores sightings of a scan: up to 4 those of findingtest, and from 5 on some of which a rule joins two.
func (r room) see(t rapid.TB, scan string, which ...int) {
	t.Helper()
	var seen []finding.Sighting
	for _, i := range which {
		s := finding.Sighting{Event: findingtest.Event(i)}
		if i > 4 {
			s = place(i-3, s.Event.Timestamp)
		}
		seen = append(seen, s)
	}
	if err := r.db.Tx(context.Background(), func(tx *db.Tx) error {
		_, err := r.findings.Add(context.Background(), tx, finding.Origin{TeamID: r.team, ScanID: scan, Run: 1}, seen)
		return err
	}); err != nil {
		t.Fatal(err)
	}
}

func (r room) all(t rapid.TB) []finding.Finding {
	t.Helper()
	all, total, err := r.findings.FindAll(r.alice, finding.Filter{Sightings: true}, nil, page.Window{Limit: 1000})
	if err != nil || total != len(all) {
		t.Fatal(len(all), total, err)
	}
	return all
}

// state is what of a finding can be undone, as timelines have it.
func state(f finding.Finding) map[string]string {
	return map[string]string{timeline.Status: string(f.Status), timeline.Severity: f.Severity,
		timeline.Labels: strings.Join(f.Labels, ","), timeline.Assignee: f.Assignee,
		"is_regression": strconv.FormatBool(f.IsRegression)}
}

// decided is, by weakness, why its findings have the status they have, and until when; nothing where nothing is said.
func (r room) decided(t rapid.TB) map[string]string {
	t.Helper()
	var weaknesses []string
	for _, f := range r.all(t) {
		weaknesses = append(weaknesses, f.Weakness)
	}
	decisions, err := decision.Find(context.Background(), r.db, r.team, weaknesses)
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]string{}
	for weakness, d := range decisions {
		if d.Reason != "" || !d.Until.IsZero() {
			out[weakness] = d.Reason + " " + d.Until.UTC().Format(time.RFC3339Nano)
		}
	}
	return out
}

// TestHistories makes random changes, and undoes some. Always: what a finding is, is the fold of its timeline; lists
// are the sum of their facets. And a change that is undone at once leaves every finding as it was before.
func TestHistories(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		rapid.Check(t, func(rt *rapid.T) {
			for _, table := range []string{"team", "user_account", "finding", "finding_doc", "finding_change", "finding_tally",
				"finding_key"} {
				if _, err := d.Exec(t.Context(), `DELETE FROM `+table); err != nil {
					rt.Fatal(err)
				}
			}
			r := setUp(t, d)
			r.see(rt, "s1", 1, 2, 3)
			for range rapid.IntRange(1, 8).Draw(rt, "steps") {
				before, decided := r.all(rt), r.decided(rt)
				one := rapid.SampledFrom(before).Draw(rt, "one")
				operation := r.change(rt, one)
				r.check(rt)
				if operation == "" || !rapid.Bool().Draw(rt, "undo") {
					continue
				}
				undone, err := r.Undo(r.alice, "", operation)
				if err != nil {
					rt.Fatal(err)
				}
				r.check(rt)
				after := r.all(rt)
				for i := range before {
					for field, value := range state(before[i]) {
						if got := state(after[i])[field]; got != value {
							rt.Fatalf("%s of %s is %q, was %q", field, before[i].ID, got, value)
						}
					}
				}
				if got := r.decided(rt); !maps.Equal(got, decided) {
					rt.Fatalf("decided is %v, was %v", got, decided)
				}
				if rapid.Bool().Draw(rt, "redo") {
					if _, err := r.Undo(r.alice, "", undone.Operation); err != nil {
						rt.Fatal(err)
					}
					r.check(rt)
				}
			}
		})
	})
}

// change makes a random change, and gives its operation; empty: nothing was changed that can be undone.
func (r room) change(rt *rapid.T, one finding.Finding) string {
	f := finding.Filter{IDs: []string{one.ID}}
	if rapid.Bool().Draw(rt, "bulk") {
		f = finding.Filter{Hosts: []string{one.Host}, Severities: []string{one.Severity, "low"}}
	}
	before := r.lastSeq(rt)
	var err error
	switch rapid.IntRange(0, 5).Draw(rt, "what") {
	case 0:
		often := append(slices.Clone(finding.Statuses), finding.AcceptedRisk, finding.AcceptedRisk, finding.AcceptedRisk)
		d := decision.Decision{Status: rapid.SampledFrom(often).Draw(rt, "status")}
		d.Reason = rapid.SampledFrom([]string{"", "why", "because"}).Draw(rt, "reason")
		if d.Status == finding.AcceptedRisk && d.Reason != "" && rapid.Bool().Draw(rt, "ends") {
			d.Until = time.Now().Add(time.Hour)
		}
		_, err = r.findings.SetDecision(r.alice, f, d)
	case 1:
		mode := rapid.SampledFrom([]finding.LabelMode{finding.AppendLabels, finding.ReplaceLabels}).Draw(rt, "mode")
		_, err = r.findings.SetLabels(r.alice, f, mode, []string{rapid.SampledFrom([]string{"a", "b"}).Draw(rt, "label")}, "")
	case 2:
		_, err = r.works.Assign(r.alice, f, rapid.SampledFrom([]string{"", "bob@example.com"}).Draw(rt, "who"))
	case 3:
		o := finding.Override{TemplateID: one.TemplateID, Custom: rapid.SampledFrom(finding.Severities).Draw(rt, "severity")}
		if rapid.Bool().Draw(rt, "one finding") {
			o.FindingID = one.ID
		}
		_, err = r.findings.Override(r.alice, o)
	case 4:
		r.see(rt, rapid.SampledFrom([]string{"s1", "s2"}).Draw(rt, "scan"), rapid.IntRange(1, 8).Draw(rt, "which"))
		return r.reopened(rt, before)
	case 5:
		err = r.moveTicket(one, rapid.SampledFrom(append(finding.Statuses, "")).Draw(rt, "status"))
	}
	if err != nil {
		rt.Fatal(err)
	}
	var w db.Where
	w.And("team_id = ? AND seq > ?", r.team, before)
	made, err := timeline.Read(context.Background(), r.db, w, ` ORDER BY seq`)
	if err != nil {
		rt.Fatal(err)
	}
	if len(made) == 0 {
		return ""
	}
	for _, e := range made {
		if e.Operation != made[0].Operation {
			rt.Fatalf("one request made two operations: %+v", made)
		}
	}
	if !slices.ContainsFunc(made, func(e timeline.Entry) bool { return e.Field != "ticket" }) {
		return "" // what a tracker said stays
	}
	return made[0].Operation
}

// moveTicket lets a tracker say something about a finding, and change its status unless that is empty.
func (r room) moveTicket(one finding.Finding, status finding.Status) error {
	return r.db.Tx(r.alice, func(tx *db.Tx) error {
		return r.findings.MoveTicket(r.alice, tx, r.team, finding.TicketMove{Weakness: one.Weakness,
			Change: timeline.TicketClosed, From: "open", To: "done", Actor: "carol (Jira)", Had: one.Status, Status: status})
	})
}

// reopened is the operation of a regression since a revision; empty: nothing but that was seen.
func (r room) reopened(t rapid.TB, since int64) string {
	operation, err := db.Value[string](context.Background(), r.db, `SELECT coalesce(max(operation), '') FROM finding_change
		WHERE team_id = ? AND seq > ? AND type = 'reopened' AND NOT EXISTS (
			SELECT 1 FROM finding f WHERE f.team_id = finding_change.team_id AND f.rev > ? AND f.created_at = f.updated_at)`,
		r.team, since, since)
	if err != nil {
		t.Fatal(err)
	}
	return operation
}

func (r room) lastSeq(t rapid.TB) int64 {
	seq, err := db.Value[int64](context.Background(), r.db, `SELECT coalesce(max(seq), 0) FROM finding_change WHERE team_id = ?`, r.team)
	if err != nil {
		t.Fatal(err)
	}
	return seq
}

func (r room) check(rt *rapid.T) {
	all := r.all(rt)
	statuses, nobodys := map[finding.Status]int{}, 0
	for _, f := range all {
		if statuses[f.Status]++; f.Assignee == "" {
			nobodys++
		}
		_, changes, err := r.findings.Timeline(r.alice, f.ID)
		if err != nil {
			rt.Fatal(err)
		}
		fold := map[string]string{}
		for _, c := range changes[1:] {
			if c.Field == timeline.Weakness || c.Field == "ticket" { // they name what was joined, or say something
				continue
			}
			if was, is := fold[c.Field]; is && was != c.From {
				rt.Fatalf("%s: a change of %s from %q, which was %q: %+v", f.ID, c.Field, c.From, was, changes)
			}
			fold[c.Field] = c.To
		}
		for field, value := range fold {
			if state(f)[field] != value {
				rt.Fatalf("%s: %s is %q, its timeline says %q", f.ID, field, state(f)[field], value)
			}
		}
	}
	count := func(f finding.Filter) int {
		f.Sightings = true
		_, total, err := r.findings.FindAll(r.alice, f, nil, page.Window{Limit: 1})
		if err != nil {
			rt.Fatal(err)
		}
		return total
	}
	for _, s := range finding.Statuses {
		if n := count(finding.Filter{Statuses: []finding.Status{s}}); n != statuses[s] {
			rt.Fatalf("the list has %d that are %s, want %d", n, s, statuses[s])
		}
	}
	if n := count(finding.Filter{Assignees: []string{finding.Nobody}}); n != nobodys {
		rt.Fatalf("the list has %d of nobody, want %d", n, nobodys)
	}
}

// An undone decision leaves what was decided before, with its reason and its end, or without.
func TestReasons(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.see(t, "s1", 1)
		one := finding.Filter{IDs: []string{r.all(t)[0].ID}}
		for _, before := range []decision.Decision{
			{Status: finding.AcceptedRisk}, // a bare one
			{Status: finding.AcceptedRisk, Reason: "why"},
			{Status: finding.AcceptedRisk, Reason: "why", Until: time.Now().Add(time.Hour)},
			{Status: finding.FalsePositive, Reason: "checked"},
			{Status: finding.Open, Reason: "it is true"}, // of which the sighting after it has no entry
		} {
			if _, err := r.findings.SetDecision(r.alice, one, before); err != nil {
				t.Fatal(err)
			}
			r.see(t, "s-"+before.Reason, 1)
			want, since := r.decided(t), r.lastSeq(t)
			again := decision.Decision{Status: finding.AcceptedRisk, Reason: "once more", Until: time.Now().Add(2 * time.Hour)}
			if _, err := r.findings.SetDecision(r.alice, one, again); err != nil {
				t.Fatal(err)
			}
			operation, err := db.Value[string](t.Context(), d, `SELECT operation FROM finding_change WHERE team_id = ? AND seq > ? LIMIT 1`,
				r.team, since)
			if err != nil {
				t.Fatal(err)
			}
			undone, err := r.Undo(r.alice, "", operation)
			if got := r.decided(t); err != nil || !maps.Equal(got, want) {
				t.Fatalf("after %+v: %v, want %v, %v", before, got, want, err)
			}
			if _, err := r.Undo(r.alice, "", undone.Operation); err != nil || maps.Equal(r.decided(t), want) {
				t.Fatalf("after %+v, undone twice: %v, %v", before, r.decided(t), err)
			}
			if _, err := r.findings.SetStatus(r.alice, one, finding.Open); err != nil {
				t.Fatal(err)
			}
		}
	})
}

// What cannot be undone is refused, and changes nothing. What was changed again stays, and the rest is undone.
func TestRefusals(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.see(t, "s1", 1, 2)
		all := r.all(t)
		both := finding.Filter{IDs: []string{all[0].ID, all[1].ID}}
		end := time.Now().Add(time.Hour)
		if _, err := r.findings.SetDecision(r.alice, both, decision.Decision{Status: finding.AcceptedRisk, Reason: "why", Until: end}); err != nil {
			t.Fatal(err)
		}
		if _, err := r.findings.SetStatus(r.alice, both, finding.Fixed); err != nil {
			t.Fatal(err)
		}
		operations := func() (out []string) {
			_, changes, err := r.findings.Timeline(r.alice, all[0].ID)
			if err != nil {
				t.Fatal(err)
			}
			for _, c := range changes[1:] {
				out = append(out, c.Operation)
			}
			return out
		}
		fixed := operations()[1]
		if _, err := r.Undo(r.viewer, "", fixed); !errs.Is(err, errs.Forbidden) {
			t.Errorf("a viewer: %v", err)
		}
		for _, missing := range []string{"none", "x\x00"} {
			if _, err := r.Undo(r.alice, "", missing); !errs.Is(err, errs.NotFound) {
				t.Errorf("%q: %v", missing, err)
			}
		}
		if _, err := r.Undo(r.alice, "", ""); !errs.Is(err, errs.Invalid) {
			t.Errorf("nothing: %v", err)
		}
		if _, err := r.Undo(r.alice, "", operations()[0]); !errs.Is(err, errs.Conflict) {
			t.Errorf("changed since: %v", err)
		}
		if _, err := r.findings.SetStatus(r.alice, finding.Filter{IDs: []string{all[1].ID}}, finding.Open); err != nil {
			t.Fatal(err)
		}
		out, err := r.Undo(r.alice, "", fixed)
		if err != nil || out.Changed != 1 || out.Kept != 1 {
			t.Errorf("%+v, %v", out, err)
		}
		_, changes, err := r.findings.Timeline(r.alice, all[0].ID)
		last := changes[len(changes)-1]
		if err != nil || last.To != string(finding.AcceptedRisk) || last.Reason != "why" || last.Until.IsZero() || !changes[2].Undone ||
			changes[1].Undone || last.Operation != out.Operation {
			t.Errorf("%+v, %v", changes, err)
		}
		if _, err := r.Undo(r.alice, all[0].ID, fixed); !errs.Is(err, errs.Conflict) {
			t.Errorf("twice: %v", err)
		}
		if _, err := r.Undo(r.alice, all[1].ID, out.Operation); !errs.Is(err, errs.NotFound) {
			t.Errorf("of a finding that it did not change: %v", err)
		}
	})
}
