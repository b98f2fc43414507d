package asset

import (
	"cmp"
	"slices"

	"github.com/vedette-sec/vedette/internal/page"
)

// Sortable are the fields of an order, as page.Sorts wants them.
var Sortable = map[string]string{
	"created_at": "created_at", "updated_at": "updated_at", "last_seen": "last_seen", "id": "created_at", "host": "host", "name": "host", "port": "port",
	"status_code": "status", "content_length": "length", "title": "title", "webserver": "webserver", "domain": "domain", "domain_name": "domain", "ip": "ip",
	"cname": "cname", "technologies": "technology", "favicon": "favicon", "labels": "label", "is_new": "new", "type": "service", "service": "service",
	"enumeration_id": "enumeration",
}

// key is what assets are ordered by: the lesser comes first.
type key func(no uint32) int64

// keys are those of sorts. The number of arrival is always the last, the newest first
// unless the sorts say otherwise: no two assets are alike.
func (x *index) keys(sorts []page.Sort) (out []key) {
	facets := map[string]*facet{
		"host": x.host, "port": x.port, "status": x.status, "length": x.length, "title": x.title, "webserver": x.webserver, "domain": x.domain, "ip": x.ip,
		"cname": x.cname, "technology": x.technology, "favicon": x.favicon, "label": x.label, "service": x.service, "enumeration": x.enumeration,
	}
	for _, sort := range sorts {
		var k key
		switch f := facets[sort.Column]; {
		case f != nil:
			k = func(no uint32) int64 { return int64(f.rank[f.of[no]]) }
		case sort.Column == "created_at":
			k = func(no uint32) int64 { return int64(no) }
		case sort.Column == "updated_at":
			k = func(no uint32) int64 { return x.since[no] }
		case sort.Column == "last_seen":
			k = func(no uint32) int64 { return x.seen[no] }
		case sort.Column == "new":
			fresh := x.fresh()
			k = func(no uint32) int64 {
				if fresh.has(no) {
					return 1
				}
				return 0
			}
		}
		if sort.Desc {
			up := k
			k = func(no uint32) int64 { return -up(no) }
		}
		out = append(out, k)
	}
	return append(out, func(no uint32) int64 { return -int64(no) })
}

// window is the part of a set that a page shows, in order.
func (x *index) window(s set, sorts []page.Sort, w page.Window) []uint32 {
	total := s.count()
	w.Limit = min(w.Limit, total-w.Offset)
	if w.Limit <= 0 {
		return nil
	}
	if len(sorts) == 0 {
		return newest(s, total, w)
	}
	return part(s.numbers(), x.keys(sorts), w.Offset, w.Offset+w.Limit)
}

// newest is a part of a set in falling order.
func newest(s set, total int, w page.Window) []uint32 {
	out := make([]uint32, 0, w.Limit)
	skip := total - w.Offset - w.Limit // of those below
	word := 0
	for ; word < len(s); word++ {
		n := s[word : word+1].count()
		if skip < n {
			break
		}
		skip -= n
	}
	s[word:].each(func(no uint32) bool {
		if skip > 0 {
			skip--
			return true
		}
		out = append(out, no+uint32(word*64))
		return len(out) < w.Limit
	})
	slices.Reverse(out)
	return out
}

const (
	fewEnough = 2048 // assets that are sorted one by one
	buckets   = 1024
)

// part is the assets from low to high of the order that keys make of all. It sorts no
// more than it returns: assets fall into buckets by the range of the first key, and only
// buckets that reach into the part are looked at again.
func part(all []uint32, keys []key, low, high int) []uint32 {
	if low >= high {
		return nil
	}
	if len(all) <= fewEnough {
		slices.SortFunc(all, func(a, b uint32) int {
			for _, k := range keys {
				if c := cmp.Compare(k(a), k(b)); c != 0 {
					return c
				}
			}
			return 0
		})
		return all[low:high]
	}
	values := make([]int64, len(all))
	least, most := int64(1<<63-1), int64(-1<<63)
	for i, no := range all {
		v := keys[0](no)
		values[i], least, most = v, min(least, v), max(most, v)
	}
	if least == most {
		return part(all, keys[1:], low, high)
	}
	width := (most-least)/buckets + 1
	var counts [buckets + 1]int
	for _, v := range values {
		counts[(v-least)/width]++
	}
	var out []uint32
	begin := 0
	for b, n := range counts {
		if n > 0 && begin < high && begin+n > low {
			in := make([]uint32, 0, n)
			for i, v := range values {
				if int((v-least)/width) == b {
					in = append(in, all[i])
				}
			}
			out = append(out, part(in, keys, max(low-begin, 0), min(high-begin, n))...)
		}
		begin += n
	}
	return out
}
