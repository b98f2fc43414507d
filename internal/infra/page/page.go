// Package page has the paging and sorting parameters of lists.
package page

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Window is the requested part of a list.
type Window struct {
	Offset int // items to skip, ≥ 0
	Limit  int // items to return, ≥ 1
	// WithoutTotal asks a big list for this part alone: its total is how far the part reaches, where it is not known.
	WithoutTotal bool
}

// Pages is the number of pages of this limit for total items.
func (w Window) Pages(total int) int { return (total + w.Limit - 1) / w.Limit }

// Page is the number of the page that this window starts in, from 1.
func (w Window) Page() int { return w.Offset/w.Limit + 1 }

// Cut is the part of a whole list that a window shows.
func Cut[T any](all []T, w Window) []T {
	from := min(w.Offset, len(all))
	return all[from:min(from+w.Limit, len(all))]
}

// Sort is one field of a sort order.
type Sort struct {
	Column string // the column of the field, from an allow-list: safe in SQL
	Desc   bool
}

// Sorts parses the comma-separated fields of sort_asc and sort_desc, in that order. allowed maps field names
// to columns; other fields and duplicates are errors.
func Sorts(asc, desc string, allowed map[string]string) ([]Sort, error) {
	var out []Sort
	seen := map[string]bool{}
	for _, part := range []struct {
		param, list string
		desc        bool
	}{{"sort_asc", asc, false}, {"sort_desc", desc, true}} {
		for field := range strings.SplitSeq(part.list, ",") {
			field = strings.TrimSpace(field)
			if field == "" {
				continue
			}
			column, ok := allowed[field]
			if !ok {
				return nil, errs.Field(part.param, "cannot sort by %q.", errs.Clip(field, 64))
			}
			if seen[column] {
				return nil, errs.Field(part.param, "%q is named twice in the sort.", field)
			}
			seen[column] = true
			out = append(out, Sort{Column: column, Desc: part.desc})
		}
	}
	return out, nil
}
