// Package change compares what a scheduled task found with what the runs before found.
//
// A finding has the same key in every task: template, place and matcher. What is found now and was not known is new;
// what is known and found again is unchanged, or changed when its severity, title or extracted values differ; what is
// known and not found is gone, if the ledger says that its template was run on its target. Else it was not tested: it
// stays known,
// so that it is not new when a later run finds it again.
package change

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Known is a finding of a run, as the next one is compared with it.
type Known struct {
	Key       string   `json:"key"` // the same for the same finding in every task
	IssueID   string   `json:"issue_id"`
	Title     string   `json:"title"`
	Severity  string   `json:"severity"`
	Template  string   `json:"template_id,omitempty"`
	Target    string   `json:"target"`
	MatchedAt string   `json:"matched_at"`
	Values    []string `json:"values,omitempty"`   // that were extracted
	Untested  bool     `json:"untested,omitempty"` // the last run did not test for it
}

// Item is a finding in a report.
type Item struct {
	IssueID    string `json:"issue_id" doc:"The issue of this run, or, of one that was not found again, of an earlier run."`
	Title      string `json:"title"`
	Severity   string `json:"severity"`
	TemplateID string `json:"template_id,omitempty"`
	Target     string `json:"target"`
	MatchedAt  string `json:"matched_at"`
	What       string `json:"what,omitempty" doc:"What differs, of a changed one; why it is not known to be gone, of one that was not tested."`
}

// Report is what a run found that the runs before did not, and the reverse.
type Report struct {
	First     bool       `json:"first" doc:"Whether there was no run before: everything is new."`
	Since     *time.Time `json:"since" doc:"When the run began that this one is compared with; null: none."`
	New       []Item     `json:"new" doc:"Found, and not known before."`
	Gone      []Item     `json:"gone" doc:"Known before, tested again and not found."`
	Changed   []Item     `json:"changed" doc:"Found again, with another severity, title or extracted value."`
	NotTested []Item     `json:"not_tested" doc:"Known before, and not tested by this run."`
	Unchanged int        `json:"unchanged" doc:"How many were found again as they were."`
	Quiet     bool       `json:"quiet" doc:"Whether nothing changed: nothing is new, gone, changed, or untested for the first time."`
}

// Compare makes the report of a run, and what is known after it. ran reports whether a template was run on a target.
func Compare(before, now []Known, ran func(template, target string) bool) (r Report, after []Known) {
	r = Report{New: []Item{}, Gone: []Item{}, Changed: []Item{}, NotTested: []Item{}}
	old := map[string]Known{}
	for _, k := range before {
		old[k.Key] = k
	}
	found, loss := map[string]bool{}, false
	for _, k := range now {
		if found[k.Key] {
			continue
		}
		found[k.Key] = true
		after = append(after, k)
		was, known := old[k.Key]
		if !known {
			r.New = append(r.New, k.item(""))
			continue
		}
		if what := difference(was, k); what != "" {
			r.Changed = append(r.Changed, k.item(what))
		} else {
			r.Unchanged++
		}
	}
	for _, k := range before {
		switch {
		case found[k.Key]:
		case k.Template != "" && ran(k.Template, k.Target):
			r.Gone = append(r.Gone, k.item(""))
		default:
			why := "its template was not run on its target"
			if k.Template == "" {
				why = "no template tests for it"
			}
			loss = loss || !k.Untested
			k.Untested = true
			r.NotTested = append(r.NotTested, k.item(why))
			after = append(after, k)
		}
	}
	r.Quiet = len(r.New)+len(r.Gone)+len(r.Changed) == 0 && !loss
	return r, after
}

func (k Known) item(what string) Item {
	return Item{k.IssueID, k.Title, k.Severity, k.Template, k.Target, k.MatchedAt, what}
}

// difference is what differs between two sights of a finding; empty: nothing that counts.
func difference(a, b Known) string {
	var words []string
	if a.Severity != b.Severity {
		words = append(words, fmt.Sprintf("severity %s, was %s", b.Severity, a.Severity))
	}
	if a.Title != b.Title {
		words = append(words, fmt.Sprintf("title, was %q", a.Title))
	}
	if !slices.Equal(a.Values, b.Values) {
		words = append(words, fmt.Sprintf("extracted %s, was %s", list(b.Values), list(a.Values)))
	}
	return strings.Join(words, "; ")
}

func list(values []string) string { return cmp.Or(strings.Join(values, ", "), "nothing") }

// Has reports whether an issue of this run is new or changed.
func (r Report) Has(issueID string) bool {
	is := func(i Item) bool { return i.IssueID == issueID }
	return slices.ContainsFunc(r.New, is) || slices.ContainsFunc(r.Changed, is)
}

// maxLines is how many findings of one kind the words of a report name.
const maxLines = 50

// Words is the report in words; empty of none.
func (r *Report) Words() string {
	if r == nil {
		return ""
	}
	since := "the run before"
	if r.Since != nil {
		since = "the run of " + r.Since.UTC().Format(time.RFC3339)
	}
	switch {
	case r.First:
		return "This is the first run: there is nothing to compare it with."
	case r.Quiet:
		return "Nothing changed since " + since + "."
	}
	lines := []string{fmt.Sprintf("Since %s: %d new, %d gone, %d changed, %d unchanged, %d not tested.", since, len(r.New),
		len(r.Gone), len(r.Changed), r.Unchanged, len(r.NotTested))}
	for _, part := range []struct {
		word  string
		items []Item
	}{{"New", r.New}, {"Gone", r.Gone}, {"Changed", r.Changed}, {"Not tested", r.NotTested}} {
		for i, item := range part.items {
			if i == maxLines {
				lines = append(lines, fmt.Sprintf("%s: and %d more.", part.word, len(part.items)-i))
				break
			}
			line := fmt.Sprintf("%s: [%s] %s at %s", part.word, item.Severity, item.Title, item.MatchedAt)
			if item.What != "" {
				line += " (" + item.What + ")"
			}
			lines = append(lines, line+".")
		}
	}
	return strings.Join(lines, "\n")
}
