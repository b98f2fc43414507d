package list

import (
	"context"
	"slices"

	"github.com/vedette-sec/vedette/internal/infra/db"
)

// arrival fills a page in order of arrival.
func (s *search) arrival(ctx context.Context, p *Page, query Query) error {
	skip, want := query.Offset, query.Limit
	// the database passes over them faster
	if s.index.exact && (!s.arrays || s.index.text == "" || skip > limits.walkMost) && skip > 0 {
		hits, err := s.find(ctx, s.low, s.high, query.Oldest, want+1, skip)
		p.take(hits, want, query.Oldest)
		return err
	}
	var found []hit
	err := s.each(ctx, s.low, s.high, query.Oldest, want+1, func(hits []hit) bool {
		n := min(skip, len(hits))
		skip, found = skip-n, append(found, hits[n:]...)
		return len(found) <= want
	})
	p.take(found, want, query.Oldest)
	return err
}

// take puts the first hits on a page of an unsorted list.
func (p *Page) take(hits []hit, want int, asc bool) {
	shown := hits[:min(len(hits), want)]
	p.Numbers = numbersOf(shown)
	if len(shown) > 0 && len(hits) > want {
		if p.Next = noOf(shown[len(shown)-1].key); asc {
			p.Next++
		}
	}
}

// cursor is how far a list was read: what is left are the keys from low on and below high.
type cursor struct {
	low, high int64
	asc       bool
	width     int // rows to read at once
	step      int // entries that the next walk looks at
	looked    int // rows that were read so far
	picked    int // of these, those that met the filter
}

// each gives rows that the filter picks in the order of keys or against it, part by part,
// until take returns false.
func (s *search) each(ctx context.Context, low, high int64, asc bool, width int, take func([]hit) bool) error {
	if keys, ok := s.known(low, high); ok {
		return s.eachKnown(ctx, keys, asc, take)
	}
	c := &cursor{low: low, high: high, asc: asc, width: width, step: limits.walkFirst}
	probed := !s.arrays || s.index.text == ""
	for c.low < c.high {
		if !probed && c.step > limits.walkFirst { // PostgreSQL, once the newest rows are looked at
			probed = true
			all, ok, err := s.few(ctx, c.low, c.high)
			if err != nil {
				return err
			}
			if ok {
				if asc {
					slices.Reverse(all)
				}
				take(all)
				return nil
			}
		}
		found, err := s.next(ctx, c)
		if err != nil {
			return err
		}
		if done, err := s.pass(ctx, c, found, take); done || err != nil {
			return err
		}
	}
	return nil
}

// next reads the next rows that the index finds, and moves the cursor behind them.
func (s *search) next(ctx context.Context, c *cursor) (found []hit, err error) {
	low, high := c.low, c.high
	if s.arrays && s.index.text != "" {
		found, low, high, err = s.walk(ctx, low, high, c.asc, c.step, c.width)
		if len(found) < c.width {
			c.step *= 8
		}
	} else {
		if found, err = s.find(ctx, low, high, c.asc, c.width, 0); len(found) < c.width {
			low = high
		}
		c.width = min(4*c.width, limits.few)
	}
	if err != nil {
		return nil, err
	}
	if low == c.low && high == c.high { // there are more than were read at once
		if last := found[len(found)-1].key; c.asc {
			low = last + 1
		} else {
			high = last
		}
	}
	c.low, c.high = low, high
	return found, nil
}

// pass gives those of the found rows that the filter picks. done: take wants no more, or has
// all. Where column conditions made it look at many rows in vain, it reads all that meet them at once.
func (s *search) pass(ctx context.Context, c *cursor, found []hit, take func([]hit) bool) (done bool, err error) {
	if len(found) == 0 {
		return false, nil
	}
	c.looked += len(found)
	if found, err = s.pick(ctx, found); err != nil || !take(found) {
		return true, err
	}
	c.picked += len(found)
	if c.looked <= limits.few || c.picked > c.looked/4 || len(s.cols) == 0 {
		return false, nil
	}
	if loaded, err := s.load(ctx); err != nil || !loaded {
		return false, err
	}
	keys, _ := s.known(c.low, c.high)
	return true, s.eachKnown(ctx, keys, c.asc, take)
}

// Each gives the numbers of all rows that a filter picks, the newest first, some at a time,
// until take returns an error: for exports.
func (x *Index) Each(
	ctx context.Context, q db.Querier, team string, query Query, take func(numbers []int64) error,
) error {
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
