package triage

import (
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
)

// The fields that rules set.
const (
	FieldStatus   = "vuln_status"
	FieldSeverity = "severity"
	FieldAssignee = "assignee"
	FieldLabels   = "labels"
	FieldTicket   = "ticket"
	FieldNotify   = "notify"
)

// Effect is what a rule does to one field of a finding.
type Effect struct {
	Field string `json:"field" enum:"vuln_status,severity,assignee,labels,ticket,notify" doc:"What it sets."`
	From  string `json:"old_value" doc:"What it was; labels are joined by commas."`
	To    string `json:"new_value" doc:"What it becomes; of ticket and notify the ids of the configurations."`
	Kept  string `json:"kept,omitempty" doc:"Why it stays as it was: a person decided it, an earlier rule sets it, or there is no room; absent: it changes."`
}

// Planned is a rule that is applied to a finding.
type Planned struct {
	Rule    Rule
	Effects []Effect
}

// changes reports whether the rule changes anything.
func (p Planned) changes() bool {
	return slices.ContainsFunc(p.Effects, func(e Effect) bool { return e.Kept == "" })
}

// facts are what rules know of a finding besides whether it matches.
type facts struct {
	status      finding.Status
	severity    string
	labels      []string
	assignee    string
	strangers   []string // who is to be assigned and may not be
	hasTicket   bool
	decidedBy   string // the person who decided the status; empty: none
	isPinned    bool   // it has a severity of its own
	hasRoom     bool   // the team may have one more severity of its own
	suggestions []Suggestion
}

// plan says what rules, in their order, do to one finding. matches and done tell of a rule by its index: that the
// finding, as it is before any rule, is in the rule's selection; that the rule was applied to it before. Rules that are
// not enabled are none. It depends on nothing else, so that the same input gives the same plan.
func plan(rules []Rule, f facts, matches, done func(i int) bool) (out []Planned) {
	setBy := map[string]string{} // the rule that sets a field
	for i, r := range rules {
		if !r.Enabled || !matches(i) {
			continue
		}
		if !done(i) {
			if p := (Planned{r, effects(r, f, setBy)}); len(p.Effects) > 0 {
				out = append(out, p)
			}
		}
		if r.Stop {
			break
		}
	}
	return out
}

// effects are those of one rule, after the rules that have set something.
func effects(r Rule, f facts, setBy map[string]string) (out []Effect) {
	add := func(field, from, to, held string) {
		if to == "" || from == to {
			return
		}
		e := Effect{Field: field, From: from, To: to}
		switch {
		case held != "":
			e.Kept = held
		case setBy[field] != "":
			e.Kept = "rule " + setBy[field]
		default:
			setBy[field] = r.Name
		}
		out = append(out, e)
	}
	status, severity := r.Set.Status, r.Set.Severity
	if a := r.Set.Accept; a != nil {
		for _, s := range f.suggestions {
			switch {
			case !a.takes(s):
			case s.Field == FieldStatus && status == "":
				status = s.Value
			case s.Field == FieldSeverity && severity == "":
				severity = s.Value
			}
		}
	}
	held := ""
	if f.decidedBy != "" {
		held = f.decidedBy + " decided it"
	}
	add(FieldStatus, string(f.status), status, held)
	held = ""
	switch {
	case f.isPinned:
		held = "it has a severity of its own"
	case !f.hasRoom:
		held = "the team has too many severity mappings"
	}
	add(FieldSeverity, f.severity, severity, held)
	switch held = ""; {
	case f.assignee != "":
		held = "it is assigned to " + f.assignee
	case slices.Contains(f.strangers, r.Set.Assignee):
		held = r.Set.Assignee + " is no member of the team any more"
	}
	add(FieldAssignee, f.assignee, r.Set.Assignee, held)
	if fresh := newLabels(f.labels, r.Set.Labels); len(fresh) > 0 { // labels of several rules add up
		out = append(out, Effect{Field: FieldLabels, From: strings.Join(f.labels, ","),
			To: listing.Join(slices.Concat(f.labels, fresh))})
	}
	if !f.hasTicket {
		add(FieldTicket, "", r.Set.Ticket, "")
	}
	if len(r.Set.Notify) > 0 { // each rule tells its own channels
		out = append(out, Effect{Field: FieldNotify, To: strings.Join(r.Set.Notify, ",")})
	}
	return out
}

// newLabels are those that are not there, in any case.
func newLabels(have, want []string) (fresh []string) {
	for _, w := range want {
		if !slices.ContainsFunc(have, func(h string) bool { return strings.EqualFold(h, w) }) {
			fresh = append(fresh, w)
		}
	}
	return fresh
}

// isPerson reports whether an actor of a timeline is a person, and neither a rule nor the service.
func isPerson(actor string) bool {
	return strings.Contains(actor, "@") && !strings.HasPrefix(actor, actorPrefix)
}

// actorPrefix begins the actor of what a rule did, as timelines say it.
const actorPrefix = "rule: "
