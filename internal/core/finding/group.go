package finding

import (
	"cmp"
	"context"
	"slices"
)

// Group is the findings of one name and severity.
type Group struct {
	Name, Severity string
	Count          int
}

// GroupsSince counts the findings of a team that a filter picks by name and severity, the worst first.
func (fs *Findings) GroupsSince(ctx context.Context, teamID string, f Filter) ([]Group, error) {
	picked, err := fs.pick(ctx, fs.db, teamID, f)
	if err != nil {
		return nil, err
	}
	counts := map[Group]int{}
	for part := range slices.Chunk(picked, batch) { // so that one batch is in memory
		found, err := fs.load(ctx, fs.db, teamID, part)
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
		return cmp.Or(rank(b.Severity)-rank(a.Severity), b.Count-a.Count, cmp.Compare(a.Name, b.Name))
	})
	return out, nil
}
