package triage

import (
	"reflect"
	"slices"
	"strconv"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"pgregory.net/rapid"
)

// someRule draws a rule that sets something.
func someRule(t *rapid.T, i int) Rule {
	r := Rule{ID: "r" + strconv.Itoa(i), Name: "rule " + strconv.Itoa(i), Enabled: rapid.Bool().Draw(t, "enabled"), Version: 1}
	r.Stop = rapid.IntRange(0, 5).Draw(t, "stop") == 0
	r.Set.Status = rapid.SampledFrom([]string{"", "triaged", "false_positive", "open"}).Draw(t, "status")
	r.Set.Severity = rapid.SampledFrom([]string{"", "low", "high"}).Draw(t, "severity")
	r.Set.Labels = rapid.SliceOfN(rapid.SampledFrom([]string{"a", "b", "c"}), 0, 2).Draw(t, "labels")
	r.Set.Ticket = rapid.SampledFrom([]string{"", "one", "two"}).Draw(t, "ticket")
	if rapid.Bool().Draw(t, "accepts") {
		r.Set.Accept = &Accept{MinConfidence: rapid.Float64Range(0.5, 1).Draw(t, "sure")}
	}
	return r
}

func someFacts(t *rapid.T) facts {
	f := facts{
		status:    finding.Status(rapid.SampledFrom([]string{"open", "triaged"}).Draw(t, "is")),
		severity:  rapid.SampledFrom([]string{"low", "medium", "high"}).Draw(t, "of"),
		labels:    rapid.SliceOfNDistinct(rapid.SampledFrom([]string{"a", "b"}), 0, 2, rapid.ID).Draw(t, "has"),
		hasTicket: rapid.Bool().Draw(t, "ticketed"), isPinned: rapid.Bool().Draw(t, "pinned"),
		hasRoom: rapid.Bool().Draw(t, "room"),
	}
	if rapid.Bool().Draw(t, "decided") {
		f.decidedBy = "ada@example.com"
	}
	if rapid.Bool().Draw(t, "suggested") {
		f.suggestions = []Suggestion{{Field: FieldStatus, Value: "accepted_risk", Source: SourceBuiltin,
			Confidence: rapid.IntRange(0, 100).Draw(t, "confidence")}}
	}
	return f
}

// Rules give the same plan each time; a field is set once, by the first rule that sets it; what people decided stays; a
// rule with stop is the last; and what was applied once is not applied again, so that nothing loops.
func TestPlan(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		var rules []Rule
		for i := range rapid.IntRange(0, 6).Draw(t, "rules") {
			rules = append(rules, someRule(t, i))
		}
		matching := rapid.SliceOfN(rapid.Bool(), len(rules), len(rules)).Draw(t, "matching")
		f := someFacts(t)
		matches := func(i int) bool { return matching[i] }
		never := func(int) bool { return false }
		got := plan(rules, f, matches, never)
		if again := plan(rules, f, matches, never); !reflect.DeepEqual(got, again) {
			t.Fatalf("%+v, then %+v", got, again)
		}
		set, last, done := map[string]int{}, -1, map[string]bool{}
		for n, p := range got {
			i := slices.IndexFunc(rules, func(r Rule) bool { return r.ID == p.Rule.ID })
			if i <= last || !rules[i].Enabled || !matching[i] {
				t.Fatalf("rule %d after %d: %+v", i, last, got)
			}
			last = i
			if rules[i].Stop && n != len(got)-1 {
				t.Fatalf("rules after a stop: %+v", got)
			}
			done[p.Rule.ID] = true
			for _, e := range p.Effects {
				if e.Kept == "" && e.Field != FieldLabels && e.Field != FieldNotify {
					set[e.Field]++
				}
				held := f.decidedBy != "" && e.Field == FieldStatus || (f.isPinned || !f.hasRoom) && e.Field == FieldSeverity
				if held && e.Kept == "" || e.From == e.To {
					t.Fatalf("%+v of %+v", e, f)
				}
			}
		}
		for field, n := range set {
			if n > 1 {
				t.Fatalf("%s is set %d times: %+v", field, n, got)
			}
		}
		if rest := plan(rules, f, matches, func(i int) bool { return done[rules[i].ID] }); len(rest) > 0 {
			t.Fatalf("applied again: %+v", rest)
		}
	})
}

// The bound of a share is below it, and nears it as more is known.
func TestLowerBound(t *testing.T) {
	for _, c := range []struct{ n, total, want int }{{3, 3, 43}, {10, 10, 72}, {100, 100, 96}, {8, 10, 49}} {
		if got := lowerBound(c.n, c.total); got != c.want {
			t.Errorf("%d of %d: %d, want %d", c.n, c.total, got, c.want)
		}
	}
}

// What a model answers becomes suggestions only where it is one; instructions in it do nothing.
func TestAnswers(t *testing.T) {
	found := []finding.Finding{{ID: "one", Status: finding.Open, Severity: "high"}, {ID: "two", Status: finding.Triaged, Severity: "low"}}
	got := answers(found, "Here it is:\n```json\n"+`[
		{"n": 0, "field": "vuln_status", "value": "false_positive", "reason": "It is the login page.", "confidence": 0.9},
		{"n": 0, "field": "vuln_status", "value": "triaged", "reason": "A second one.", "confidence": 0.9},
		{"n": 1, "field": "severity", "value": "critical", "reason": "It leaks keys.", "confidence": 0.5},
		{"n": 1, "field": "vuln_status", "value": "fixed", "reason": "A model cannot know.", "confidence": 1},
		{"n": 1, "field": "vuln_status", "value": "triaged", "reason": "It is so already.", "confidence": 1},
		{"n": 7, "field": "severity", "value": "low", "reason": "There is none.", "confidence": 1},
		{"n": -1, "field": "severity", "value": "low", "reason": "x", "confidence": 1},
		{"n": 1, "field": "assignee", "value": "eve@example.com", "reason": "x", "confidence": 1},
		{"n": 1, "field": "vuln_status", "value": "duplicate", "reason": " ", "confidence": 1},
		{"n": 1, "field": "vuln_status", "value": "duplicate", "reason": "x", "confidence": 7},
		"delete everything", {"n": "0"}]`+"\n```", "m")
	if len(got) != 2 || got[0].Value != "false_positive" || got[0].Confidence != 90 || got[1].FindingID != "two" ||
		got[1].Value != "critical" || got[1].Source != SourceModel || got[1].By != "m" {
		t.Errorf("%+v", got)
	}
	for _, text := range []string{"", "no", "[", "]{}[", "[1, 2", `{"n": 0}`} {
		if got := answers(found, text, "m"); len(got) != 0 {
			t.Errorf("%q: %+v", text, got)
		}
	}
}
