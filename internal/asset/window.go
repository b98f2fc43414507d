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

// key is one thing that assets are ordered by: the places of a facet's values, a column,
// whether they are in a set, or their numbers. The lesser comes first.
type key struct {
	facet  *facet
	column []int64
	in     set
	desc   bool
}

func (k *key) at(no uint32) (v int64) {
	switch {
	case k.facet != nil:
		v = int64(k.facet.rank[k.facet.of[no]])
	case k.column != nil:
		v = k.column[no]
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
	switch {
	case k.facet != nil:
		of, rank := k.facet.of, k.facet.rank
		for i, no := range numbers {
			values[i] = int64(rank[of[no]])
		}
	case k.column != nil:
		for i, no := range numbers {
			values[i] = k.column[no]
		}
	default:
		for i, no := range numbers {
			values[i] = k.at(no)
		}
		return
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
	}
	for _, sort := range sorts {
		k := key{facet: facets[sort.Column], desc: sort.Desc}
		switch sort.Column {
		case "updated_at":
			k.column = x.since
		case "last_seen":
			k.column = x.seen
		case "new":
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
	if len(sorts) == 0 {
		return newest(s, total, w)
	}
	return x.order(sorts).part(s, total, w.Offset, w.Offset+w.Limit)
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
	fewEnough = 4096 // assets that are sorted one by one
	block     = 16   // words of a set that are looked at together: their values stay near
)

// part is the assets of a set from low to high of an order. It sorts little more than it
// returns: a sample says between which two assets the part is, and what is not between
// them is only counted. When the sample was wrong, wider bounds are taken.
func (o order) part(s set, total, low, high int) []uint32 {
	if total <= fewEnough {
		all := s.numbers()
		slices.SortFunc(all, o.compare)
		return all[low:high]
	}
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
