// Package moment shows findings as they were. What a finding was at a time is what it is now, with the changes since
// taken back, the latest first: each entry of its timeline has the value before. So a list of a time before reads the
// index for what has not changed since, and the timelines of what has. Which findings are sightings of one weakness,
// what was deleted, and whether a tracker has an issue, is known as of now alone.
package moment

import (
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/core/finding/move"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Moments is the service.
type Moments struct {
	db       *db.DB
	findings *finding.Findings
	now      func() time.Time
}

// New makes the service.
func New(d *db.DB, findings *finding.Findings) *Moments { return &Moments{d, findings, time.Now} }

// maxChanged bounds the findings of which the timelines are read for one list.
const maxChanged = 200_000

// State is what of a finding changes.
type State struct {
	Status       listing.Status
	IsRegression bool
	Severity     string
	Labels       []string
	Assignee     string
}

// Name is the state as people tell it apart.
func (s State) Name() move.State { return move.StateOf(s.Status, s.IsRegression) }

func stateOf(f finding.Finding) State {
	return State{f.Status, f.IsRegression, f.Severity, f.Labels, f.Assignee}
}

func (s State) equal(other State) bool {
	return s.Status == other.Status && s.Severity == other.Severity && slices.Equal(s.Labels, other.Labels) &&
		s.Assignee == other.Assignee
}

// take takes an entry back.
func (s *State) take(e timeline.Entry) {
	switch e.Field {
	case timeline.Status:
		s.IsRegression = e.Before(s.IsRegression)
		s.Status = listing.Status(e.From)
	case timeline.Severity:
		s.Severity = e.From
	case timeline.Labels:
		s.Labels = listing.Split(e.From)
	case timeline.Assignee:
		s.Assignee = e.From
	}
}

// meets reports whether a state meets the conditions of a filter on what changes.
func (s State) meets(f finding.Filter) bool {
	has := func(values []string, value string) bool {
		return len(values) == 0 || slices.ContainsFunc(values, func(v string) bool {
			return strings.EqualFold(strings.TrimSpace(v), value)
		})
	}
	assignee := s.Assignee
	if assignee == "" {
		assignee = finding.Nobody
	}
	return has(f.Severities, s.Severity) && has(listing.Words(f.Statuses), string(s.Status)) &&
		has(f.Assignees, assignee) && (f.Regression == nil || *f.Regression == s.IsRegression) &&
		(len(f.Labels) == 0 || slices.ContainsFunc(s.Labels, func(l string) bool { return has(f.Labels, l) }))
}

// lasting is a filter without its conditions on what changes, for findings that were there at a time.
func lasting(f finding.Filter, at time.Time) finding.Filter {
	f.Severities, f.Statuses, f.Labels, f.Assignees, f.Regression = nil, nil, nil, nil, nil
	return until(f, at)
}

func until(f finding.Filter, at time.Time) finding.Filter {
	if end := at.Add(time.Microsecond); f.Until.IsZero() || end.Before(f.Until) {
		f.Until = end
	}
	return f
}

// past is the entries since a time, by finding, the latest first.
type past map[int64][]timeline.Entry

func (ms *Moments) since(ctx context.Context, q db.Querier, teamID string, at time.Time) (past, error) {
	var w db.Where
	w.And("team_id = ? AND at > ?", teamID, db.At(at))
	db.In(&w, "field", []string{timeline.Status, timeline.Severity, timeline.Labels, timeline.Assignee})
	entries, err := timeline.Read(ctx, q, w, ` ORDER BY seq DESC LIMIT ?`, maxChanged+1)
	if err == nil && len(entries) > maxChanged {
		err = errs.Field("as_of", "Since then there were more than %d changes: ask for a later time.", maxChanged)
	}
	out := past{}
	for _, e := range entries {
		out[e.No] = append(out[e.No], e)
	}
	return out, err
}

// at is the state that a finding had, as of its present one.
func (p past) at(no int64, now State, at time.Time) State {
	for _, e := range p[no] {
		if e.At.After(at) {
			now.take(e)
		}
	}
	return now
}

// List lists findings of the caller's team as they were at a time, the newest first (oldest: the oldest), and counts
// them. It fails with Invalid for a time to come, and where too much has changed since.
func (ms *Moments) List(
	ctx context.Context, f finding.Filter, at time.Time, oldest bool, w page.Window,
) (found []finding.Finding, total int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, 0, err
	}
	if at.After(ms.now()) {
		return nil, 0, errs.Field("as_of", "as_of must not be in the future.")
	}
	f = f.AsList()
	return found, total, ms.db.Snapshot(ctx, func(q db.Querier) error {
		changes, err := ms.since(ctx, q, c.TeamID, at)
		if err != nil {
			return err
		}
		numbers, err := ms.findings.Numbers(ctx, q, c.TeamID, until(f, at))
		if err != nil {
			return err
		}
		if len(changes) > 0 {
			if numbers, err = ms.with(ctx, q, c.TeamID, f, at, changes, numbers); err != nil {
				return err
			}
		}
		slices.Sort(numbers)
		if !oldest {
			slices.Reverse(numbers)
		}
		total = len(numbers)
		found, err = ms.findings.Load(ctx, q, c.TeamID, page.Cut(numbers, w))
		for i := range found {
			found[i] = asOf(found[i], changes.at(found[i].No(), stateOf(found[i]), at))
		}
		return err
	})
}

// with replaces those of the numbers that have changed by those that met the filter at a time.
func (ms *Moments) with(
	ctx context.Context, q db.Querier, teamID string, f finding.Filter, at time.Time, changes past, numbers []int64,
) ([]int64, error) {
	numbers = slices.DeleteFunc(numbers, func(no int64) bool { return changes[no] != nil })
	may, err := ms.findings.Numbers(ctx, q, teamID, lasting(f, at))
	if err != nil {
		return nil, err
	}
	may = slices.DeleteFunc(may, func(no int64) bool { return changes[no] == nil })
	states, err := ms.states(ctx, q, teamID, may)
	for _, no := range may {
		if s, is := states[no]; is && changes.at(no, s, at).meets(f) {
			numbers = append(numbers, no)
		}
	}
	return numbers, err
}

const batch = 250 // findings that one statement reads

// states reads the present states of findings.
func (ms *Moments) states(ctx context.Context, q db.Querier, teamID string, numbers []int64) (map[int64]State, error) {
	out := make(map[int64]State, len(numbers))
	for part := range slices.Chunk(numbers, batch) {
		w := db.InTeam(teamID, "no", part)
		err := db.Each(ctx, q, func(r db.Row) error {
			var no int64
			var s State
			var labels string
			err := r.Scan(&no, &s.Status, &s.IsRegression, &s.Severity, &labels, &s.Assignee)
			s.Labels = listing.Split(labels)
			out[no] = s
			return err
		}, `SELECT no, status, is_regression, severity, labels, assignee FROM finding`+w.String(), w.Args...)
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

func asOf(f finding.Finding, s State) finding.Finding {
	f.Status, f.IsRegression, f.Severity, f.Labels, f.Assignee = s.Status, s.IsRegression, s.Severity, s.Labels, s.Assignee
	return f
}
