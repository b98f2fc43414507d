package list

import (
	mathbits "math/bits"
	"strings"
)

// Filter is a condition on the values of a row's facets. The nil Filter holds for all rows.
type Filter interface {
	// holds reports whether an entry, as entryOf makes it, meets the condition.
	holds(no int64, entry string) bool
}

type (
	allOf []Filter
	anyOf []Filter
	notOf struct{ Filter }
	has   struct {
		facet  string
		values []string
		lines  []string // of an entry: facet, value
	}
	// matching is a condition that needs a look at values.
	matching struct {
		facets []string
		part   string // every value that matches contains it
		match  func(value string) bool
	}
	// column is a condition in SQL on the service's own table.
	column struct {
		cond string
		args []any
		nos  bits // that meet it, among those that are looked at
	}
)

// All holds where every filter holds. Nil filters say nothing.
func All(filters ...Filter) Filter {
	out := allOf{}
	for _, f := range filters {
		if f == nil {
			continue
		}
		if inner, ok := f.(allOf); ok {
			out = append(out, inner...)
		} else {
			out = append(out, f)
		}
	}
	return out
}

// Any holds where one of the filters holds; without filters nowhere.
func Any(filters ...Filter) Filter { return anyOf(filters) }

// Not holds where f does not.
func Not(f Filter) Filter { return notOf{All(f)} }

// Has holds for rows that have one of the values in a facet. Without values it holds nowhere.
func Has(facet string, values ...string) Filter {
	h := has{facet: facet}
	for _, value := range values {
		value = clean(value)
		h.values, h.lines = append(h.values, value), append(h.lines, line(facet, value))
	}
	return h
}

// Contains holds for rows of which a value, in one of the facets, contains text. The facets
// are Searched ones.
func Contains(text string, facets ...string) Filter {
	return matching{facets, text, func(value string) bool { return strings.Contains(value, text) }}
}

// Match holds for rows of which a value of a Searched facet satisfies match: wildcards,
// networks, ranges of numbers. part is a text that every such value contains; empty: none is
// known, and all distinct values are looked at.
func Match(facet, part string, match func(value string) bool) Filter {
	return matching{[]string{facet}, part, match}
}

// Column holds for rows of the service's table that meet an SQL condition on its columns,
// such as "seen_at < ?". It is fast where an index on (team, column) supports it and few rows
// meet it, or where so many do that a page is soon full.
func Column(cond string, args ...any) Filter { return &column{cond: cond, args: args} }

// Meets reports whether a row meets a filter, without a database: what Page would say of it if it
// were in the index. A filter with a Column holds for no row here.
func (r Row) Meets(f Filter) bool { return f == nil || f.holds(r.No, textOf(r)) }

// Numbers holds for the rows with these numbers.
func Numbers(numbers ...int64) Filter {
	var nos bits
	for _, no := range numbers {
		nos.add(no)
	}
	return numbered{nos: nos}
}

func (f allOf) holds(no int64, entry string) bool {
	for _, one := range f {
		if !one.holds(no, entry) {
			return false
		}
	}
	return true
}

func (f anyOf) holds(no int64, entry string) bool {
	for _, one := range f {
		if one.holds(no, entry) {
			return true
		}
	}
	return false
}

func (f notOf) holds(no int64, entry string) bool { return !f.Filter.holds(no, entry) }

func (f has) holds(_ int64, entry string) bool {
	for _, line := range f.lines {
		if strings.Contains(entry, line) {
			return true
		}
	}
	return false
}

func (f matching) holds(_ int64, entry string) bool {
	for _, facet := range f.facets {
		for rest := entry; ; {
			_, after, found := strings.Cut(rest, "\n"+facet+"=")
			if !found {
				break
			}
			value, _, _ := strings.Cut(after, "\n")
			if f.match(value) {
				return true
			}
			rest = after
		}
	}
	return false
}

func (f *column) holds(no int64, _ string) bool { return f.nos.has(no) }

// bits is a set of numbers, a bit for each.
type bits []uint64

func (b *bits) add(no int64) {
	for int64(len(*b)) <= no/64 {
		*b = append(*b, 0)
	}
	(*b)[no/64] |= 1 << (no % 64)
}

func (b bits) has(no int64) bool { return no/64 < int64(len(b)) && b[no/64]&(1<<(no%64)) != 0 }

// between is the numbers from low on and below high, in order.
func (b bits) between(low, high int64) (out []int64) {
	for at := low / 64; at < int64(len(b)) && at*64 < high; at++ {
		for word := b[at]; word != 0; word &= word - 1 {
			if no := at*64 + int64(mathbits.TrailingZeros64(word)); no >= low && no < high {
				out = append(out, no)
			}
		}
	}
	return out
}

// line is a value as entries have it: between line feeds.
func line(facet, value string) string { return "\n" + facet + "=" + value + "\n" }

// columns are the column conditions in a filter.
func columns(f Filter) (out []*column) {
	switch f := f.(type) {
	case allOf:
		for _, one := range f {
			out = append(out, columns(one)...)
		}
	case anyOf:
		for _, one := range f {
			out = append(out, columns(one)...)
		}
	case notOf:
		return columns(f.Filter)
	case *column:
		return []*column{f}
	}
	return out
}
