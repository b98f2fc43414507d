package list

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// walkOrder fills a page from the service's index of an order. The rows of the first window are checked by
// their entries, which finds a page soon where many match. Then what the inverted index finds is
// enumerated into a bit set, and only those rows of the order are looked at.
func (s *search) walkOrder(ctx context.Context, p *Page, query Query) error {
	deep := query.Offset+query.Limit > limits.walkMost/4
	if s.index.exact && (s.index.text == "" || deep) {
		all, err := s.isAll(ctx)
		if err == nil && all {
			p.Numbers, err = s.window(ctx, query.Orders, query.Offset, query.Limit)
		}
		if all || err != nil {
			return err
		}
	}
	w := &walk{page: p, query: query, check: s.checkEntries}
	w.next = func(n int) (numbers []int64, more bool, err error) {
		numbers, err = s.window(ctx, query.Orders, w.passed, n)
		w.passed += n
		return numbers, len(numbers) == n, err
	}
	if s.index.text == "" {
		return w.run(ctx, false)
	}
	if !s.index.exact || !deep {
		if err := w.run(ctx, true); err != nil || w.done {
			return err
		}
	}
	var found bits
	n, err := s.enumerate(ctx, &found, 1<<32)
	if err != nil {
		return err
	}
	if s.index.exact {
		p.Total = n
	}
	w.check = func(ctx context.Context, numbers []int64) ([]int64, error) {
		numbers = slices.DeleteFunc(numbers, func(no int64) bool { return !found.has(no) })
		if s.index.exact || len(numbers) == 0 {
			return numbers, nil
		}
		return s.checkEntries(ctx, numbers)
	}
	if len(query.Orders) == 1 {
		w.next = func(n int) ([]int64, bool, error) {
			return s.stream(ctx, query.Orders[0], found.has, &w.passed, n, "TRUE")
		}
	}
	return w.run(ctx, false)
}

// walk is how far an order was read for a page.
type walk struct {
	page   *Page
	query  Query
	passed int // rows that were read
	// next reads about n numbers behind those that were read, and whether there are more.
	next  func(n int) (numbers []int64, more bool, err error)
	check func(ctx context.Context, numbers []int64) ([]int64, error) // keeps those that match
	done  bool                                                        // the page is full, or all rows were read
}

// run reads parts of the order, each larger than the one before, until the page is full; once: only one.
func (w *walk) run(ctx context.Context, once bool) error {
	p, skip := w.page, w.query.Offset
	p.Numbers, w.passed = p.Numbers[:0], 0
	for n := limits.walkMost; !w.done; n *= 8 {
		numbers, more, err := w.next(n)
		if err != nil {
			return err
		}
		w.done = !more
		for part := range slices.Chunk(numbers, max(1, limits.few/5)) {
			found, err := w.check(ctx, part)
			if err != nil {
				return err
			}
			passed := min(skip, len(found))
			skip, found = skip-passed, found[passed:]
			p.Numbers = append(p.Numbers, found[:min(len(found), w.query.Limit-len(p.Numbers))]...)
			if len(p.Numbers) == w.query.Limit {
				w.done = true
				return nil
			}
		}
		if once {
			return nil
		}
	}
	return nil
}

// stream is about n of the rows that meet a condition and that keep wants, in the order of one field, behind
// the first passed rows of that order. With the greatest value first, an index of the column and the newest
// first gives the rows of one value in the wrong order: each group is read to its end and reversed.
func (s *search) stream(ctx context.Context, o Order, keep func(no int64) bool, passed *int, n int, cond string,
	values ...any) (
	numbers []int64, more bool, err error,
) {
	where, args := s.inOrder(cond, values...)
	columns, order := s.x.number()+", 0", OrderBy(s.x.number(), []Order{o})
	if o.Desc {
		columns, order = s.x.number()+", "+o.Column, " ORDER BY "+o.Column+" DESC, "+s.x.number()
	}
	rows, err := s.q.Query(ctx, "SELECT "+columns+where+order+" LIMIT 9223372036854775807 OFFSET ?",
		append(args, *passed)...)
	if err != nil {
		return nil, false, err
	}
	defer rows.Close()
	var no int64
	var value, last any
	group := 0
	for ; rows.Next(); *passed++ {
		if err := rows.Scan(&no, &value); err != nil {
			return nil, false, err
		}
		if o.Desc && value != last {
			slices.Reverse(numbers[group:])
			group = len(numbers)
		}
		if len(numbers) >= n && group == len(numbers) {
			return numbers, true, nil
		}
		last = value
		if keep(no) {
			if numbers = append(numbers, no); !o.Desc {
				group = len(numbers)
			}
		}
	}
	slices.Reverse(numbers[group:])
	return numbers, false, rows.Err()
}

// isAll reports whether the filter, which the index answers exactly, picks all rows of the team.
func (s *search) isAll(ctx context.Context) (bool, error) {
	if s.index.text == "" {
		return true, nil
	}
	if !s.whole {
		return false, nil
	}
	all := *s
	all.exact = true
	n, _, err := all.total(ctx)
	if err != nil {
		return false, err
	}
	rows, err := s.rows(ctx)
	return n == rows, err
}

// enumerate adds the rows that the index finds to a set, at most limit, and counts them.
func (s *search) enumerate(ctx context.Context, into *bits, limit int) (n int, err error) {
	where, args := s.matches()
	rows, err := s.q.Query(ctx, "SELECT "+s.key()+where+" LIMIT ?", append(args, limit)...)
	if err != nil {
		return 0, err
	}
	defer rows.Close()
	for ; rows.Next(); n++ {
		var key int64
		if err := rows.Scan(&key); err != nil {
			return 0, err
		}
		into.add(noOf(key))
	}
	return n, rows.Err()
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
		more, _, err = s.stream(ctx, orders[0], func(int64) bool { return true }, new(int), n, between, values...)
		numbers = append(numbers, more...)
	} else {
		read(0, between, values...)
	}
	if closed && first != last {
		read(0, column+" = ?", last)
	}
	return numbers, err
}

// valueAt is the value of an order's column at a place in that order; ok: there is a row.
func (s *search) valueAt(ctx context.Context, o Order, offset int) (value any, ok bool, err error) {
	where, args := s.inOrder("TRUE")
	err = s.q.QueryRow(ctx, "SELECT "+o.Column+where+" ORDER BY "+o.Column+direction(o.Desc)+" LIMIT 1 OFFSET ?",
		append(args, offset)...).
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
