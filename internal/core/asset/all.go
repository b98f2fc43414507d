package asset

import (
	"context"
	"iter"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// All is how many assets of the caller's team a query picks, and all of them in its order,
// read some hundred at a time; its window says nothing. Which they are is decided once:
// what arrives meanwhile is not among them, and what is deleted meanwhile is passed over.
func (as *Assets) All(ctx context.Context, q Query) (total int, all iter.Seq2[[]Asset, error], err error) {
	c, err := account.From(ctx)
	if err != nil {
		return 0, nil, err
	}
	g, err := as.current(ctx, c.TeamID)
	if err != nil {
		return 0, nil, err
	}
	s := g.picked(q.Filter)
	total = s.count()
	numbers := g.window(s, total, q.Sorts, page.Window{Limit: total})
	g.RUnlock()
	return total, func(yield func([]Asset, error) bool) {
		for part := range slices.Chunk(numbers, batch) {
			if found, err := as.load(ctx, g, c.TeamID, part); !yield(found, err) || err != nil {
				return
			}
		}
	}, nil
}
