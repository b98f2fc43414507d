package report

import (
	"cmp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/finding"
)

// causes groups findings by what has to be mended: the template and its matcher, or the title of what no template
// found. A cause is as severe as its worst place; the worst is first, then what is still open, then the one with most
// places.
func causes(all []Finding) (out []Cause) {
	at := map[string]int{}
	for _, f := range all {
		key := f.TemplateID + "\x00" + f.Name
		if f.TemplateID == "" {
			key = f.Name
		}
		i, known := at[key]
		if !known {
			i = len(out)
			at[key] = i
			out = append(out, Cause{Finding: f})
		}
		c := &out[i]
		c.Places = append(c.Places, f)
		if before(f, c.Finding) {
			c.Finding = f
		}
	}
	for i := range out {
		slices.SortStableFunc(out[i].Places, compare)
	}
	slices.SortStableFunc(out, func(a, b Cause) int {
		return cmp.Or(rank(a.Severity)-rank(b.Severity), closed(a.Status)-closed(b.Status), len(b.Places)-len(a.Places),
			strings.Compare(a.Name, b.Name))
	})
	return out
}

func rank(severity string) int { return slices.Index(finding.Severities, severity) }

// closed is 1 for what nobody has to work on any more.
func closed(s finding.Status) int {
	switch s {
	case finding.Fixed, finding.FalsePositive, finding.Duplicate, finding.AcceptedRisk:
		return 1
	}
	return 0
}

func before(a, b Finding) bool { return compare(a, b) < 0 }

// compare orders places of a cause: the worst first, then what is open, then by place.
func compare(a, b Finding) int {
	return cmp.Or(rank(a.Severity)-rank(b.Severity), closed(a.Status)-closed(b.Status), strings.Compare(a.Place, b.Place))
}
