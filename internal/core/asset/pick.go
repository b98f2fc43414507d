package asset

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"time"
)

// maxKey bounds what stands for a filter in a memory: that of thousands of words is not
// asked for twice.
const maxKey = 4 << 10

// nameOf is what stands for a filter, or a query, in a memory, if something can.
func nameOf(asked any) (text string, ok bool) {
	spelled, err := json.Marshal(asked)
	return string(spelled), err == nil && len(spelled) <= maxKey // a year beyond 9999 has no spelling in JSON
}

// picked is pick, remembered; the caller only reads it. Pages of one list that say what is
// the last they want are cut out of one set.
func (x *index) picked(f Filter) set {
	last := f.Before
	f.Before = 0
	name, ok := nameOf(f)
	if !ok {
		f.Before = last
		return x.pick(f)
	}
	s := x.sets.recall("filter"+name, func() (set, int) {
		s := x.pick(f)
		return s, s.bytes()
	})
	if last > 0 {
		s = slices.Clone(s)
		s.before(last)
	}
	return s
}

// pick is the assets that a filter picks.
func (x *index) pick(f Filter) set {
	s := newSet(x.size)
	s.or(x.live)
	if f.IDs != nil {
		s.and(x.named(f.IDs))
	}
	if f.Enumerations != nil {
		s.and(x.among("enumeration", x.enumeration, f.Enumerations, (*facet).exactly))
	}
	for _, field := range []struct {
		name   string
		wanted []string
		of     *facet
		values func(*facet, string) []uint32
	}{
		{"labels", f.Labels, x.label, (*facet).like}, {"host", f.Hosts, x.host, (*facet).like}, {"title", f.Titles, x.title, (*facet).containing}, {"cname", f.CNAMEs, x.cname, (*facet).like},
		{"technologies", f.Techs, x.technology, (*facet).like}, {"favicon", f.Favicons, x.favicon, (*facet).with}, {"port", numbers(f.Ports), x.port, (*facet).with},
		{"status_code", numbers(f.Statuses), x.status, (*facet).with}, {"content_length", numbers(f.Lengths), x.length, (*facet).with},
		{"domain", f.Domains, x.host, x.under}, {"ip", f.IPs, x.ip, x.inside},
	} {
		if len(field.wanted) > 0 {
			s.and(x.among(field.name, field.of, field.wanted, field.values))
		}
	}
	if f.FirstRun > 0 {
		births := make([]string, len(f.Enumerations))
		for i, id := range f.Enumerations {
			births[i] = bornIn(id, f.FirstRun)
		}
		s.and(x.among("born", x.born, births, (*facet).exactly))
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

// among is the assets with a value of a facet that one of some texts means. The caller
// only reads it: it is remembered under a name for what the texts mean.
func (x *index) among(name string, f *facet, texts []string, mean func(*facet, string) []uint32) set {
	return x.sets.recall(fmt.Sprintf("%s%q", name, texts), func() (set, int) {
		var ids []uint32
		if len(texts) > 0 {
			ids = slices.Clip(mean(f, texts[0])) // it may be the facet's own
			for _, text := range texts[1:] {
				ids = append(ids, mean(f, text)...)
			}
		}
		return x.having(f, ids)
	})
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
		s.before(f.Before)
	}
	if !f.Since.IsZero() || !f.Until.IsZero() {
		s.and(x.during("created_at", x.created, f.Since, f.Until))
	}
	if !f.Unseen.IsZero() {
		s.and(x.unseen(f.Unseen))
	}
}

// at is the assets with a port; 0: the hosts by themselves. The caller only reads it.
func (x *index) at(port int) set {
	return x.among("port", x.port, []string{number(int64(port))}, (*facet).exactly)
}

// during is the assets with a moment of a facet from one time on and before another; a
// zero time is no bound.
func (x *index) during(name string, f *facet, from, until time.Time) set {
	low, high := number(0), number(math.MaxInt64)
	if !from.IsZero() {
		low = moment(from)
	}
	if !until.IsZero() {
		high = moment(until)
	}
	return x.ranging(name, f, low, high)
}

// ranging is the assets with a value of a facet from one sort key on and before another.
// What is remembered is which values these are, so that ranges that move with the clock
// are found again. The caller only reads it.
func (x *index) ranging(name string, f *facet, low, high string) set {
	from, until := f.between(low, high)
	return x.sets.recall(fmt.Sprintf("%s\n%d\n%d", name, from, until), func() (set, int) { return x.having(f, f.sorted[from:until]) })
}

// dear is how many looks at an asset a set costs that is worth remembering.
const dear = 4096

// having is the assets with one of these values of a facet, and the bytes of the set, if it
// was dear to find. What few assets have is taken from the postings; for more, a walk through the
// values of all assets is quicker.
func (x *index) having(f *facet, ids []uint32) (s set, bytes int) {
	s = newSet(x.size)
	cost := 0
	for i := 0; i < len(ids) && cost <= x.size; i++ {
		cost += f.posts[ids[i]].cost()
	}
	if cost <= x.size {
		for _, id := range ids {
			f.posts[id].into(s)
		}
		if cost > dear {
			bytes = s.bytes()
		}
		return s, bytes
	}
	wanted := newSet(len(f.values))
	for _, id := range ids {
		wanted[id/64] |= 1 << (id % 64)
	}
	splitSet(x.live, func(from, until int) struct{} {
		for i := from; i < until; i++ {
			var found uint64
			for bit, id := range f.of[i*64 : min(i*64+64, len(f.of))] {
				found |= wanted[id/64] >> (id % 64) & 1 << bit
			}
			s[i] = found & x.live[i]
		}
		return struct{}{}
	})
	return s, s.bytes()
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
	long := x.during("last_seen", x.seen, time.Time{}, since)
	for id, runs := range x.runs {
		if runs.covered == 0 || runs.coveredAt.Before(since) {
			continue
		}
		theirs := slices.Clone(x.among("enumeration", x.enumeration, []string{id}, (*facet).exactly))
		theirs.and(long)
		theirs.keep(func(no uint32) bool { return x.run[no] < runs.covered })
		s.or(theirs)
	}
	return s
}

// search is what contains a text in something that people look for. The caller only reads
// it.
func (x *index) search(text string) set {
	return x.sets.recall(fmt.Sprintf("search%q", text), func() (set, int) {
		s := newSet(x.size)
		for _, f := range []*facet{x.host, x.title, x.ip, x.technology, x.label} {
			has, _ := x.having(f, f.containing(text))
			s.or(has)
		}
		return s, s.bytes()
	})
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
