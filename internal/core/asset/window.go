package asset

import (
	"cmp"
	"math"
	"math/bits"
	"slices"

	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Sortable are the fields of an order, as page.Sorts wants them.
var Sortable = map[string]string{
	"created_at": "created_at", "updated_at": "updated_at", "last_seen": "last_seen", "id": "created_at", "host": "host", "name": "host", "port": "port",
	"status_code": "status", "content_length": "length", "title": "title", "webserver": "webserver", "domain": "domain", "domain_name": "domain", "ip": "ip",
	"cname": "cname", "technologies": "technology", "favicon": "favicon", "labels": "label", "is_new": "new", "type": "service", "service": "service",
	"enumeration_id": "enumeration",
}

// key is one thing that assets are ordered by: the places of a facet's values, whether
// they are in a set, or their numbers. The lesser comes first.
type key struct {
	facet *facet
	in    set
	desc  bool
}

func (k *key) at(no uint32) (v int64) {
	switch {
	case k.facet != nil:
		v = int64(k.facet.place(no))
	case k.in == nil:
		v = int64(no)
	case k.in.has(no):
		v = 1
	}
	if k.desc {
		return -v
	}
	return v
}

// order is the keys of a list. No two assets are alike in the last.
type order []key

func (o order) compare(a, b uint32) int {
	for i := range o {
		if c := cmp.Compare(o[i].at(a), o[i].at(b)); c != 0 {
			return c
		}
	}
	return 0
}

// order is that of sorts. The number of arrival is always the last, the newest first
// unless the sorts say otherwise.
func (x *index) order(sorts []page.Sort) (o order) {
	facets := map[string]*facet{
		"host": x.host, "port": x.port, "status": x.status, "length": x.length, "title": x.title, "webserver": x.webserver, "domain": x.domain, "ip": x.ip,
		"cname": x.cname, "technology": x.technology, "favicon": x.favicon, "label": x.label, "service": x.service, "enumeration": x.enumeration,
		"updated_at": x.since, "last_seen": x.seen,
	}
	for _, sort := range sorts {
		k := key{facet: facets[sort.Column], desc: sort.Desc}
		if sort.Column == "new" {
			k.in = x.fresh()
		}
		o = append(o, k)
	}
	return append(o, key{desc: true})
}

// window is the part of a set, which has total, that a page shows, in order.
func (x *index) window(s set, total int, sorts []page.Sort, w page.Window) []uint32 {
	w.Limit = min(w.Limit, total-w.Offset)
	if w.Limit <= 0 {
		return nil
	}
	return x.order(sorts).part(s, total, w.Offset, w.Offset+w.Limit)
}

// fewEnough is how many assets are sorted one by one.
const fewEnough = 4096

// part is the assets of a set, which has total, from low to high of an order.
func (o order) part(s set, total, low, high int) []uint32 {
	k := &o[0]
	switch {
	case total <= fewEnough:
		all := s.numbers()
		slices.SortFunc(all, o.compare)
		return all[low:high]
	case k.facet != nil:
		if part, ok := o.walk(s, 0, len(k.facet.sorted), low, high, total/walkShare); ok {
			return part
		}
		return o.counted(s, low, high)
	case k.in != nil:
		first, second := slices.Clone(s), slices.Clone(s)
		first.not(k.in)
		second.and(k.in)
		if k.desc {
			first, second = second, first
		}
		n := first.count()
		out := o[1:].rows(first, n, low, high)
		return append(out, o[1:].rows(second, total-n, low-n, high-n)...)
	case k.desc:
		out := s.span(total-high, total-low)
		slices.Reverse(out)
		return out
	default:
		return s.span(low, high)
	}
}

// rows is part of a group of the assets that an order is about, which may begin behind
// low, and end before high.
func (o order) rows(group set, total, low, high int) []uint32 {
	low, high = max(low, 0), min(high, total)
	if low >= high {
		return nil
	}
	return o.part(group, total, low, high)
}

// walkShare is the cost, for each asset of a set, at which a walk through values gives up.
const walkShare = 4

// walk is part by the values of the first key from one place of the order on and before
// another, one after the other. It is what most pages need, which are near the beginning;
// ok is false when it would cost more than it may.
func (o order) walk(s set, from, until, low, high, most int) (out []uint32, ok bool) {
	rest, passed, cost := o[1:], 0, 0
	for place := from; place < until && passed < high; place++ {
		p := o[0].posting(place)
		if cost += p.cost(); cost > most {
			return nil, false
		}
		if p.size() <= fewEnough {
			few := p.within(s)
			if passed+len(few) > low {
				slices.SortFunc(few, rest.compare)
				out = append(out, few[max(low-passed, 0):min(high-passed, len(few))]...)
			}
			passed += len(few)
			continue
		}
		group := make(set, len(s))
		p.into(group)
		group.and(s)
		n := group.count()
		out = append(out, rest.rows(group, n, low-passed, high-passed)...)
		passed += n
	}
	return out, true
}

// posting is who has the value at a place of the order.
func (k *key) posting(place int) *posting {
	if k.desc {
		place = len(k.facet.sorted) - 1 - place
	}
	return &k.facet.posts[k.facet.sorted[place]]
}

// stretches is how many parts of an order are counted at once.
const stretches = 4096

// counted is part, and sorts little more than it returns: how many assets there are on each
// stretch of the first key's values says on which of them the part is, until it is on few
// assets, or on few values with many.
func (o order) counted(s set, low, high int) []uint32 {
	k := &o[0]
	from, until := 0, len(k.facet.sorted) // among the values in order
	for {
		wide := bits.Len(uint(until-from-1) / stretches) // a stretch has 1 << wide values
		counts := k.count(s, from, until, wide)
		first, passed := 0, 0
		for ; passed+counts[first] <= low; first++ {
			passed += counts[first]
		}
		last, n := first, counts[first]
		for ; passed+n < high; last++ {
			n += counts[last+1]
		}
		low, high = low-passed, high-passed
		same := first == 0 && from+(last+1)<<wide >= until // between many on either side
		from, until = from+first<<wide, min(from+(last+1)<<wide, until)
		switch {
		case wide == 0 && n > fewEnough:
			part, _ := o.walk(s, from, until, low, high, math.MaxInt)
			return part
		case n <= max(fewEnough, 2*(high-low)) || same:
			part := k.within(s, from, until)
			slices.SortFunc(part, o.compare)
			return part[low:high]
		}
	}
}

// places calls do with the assets in some words of a set whose values are from one place of
// an order on and before another, and with how far from the first.
func (k *key) places(s set, word, words, from, until int, do func(no uint32, place int)) {
	of, rank, last := k.facet.of, k.facet.rank, len(k.facet.sorted)-1
	for i := word; i < words; i++ {
		for word := s[i]; word != 0; word &= word - 1 {
			no := uint32(i*64 + bits.TrailingZeros64(word))
			place := int(rank[of[no]])
			if k.desc {
				place = last - place
			}
			if place >= from && place < until {
				do(no, place-from)
			}
		}
	}
}

// count is how many assets of a set there are on each stretch of an order between two
// places.
func (k *key) count(s set, from, until, wide int) (total [stretches]int) {
	for _, counts := range splitSet(s, func(word, words int) *[stretches]int {
		counts := new([stretches]int)
		k.places(s, word, words, from, until, func(_ uint32, place int) { counts[place>>wide]++ })
		return counts
	}) {
		for i, n := range counts {
			total[i] += n
		}
	}
	return total
}

// within is the assets of a set from one place of an order on and before another.
func (k *key) within(s set, from, until int) []uint32 {
	return slices.Concat(splitSet(s, func(word, words int) (part []uint32) {
		k.places(s, word, words, from, until, func(no uint32, _ int) { part = append(part, no) })
		return part
	})...)
}
