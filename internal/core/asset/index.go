package asset

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"sync"
	"time"
)

// index answers lists of one team's assets. It holds what the database holds at revision
// rev, and nothing that is not there.
type index struct {
	rev     int64
	synced  time.Time // when it was last brought up to date
	changed time.Time // when something of what is there became as it is, or a run began, last
	teamNo  int64

	size                                 int // numbers are below it
	live                                 set
	missing, internal, pictured, numeric set // pictured: has a screenshot; numeric: its host is an address
	revs, run                            []int64
	endpoints                            []uint32

	enumeration, host, port, service, status, length, title, webserver, domain, ip, cname *facet
	technology, favicon, label, tls, fault, born                                          *facet
	created, since, seen                                                                  *facet // moments: those of a batch are one

	births  map[birth]uint32    // the positions of born
	runs    map[string]runs     // by enumeration
	below   map[string][]uint32 // by domain: the hosts below it
	nets    []netValue          // addresses in order, once tidy
	netsOf  int                 // values of ip whose addresses are in nets
	hostsOf int                 // values of host whose domains are in below
	sets    memory[set]
	pages   memory[chosen]
	sums    memory[Totals]
}

// runs are those of an enumeration, as far as filters ask.
type runs struct {
	rev          int64 // of the last change of what is here
	name, source string
	latest       int64     // is_new: what it saw first
	covered      int64     // the latest that looked at everything
	coveredAt    time.Time // when that ended
}

// netValue is an address and a value of the facet ip that has it.
type netValue struct {
	addr netip.Addr
	id   uint32
}

func newIndex() *index {
	whole := func(value string) []string { return []string{strings.ToLower(value)} }
	several := func(value string) []string { return words(strings.ToLower(value)) }
	x := &index{births: map[birth]uint32{}, runs: map[string]runs{}, below: map[string][]uint32{}}
	for _, f := range []**facet{&x.enumeration, &x.host, &x.port, &x.service, &x.status, &x.length, &x.title, &x.domain, &x.favicon, &x.born, &x.created, &x.since, &x.seen} {
		*f = newFacet(whole)
	}
	for _, f := range []**facet{&x.ip, &x.cname, &x.label, &x.tls, &x.fault} {
		*f = newFacet(several)
	}
	x.technology, x.webserver = newFacet(versionless), newFacet(versionless)
	x.ip.key = firstAddr
	return x
}

// versionless is the words of technologies with their versions and without, as
// nginx:1.18.0 and nginx, and of servers that call themselves nginx/1.18.0.
func versionless(value string) (out []string) {
	for _, word := range words(strings.ToLower(value)) {
		out = append(out, word)
		if end := strings.IndexAny(word, ":/"); end > 0 && !slices.Contains(out, word[:end]) {
			out = append(out, word[:end])
		}
	}
	return out
}

// firstAddr is the first address of a column so that it sorts as a number does.
func firstAddr(value string) string {
	first, _, _ := strings.Cut(value, "\n")
	addr, err := netip.ParseAddr(first)
	if err != nil {
		return "~" + value // behind all addresses
	}
	bytes := addr.As16()
	return "0" + string(bytes[:])
}

func (x *index) facets() []*facet {
	return []*facet{
		x.enumeration, x.host, x.port, x.service, x.status, x.length, x.title, x.webserver, x.domain, x.ip, x.cname,
		x.technology, x.favicon, x.label, x.tls, x.fault, x.born, x.created, x.since, x.seen,
	}
}

// number is a number as a value that sorts as it does.
func number(n int64) string { return fmt.Sprintf("%019d", max(n, 0)) }

// moment is a time as a value that sorts as it does.
func moment(t time.Time) string { return number(t.UnixMicro()) }

// birth is the run of an enumeration that saw an asset first.
type birth struct {
	enumeration string
	run         int64
}

// bornIn is the value of a run of an enumeration.
func bornIn(enumeration string, run int64) string {
	return fmt.Sprintf("%s\x00%d", strings.ToLower(enumeration), run)
}

// put takes an asset in, or what changed of it.
func (x *index) put(r *row) {
	no := r.no
	if grow := int(no) + 1 - x.size; grow > 0 {
		x.size += grow
		x.revs, x.run = append(x.revs, make([]int64, grow)...), append(x.run, make([]int64, grow)...)
		x.endpoints = append(x.endpoints, make([]uint32, grow)...)
	}
	had := x.live.has(no)
	x.live.add(no)
	x.missing.put(no, r.missing)
	x.internal.put(no, r.internal)
	x.pictured.put(no, r.screenshot != "")
	_, err := netip.ParseAddr(r.host)
	x.numeric.put(no, err == nil)
	if r.since.After(x.changed) {
		x.changed = r.since.Time
	}
	x.revs[no], x.run[no], x.endpoints[no] = r.rev, r.run, uint32(r.endpoints)
	for _, of := range []struct {
		facet *facet
		value string
	}{
		{x.enumeration, r.enumeration}, {x.host, r.host}, {x.service, r.service}, {x.title, r.title}, {x.webserver, r.webserver}, {x.domain, r.domain}, {x.ip, r.ip},
		{x.cname, r.cname}, {x.technology, r.technologies}, {x.favicon, r.favicon}, {x.label, r.labels}, {x.tls, r.tls}, {x.fault, r.misconfiguration},
	} {
		of.facet.put(no, of.facet.id(of.value), had)
	}
	for _, of := range []struct {
		facet  *facet
		number int64
	}{
		{x.port, int64(r.port)}, {x.status, int64(r.status)}, {x.length, r.length},
		{x.created, r.createdAt.UnixMicro()}, {x.since, r.since.UnixMicro()}, {x.seen, r.seenAt.UnixMicro()},
	} {
		of.facet.put(no, of.facet.number(of.number), had)
	}
	b := birth{r.enumeration, r.firstRun}
	id, known := x.births[b]
	if !known {
		id = x.born.id(bornIn(b.enumeration, b.run))
		x.births[b] = id
	}
	x.born.put(no, id, had)
}

// drop forgets an asset.
func (x *index) drop(no uint32) {
	if !x.live.has(no) {
		return
	}
	x.live.remove(no)
	for _, f := range x.facets() {
		f.drop(no)
	}
}

// dropEnumeration forgets a whole enumeration.
func (x *index) dropEnumeration(id string) {
	delete(x.runs, id)
	if at, ok := x.enumeration.ids[id]; ok {
		all := newSet(x.size)
		x.enumeration.posts[at].into(all)
		all.each(func(no uint32) bool { x.drop(no); return true })
	}
}

// maxDots bounds the domains of one host.
const maxDots = 32

// tidy makes what reading needs, once what changed is in.
func (x *index) tidy() {
	x.sets.forget()
	x.pages.forget()
	x.sums.forget()
	var work sync.WaitGroup
	for _, f := range x.facets() {
		work.Go(f.order)
	}
	work.Go(x.tidyDomains)
	work.Go(x.tidyNets)
	work.Wait()
}

func (x *index) tidyDomains() {
	for ; x.hostsOf < len(x.host.values); x.hostsOf++ {
		domain := x.host.values[x.hostsOf]
		if _, err := netip.ParseAddr(domain); err == nil {
			continue
		}
		for range maxDots {
			_, parent, more := strings.Cut(domain, ".")
			if !more {
				break
			}
			x.below[parent] = append(x.below[parent], uint32(x.hostsOf))
			domain = parent
		}
	}
}

func (x *index) tidyNets() {
	if x.netsOf == len(x.ip.values) {
		return
	}
	for ; x.netsOf < len(x.ip.values); x.netsOf++ {
		for _, text := range words(x.ip.values[x.netsOf]) {
			if addr, err := netip.ParseAddr(text); err == nil {
				x.nets = append(x.nets, netValue{addr.Unmap(), uint32(x.netsOf)})
			}
		}
	}
	slices.SortFunc(x.nets, func(a, b netValue) int { return cmp.Or(a.addr.Compare(b.addr), cmp.Compare(a.id, b.id)) })
}

// takeTexts makes what searches look at, or the first who searches would wait for it.
func (x *index) takeTexts() {
	var work sync.WaitGroup
	for _, f := range []*facet{x.host, x.title, x.ip, x.cname, x.technology, x.label} {
		work.Go(func() { f.text.take(f.values) })
	}
	work.Wait()
}

// within is the values of ip with an address of a network.
func (x *index) within(network netip.Prefix) []uint32 {
	low, _ := slices.BinarySearchFunc(x.nets, network.Masked().Addr(), func(n netValue, addr netip.Addr) int { return n.addr.Compare(addr) })
	inside := x.nets[low:]
	high, _ := slices.BinarySearchFunc(inside, network, func(n netValue, network netip.Prefix) int {
		if network.Contains(n.addr) {
			return -1
		}
		return 1
	})
	ids := make([]uint32, high)
	for i, n := range inside[:high] {
		ids[i] = n.id
	}
	return ids
}
