// Package group counts findings by what they are.
package group

import (
	"cmp"
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/core/finding/listing"
)

// Group is the findings of one name and severity.
type Group struct {
	Name, Severity string
	Count          int
}

// batch is how many findings are in memory at once.
const batch = 250

// Of counts the findings of a team that a filter picks by name and severity, the worst first.
func Of(ctx context.Context, fs *finding.Findings, teamID string, f finding.Filter) ([]Group, error) {
	picked, err := fs.Picked(ctx, nil, teamID, f, nil)
	if err != nil {
		return nil, err
	}
	counts := map[Group]int{}
	for part := range slices.Chunk(picked, batch) {
		found, err := fs.Load(ctx, nil, teamID, part)
		if err != nil {
			return nil, err
		}
		for _, one := range found {
			counts[Group{Name: one.Name, Severity: one.Severity}]++
		}
	}
	out := make([]Group, 0, len(counts))
	for g, n := range counts {
		g.Count = n
		out = append(out, g)
	}
	slices.SortFunc(out, func(a, b Group) int {
		return cmp.Or(listing.Rank(b.Severity)-listing.Rank(a.Severity), b.Count-a.Count, cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}
