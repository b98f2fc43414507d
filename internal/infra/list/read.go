package list

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// search is one list that is being answered.
type search struct {
	x         *Index
	q         db.Querier
	arrays    bool
	team      int64
	teamID    string
	filter    Filter
	cols      []*column
	index     narrowing
	low, high int64 // keys
}

// tokens is a filter of which the index knows all tokens.
type tokens struct {
	Filter
	list []int64
}

func (x *Index) search(ctx context.Context, q db.Querier, team string, query Query) (*search, error) {
	s := &search{x: x, q: q, arrays: q.Speaks().HasArrays(), teamID: team}
	var err error
	if s.team, err = teamNo(ctx, q, team); err != nil || s.team == 0 {
		return s, err
	}
	s.low, s.high = keyOf(s.team, max(query.From, 0)), keyOf(s.team+1, 0)
	if query.Before > 0 && query.Before < 1<<32 {
		s.high = keyOf(s.team, query.Before)
	}
	if s.filter, err = s.resolve(ctx, All(query.Filter)); err != nil {
		return s, err
	}
	s.cols = columns(s.filter)
	s.index = s.narrow(s.filter)
	return s, nil
}

// resolve is a filter with tokens for values, and with conditions of its own.
func (s *search) resolve(ctx context.Context, f Filter) (Filter, error) {
	switch f := f.(type) {
	case allOf:
		return resolved(ctx, s, f)
	case anyOf:
		all, err := resolved(ctx, s, allOf(f))
		return anyOf(all), err
	case notOf:
		inner, err := s.resolve(ctx, f.Filter)
		return notOf{inner}, err
	case has:
		list := make([]int64, len(f.values))
		for i, value := range f.values {
			list[i] = token(s.team, f.facet, value)
		}
		return tokens{f, list}, nil
	case matching:
		list, ok, err := s.valuesWith(ctx, f)
		if err != nil || !ok {
			return f, err
		}
		return tokens{f, list}, nil
	case *column:
		return s.probe(ctx, &column{cond: f.cond, args: f.args})
	}
	return f, nil
}

func resolved(ctx context.Context, s *search, f allOf) (out allOf, err error) {
	out = make(allOf, len(f))
	for i, one := range f {
		if out[i], err = s.resolve(ctx, one); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// numbered is a filter that a few rows meet, whose numbers are known.
type numbered struct{ *column }

// probe fetches the rows that meet a column condition, if they are few.
func (s *search) probe(ctx context.Context, f *column) (Filter, error) {
	rows, err := s.q.Query(ctx, "SELECT "+s.x.number()+" FROM "+s.x.Table+" WHERE "+s.x.team()+" = ? AND ("+f.cond+") LIMIT ?",
		append(append([]any{s.teamID}, f.args...), limits.few+1)...)
	found, err := db.Collect(rows, err, func(r db.Row) (no int64, err error) { return no, r.Scan(&no) })
	if err != nil || len(found) > limits.few {
		return f, err
	}
	f.nos = map[int64]bool{}
	for _, no := range found {
		f.nos[no] = true
	}
	return numbered{f}, nil
}

// pick keeps the hits that meet the filter, where the index does not know that.
func (s *search) pick(ctx context.Context, hits []hit) ([]hit, error) {
	if s.index.exact || len(hits) == 0 {
		return hits, nil
	}
	for _, c := range s.cols {
		numbers := make([]int64, len(hits))
		for i, h := range hits {
			numbers[i] = noOf(h.key)
		}
		cond, arg := among(s.x.number(), s.q, numbers)
		rows, err := s.q.Query(ctx, "SELECT "+s.x.number()+" FROM "+s.x.Table+" WHERE "+s.x.team()+" = ? AND "+cond+" AND ("+c.cond+")",
			append([]any{s.teamID, arg}, c.args...)...)
		c.nos = map[int64]bool{}
		if _, err = db.Collect(rows, err, func(r db.Row) (no int64, err error) {
			err = r.Scan(&no)
			c.nos[no] = true
			return no, err
		}); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(hits, func(h hit) bool { return !s.filter.holds(noOf(h.key), h.entry) }), nil
}

// entries are those of keys.
func (x *Index) entries(ctx context.Context, q db.Querier, keys []int64) (map[int64]string, error) {
	cond, arg := among("key", q, keys)
	rows, err := q.Query(ctx, `SELECT key, entry FROM `+x.Name+`_list WHERE `+cond, arg)
	out := make(map[int64]string, len(keys))
	_, err = db.Collect(rows, err, func(r db.Row) (h hit, err error) {
		err = r.Scan(&h.key, &h.entry)
		out[h.key] = h.entry
		return h, err
	})
	return out, err
}

// fetch is keys with their entries, in the order of the keys. One that is not there is left out.
func (s *search) fetch(ctx context.Context, keys []int64) (found []hit, err error) {
	entries, err := s.x.entries(ctx, s.q, keys)
	for _, key := range keys {
		if entry, there := entries[key]; there {
			found = append(found, hit{key, entry})
		}
	}
	return found, err
}

// rows is how many rows the team has.
func (s *search) rows(ctx context.Context) (n int, err error) {
	return n, s.q.QueryRow(ctx, `SELECT coalesce(max(total), 0) FROM `+s.x.Name+`_list_total WHERE team = ?`, s.team).Scan(&n)
}

// few is all rows that the filter picks in a range of keys, the newest first, if the index
// finds few; ok is false where it finds more.
func (s *search) few(ctx context.Context, low, high int64) (all []hit, ok bool, err error) {
	if keys := s.known(low, high); keys != nil {
		if all, err = s.fetch(ctx, keys); err == nil {
			all, err = s.pick(ctx, all)
		}
		return all, true, err
	}
	if s.index.text == "" { // it says nothing, and how many there are is known
		if n, err := s.rows(ctx); err != nil || n > limits.few {
			return nil, false, err
		}
	}
	all, err = s.some(ctx, low, high, limits.few+1)
	if err != nil || len(all) > limits.few {
		return nil, false, err
	}
	slices.SortFunc(all, func(a, b hit) int { return int(min(max(b.key-a.key, -1), 1)) })
	all, err = s.pick(ctx, all)
	return all, true, err
}

// known is the keys that a condition of the filter leaves, where one leaves few; nil: none does.
func (s *search) known(low, high int64) []int64 {
	parts, _ := s.filter.(allOf)
	for _, part := range parts {
		if n, ok := part.(numbered); ok {
			keys := []int64{}
			for no := range n.nos {
				if key := keyOf(s.team, no); key >= low && key < high {
					keys = append(keys, key)
				}
			}
			slices.Sort(keys)
			slices.Reverse(keys)
			return keys
		}
	}
	return nil
}

// each gives rows that the filter picks in the order of keys or against it, part by part,
// until take returns false.
func (s *search) each(ctx context.Context, low, high int64, asc bool, width int, take func([]hit) bool) error {
	give := func(hits []hit) bool {
		if asc {
			slices.Reverse(hits)
		}
		return take(hits)
	}
	if s.known(low, high) != nil {
		all, _, err := s.few(ctx, low, high)
		if err == nil {
			give(all)
		}
		return err
	}
	probed := !s.arrays || s.index.text == ""
	for step := limits.walkFirst; low < high; {
		var found []hit
		var err error
		l, h := low, high
		switch {
		case !probed && step > limits.walkFirst: // PostgreSQL, once the newest rows are looked at
			probed = true
			all, ok, err := s.few(ctx, low, high)
			if err == nil && ok {
				give(all)
			}
			if err != nil || ok {
				return err
			}
			continue
		case s.arrays && s.index.text != "":
			found, l, h, err = s.walk(ctx, low, high, asc, step, width)
			if step *= 8; len(found) == width {
				step /= 8
			}
		default:
			if found, err = s.find(ctx, low, high, asc, width, 0); len(found) < width {
				l = high
			}
			width = min(4*width, limits.few)
		}
		if err != nil {
			return err
		}
		if l == low && h == high { // it was cut at width
			if last := found[len(found)-1].key; asc {
				l = last + 1
			} else {
				h = last
			}
		}
		if low, high = l, h; len(found) == 0 {
			continue
		}
		if found, err = s.pick(ctx, found); err != nil || !take(found) {
			return err
		}
	}
	return nil
}

// Each gives the numbers of all rows that a filter picks, the newest first, some at a time,
// until take returns an error: for exports.
func (x *Index) Each(ctx context.Context, q db.Querier, team string, query Query, take func(numbers []int64) error) error {
	s, err := x.search(ctx, q, team, query)
	if err != nil || s.team == 0 {
		return err
	}
	var failed error
	err = s.each(ctx, s.low, s.high, query.Oldest, limits.few, func(hits []hit) bool {
		if len(hits) > 0 {
			failed = take(numbersOf(hits))
		}
		return failed == nil
	})
	if failed != nil {
		return failed
	}
	return err
}

func numbersOf(hits []hit) []int64 {
	out := make([]int64, len(hits))
	for i, h := range hits {
		out[i] = noOf(h.key)
	}
	return out
}

// total counts what the filter picks; estimate: there may be more or fewer.
func (s *search) total(ctx context.Context) (n int, estimate bool, err error) {
	if s.index.text == "" && s.index.exact && s.low == keyOf(s.team, 0) && s.high == keyOf(s.team+1, 0) {
		n, err = s.rows(ctx)
		return n, false, err
	}
	if !s.index.exact {
		return s.estimate(ctx)
	}
	from, cond, args := s.x.Name+"_list e", "e.key >= ? AND e.key < ?", []any{s.low, s.high}
	switch {
	case s.index.text == "":
	case s.arrays:
		cond += " AND (" + s.index.text + ")"
		args = append(args, s.index.args...)
	default:
		from = s.x.Name + "_list_token"
		cond = from + " MATCH ? AND rowid >= ? AND rowid < ?"
		args = []any{s.index.text, s.low, s.high}
	}
	err = s.q.QueryRow(ctx, "SELECT count(*) FROM (SELECT 1 FROM "+from+" WHERE "+cond+" LIMIT ?) c", append(args, limits.count+1)...).Scan(&n)
	return min(n, limits.count), n > limits.count, err
}

// estimate counts by looking at entries, the newest few; of the rest it says nothing.
func (s *search) estimate(ctx context.Context) (n int, estimate bool, err error) {
	parts := 0
	err = s.each(ctx, s.low, s.high, false, limits.few, func(hits []hit) bool {
		n += len(hits)
		parts++
		estimate = parts == 4
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
func (x *Index) Counts(ctx context.Context, q db.Querier, team string, f Filter, facet string, most int) ([]Count, error) {
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
		one, err := x.search(ctx, q, team, Query{Filter: All(Has(facet, value), f)})
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

// values are the distinct values of a facet, sorted, at most so many.
func (s *search) values(ctx context.Context, facet string, most int) ([]string, error) {
	rows, err := s.q.Query(ctx, "SELECT value FROM "+s.x.Name+"_list_value WHERE team = ? AND facet = ? LIMIT ?", s.team, facet, most)
	values, err := db.Collect(rows, err, func(r db.Row) (v string, err error) { return v, r.Scan(&v) })
	slices.SortFunc(values, strings.Compare)
	return values, err
}
