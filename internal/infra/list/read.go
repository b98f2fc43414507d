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
	whole     bool  // the query named no bounds of them
	exact     bool  // totals are counted to the end
}

// tokens is a filter of which the index knows all tokens.
type tokens struct {
	Filter
	list []int64
}

func (x *Index) search(ctx context.Context, q db.Querier, team string, query Query) (*search, error) {
	s := &search{x: x, q: q, arrays: q.Dialect().HasArrays(), teamID: team, exact: query.ExactTotal}
	var err error
	if s.team, err = teamNo(ctx, q, team); err != nil || s.team == 0 {
		return s, err
	}
	s.low, s.high = keyOf(s.team, max(query.From, 0)), keyOf(s.team+1, 0)
	s.whole = query.From <= 0 && query.Before <= 0
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
		if len(list) > limits.together {
			return s.gather(ctx, f, list)
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

// numbered is a filter of which the numbers of all rows that meet it are known.
type numbered struct {
	nos   bits
	there bool // the numbers were read: no row is missing
}

func (f numbered) holds(no int64, _ string) bool { return f.nos.has(no) }

// gather fetches the rows that have one of many tokens, some tokens at a time: a look at each
// of a thousand for every row would cost more. Where they are many, the filter stays as it is:
// a page is soon full.
func (s *search) gather(ctx context.Context, f matching, list []int64) (Filter, error) {
	var nos bits
	n := 0
	for part := range slices.Chunk(list, limits.together) {
		one := *s
		one.index = s.anyToken(part)
		more, err := one.enumerate(ctx, &nos, limits.known+1-n)
		if err != nil {
			return nil, err
		}
		if n += more; n > limits.known {
			return f, nil
		}
	}
	return numbered{nos, true}, nil
}

// probe fetches the rows that meet a column condition, if they are not too many.
func (s *search) probe(ctx context.Context, f *column) (Filter, error) {
	nos, n, err := s.meeting(ctx, f, limits.known+1)
	if err != nil || n > limits.known {
		return f, err
	}
	return numbered{nos, true}, nil
}

// meeting is the rows that meet a column condition, up to most, and how many.
func (s *search) meeting(ctx context.Context, f *column, most int) (nos bits, n int, err error) {
	text := "SELECT " + s.x.number() + " FROM " + s.x.Table + " WHERE " + s.x.team() + " = ? AND (" + f.cond + ")"
	args := append([]any{s.teamID}, f.args...)
	if most > 0 {
		text, args = text+" LIMIT ?", append(args, most)
	}
	rows, err := s.q.Query(ctx, text, args...)
	if err != nil {
		return nil, 0, err
	}
	defer rows.Close()
	for rows.Next() {
		var no int64
		if err := rows.Scan(&no); err != nil {
			return nil, 0, err
		}
		nos.add(no)
		n++
	}
	return nos, n, rows.Err()
}

// load fetches all rows that meet the column conditions which a filter demands: after a page
// was not soon full, there are few where it was looked.
func (s *search) load(ctx context.Context) (loaded bool, err error) {
	parts, _ := s.filter.(allOf)
	parts = slices.Clone(parts)
	for i, part := range parts {
		if c, ok := part.(*column); ok {
			nos, _, err := s.meeting(ctx, c, 0)
			if err != nil {
				return false, err
			}
			parts[i], loaded = numbered{nos, true}, true
		}
	}
	if loaded {
		s.filter, s.cols = parts, columns(parts)
	}
	return loaded, nil
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
		// As a subquery for each number, the condition cannot make the database walk an index of its own.
		from, arg := "unnest(?::bigint[]) AS n (value)", any(numbers)
		if !s.arrays {
			from, arg = "json_each(?) n", jsonOf(numbers)
		}
		rows, err := s.q.Query(ctx, "SELECT n.value FROM "+from+" WHERE EXISTS (SELECT 1 FROM "+s.x.Table+" WHERE "+
			s.x.team()+" = ? AND "+
			s.x.number()+" = n.value AND ("+c.cond+"))", append([]any{arg, s.teamID}, c.args...)...)
		c.nos = nil
		if _, err = db.Collect(rows, err, func(r db.Row) (no int64, err error) {
			err = r.Scan(&no)
			if err == nil {
				c.nos.add(no)
			}
			return no, err
		}); err != nil {
			return nil, err
		}
	}
	return slices.DeleteFunc(hits, func(h hit) bool { return !s.filter.holds(noOf(h.key), h.entry) }), nil
}

// entries are those of keys that contain all of some texts.
func (x *Index) entries(ctx context.Context, q db.Querier, keys []int64, texts ...string) (map[int64]string, error) {
	cond, arg := among("key", q, keys)
	args := []any{arg}
	for _, text := range texts {
		cond, args = cond+" AND "+q.Dialect().Position("entry")+" > 0", append(args, text)
	}
	rows, err := q.Query(ctx, `SELECT key, entry FROM `+x.Name+`_list WHERE `+cond, args...)
	out := make(map[int64]string, len(keys))
	_, err = db.Collect(rows, err, func(r db.Row) (h hit, err error) {
		err = r.Scan(&h.key, &h.entry)
		out[h.key] = h.entry
		return h, err
	})
	return out, err
}

// fetch is keys with their entries, in the order of the keys: without those that are not there, or that
// lack a text that the filter asks for.
func (s *search) fetch(ctx context.Context, keys []int64) (found []hit, err error) {
	var texts []string
	parts, _ := s.filter.(allOf)
	for _, part := range parts {
		if m, ok := part.(matching); ok && m.part != "" {
			texts = append(texts, m.part)
		}
	}
	entries, err := s.x.entries(ctx, s.q, keys, texts...)
	for _, key := range keys {
		if entry, there := entries[key]; there {
			found = append(found, hit{key, entry})
		}
	}
	return found, err
}

// rows is how many rows the team has.
func (s *search) rows(ctx context.Context) (n int, err error) {
	return n, s.q.QueryRow(ctx, `SELECT coalesce(max(total), 0) FROM `+s.x.Name+`_list_total WHERE team = ?`,
		s.team).Scan(&n)
}

// few is all rows that the filter picks in a range of keys, the newest first, if the index
// finds few; ok is false where it finds more.
func (s *search) few(ctx context.Context, low, high int64) (all []hit, ok bool, err error) {
	if keys, ok := s.known(low, high); ok && len(keys) <= limits.few {
		slices.Reverse(keys)
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

// known is the keys that a condition of the filter leaves, in order; ok: there is such a
// condition.
func (s *search) known(low, high int64) (keys []int64, ok bool) {
	parts, _ := s.filter.(allOf)
	for _, part := range parts {
		n, is := part.(numbered)
		if !is {
			continue
		}
		base := keyOf(s.team, 0)
		its := n.nos.between(low-base, high-base)
		if !ok || len(its) < len(keys) {
			keys, ok = its, true
		}
	}
	for i, no := range keys {
		keys[i] = keyOf(s.team, no)
	}
	return keys, ok
}

// eachKnown is each of rows with known keys.
func (s *search) eachKnown(ctx context.Context, keys []int64, asc bool, take func([]hit) bool) error {
	if !asc {
		slices.Reverse(keys)
	}
	for part := range slices.Chunk(keys, max(1, limits.few/5)) {
		hits, err := s.fetch(ctx, part)
		if err == nil {
			hits, err = s.pick(ctx, hits)
		}
		if err != nil || !take(hits) {
			return err
		}
	}
	return nil
}

// values are the distinct values of a facet, sorted, at most so many.
func (s *search) values(ctx context.Context, facet string, most int) ([]string, error) {
	rows, err := s.q.Query(ctx, "SELECT value FROM "+s.x.Name+"_list_value WHERE team = ? AND facet = ? LIMIT ?", s.team,
		facet, most)
	values, err := db.Collect(rows, err, func(r db.Row) (v string, err error) { return v, r.Scan(&v) })
	slices.SortFunc(values, strings.Compare)
	return values, err
}
