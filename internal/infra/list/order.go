package list

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// walkOrder fills a page from the service's index of an order, window by window. The rows of the first
// are checked by their entries, which finds a page soon where many match. Then, where the inverted index
// knows the answer, all matches are enumerated into a bit set, and the other windows are checked by that.
func (s *search) walkOrder(ctx context.Context, p *Page, query Query) error {
	skip, deep := query.Offset, query.Offset+query.Limit > limits.walkMost/4
	if s.index.exact && (s.index.text == "" || deep) {
		all, err := s.isAll(ctx)
		if err == nil && all {
			p.Numbers, err = s.window(ctx, query.Orders, skip, query.Limit)
		}
		if all || err != nil {
			return err
		}
	}
	check, enumerated := s.checkEntries, false
	for n, offset := limits.walkMost, 0; ; n, offset = 8*n, offset+n {
		if s.index.exact && !enumerated && (deep || offset > 0) {
			all, total, err := s.enumerate(ctx)
			if err != nil {
				return err
			}
			p.Total, enumerated = total, true
			check = func(_ context.Context, numbers []int64) ([]int64, error) {
				return slices.DeleteFunc(numbers, func(no int64) bool { return !all.has(no) }), nil
			}
		}
		numbers, err := s.window(ctx, query.Orders, offset, n)
		if err != nil {
			return err
		}
		for part := range slices.Chunk(numbers, max(1, limits.few/5)) {
			found, err := check(ctx, part)
			if err != nil {
				return err
			}
			passed := min(skip, len(found))
			skip, found = skip-passed, found[passed:]
			p.Numbers = append(p.Numbers, found[:min(len(found), query.Limit-len(p.Numbers))]...)
			if len(p.Numbers) == query.Limit {
				return nil
			}
		}
		if len(numbers) < n {
			return nil
		}
	}
}

// isAll reports whether the filter, which the index answers exactly, picks all rows of the team.
func (s *search) isAll(ctx context.Context) (bool, error) {
	if s.index.text == "" {
		return true, nil
	}
	n, estimate, err := s.total(ctx)
	if err != nil || estimate {
		return false, err
	}
	rows, err := s.rows(ctx)
	return s.whole && n == rows, err
}

// enumerate is all rows that the filter picks, which the index answers exactly, and how many.
func (s *search) enumerate(ctx context.Context) (all bits, n int, err error) {
	from, cond, args := s.matches()
	rows, err := s.q.Query(ctx, "SELECT "+s.key()+" FROM "+from+" WHERE "+cond, args...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		var key int64
		if err := rows.Scan(&key); err != nil {
			return nil, 0, err
		}
		all.add(noOf(key))
	}
	return all, n, rows.Err()
}

// window is n of the team's rows in an order, behind the first offset. An index of the first field's column
// gives them without sorting many: the rows of the window's first and last value are read by that
// value, and only those between are sorted.
func (s *search) window(ctx context.Context, orders []Order, offset, n int) (numbers []int64, err error) {
	column, behind, before := orders[0].Column, " > ?", " < ?"
	if orders[0].Desc {
		behind, before = before, behind
	}
	first, some, err := s.valueAt(ctx, orders[0], offset)
	if err != nil || !some {
		return nil, err
	}
	last, closed, err := s.valueAt(ctx, orders[0], offset+n-1)
	if err != nil {
		return nil, err
	}
	where, args := s.inOrder(column+before, first)
	passed := 0
	if offset > 0 {
		err = s.q.QueryRow(ctx, "SELECT count(*)"+where, args...).Scan(&passed)
	}
	read := func(offset int, cond string, values ...any) {
		if err != nil || len(numbers) == n {
			return
		}
		where, args := s.inOrder(cond, values...)
		rows, failed := s.q.Query(ctx, "SELECT "+s.x.number()+where+OrderBy(s.x.number(), orders)+" LIMIT ? OFFSET ?",
			append(args, n-len(numbers), offset)...)
		more, failed := db.Collect(rows, failed, func(r db.Row) (no int64, err error) { return no, r.Scan(&no) })
		numbers, err = append(numbers, more...), failed
	}
	read(offset-passed, column+" = ?", first)
	between, values := column+behind, []any{first}
	if closed {
		between, values = between+" AND "+column+before, append(values, last)
	}
	if err == nil && len(orders) == 1 && orders[0].Desc {
		var more []int64
		more, err = s.descending(ctx, column, between, values...)
		numbers = append(numbers, more...)
	} else {
		read(0, between, values...)
	}
	if closed && first != last {
		read(0, column+" = ?", last)
	}
	return numbers, err
}

// descending is the rows that meet a condition, with the greatest value of a column first. An index of the
// column and the newest first gives the rows of one value in the wrong order: each group is reversed.
func (s *search) descending(ctx context.Context, column, cond string, values ...any) (numbers []int64, err error) {
	where, args := s.inOrder(cond, values...)
	rows, err := s.q.Query(ctx, "SELECT "+s.x.number()+", "+column+where+" ORDER BY "+column+" DESC, "+s.x.number(), args...)
	var group int
	var value any
	_, err = db.Collect(rows, err, func(r db.Row) (none struct{}, err error) {
		var no int64
		last := value
		err = r.Scan(&no, &value)
		if value != last {
			slices.Reverse(numbers[group:])
			group = len(numbers)
		}
		numbers = append(numbers, no)
		return none, err
	})
	slices.Reverse(numbers[group:])
	return numbers, err
}

// valueAt is the value of an order's column at a place in that order; ok: there is a row.
func (s *search) valueAt(ctx context.Context, o Order, offset int) (value any, ok bool, err error) {
	where, args := s.inOrder("TRUE")
	err = s.q.QueryRow(ctx, "SELECT "+o.Column+where+" ORDER BY "+o.Column+direction(o.Desc)+" LIMIT 1 OFFSET ?", append(args, offset)...).
		Scan(&value)
	if db.IsNoRows(err) {
		return nil, false, nil
	}
	return value, err == nil, err
}

// inOrder is FROM and WHERE of the team's rows within the bounds of the list that meet a condition. The +
// keeps the databases from choosing the primary key instead of the index of an order.
func (s *search) inOrder(cond string, values ...any) (where string, args []any) {
	where, args = " FROM "+s.x.Table+" WHERE "+s.x.team()+" = ? AND "+cond, append([]any{s.teamID}, values...)
	if !s.whole {
		where += " AND +" + s.x.number() + " >= ? AND +" + s.x.number() + " < ?"
		args = append(args, noOf(s.low), noOf(s.high))
	}
	return where, args
}

// checkEntries keeps those numbers whose entries meet the filter.
func (s *search) checkEntries(ctx context.Context, numbers []int64) ([]int64, error) {
	keys := make([]int64, len(numbers))
	for i, no := range numbers {
		keys[i] = keyOf(s.team, no)
	}
	hits, err := s.fetch(ctx, keys)
	if err == nil {
		checked := *s
		checked.index = narrowing{} // it says nothing of these
		hits, err = checked.pick(ctx, hits)
	}
	return numbersOf(hits), err
}
