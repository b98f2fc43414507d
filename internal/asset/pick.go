package asset

import (
	"bytes"
	"slices"
	"strings"
	"time"
)

// pick is the assets that a filter picks.
func (x *index) pick(f Filter) set {
	s := newSet(x.size)
	s.or(x.live)
	if f.Enumerations != nil {
		var ids []uint32
		for _, id := range f.Enumerations {
			ids = append(ids, x.enumeration.exactly(id)...)
		}
		s.and(x.having(x.enumeration, ids))
	}
	if f.IDs != nil {
		s.and(x.named(f.IDs))
	}
	for _, field := range []struct {
		wanted []string
		of     *facet
		values func(*facet, string) []uint32
	}{
		{f.Labels, x.label, (*facet).like}, {f.Hosts, x.host, (*facet).like}, {f.Titles, x.title, (*facet).containing}, {f.CNAMEs, x.cname, (*facet).like},
		{f.Techs, x.technology, (*facet).like}, {f.Favicons, x.favicon, (*facet).with}, {numbers(f.Ports), x.port, (*facet).with},
		{numbers(f.Statuses), x.status, (*facet).with}, {numbers(f.Lengths), x.length, (*facet).with},
		{f.Domains, x.host, x.under}, {f.IPs, x.ip, x.inside},
	} {
		if len(field.wanted) == 0 {
			continue
		}
		ids := slices.Clip(field.values(field.of, field.wanted[0])) // it may be the facet's own
		for _, want := range field.wanted[1:] {
			ids = append(ids, field.values(field.of, want)...)
		}
		s.and(x.having(field.of, ids))
	}
	x.pickFlags(s, f)
	if f.Search != "" {
		s.and(x.search(f.Search))
	}
	x.pickTimes(s, f)
	if f.Custom != nil {
		s.and(x.holding(f.Custom))
	}
	for _, other := range f.And {
		s.and(x.pick(other))
	}
	return s
}

// pickFlags keeps what is, or is not, something.
func (x *index) pickFlags(s set, f Filter) {
	for _, flag := range []struct {
		want *bool
		has  func() set
	}{
		{f.Tech, func() set { return x.filled(x.technology) }}, {f.Favicon, func() set { return x.filled(x.favicon) }},
		{f.Screenshot, func() set { return x.pictured }}, {f.Internal, func() set { return x.internal }}, {f.New, x.fresh},
	} {
		switch {
		case flag.want == nil:
		case *flag.want:
			s.and(flag.has())
		default:
			s.not(flag.has())
		}
	}
	if f.OnlyIP != nil && *f.OnlyIP {
		s.and(x.numeric)
	}
	if f.OnlyDNS != nil && *f.OnlyDNS {
		s.not(x.numeric)
	}
}

func (x *index) pickTimes(s set, f Filter) {
	if f.Before > 0 {
		s.keep(func(no uint32) bool { return int64(no) < f.Before })
	}
	if !f.Since.IsZero() || !f.Until.IsZero() {
		from, until := int64(-1<<63), int64(1<<63-1)
		if !f.Since.IsZero() {
			from = f.Since.UnixMicro()
		}
		if !f.Until.IsZero() {
			until = f.Until.UnixMicro()
		}
		s.keep(func(no uint32) bool { return x.created[no] >= from && x.created[no] < until })
	}
	if !f.Unseen.IsZero() {
		s.and(x.unseen(f.Unseen))
	}
}

// having is the assets with one of these values of a facet. What few assets have is taken
// from the postings; for more, a walk through the values of all assets is quicker.
func (x *index) having(f *facet, ids []uint32) set {
	s := newSet(x.size)
	cost := 0
	for i := 0; i < len(ids) && cost <= x.size; i++ {
		cost += f.posts[ids[i]].cost()
	}
	if cost <= x.size {
		for _, id := range ids {
			f.posts[id].into(s)
		}
		return s
	}
	wanted := newSet(len(f.values))
	for _, id := range ids {
		wanted[id/64] |= 1 << (id % 64)
	}
	for i, word := range x.live {
		of := f.of[i*64 : min(i*64+64, len(f.of))]
		var found uint64
		for bit, id := range of {
			found |= wanted[id/64] >> (id % 64) & 1 << bit
		}
		s[i] = found & word
	}
	return s
}

// named is the assets with these ids.
func (x *index) named(ids []int64) set {
	s := newSet(x.size)
	for _, id := range ids {
		if teamNo, no := noOf(id); teamNo == x.teamNo && int(no) < x.size {
			s.add(no)
		}
	}
	return s
}

// filled is the assets of which a facet says something.
func (x *index) filled(f *facet) set {
	s := newSet(x.size)
	s.or(x.live)
	if id, ok := f.ids[""]; ok {
		none := newSet(x.size)
		f.posts[id].into(none)
		s.not(none)
	}
	return s
}

// fresh is what the latest runs of their enumerations saw first.
func (x *index) fresh() set {
	s := newSet(x.size)
	for id, runs := range x.runs {
		if at, ok := x.born.ids[bornIn(id, runs.latest)]; ok {
			x.born.posts[at].into(s)
		}
	}
	return s
}

// unseen is what has not been seen since a moment, although a later run than the one that
// saw it last has looked at everything and ended after that moment. What nobody looked
// for is not called unseen.
func (x *index) unseen(since time.Time) set {
	s := newSet(x.size)
	micros := since.UnixMicro()
	for id, runs := range x.runs {
		at, ok := x.enumeration.ids[id]
		if !ok || runs.covered == 0 || runs.coveredAt.Before(since) {
			continue
		}
		x.enumeration.posts[at].each(func(no uint32) bool {
			if x.seen[no] < micros && x.run[no] < runs.covered {
				s.add(no)
			}
			return true
		})
	}
	return s
}

// search is what contains a text in something that people look for.
func (x *index) search(text string) set {
	s := newSet(x.size)
	for _, f := range []*facet{x.host, x.title, x.ip, x.technology, x.label} {
		s.or(x.having(f, f.containing(text)))
	}
	return s
}

// exactly is the position of a value as it is written.
func (f *facet) exactly(value string) []uint32 {
	if id, ok := f.ids[value]; ok {
		return []uint32{id}
	}
	return nil
}

// matches reports whether a text is as a pattern says, in which a * stands for anything.
func matches(pattern string, text []byte) bool {
	first, rest, more := strings.Cut(pattern, "*")
	text, ok := bytes.CutPrefix(text, []byte(first))
	if !ok || !more {
		return ok && len(text) == 0
	}
	for {
		part, next, more := strings.Cut(rest, "*")
		if !more {
			return bytes.HasSuffix(text, []byte(part))
		}
		_, after, found := bytes.Cut(text, []byte(part))
		if !found {
			return false
		}
		text, rest = after, next
	}
}

// under is the hosts at and below a domain.
func (x *index) under(hosts *facet, domain string) []uint32 {
	return slices.Concat(hosts.with(domain), x.below[domain])
}

// inside is the values of ip with an address, or one of a network.
func (x *index) inside(_ *facet, text string) []uint32 {
	p, err := network(text)
	if err != nil { // Parse has read it
		return nil
	}
	return x.within(p)
}

func numbers(ns []int64) (out []string) {
	for _, n := range ns {
		out = append(out, number(n))
	}
	return out
}
