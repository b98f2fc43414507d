// Package page reads the windows and sorts that a list may be asked for, and refuses
// what no list offers.
package page

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Window is the part of a list that was asked for.
type Window struct {
	Offset int // items to skip, ≥ 0
	Limit  int // items to return, ≥ 1
}

// Pages is how many windows of this limit hold total items.
func (w Window) Pages(total int) int { return (total + w.Limit - 1) / w.Limit }

// Page is the number of the page this window starts in, from 1.
func (w Window) Page() int { return w.Offset/w.Limit + 1 }

// Sort is one field of an order.
type Sort struct {
	Column string // the column behind the field, from the allow-list: safe in SQL
	Desc   bool
}

// Sorts reads the comma-separated fields of sort_asc and sort_desc, in that order,
// against allowed (field name → column). A field that is not allowed, or named twice,
// is refused.
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
				return nil, errs.Field(part.param, "cannot sort by %q.", clip(field))
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

func clip(s string) string {
	if len(s) > 64 {
		return s[:64] + "…"
	}
	return s
}
