package asset

import (
	"context"
	"iter"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/core/account"
)

// All is how many assets of the caller's team a query picks, and all of them in its order,
// read some hundred at a time; its window says nothing. Which they are is decided once:
// what arrives meanwhile is not among them, and what is deleted meanwhile is passed over.
func (as *Assets) All(ctx context.Context, q Query) (total int, all iter.Seq2[[]Asset, error], err error) {
	c, err := account.From(ctx)
	if err != nil {
		return 0, nil, err
	}
	numbers, err := as.numbers(ctx, c.TeamID, q.Filter)
	if err != nil {
		return 0, nil, err
	}
	if len(q.Sorts) > 0 {
		if numbers, err = as.sorted(ctx, c.TeamID, numbers, q); err != nil {
			return 0, nil, err
		}
	}
	return len(numbers), func(yield func([]Asset, error) bool) {
		for part := range slices.Chunk(numbers, batch) {
			if found, err := as.load(ctx, c.TeamID, part); !yield(found, err) || err != nil {
				return
			}
		}
	}, nil
}

// sorted is numbers, the newest first, in the order of a query: the database orders the whole team.
func (as *Assets) sorted(ctx context.Context, teamID string, numbers []int64, q Query) ([]int64, error) {
	var order strings.Builder
	for _, o := range ordersOf(q.Sorts) {
		order.WriteString(o.Column)
		if o.Desc {
			order.WriteString(" DESC")
		}
		order.WriteString(", ")
	}
	slices.Sort(numbers)
	out := make([]int64, 0, len(numbers))
	for r, err := range as.db.Rows(ctx, `SELECT no FROM asset WHERE team_id = ? ORDER BY `+order.String()+`no DESC`, teamID) {
		var no int64
		if err == nil {
			err = r.Scan(&no)
		}
		if err != nil {
			return nil, err
		}
		if _, picked := slices.BinarySearch(numbers, no); picked {
			out = append(out, no)
		}
	}
	return out, nil
}
