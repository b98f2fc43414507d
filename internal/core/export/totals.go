package export

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/core/finding"
)

type totals struct {
	all         int
	bySeverity  map[string]int
	byStatus    map[finding.Status]int
	byHost      tally
	byTemplate  tally
	byDay       map[int64]int // days since 1970, in UTC
	regressions int
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

type seen struct {
	id string
	at time.Time
}

// count counts all findings, and returns the ids of those that a report describes: the worst, and of one severity the
// newest.
func (t *totals) count(ctx context.Context, all *finding.Selection) (worst []string, err error) {
	*t = totals{
		bySeverity: map[string]int{}, byStatus: map[finding.Status]int{}, byHost: tally{}, byTemplate: tally{},
		byDay: map[int64]int{},
	}
	bySeverity := map[string][]seen{}
	newest := func(list []seen) []seen {
		slices.SortFunc(list, func(a, b seen) int { return cmp.Or(b.at.Compare(a.at), strings.Compare(a.id, b.id)) })
		return list[:min(len(list), maxSections)]
	}
	err = all.Brief().Encode(ctx, func(dst []byte, d *finding.Document) ([]byte, error) {
		name := clip(cmp.Or(d.Info("name").Text, d.TemplateID), 300)
		t.all++
		t.bySeverity[d.Severity]++
		t.byStatus[d.Status]++
		t.byHost.add(d.Host)
		t.byTemplate.add(name)
		t.byDay[d.CreatedAt.Unix()/86400]++
		if d.IsRegression {
			t.regressions++
		}
		bySeverity[d.Severity] = append(bySeverity[d.Severity], seen{d.ID, d.CreatedAt})
		if len(bySeverity[d.Severity]) >= 2*maxSections {
			bySeverity[d.Severity] = newest(bySeverity[d.Severity])
		}
		return dst, nil
	}, nil)
	for _, severity := range finding.Severities {
		for _, s := range newest(bySeverity[severity]) {
			if len(worst) < maxSections {
				worst = append(worst, s.id)
			}
		}
	}
	return worst, err
}

// bucket is a period and the number of findings that were first seen in it.
type bucket struct {
	label string
	n     int
}

const maxBuckets = 31

// trend counts findings by the time when they were first seen: by day, week or month, the first that needs few bars.
func (t *totals) trend() (unit string, out []bucket) {
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
		out = append(out, bucket{b.Format(format), at[b]})
	}
	return unit, out[max(0, len(out)-maxBuckets):]
}
