package moment

import (
	"context"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
	"github.com/vedette-sec/vedette/internal/core/finding/move"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Kind is how a finding differs between two moments.
type Kind string

// The kinds. A finding has the first that holds.
const (
	Appeared  Kind = "new"       // it was not there at the first moment
	Fixed     Kind = "fixed"     // it is fixed, and was not
	Regressed Kind = "regressed" // it was fixed and came back, between the two, and is not fixed
	Reopened  Kind = "reopened"  // it was set aside or fixed, and somebody has opened it
	Changed   Kind = "changed"   // its status, severity, labels or assignee is another
)

// Kinds are all of them.
var Kinds = []Kind{Appeared, Fixed, Regressed, Reopened, Changed}

// Difference is a finding that differs between two moments.
type Difference struct {
	finding.Finding // as it was at the second moment
	Kind            Kind
	Before          State // of a new one empty
}

// Diff compares the findings of the caller's team that meet a filter at one of two moments. It gives those of some
// kinds (none: all), the newest findings first, and the number of each kind. It fails as List does, and with Invalid
// unless the first moment is before the second.
func (ms *Moments) Diff(
	ctx context.Context, f finding.Filter, from, to time.Time, kinds []Kind, w page.Window,
) (found []Difference, counts map[Kind]int, err error) {
	c, err := account.From(ctx)
	if err != nil {
		return nil, nil, err
	}
	switch {
	case !from.Before(to):
		return nil, nil, errs.Field("from", "from must be before to.")
	case to.After(ms.now()):
		return nil, nil, errs.Field("to", "to must not be in the future.")
	}
	f = f.AsList()
	counts = map[Kind]int{}
	return found, counts, ms.db.Snapshot(ctx, func(q db.Querier) error {
		changes, err := ms.since(ctx, q, c.TeamID, from)
		if err != nil {
			return err
		}
		may, err := ms.mayDiffer(ctx, q, c.TeamID, f, from, to, changes)
		if err != nil {
			return err
		}
		states, err := ms.states(ctx, q, c.TeamID, may.all)
		if err != nil {
			return err
		}
		var picked []int64
		of := map[int64]Difference{}
		for _, no := range may.all {
			d, is := compare(no, states[no], may.fresh[no], changes, f, from, to)
			if !is {
				continue
			}
			counts[d.Kind]++
			if len(kinds) == 0 || slices.Contains(kinds, d.Kind) {
				picked, of[no] = append(picked, no), d
			}
		}
		all, err := ms.findings.Load(ctx, q, c.TeamID, page.Cut(picked, w))
		for _, one := range all {
			d := of[one.No()]
			d.Finding = asOf(one, changes.at(one.No(), stateOf(one), to))
			found = append(found, d)
		}
		return err
	})
}

// candidates are findings that may differ, the newest first.
type candidates struct {
	all   []int64
	fresh map[int64]bool // they came between the two moments
}

func (ms *Moments) mayDiffer(
	ctx context.Context, q db.Querier, teamID string, f finding.Filter, from, to time.Time, changes past,
) (out candidates, err error) {
	out.fresh = map[int64]bool{}
	came := lasting(f, to)
	if since := from.Add(time.Microsecond); came.Since.Before(since) {
		came.Since = since
	}
	fresh, err := ms.findings.Numbers(ctx, q, teamID, came)
	if err != nil {
		return out, err
	}
	for _, no := range fresh {
		out.fresh[no] = true
	}
	old, err := ms.findings.Numbers(ctx, q, teamID, lasting(f, from))
	old = slices.DeleteFunc(old, func(no int64) bool { return changes[no] == nil })
	out.all = slices.Concat(fresh, old)
	slices.Sort(out.all)
	slices.Reverse(out.all)
	return out, err
}

// compare compares a finding, whose present state is now. is reports whether it differs, and meets the filter.
func compare(
	no int64, now State, fresh bool, changes past, f finding.Filter, from, to time.Time,
) (d Difference, is bool) {
	after := changes.at(no, now, to)
	if fresh {
		return Difference{Kind: Appeared}, after.meets(f)
	}
	before := changes.at(no, now, from)
	back := false
	for _, e := range changes[no] {
		back = back || e.IsRegression() && !e.At.After(to)
	}
	d.Before = before
	aside := []listing.Status{move.Fixed, move.FalsePositive, move.AcceptedRisk, move.Duplicate}
	switch {
	case after.Status == move.Fixed && before.Status != move.Fixed:
		d.Kind = Fixed
	case back && after.Status != move.Fixed:
		d.Kind = Regressed
	case slices.Contains(aside, before.Status) && !slices.Contains(aside, after.Status):
		d.Kind = Reopened
	case !before.equal(after):
		d.Kind = Changed
	default:
		return d, false
	}
	return d, before.meets(f) || after.meets(f)
}
