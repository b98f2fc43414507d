package moment

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/core/finding/move"
	"github.com/vedette-sec/vedette/internal/core/finding/timeline"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// A series counts what was open at the end of each period. What has not changed since the first is counted by the
// database; each of the others is taken back to the end of each period, as lists of a time before are.

// maxPoints bounds the periods of a series.
const maxPoints = 400

// open are the statuses of what nobody has fixed or set aside.
var open = []listing.Status{move.Open, move.Triaged, move.FixInProgress}

// Point is a period of a series.
type Point struct {
	From, To              time.Time
	Open                  map[string]int // by severity, at the end
	New, Fixed, Regressed int            // in the period
}

// All stands for every severity.
const All = "all"

// Fix is how long weaknesses had been there when they were fixed, in ascending order.
type Fix []time.Duration

// Within is the time within which a share (0 to 1) of them was fixed; 0 when there are none.
func (f Fix) Within(share float64) time.Duration {
	if len(f) == 0 {
		return 0
	}
	return f[min(len(f)-1, int(share*float64(len(f))))]
}

// Series is what was open, new, fixed and back in each period.
type Series struct {
	Points []Point
	Fix    map[string]Fix // by severity; All: of every severity
}

// Series counts the weaknesses of the caller's team in periods of a length that follow each other from a moment on; the
// last one ends at to. It fails with Invalid unless there are 1 to 400 periods, for a time to come, and where too much
// has changed since.
func (ms *Moments) Series(ctx context.Context, from, to time.Time, step time.Duration) (out Series, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return out, err
	}
	from, to = db.At(from).Time, db.At(to).Time
	switch {
	case to.After(ms.now()):
		return out, errs.Field("to", "to must not be in the future.")
	case !from.Before(to):
		return out, errs.Field("from", "from must be before to.")
	case to.Sub(from) > maxPoints*step:
		return out, errs.Field("from", "There are more than %d periods: take a later time, or longer ones.", maxPoints)
	}
	s := series{Moments: ms, team: c.TeamID, from: from, to: to, step: step, Series: Series{Fix: map[string]Fix{}}}
	for at := from; at.Before(to); at = at.Add(step) {
		s.Points = append(s.Points, Point{From: at, To: minTime(at.Add(step), to), Open: map[string]int{}})
	}
	if err := ms.db.Snapshot(ctx, func(q db.Querier) error { return s.count(ctx, q) }); err != nil {
		return out, err
	}
	for _, f := range s.Fix {
		slices.Sort(f)
	}
	return s.Series, nil
}

func minTime(a, b time.Time) time.Time {
	if b.Before(a) {
		return b
	}
	return a
}

// series is one that is being counted.
type series struct {
	*Moments
	Series
	team     string
	from, to time.Time
	step     time.Duration
}

// period is the period of a time; before the first it is negative.
func (s *series) period(at time.Time) int {
	if at.Before(s.from) {
		return -1
	}
	return int(at.Sub(s.from) / s.step)
}

func (s *series) count(ctx context.Context, q db.Querier) error {
	changes, err := s.since(ctx, q, s.team, s.from)
	if err != nil {
		return err
	}
	if err := s.standing(ctx, q); err != nil {
		return err
	}
	numbers := make([]int64, 0, len(changes))
	for no := range changes {
		numbers = append(numbers, no)
	}
	slices.Sort(numbers)
	for part := range slices.Chunk(numbers, batch) {
		w := db.InTeam(s.team, "no", part)
		err := db.Each(ctx, q, func(r db.Row) error {
			var no int64
			var now State
			var created db.Time
			if err := r.Scan(&no, &now.Status, &now.IsRegression, &now.Severity, &created); err != nil {
				return err
			}
			s.change(no, now, created.Time, changes)
			return nil
		}, `SELECT no, status, is_regression, severity, created_at FROM finding`+w.String()+` AND NOT is_repeat`, w.Args...)
		if err != nil {
			return err
		}
	}
	return nil
}

// standing counts all weaknesses as if they had been what they are now since they came.
func (s *series) standing(ctx context.Context, q db.Querier) error {
	first, step := db.At(s.from), s.step.Microseconds()
	return db.Each(ctx, q, func(r db.Row) error {
		var severity string
		var status listing.Status
		var period, n int
		if err := r.Scan(&severity, &status, &period, &n); err != nil {
			return err
		}
		if period >= len(s.Points) {
			return nil // after the last
		}
		if period >= 0 {
			s.Points[period].New += n
		}
		if slices.Contains(open, status) {
			s.add(max(period, 0), severity, n)
		}
		return nil
	}, `SELECT severity, status, CASE WHEN created_at < ? THEN -1 ELSE (created_at - ?) / ? END AS period, count(*)
		FROM finding WHERE team_id = ? AND NOT is_repeat AND created_at < ? GROUP BY severity, status, period`,
		first, first, step, s.team, db.At(s.to))
}

// add counts open ones from a period on.
func (s *series) add(period int, severity string, n int) {
	for i := period; i < len(s.Points); i++ {
		s.Points[i].Open[severity] += n
	}
}

// change counts a weakness as it was at the end of each period, instead of as it is now.
func (s *series) change(no int64, now State, created time.Time, changes past) {
	if !created.Before(s.to) {
		return
	}
	came := max(s.period(created), 0)
	if slices.Contains(open, now.Status) {
		s.add(came, now.Severity, -1)
	}
	for i := came; i < len(s.Points); i++ {
		if then := changes.at(no, now, s.Points[i].To.Add(-time.Microsecond)); slices.Contains(open, then.Status) {
			s.Points[i].Open[then.Severity]++
		}
	}
	for _, e := range changes[no] {
		at := s.period(e.At.Time)
		if e.Field != timeline.Status || e.Undone || at < 0 || !e.At.Before(s.to) {
			continue
		}
		switch {
		case listing.Status(e.To) == move.Fixed:
			s.Points[at].Fixed++
			for _, of := range []string{now.Severity, All} {
				s.Fix[of] = append(s.Fix[of], e.At.Sub(created))
			}
		case e.IsRegression():
			s.Points[at].Regressed++
		}
	}
}
