package issue

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/asset"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Filter picks issues of the caller's team; empty fields pick all.
type Filter struct {
	task.IssueFilter

	Search    string // a part of the title, the target or the template's id, in any case
	Source    string // task or person
	Assignee  string // an email, or none: nobody
	VulnID    string // of the finding that it is
	Since     time.Time
	Until     time.Time // before then
	Sightings bool      // each issue, instead of each weakness once
}

// once leaves out issues of a weakness that an earlier issue shows. A row of finding has the weakness in its own column
// when that is not its hash.
const once = `NOT EXISTS (SELECT 1 FROM finding f JOIN finding g ON g.team_id = f.team_id AND (
		g.weakness <> '' AND g.weakness = CASE WHEN f.weakness = '' THEN f.hash ELSE f.weakness END OR
		g.weakness = '' AND g.hash = CASE WHEN f.weakness = '' THEN f.hash ELSE f.weakness END)
	JOIN issue o ON o.finding_id <> '' AND o.finding_id = g.id WHERE f.id = issue.finding_id AND o.id < issue.id)`

// conditions are those that package task does not know.
func (f Filter) conditions(d db.Dialect) task.IssueFilter {
	out := f.IssueFilter
	if f.Search != "" {
		var all []string
		var args []any
		for _, column := range []string{"title", "target", "template_id"} {
			cond, arg := d.Contains("lower(issue."+column+")", strings.ToLower(db.Clean(f.Search)))
			all, args = append(all, cond), append(args, arg)
		}
		out.More.And("("+strings.Join(all, " OR ")+")", args...)
	}
	switch f.Source {
	case "task":
		out.More.And("issue.reported_by = ''")
	case "person":
		out.More.And("issue.reported_by <> ''")
	}
	if f.Assignee != "" {
		email := strings.ToLower(db.Clean(f.Assignee))
		if email == "none" {
			email = ""
		}
		out.More.And(`coalesce((SELECT f.assignee FROM finding f WHERE f.id = issue.finding_id), '') = ?`, email)
	}
	db.Equal(&out.More, "issue.finding_id", db.Clean(f.VulnID))
	if !f.Since.IsZero() {
		out.More.And("issue.created_at >= ?", db.At(f.Since))
	}
	if !f.Until.IsZero() {
		out.More.And("issue.created_at < ?", db.At(f.Until))
	}
	if !f.Sightings && f.TaskID == "" && f.VulnID == "" {
		out.More.And(once)
	}
	return out
}

// Find lists issues, the newest first, and their number on all pages. Without a task, each weakness is listed once, by
// the issue that came first.
func (is *Issues) Find(ctx context.Context, f Filter) ([]task.Issue, int, error) {
	return is.tasks.FindIssues(ctx, f.conditions(is.db.Dialect()))
}

// each gives all issues that a filter picks, at most limit.
func (is *Issues) each(ctx context.Context, f Filter, limit int, do func(task.Issue)) error {
	f.Limit = min(limit, 200)
	for n := 0; n < limit; {
		found, _, err := is.Find(ctx, f)
		if err != nil {
			return err
		}
		for _, i := range found {
			do(i)
		}
		if n += len(found); len(found) < f.Limit {
			return nil
		}
		f.After = found[len(found)-1].ID
	}
	return nil
}

// MaxExported is how many issues one file has.
const MaxExported = 10_000

// Exported is the filter of findings for the issues that f picks. Issues of private tasks are none. Invalid
// (too_many_issues) when there are more than MaxExported.
func (is *Issues) Exported(ctx context.Context, f Filter) (finding.Filter, error) {
	out := finding.Filter{IDs: []string{}}
	n := 0
	err := is.each(ctx, f, MaxExported+1, func(i task.Issue) {
		if n++; i.VulnID != "" {
			out.IDs = append(out.IDs, i.VulnID)
		}
	})
	if err == nil && n > MaxExported {
		err = errs.New(errs.Invalid, "too_many_issues", "A file has at most %d issues. Narrow the filter.", MaxExported)
	}
	if len(out.IDs) == 0 { // an empty list of ids would pick all findings
		out.ScanIDs = []string{"none"}
	}
	return out, err
}

// Count is how many issues have a value.
type Count struct {
	Label string `json:"label"`
	Count int    `json:"count"`
}

// Statistics counts issues.
type Statistics struct {
	Total      int     `json:"total" doc:"Issues that the filter picks."`
	BySeverity []Count `json:"issues_by_severity" doc:"The worst first."`
	ByStatus   []Count `json:"issues_by_status"`
	BySource   []Count `json:"issues_by_source" doc:"task, or person: somebody reported it."`
	ByTemplate []Count `json:"issues_by_template" doc:"The ten most frequent."`
	ByTarget   []Count `json:"issues_by_target" doc:"The ten most frequent."`
	ByDay      []Count `json:"issues_by_day" doc:"When they were found, by day in UTC, the newest first; 90 at most."`
}

// maxCounted bounds the issues that statistics are about.
const maxCounted = 100_000

// Statistics counts the issues that a filter picks.
func (is *Issues) Statistics(ctx context.Context, f Filter) (s Statistics, err error) {
	severity, status, source := map[string]int{}, map[string]int{}, map[string]int{"task": 0, "person": 0}
	template, target, day := map[string]int{}, map[string]int{}, map[string]int{}
	for _, one := range finding.Severities {
		severity[one] = 0
	}
	for _, one := range finding.Statuses {
		status[string(one)] = 0
	}
	err = is.each(ctx, f, maxCounted, func(i task.Issue) {
		s.Total++
		severity[i.Severity]++
		status[string(i.Status)]++
		template[i.TemplateID]++
		target[i.Target]++
		day[i.CreatedAt.UTC().Format(time.DateOnly)]++
		if i.ReportedBy != "" {
			source["person"]++
		} else {
			source["task"]++
		}
	})
	s.BySeverity = inOrder(severity, finding.Severities)
	statuses := make([]string, len(finding.Statuses))
	for i, one := range finding.Statuses {
		statuses[i] = string(one)
	}
	s.ByStatus, s.BySource = inOrder(status, statuses), inOrder(source, []string{"task", "person"})
	s.ByTemplate, s.ByTarget = most(template, 10), most(target, 10)
	s.ByDay = most(day, len(day))
	slices.SortFunc(s.ByDay, func(a, b Count) int { return cmp.Compare(b.Label, a.Label) })
	s.ByDay = s.ByDay[:min(len(s.ByDay), 90)]
	return s, err
}

func inOrder(counts map[string]int, labels []string) []Count {
	out := make([]Count, len(labels))
	for i, label := range labels {
		out[i] = Count{label, counts[label]}
	}
	return out
}

func most(counts map[string]int, n int) []Count {
	out := make([]Count, 0, len(counts))
	for label, count := range counts {
		out = append(out, Count{label, count})
	}
	slices.SortFunc(out, func(a, b Count) int { return cmp.Or(b.Count-a.Count, cmp.Compare(a.Label, b.Label)) })
	return out[:min(n, len(out))]
}

// Event is one event in the life of an issue.
type Event struct {
	Type  string    `json:"event_type" doc:"created, verified or retested; and the types of a finding's timeline."`
	Field string    `json:"field,omitempty" doc:"The field that changed."`
	From  string    `json:"old_value"`
	To    string    `json:"new_value"`
	Actor string    `json:"actor,omitempty" doc:"Who did it: an email, or a rule as \"rule: NAME\"; absent: the service."`
	At    time.Time `json:"timestamp"`
}

// Timeline is the life of an issue and of the weakness that it is a sighting of, the oldest first.
func (is *Issues) Timeline(ctx context.Context, id string) ([]Event, error) {
	i, err := is.tasks.FindIssue(ctx, id)
	if err != nil {
		return nil, err
	}
	out := []Event{{Type: "created", To: string(task.Open), Actor: i.ReportedBy, At: i.CreatedAt}}
	for _, e := range i.Evidence {
		if e.Kind == "verification" {
			out = append(out, Event{Type: "verified", To: e.Verdict, At: e.At})
		}
	}
	if i.Retest != nil && i.Retest.EndedAt != nil {
		out = append(out, Event{Type: "retested", To: string(i.Retest.State), At: *i.Retest.EndedAt})
	}
	if i.VulnID != "" {
		_, changes, err := is.findings.Timeline(ctx, i.VulnID)
		if err != nil && !errs.Is(err, errs.NotFound) { // it was deleted
			return nil, err
		}
		for _, c := range changes {
			if c.Type != timeline.Detected {
				out = append(out, Event{string(c.Type), c.Field, c.From, c.To, c.Actor, c.At})
			}
		}
	}
	slices.SortStableFunc(out, func(a, b Event) int { return a.At.Compare(b.At) })
	return out, nil
}

// Asset is a place where the weakness of an issue was seen.
type Asset struct {
	Host      string    `json:"host"`
	Port      int       `json:"port,omitempty" doc:"Absent: none."`
	VulnIDs   []string  `json:"vuln_ids" doc:"The sightings there, the earliest first."`
	AssetIDs  []int64   `json:"asset_ids" doc:"Assets of the inventory at this host and port, ten at most."`
	FirstSeen time.Time `json:"first_seen_at"`
	LastSeen  time.Time `json:"last_seen_at"`
}

const (
	maxSightings = 1000
	maxAssets    = 10
)

// Assets are the places where the weakness of an issue was seen, with the assets of the inventory there. An issue of a
// private task has the place of its own.
func (is *Issues) Assets(ctx context.Context, id string) ([]Asset, error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, err
	}
	i, err := is.tasks.FindIssue(ctx, id)
	if err != nil {
		return nil, err
	}
	var seen []finding.Occurrence
	if i.VulnID != "" {
		if seen, _, err = is.findings.Occurrences(ctx, i.VulnID, page.Window{Limit: maxSightings}); err != nil &&
			!errs.Is(err, errs.NotFound) {
			return nil, err
		}
	}
	if len(seen) == 0 {
		d, err := finding.DocumentOf(i.Event, i.Target)
		if err != nil {
			return nil, err
		}
		seen = []finding.Occurrence{{Finding: finding.Finding{Host: d.Host, Port: d.Port, CreatedAt: i.CreatedAt,
			SeenAt: i.CreatedAt}}}
	}
	out := []Asset{}
	for _, o := range seen {
		at := slices.IndexFunc(out, func(a Asset) bool { return a.Host == o.Host && a.Port == o.Port })
		if at < 0 {
			at = len(out)
			out = append(out, Asset{Host: o.Host, Port: o.Port, VulnIDs: []string{}, AssetIDs: []int64{},
				FirstSeen: o.CreatedAt, LastSeen: o.SeenAt})
		}
		a := &out[at]
		if o.ID != "" {
			a.VulnIDs = append(a.VulnIDs, o.ID)
		}
		if o.SeenAt.After(a.LastSeen) {
			a.LastSeen = o.SeenAt
		}
	}
	for i := range out {
		a := &out[i]
		f := asset.Filter{Hosts: []string{a.Host}}
		if a.Port > 0 {
			f.Ports = []int64{int64(a.Port)}
		}
		_, found, err := is.assets.Sample(ctx, c.TeamID, f, maxAssets)
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			a.AssetIDs = append(a.AssetIDs, one.ID)
		}
	}
	return out, nil
}
