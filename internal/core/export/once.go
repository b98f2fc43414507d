package export

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/export/fact"
	"github.com/vedette-sec/vedette/internal/core/export/report"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/event"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/mask"
)

// A report has a weakness once, by its first sighting, as lists without scans do. Of a report across scans, what a task
// saw is described by its issue, which has the verification. Where the first sighting is a scan's, the issues of the
// same weakness are named with that; where it is a task's, with the first issue that the caller sees.

// ofIssue is an issue that the filter picks.
type ofIssue struct {
	issue *task.Issue
	d     *finding.Document
	also  []*task.Issue // later ones of the same weakness
	shown bool          // a finding, or an earlier issue, stands for its weakness
}

// issuesOfReport are the issues of a report: of one task, or of all that the caller sees.
type issuesOfReport struct {
	all  []*ofIssue            // the first first, across scans
	head map[string][]*ofIssue // by the id of the finding that stands for their weakness
}

// issuesOf reads the issues of the report's task, or, across scans, those of all tasks.
func (f *File) issuesOf(ctx context.Context, withIssues bool) (out issuesOfReport, err error) {
	out.head = map[string][]*ofIssue{}
	if f.task == nil && !withIssues {
		return out, nil
	}
	var issues []task.Issue
	if f.task != nil {
		issues = f.task.issues
	} else {
		if issues, err = f.es.issues(ctx, task.IssueFilter{}); err != nil {
			return out, err
		}
		slices.Reverse(issues) // the newest came first
	}
	for i := range issues {
		d, err := documentOf(&issues[i])
		if err != nil {
			return out, err
		}
		if f.task == nil && !picks(f.Filter, d) {
			continue
		}
		out.all = append(out.all, &ofIssue{issue: &issues[i], d: d})
	}
	if f.task != nil {
		return out, nil
	}
	heads, err := f.es.heads(ctx, f.caller.TeamID, out.all)
	for _, one := range out.all {
		if head := heads[one.issue.VulnID]; head != "" {
			out.head[head] = append(out.head[head], one)
		}
	}
	return out, err
}

// heads are the findings that stand for the weaknesses of issues, by the findings that the issues are. A row of finding
// has its weakness in a column of its own when that is not its hash.
func (es *Exports) heads(ctx context.Context, teamID string, issues []*ofIssue) (map[string]string, error) {
	const weakness = `CASE WHEN f.weakness = '' THEN f.hash ELSE f.weakness END`
	const query = `SELECT f.id, g.id FROM finding f JOIN finding g ON g.team_id = f.team_id AND NOT g.is_repeat AND `
	var ids []string
	for _, one := range issues {
		if one.issue.VulnID != "" {
			ids = append(ids, one.issue.VulnID)
		}
	}
	out := map[string]string{}
	for part := range slices.Chunk(ids, issuePage) {
		w := db.ByUnique(teamID, "id", part)
		in := strings.NewReplacer(" id ", " f.id ", "team_id", "f.team_id").Replace(w.String())
		for _, same := range []string{`g.weakness = '' AND g.hash = `, `g.weakness <> '' AND g.weakness = `} {
			err := db.Each(ctx, es.db, func(r db.Row) error {
				var id, head string
				err := r.Scan(&id, &head)
				out[id] = head
				return err
			}, query+same+weakness+in, w.Args...)
			if err != nil {
				return nil, err
			}
		}
	}
	return out, nil
}

// sameAs are the issues of the weakness that a finding stands for, which that describes then.
func (r issuesOfReport) sameAs(findingID string) (same []*task.Issue) {
	for _, one := range r.head[findingID] {
		one.shown = true
		same = append(same, one.issue)
	}
	return same
}

// left are the issues that no finding describes, of each weakness the first.
func (r issuesOfReport) left() (out []*ofIssue) {
	for _, all := range r.head {
		for _, one := range all[1:] {
			if !all[0].shown {
				all[0].also, one.shown = append(all[0].also, one.issue), true
			}
		}
	}
	for _, one := range r.all {
		if !one.shown {
			out = append(out, one)
		}
	}
	return out
}

// from names what saw a finding where tasks did; empty: a scan alone.
func from(scanID string, issues []*task.Issue) string {
	if len(issues) == 0 {
		return ""
	}
	var names []string
	if scanID != "" {
		names = append(names, "Scan "+scanID)
	}
	for _, i := range issues {
		if name := "Task " + i.TaskID; i.TaskID != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	return strings.Join(names, "\n")
}

// learn teaches the masker the secrets of an issue's evidence.
func learn(m *mask.Masker, i *task.Issue) {
	for _, e := range i.Evidence {
		m.Learn(e.Request)
		m.Learn(e.Response)
		for _, c := range e.Compared {
			m.Learn(c.Request)
			m.Learn(c.Response)
		}
	}
}

// compared are the requests that a finding was compared with.
func compared(d *finding.Document) (out []engine.Compared) {
	if text := d.Compared().JSON; text != "" {
		_ = json.Unmarshal([]byte(text), &out) // it was written as such
	}
	return out
}

// titled is the title of an exchange with what it shows.
func titled(kind, note string) string {
	if note == "" {
		return kind
	}
	return kind + " (" + fact.Clip(note, 200) + ")"
}

// maxProofs is how many exchanges of a finding are shown.
const maxProofs = 2 + event.MaxCompared

// verification adds how an issue was confirmed, and by which requests.
func verification(m *mask.Masker, h fact.Hints, i *task.Issue, out *report.Finding) {
	show := func(title, request, response string) {
		if len(out.Exchanges) < maxProofs {
			out.Exchanges = append(out.Exchanges, report.Exchange{Title: title,
				Request: cutRequest(m.Text(request)), Response: h.Find(m.Text(response), maxResponse)})
		}
	}
	for _, e := range i.Evidence {
		for _, c := range e.Compared {
			show(titled("Comparison", m.Text(c.Note)), c.Request, c.Response)
		}
		if e.Kind == "detection" {
			continue
		}
		if e.Tried > 0 {
			out.Verified = fmt.Sprintf("%d of %d further requests showed it again", e.Confirmed, e.Tried)
		}
		show(report.Title(e.Kind), e.Request, e.Response)
	}
}
