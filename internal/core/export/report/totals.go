package report

import (
	"cmp"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
)

// Totals count all findings of a report, also those that it does not describe.
type Totals struct {
	All         int
	BySeverity  map[string]int
	ByStatus    map[finding.Status]int
	Regressions int

	byHost     tally
	byTemplate tally
	byDay      map[int64]int // days since 1970, in UTC
}

// maxDistinct bounds how many hosts and templates are counted one by one.
const maxDistinct = 20_000

// tally counts by name. New names are ignored when it is full.
type tally map[string]int

func (t tally) add(name string) {
	if _, known := t[name]; known || len(t) < maxDistinct {
		t[name]++
	}
}

// most gives the n names with the highest counts.
func (t tally) most(n int) []string {
	names := slices.SortedFunc(maps.Keys(t), func(a, b string) int { return cmp.Or(t[b]-t[a], strings.Compare(a, b)) })
	return names[:min(n, len(names))]
}

// Add counts a finding of a host, by its name.
func (t *Totals) Add(name, host, severity string, status finding.Status, regression bool, seen time.Time) {
	if t.BySeverity == nil {
		t.BySeverity, t.ByStatus, t.byHost, t.byTemplate, t.byDay = map[string]int{}, map[finding.Status]int{}, tally{},
			tally{},
			map[int64]int{}
	}
	t.All++
	t.BySeverity[severity]++
	t.ByStatus[status]++
	t.byHost.add(cmp.Or(host, "(no host)"))
	t.byTemplate.add(name)
	t.byDay[seen.Unix()/86400]++
	if regression {
		t.Regressions++
	}
}

// worst is the worst severity; none if there is nothing.
func (t *Totals) worst() string {
	for _, severity := range finding.Severities {
		if t.BySeverity[severity] > 0 {
			return severity
		}
	}
	return "none"
}

// atLeast is the number of names in a tally.
func atLeast(n int) string {
	if n >= maxDistinct {
		return "more than " + Thousands(maxDistinct)
	}
	return Thousands(n)
}

func hosts(n int) string {
	if n == 1 {
		return "1 host"
	}
	return atLeast(n) + " hosts"
}

const maxBuckets = 31

// trend counts findings by the time when they were first seen: by day, week or month, the first that needs few bars.
func (t *Totals) trend() (unit string, out []Bar) {
	if len(t.byDay) == 0 {
		return "day", nil
	}
	days := slices.Sorted(maps.Keys(t.byDay))
	first, last := days[0], days[len(days)-1]
	date := func(day int64) time.Time { return time.Unix(day*86400, 0).UTC() }
	begin := func(day int64) time.Time { return date(day) }
	next := func(at time.Time) time.Time { return at.AddDate(0, 0, 1) }
	unit, format := "day", "2 Jan"
	switch span := last - first; {
	case span >= 7*maxBuckets:
		unit, format = "month", "Jan 06"
		begin = func(day int64) time.Time { at := date(day); return at.AddDate(0, 0, 1-at.Day()) }
		next = func(at time.Time) time.Time { return at.AddDate(0, 1, 0) }
	case span >= maxBuckets:
		unit = "week"
		begin = func(day int64) time.Time { at := date(day); return at.AddDate(0, 0, -int(at.Weekday()+6)%7) }
		next = func(at time.Time) time.Time { return at.AddDate(0, 0, 7) }
	}
	at := map[time.Time]int{}
	for _, day := range days {
		at[begin(day)] += t.byDay[day]
	}
	for b := begin(first); !b.After(date(last)); b = next(b) {
		out = append(out, Bar{Name: b.Format(format), N: at[b]})
	}
	return unit, out[max(0, len(out)-maxBuckets):]
}
