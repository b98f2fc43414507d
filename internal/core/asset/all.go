package asset

import (
	"context"
	"iter"
	"slices"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/list"
)

// All reads the assets of the caller's team that match a query, in its order and in batches, with
// their total; the query's window is ignored. Assets that arrive after the call are not read, and
// those deleted meanwhile are skipped.
func (as *Assets) All(ctx context.Context, q Query) (total int, all iter.Seq2[[]Asset, error], err error) {
	c, err := account.From(ctx)
	if err != nil {
		return 0, nil, err
	}
	numbers, err := as.Numbers(ctx, c.TeamID, q.Filter)
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
			if found, err := as.Load(ctx, c.TeamID, part); !yield(found, err) || err != nil {
				return
			}
		}
	}, nil
}

// sorted orders numbers: the database orders the whole team.
func (as *Assets) sorted(ctx context.Context, teamID string, numbers []int64, q Query) ([]int64, error) {
	slices.Sort(numbers)
	out := make([]int64, 0, len(numbers))
	for r, err := range as.db.Rows(ctx, `SELECT no FROM asset WHERE team_id = ?`+list.OrderBy("no", ordersOf(q.Sorts)),
		teamID) {
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
