package triage

import (
	"context"
	"log/slog"
	"path/filepath"
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/arrival"
	"github.com/vedette-sec/vedette/internal/core/finding/findingtest"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/core/finding/work"
	"github.com/vedette-sec/vedette/internal/core/inbox"
	"github.com/vedette-sec/vedette/internal/core/setting"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/seal"
	"pgregory.net/rapid"
)

func TestMain(m *testing.M) { dbtest.Main(m) }

// room is the service with a user of one team and a stranger.
type room struct {
	*Triage
	fs              *finding.Findings
	alice, stranger context.Context
	team            string
}

func setUp(t testing.TB, d *db.DB) room {
	t.Helper()
	accounts, err := account.Open(t.Context(), d, account.Config{})
	if err != nil {
		t.Fatal(err)
	}
	box, err := seal.Open(filepath.Join(t.TempDir(), "key"))
	if err != nil {
		t.Fatal(err)
	}
	r := room{fs: finding.New(d, nil)}
	r.Triage = New(d, nil, r.fs, work.New(d, r.fs, inbox.New(d, nil, "")), setting.New(d, box, &netguard.Guard{}), nil, slog.New(slog.DiscardHandler))
	for email, ctx := range map[string]*context.Context{"alice@example.com": &r.alice, "eve@example.com": &r.stranger} {
		*ctx = newUser(t, accounts, email)
	}
	c, _ := account.From(r.alice)
	r.team = c.TeamID
	return r
}

func newUser(t testing.TB, accounts *account.Accounts, email string) context.Context {
	t.Helper()
	u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: email, Admin: true})
	if err != nil {
		t.Fatal(err)
	}
	return account.WithCaller(t.Context(), account.Caller{UserID: u.ID, Email: email, TeamID: u.TeamID, Role: u.Role})
}

// add stores events in a scan.
func (r room) add(t testing.TB, scan string, events ...int) {
	t.Helper()
	var seen []finding.Sighting
	for _, i := range events {
		seen = append(seen, finding.Sighting{Event: findingtest.Event(i)})
	}
	err := r.db.Tx(t.Context(), func(tx *db.Tx) error {
		_, err := r.fs.Add(t.Context(), tx, finding.Origin{TeamID: r.team, ScanID: scan}, seen)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
}

// all are the findings, each weakness once, the newest first.
func (r room) all(t testing.TB) []finding.Finding {
	t.Helper()
	found, _, err := r.fs.FindAll(r.alice, finding.Filter{}, nil, page.Window{Limit: 500})
	if err != nil {
		t.Fatal(err)
	}
	return found
}

func (r room) rule(t testing.TB, name string, match Selection, set Set) Rule {
	t.Helper()
	made, err := r.CreateRule(r.alice, Rule{Name: name, Enabled: true, Definition: Definition{Match: match, Set: set}})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

func (r room) arrived(t testing.TB) {
	t.Helper()
	if err := r.Arrived(t.Context(), arrival.Args{TeamID: r.team}); err != nil {
		t.Fatal(err)
	}
}

// Rules look at what arrives after they were made, once; each application is in the timeline with the rule's name and in
// the audit; a person's decision stays.
func TestRulesLookAtWhatArrives(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.add(t, "before", 5) // critical
		rule := r.rule(t, "Worst first", Selection{Severities: []string{"critical"}},
			Set{Status: "triaged", Labels: []string{"worst"}, Severity: "high", Assignee: "alice@example.com"})
		r.add(t, "after", 12, 1) // critical and info
		r.arrived(t)
		byStatus := map[finding.Status]int{}
		for _, f := range r.all(t) {
			byStatus[f.Status]++
			if f.Status == finding.Triaged && (!slices.Equal(f.Labels, []string{"worst"}) || f.Severity != "high" ||
				f.Assignee != "alice@example.com") {
				t.Errorf("%+v", f)
			}
		}
		if byStatus[finding.Triaged] != 1 || byStatus[finding.Open] != 2 {
			t.Fatalf("%v", byStatus)
		}
		at := slices.IndexFunc(r.all(t), func(f finding.Finding) bool { return f.Status == finding.Triaged })
		f := r.all(t)[at]
		_, changes, err := r.fs.Timeline(r.alice, f.ID)
		if err != nil || !slices.ContainsFunc(changes, func(c finding.Change) bool {
			return c.Type == timeline.RuleApplied && c.To == "Worst first" && c.Actor == "rule: Worst first"
		}) {
			t.Errorf("%+v, %v", changes, err)
		}
		done, total, err := r.Applications(r.alice, rule.ID, page.Window{Limit: 10})
		if err != nil || total != 1 || done[0].FindingID != f.ID || len(done[0].Effects) != 4 || done[0].Actor != "" {
			t.Errorf("%+v, %v", done, err)
		}
		if _, err := r.fs.SetStatus(r.alice, finding.Filter{IDs: []string{f.ID}}, finding.Open); err != nil {
			t.Fatal(err)
		}
		r.add(t, "later", 12)
		r.arrived(t)
		if f, err := r.fs.Find(r.alice, f.ID); err != nil || f.Status != finding.Open {
			t.Errorf("a rule was applied again: %s, %v", f.Status, err)
		}
		if _, total, _ := r.Applications(r.alice, "", page.Window{Limit: 10}); total != 1 {
			t.Errorf("%d applications", total)
		}
		if _, err := r.Rule(r.stranger, rule.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
	})
}

// What is back after it was fixed is looked at again, also when the same scan sees it; what arrived while there were no
// rules is not.
func TestRulesLookAtWhatIsBack(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		rule := r.rule(t, "Label", Selection{}, Set{Labels: []string{"seen"}, Status: "triaged"})
		r.add(t, "s", 1)
		r.arrived(t)
		one := r.all(t)[0]
		err := d.Tx(t.Context(), func(tx *db.Tx) error { // a retest has not found it
			return r.fs.Decide(t.Context(), tx, r.team, one.ID, finding.Fixed, "")
		})
		if err != nil {
			t.Fatal(err)
		}
		r.add(t, "again", 1)
		r.arrived(t)
		f, err := r.fs.Find(r.alice, one.ID)
		if err != nil || !f.IsRegression || f.Status != finding.Triaged {
			t.Errorf("%s, regression: %t, %v", f.Status, f.IsRegression, err)
		}
		off := false
		if _, err := r.UpdateRule(r.alice, rule.ID, RuleUpdate{Enabled: &off}); err != nil {
			t.Fatal(err)
		}
		r.add(t, "meanwhile", 2)
		on := true
		if _, err := r.UpdateRule(r.alice, rule.ID, RuleUpdate{Enabled: &on}); err != nil {
			t.Fatal(err)
		}
		r.add(t, "then", 3)
		r.arrived(t)
		labelled := 0
		for _, f := range r.all(t) {
			labelled += len(f.Labels)
		}
		if labelled != 2 {
			t.Errorf("%d are labelled", labelled)
		}
	})
}

// A dry run changes nothing and says what a run then does; a second run does nothing.
func TestADryRunIsWhatARunDoes(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r, n := setUp(t, d), 0
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		rapid.Check(t, func(rt *rapid.T) {
			n++
			r := r
			r.alice = newUser(t, accounts, "u"+strconv.Itoa(n)+"@example.com")
			c, _ := account.From(r.alice)
			r.team = c.TeamID
			r.add(t, "s"+strconv.Itoa(n), rapid.SliceOfNDistinct(rapid.IntRange(0, 60), 1, 8, rapid.ID).Draw(rt, "events")...)
			found := r.all(t)
			for _, f := range found {
				if rapid.IntRange(0, 3).Draw(rt, "decided") == 0 {
					status := rapid.SampledFrom([]finding.Status{finding.FalsePositive, finding.Open, finding.Triaged}).Draw(rt, "as")
					if _, err := r.fs.SetStatus(r.alice, finding.Filter{IDs: []string{f.ID}}, status); err != nil {
						rt.Fatal(err)
					}
				}
			}
			for i := range rapid.IntRange(1, 4).Draw(rt, "rules") {
				rule := someRule(rt, i)
				rule.Enabled, rule.Set.Ticket, rule.Set.Accept = true, "", nil
				rule.Set.Labels = slices.Compact(slices.Sorted(slices.Values(rule.Set.Labels)))
				rule.Match.Severities = rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"info", "low", "high", "critical"}), 0, 2,
					rapid.ID).Draw(rt, "severities")
				rule.Match.Tags = rapid.SliceOfN(rapid.SampledFrom([]string{"all", "t1", "t2"}), 0, 2).Draw(rt, "tags")
				if _, err := r.CreateRule(r.alice, rule); err != nil && !errs.Is(err, errs.Invalid) { // it may set nothing
					rt.Fatal(err)
				}
			}
			want := ofAll(r.all(t))
			dry, err := r.Run(r.alice, Run{Limit: 100, Dry: true})
			if err != nil {
				rt.Fatal(err)
			}
			if after := ofAll(r.all(t)); !reflect.DeepEqual(want, after) || len(dry.Decided) > len(found) {
				rt.Fatalf("a dry run: %+v", after)
			}
			for _, d := range dry.Decided {
				for _, p := range d.Planned {
					for _, e := range p.Effects {
						if e.Kept == "" {
							want.set(d.Finding.ID, e, p.Rule)
						}
					}
				}
			}
			wet, err := r.Run(r.alice, Run{Limit: 100})
			if err != nil {
				rt.Fatal(err)
			}
			if !reflect.DeepEqual(effectsOf(dry), effectsOf(wet)) || dry.Looked != wet.Looked {
				rt.Fatalf("dry %+v\nwet %+v", effectsOf(dry), effectsOf(wet))
			}
			if got := ofAll(r.all(t)); !reflect.DeepEqual(got, want) {
				rt.Fatalf("is %+v\nwant %+v", got, want)
			}
			var last Result
			for range 5 { // one more than there are rules: each is applied to a weakness once
				if last, err = r.Run(r.alice, Run{Limit: 100}); err != nil {
					rt.Fatal(err)
				}
			}
			if len(last.Decided) > 0 {
				rt.Fatalf("it does not end: %+v", effectsOf(last))
			}
		})
	})
}

// states are findings by id: status, severity and labels.
type states map[string][3]string

func ofAll(found []finding.Finding) states {
	out := states{}
	for _, f := range found {
		out[f.ID] = [3]string{string(f.Status), f.Severity, listing.Join(f.Labels)}
	}
	return out
}

func (s states) set(id string, e Effect, r Rule) {
	one := s[id]
	switch e.Field {
	case FieldStatus:
		one[0] = e.To
	case FieldSeverity:
		one[1] = e.To
	case FieldLabels:
		labels := slices.Clone(r.Set.Labels)
		if one[2] != "" {
			labels = append(labels, one[2])
		}
		var all []string
		for _, l := range labels {
			all = append(all, splitWords(l)...)
		}
		one[2] = listing.Join(all)
	}
	s[id] = one
}

func splitWords(text string) (out []string) {
	word := ""
	for _, c := range text + "," {
		if c == ',' {
			out, word = append(out, word), ""
		} else {
			word += string(c)
		}
	}
	return out
}

func effectsOf(r Result) (out []string) {
	for _, d := range r.Decided {
		for _, p := range d.Planned {
			for _, e := range p.Effects {
				out = append(out, d.Finding.ID+" "+p.Rule.ID+" "+e.Field+" "+e.From+" "+e.To+" "+e.Kept)
			}
		}
	}
	return out
}

// Two people never get the same finding of a queue, and what is released can be claimed again.
func TestClaims(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		r.add(t, "s", 5, 12, 1)
		q, err := r.CreateQueue(r.alice, Queue{Name: "Critical", Sort: Worst,
			Selection: Selection{Severities: []string{"critical"}}})
		if err != nil || q.Total != 2 || q.BySeverity["critical"] != 2 || q.Oldest == nil {
			t.Fatalf("%+v, %v", q, err)
		}
		c, _ := account.From(r.alice)
		c.Email = "bob@example.com"
		bob := account.WithCaller(t.Context(), c)
		first, err := r.ClaimNext(r.alice, q.ID)
		if err != nil {
			t.Fatal(err)
		}
		second, err := r.ClaimNext(bob, q.ID)
		if err != nil || second.Finding.ID == first.Finding.ID {
			t.Fatalf("%v, %v", second.Finding.ID, err)
		}
		if _, err := r.ClaimNext(bob, q.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("a third: %v", err)
		}
		if _, err := r.ClaimOne(bob, first.Finding.ID); !errs.Is(err, errs.Conflict) {
			t.Errorf("alice's: %v", err)
		}
		if items, total, err := r.Items(r.alice, q.ID, page.Window{Limit: 10}); err != nil || total != 2 ||
			items[0].Claim == nil || items[1].Claim == nil {
			t.Errorf("%+v, %v", items, err)
		}
		if err := r.Release(r.alice, first.Finding.ID); err != nil {
			t.Fatal(err)
		}
		if again, err := r.ClaimNext(bob, q.ID); err != nil || again.Finding.ID != first.Finding.ID ||
			again.Claim.Email != "bob@example.com" {
			t.Errorf("%+v, %v", again, err)
		}
		if _, err := r.Queue(r.stranger, q.ID); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
	})
}

// What people decided about a check is suggested for its other findings; nothing changes until somebody accepts it, or a
// rule says so.
func TestSuggestions(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		r := setUp(t, d)
		var events []int
		for i := range 12 {
			events = append(events, 53*i) // of one template
		}
		r.add(t, "s", events...)
		found := r.all(t)
		var decided []string
		for _, f := range found[2:] {
			decided = append(decided, f.ID)
		}
		if _, err := r.fs.SetStatus(r.alice, finding.Filter{IDs: decided}, finding.FalsePositive); err != nil {
			t.Fatal(err)
		}
		made, err := r.Suggest(r.alice, []string{found[0].ID, found[1].ID}, false)
		if err != nil || len(made) != 2 || made[0].Value != "false_positive" || made[0].Confidence != 72 || made[0].Reason == "" {
			t.Fatalf("%+v, %v", made, err)
		}
		if f, err := r.fs.Find(r.alice, found[0].ID); err != nil || f.Status != finding.Open {
			t.Errorf("a suggestion changed %s, %v", f.Status, err)
		}
		if _, err := r.Suggest(r.alice, []string{found[0].ID}, true); !errs.Is(err, errs.Forbidden) {
			t.Errorf("without a model: %v", err)
		}
		one := slices.IndexFunc(made, func(s Suggestion) bool { return s.FindingID == found[0].ID })
		if s, err := r.EndSuggestion(r.alice, made[one].ID, true); err != nil || s.State != SuggestionAccepted {
			t.Errorf("%+v, %v", s, err)
		}
		if f, err := r.fs.Find(r.alice, found[0].ID); err != nil || f.Status != finding.FalsePositive {
			t.Errorf("accepted: %s, %v", f.Status, err)
		}
		if _, err := r.EndSuggestion(r.alice, made[one].ID, false); !errs.Is(err, errs.Conflict) {
			t.Errorf("again: %v", err)
		}
		if _, err := r.EndSuggestion(r.stranger, made[1-one].ID, true); !errs.Is(err, errs.NotFound) {
			t.Errorf("a stranger: %v", err)
		}
		r.rule(t, "Unsure", Selection{}, Set{Accept: &Accept{MinConfidence: 0.9}})
		r.rule(t, "Sure", Selection{}, Set{Accept: &Accept{MinConfidence: 0.7}})
		if _, err := r.Run(r.alice, Run{Limit: 100}); err != nil {
			t.Fatal(err)
		}
		if f, err := r.fs.Find(r.alice, found[1].ID); err != nil || f.Status != finding.FalsePositive {
			t.Errorf("by a rule: %s, %v", f.Status, err)
		}
		if open, _, err := r.Suggestions(r.alice, SuggestionFilter{State: SuggestionOpen}, page.Window{Limit: 10}); err != nil ||
			len(open) != 0 {
			t.Errorf("%+v, %v", open, err)
		}
	})
}
