package asset

import (
	"cmp"
	"math"
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

// each notes the values of some assets.
func (k *key) each(values []int64, numbers []uint32) {
	if k.facet == nil {
		for i, no := range numbers {
			values[i] = k.at(no)
		}
		return
	}
	of, rank := k.facet.of, k.facet.rank
	for i, no := range numbers {
		values[i] = int64(rank[of[no]])
	}
	if k.desc {
		for i := range numbers {
			values[i] = -values[i]
		}
	}
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

// place is an asset's values of all keys.
func (o order) place(no uint32) (values []int64) {
	for i := range o {
		values = append(values, o[i].at(no))
	}
	return values
}

// against compares an asset to a place.
func (o order) against(no uint32, place []int64) int {
	for i := range o {
		if c := cmp.Compare(o[i].at(no), place[i]); c != 0 {
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

// window is the part of a set that a page shows, in order.
func (x *index) window(s set, sorts []page.Sort, w page.Window) []uint32 {
	total := s.count()
	w.Limit = min(w.Limit, total-w.Offset)
	if w.Limit <= 0 {
		return nil
	}
	return x.order(sorts).part(s, total, w.Offset, w.Offset+w.Limit)
}

const (
	fewEnough = 4096 // assets that are sorted one by one
	block     = 16   // words of a set that are looked at together: their values stay near
)

// part is the assets of a set, which has total, from low to high of an order.
func (o order) part(s set, total, low, high int) []uint32 {
	k := &o[0]
	switch {
	case total <= fewEnough:
		all := s.numbers()
		slices.SortFunc(all, o.compare)
		return all[low:high]
	case k.facet != nil:
		if part, ok := o.walk(s, total, low, high); ok {
			return part
		}
		return o.sampled(s, total, low, high)
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

// walk is part by the values of the first key, one after the other. It is what most pages
// need, which are near the beginning; ok is false when it would cost more than to look at
// all assets of the set, as it does when they have the last of the values.
func (o order) walk(s set, total, low, high int) (out []uint32, ok bool) {
	f, rest := o[0].facet, o[1:]
	passed, cost := 0, 0
	for i := range f.sorted {
		id := f.sorted[i]
		if o[0].desc {
			id = f.sorted[len(f.sorted)-1-i]
		}
		p := &f.posts[id]
		if cost += p.cost(); cost > total/walkShare {
			return nil, false
		}
		if p.many == nil {
			few := p.within(s)
			if passed+len(few) > low {
				slices.SortFunc(few, rest.compare)
				out = append(out, few[max(low-passed, 0):min(high-passed, len(few))]...)
			}
			passed += len(few)
		} else {
			group := make(set, len(s))
			p.into(group)
			group.and(s)
			n := group.count()
			out = append(out, rest.rows(group, n, low-passed, high-passed)...)
			passed += n
		}
		if passed >= high {
			break
		}
	}
	return out, true
}

// sampled is part, and sorts little more than it returns: a sample says between which two
// assets the part is, and what is not between them is only counted. When the sample was
// wrong, wider bounds are taken.
func (o order) sampled(s set, total, low, high int) []uint32 {
	sample := s.sample(fewEnough, total)
	slices.SortFunc(sample, o.compare)
	share := float64(len(sample)) / float64(total)
	for wide := 5.0; ; wide *= 4 { // in standard deviations of a place in the sample
		margin := wide * (math.Sqrt(float64(high)*share) + 1)
		var from, until []int64
		if i := float64(low)*share - margin; i >= 0 {
			from = o.place(sample[int(i)])
		}
		if i := float64(high)*share + margin; i < float64(len(sample)) {
			until = o.place(sample[int(i)])
		}
		in, before := o.between(s, from, until)
		if before <= low && before+len(in) >= high {
			slices.SortFunc(in, o.compare)
			return slices.Clone(in[low-before : high-before])
		}
	}
}

// between is what of a set does not come before one place and not after another, where
// they are given, and how many come before.
func (o order) between(s set, from, until []int64) (in []uint32, before int) {
	first, rest := &o[0], o[1:]
	least, most := int64(math.MinInt64), int64(math.MaxInt64)
	if from != nil {
		least, from = from[0], from[1:]
	}
	if until != nil {
		most, until = until[0], until[1:]
	}
	var numbers [block * 64]uint32
	var values [block * 64]int64
	for begin := 0; begin < len(s); begin += block {
		part := s[begin:min(begin+block, len(s))].appendTo(numbers[:0], uint32(begin*64))
		first.each(values[:], part)
		for i, no := range part {
			switch v := values[i]; {
			case v > most || v == most && until != nil && rest.against(no, until) > 0:
			case v < least || v == least && from != nil && rest.against(no, from) < 0:
				before++
			default:
				in = append(in, no)
			}
		}
	}
	return in, before
}
