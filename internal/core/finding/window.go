package finding

import (
	"cmp"
	"fmt"
	"slices"
	"sort"
	"strings"
	"sync"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// list is what a filter picked, not to be changed, and what is remembered of its orders.
// It is good until the index takes something in.
type list struct {
	set *roaring.Bitmap

	memo  sync.Mutex
	ends  map[string][]uint32  // by field of an order, see index.ends; guarded by memo
	pages map[string][]version // by order and window; guarded by memo
	shown int                  // findings on pages; guarded by memo
}

// maxShown is how many findings the pages have that a list remembers.
const maxShown = 4096

// page is a window of a list in an order. Pages in an order of their own are remembered:
// the findings of a value may have to be sorted for each.
func (x *index) page(l *list, sorts []page.Sort, w page.Window) []version {
	key := ""
	if len(sorts) > 0 {
		key = fmt.Sprint(sorts, w)
		l.memo.Lock()
		shown, ok := l.pages[key]
		l.memo.Unlock()
		if ok {
			return shown
		}
	}
	numbers := x.window(l, sorts, w)
	out := make([]version, len(numbers))
	for i, no := range numbers {
		out[i] = version{no, x.rows[no].rev}
	}
	if key != "" {
		l.memo.Lock()
		defer l.memo.Unlock()
		if l.shown += len(out); l.pages == nil || l.shown > maxShown {
			l.pages, l.shown = map[string][]version{}, len(out)
		}
		l.pages[key] = out
	}
	return out
}

// window is the part of a set that a page shows, in order. Without sorts the newest
// come first.
func (x *index) window(l *list, sorts []page.Sort, w page.Window) []uint32 {
	set := l.set
	total := int(set.GetCardinality())
	w.Limit = min(w.Limit, total-w.Offset)
	if w.Limit <= 0 {
		return nil
	}
	if len(sorts) == 0 || sorts[0].Column == "created_at" {
		return natural(set, total, w, len(sorts) == 0 || sorts[0].Desc)
	}
	if total <= fewEnough && !x.fewGroups(sorts[0].Column, total) {
		all := set.ToArray()
		slices.SortFunc(all, x.comparer(sorts))
		return all[w.Offset : w.Offset+w.Limit]
	}
	if sorts[0].Column == "updated_at" {
		return x.byRevision(l, total, w, sorts[0].Desc)
	}
	return x.byGroups(l, total, sorts, w)
}

// fewEnough is how many findings are sorted one by one.
const fewEnough = 5000

// fewGroups reports whether a field has so few values that to walk them costs less than to
// compare so many findings.
func (x *index) fewGroups(column string, total int) bool {
	if column == "updated_at" {
		return false
	}
	facet, _ := x.column(column)
	return 8*len(facet.values) < total
}

// natural is by number, which is by the time of arrival.
func natural(set *roaring.Bitmap, total int, w page.Window, desc bool) []uint32 {
	out := make([]uint32, 0, w.Limit)
	from := w.Offset
	if desc {
		from = total - w.Offset - w.Limit
	}
	first, err := set.Select(uint32(from))
	if err != nil { // it is below the cardinality
		return nil
	}
	it := set.Iterator()
	it.AdvanceIfNeeded(first)
	for len(out) < w.Limit && it.HasNext() {
		out = append(out, it.Next())
	}
	if desc {
		slices.Reverse(out)
	}
	return out
}

// A walk that has to pass over more than this many groups, or changes, is told where to
// begin: to count costs as much as to walk by some thousand groups.
const (
	farGroups  = 1000
	farChanges = 10_000
	together   = 4096 // changes that are counted as a group
)

// byRevision walks all changes, the newest or the oldest first.
func (x *index) byRevision(l *list, total int, w page.Window, desc bool) []uint32 {
	out := make([]uint32, 0, w.Limit)
	start, skip := 0, w.Offset
	if w.Offset*len(x.recent)/total > farChanges {
		start, skip = seek(x.ends(l, "updated_at"), w.Offset, desc)
		if start *= together; desc { // behind the last of the group
			start = max(len(x.recent)-start-together, 0)
		}
	}
	for i := start; i < len(x.recent) && len(out) < w.Limit; i++ {
		at := i
		if desc {
			at = len(x.recent) - 1 - i
		}
		switch no := x.recent[at]; {
		case x.rows[no].rev != x.at[at] || !l.set.Contains(no):
		case skip > 0:
			skip--
		default:
			out = append(out, no)
		}
	}
	return out
}

// byGroups walks the values of the first field in order, and sorts within a value only
// what the page shows of it.
func (x *index) byGroups(l *list, total int, sorts []page.Sort, w page.Window) []uint32 {
	column := sorts[0].Column
	facet, _ := x.column(column)
	groups := facet.groups(column)
	desc := sorts[0].Desc != (column == "severity") // desc by severity: the worst first
	out := make([]uint32, 0, w.Limit)
	start, skip := 0, w.Offset
	if w.Offset*len(groups)/total > farGroups {
		start, skip = seek(x.ends(l, column), w.Offset, desc)
		if desc {
			start = len(groups) - 1 - start
		}
	}
	for i := start; i < len(groups) && len(out) < w.Limit; i++ {
		at := i
		if desc {
			at = len(groups) - 1 - i
		}
		bits := facet.bits[groups[at]]
		n := int(l.set.AndCardinality(bits))
		if n <= skip {
			skip -= n
			continue
		}
		group := roaring.And(l.set, bits)
		part := page.Window{Offset: skip, Limit: min(w.Limit-len(out), n-skip)}
		if len(sorts) > 1 {
			out = append(out, x.window(&list{set: group}, sorts[1:], part)...)
		} else {
			out = append(out, natural(group, n, part, true)...)
		}
		skip = 0
	}
	return out
}

// groups are the positions of a facet's values in the order of a field.
func (f *facet) groups(column string) []uint32 {
	if column != "severity" {
		return f.sorted
	}
	groups := make([]uint32, len(f.values)) // as Severities are: the worst first
	for i := range groups {
		groups[i] = uint32(i)
	}
	return groups
}

// ends are how many findings of a list there are up to each value of a field, and of
// updated_at up to the end of each some thousand changes.
func (x *index) ends(l *list, column string) []uint32 {
	l.memo.Lock()
	defer l.memo.Unlock()
	if ends := l.ends[column]; ends != nil {
		return ends
	}
	var ends []uint32
	if column == "updated_at" {
		ends = make([]uint32, (len(x.recent)+together-1)/together)
		for i, no := range x.recent {
			if x.rows[no].rev == x.at[i] && l.set.Contains(no) {
				ends[i/together]++
			}
		}
	} else {
		facet, of := x.column(column)
		counts := make([]uint32, len(facet.values))
		l.set.Iterate(func(no uint32) bool {
			counts[of(&x.rows[no])]++
			return true
		})
		groups := facet.groups(column)
		ends = make([]uint32, len(groups))
		for i, id := range groups {
			ends[i] = counts[id]
		}
	}
	for i := 1; i < len(ends); i++ {
		ends[i] += ends[i-1]
	}
	if l.ends == nil {
		l.ends = map[string][]uint32{}
	}
	l.ends[column] = ends
	return ends
}

// seek finds the group that has the finding at an offset, and how many of the group come
// before it, where the groups are walked in their order or from the last on. ends are how
// many findings there are up to the end of each group.
func seek(ends []uint32, offset int, desc bool) (group, skip int) {
	total := int(ends[len(ends)-1])
	at := offset
	if desc {
		at = total - 1 - offset
	}
	group = sort.Search(len(ends), func(i int) bool { return int(ends[i]) > at })
	switch {
	case desc:
		return group, offset - (total - int(ends[group]))
	case group > 0:
		return group, offset - int(ends[group-1])
	}
	return 0, offset
}

// column is the facet behind a field of an order, and a finding's position in it.
func (x *index) column(name string) (*facet, func(*entry) uint32) {
	switch name {
	case "severity":
		return &x.severity, func(e *entry) uint32 { return e.severity }
	case "status":
		return &x.status, func(e *entry) uint32 { return e.status }
	case "host":
		return &x.host, func(e *entry) uint32 { return e.host }
	case "port":
		return &x.port, func(e *entry) uint32 { return e.port }
	default:
		return &x.template, func(e *entry) uint32 { return e.template }
	}
}

// comparer orders findings by sorts, and equal ones the newest first.
func (x *index) comparer(sorts []page.Sort) func(a, b uint32) int {
	return func(a, b uint32) int {
		for _, s := range sorts {
			c := x.compare(s.Column, a, b)
			if s.Desc {
				c = -c
			}
			if c != 0 {
				return c
			}
		}
		return cmp.Compare(b, a)
	}
}

func (x *index) compare(column string, a, b uint32) int {
	switch column {
	case "created_at":
		return cmp.Compare(a, b)
	case "updated_at":
		return cmp.Compare(x.rows[a].rev, x.rows[b].rev)
	}
	facet, of := x.column(column)
	i, j := of(&x.rows[a]), of(&x.rows[b])
	if column == "severity" {
		return cmp.Compare(j, i) // a worse one is more
	}
	return strings.Compare(facet.values[i], facet.values[j])
}
