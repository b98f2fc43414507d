package list

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// total counts what the filter picks; estimate: there may be more.
func (s *search) total(ctx context.Context) (n int, estimate bool, err error) {
	if s.index.text == "" && s.index.exact && s.whole {
		n, err = s.rows(ctx)
		return n, false, err
	}
	where, args := s.matches()
	most := limits.count
	if s.arrays || !s.index.exact {
		most = limits.countRows
	}
	if !s.index.exact {
		parts, _ := s.filter.(allOf)
		if len(parts) != 1 {
			return s.estimate(ctx)
		}
		known, ok := parts[0].(numbered)
		if ok && known.there {
			keys, _ := s.known(s.low, s.high)
			return len(keys), false, nil
		}
		c, ok := parts[0].(*column)
		if !ok {
			return s.estimate(ctx)
		}
		where, args = s.inOrder("("+c.cond+")", c.args...)
	}
	if s.exact {
		most = 1 << 32 // more than a team can have
	}
	count := func() error {
		return s.q.QueryRow(ctx, "SELECT count(*) FROM (SELECT 1"+where+" LIMIT ?) c", append(args, most+1)...).Scan(&n)
	}
	rows := 0
	if s.arrays && s.index.exact && !s.exact {
		if rows, err = s.rows(ctx); err != nil {
			return 0, false, err
		}
	}
	if rows > limits.countRows {
		if late, err := s.inTime(ctx, count); err != nil || late {
			n, failed := s.countNewest(ctx)
			return n, true, errors.Join(err, failed)
		}
		return min(n, most), n > most, nil
	}
	err = count()
	return min(n, most), n > most, err
}

// inTime runs a count on PostgreSQL for as long as a total may take: GIN finds all matches of a frequent value before
// the first can be counted. late: it was ended.
func (s *search) inTime(ctx context.Context, count func() error) (late bool, err error) {
	for _, text := range []string{
		"SAVEPOINT total", fmt.Sprintf("SET LOCAL statement_timeout = %d", limits.countFor.Milliseconds()),
	} {
		if _, err := s.q.Exec(ctx, text); err != nil {
			return false, err
		}
	}
	err = count()
	if late = db.IsTimeout(err); err != nil && !late {
		return false, err
	}
	_, err = s.q.Exec(ctx, "ROLLBACK TO SAVEPOINT total") // and with it the timeout
	return late, err
}

// countNewest counts what the index finds among the newest entries.
func (s *search) countNewest(ctx context.Context) (n int, err error) {
	return n, s.q.QueryRow(ctx, "SELECT count(*) FROM (SELECT tokens FROM "+s.x.Name+`_list WHERE key >= ? AND key < ?
		ORDER BY key DESC LIMIT ?) e WHERE `+s.index.text, append([]any{s.low, s.high, 10 * limits.few}, s.index.args...)...).Scan(&n)
}

// matches is FROM and WHERE of the rows that the index finds.
func (s *search) matches() (where string, args []any) {
	bounds := s.key() + " >= ? AND " + s.key() + " < ?"
	if s.arrays {
		where, args = " FROM "+s.x.Name+"_list e WHERE "+bounds, []any{s.low, s.high}
		if s.index.text != "" {
			where, args = where+" AND ("+s.index.text+")", append(args, s.index.args...)
		}
		return where, args
	}
	text := s.index.text
	if text == "" { // tokens are smaller than entries
		text = s.anyToken([]int64{token(s.team, everything, "")}).text
	}
	table := s.x.Name + "_list_token"
	return " FROM " + table + " WHERE " + table + " MATCH ? AND " + bounds, []any{text, s.low, s.high}
}

// key is the column of keys in matches.
func (s *search) key() string {
	if s.arrays {
		return "e.key"
	}
	return "rowid"
}

// estimate counts by looking at entries from the newest on, for as long as a total may take. Then
// there may be more.
func (s *search) estimate(ctx context.Context) (n int, estimate bool, err error) {
	parts, began := 0, time.Now()
	err = s.each(ctx, s.low, s.high, false, limits.few/5, func(hits []hit) bool {
		n += len(hits)
		parts++
		estimate = !s.exact && parts > 1 && time.Since(began) > limits.countFor
		return !estimate
	})
	return n, estimate, err
}

// Count is what a value of a facet is on.
type Count struct {
	Value string
	Count int
}

// Counts counts the rows that a filter picks by the values of a Searched facet, the most
// frequent first. Each value costs a count: it is meant for facets of up to some hundreds. Of
// more than most values, the first by their names are counted.
func (x *Index) Counts(
	ctx context.Context, q db.Querier, team string, f Filter, facet string, most int,
) ([]Count, error) {
	s, err := x.search(ctx, q, team, Query{})
	if err != nil || s.team == 0 {
		return []Count{}, err
	}
	values, err := s.values(ctx, facet, most)
	if err != nil {
		return nil, err
	}
	out := []Count{}
	for _, value := range values {
		one, err := x.search(ctx, q, team, Query{Filter: All(Has(facet, value), f), ExactTotal: true})
		if err != nil {
			return nil, err
		}
		n, _, err := one.total(ctx)
		if err != nil {
			return nil, err
		}
		if n > 0 {
			out = append(out, Count{value, n})
		}
	}
	slices.SortStableFunc(out, func(a, b Count) int { return b.Count - a.Count })
	return out, nil
}
