package finding

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
)

// index answers lists of one team's findings: for each value that a filter may name, the
// set of the findings that have it, as a bitmap over their numbers. It holds what the
// database holds at revision rev, and nothing that is not there.
type index struct {
	rev    int64
	synced time.Time // when it was last brought up to date
	rows   []entry   // by number; the zero entry is none
	live   *roaring.Bitmap

	severity, status, scan, host, port, template facet
	tag, label, category                         facet
	internal, regression, ticket                 *roaring.Bitmap

	names  map[uint32][]string // by template: what it was called, for the search
	domain map[string][]uint32 // by domain: the hosts at and below it
	recent []uint32            // numbers by growing revision; an entry counts when its revision is the row's
	at     []int64             // the revision of each entry of recent
}

// entry is what the index knows of one finding: positions in the facets, and of sets of
// words. It points at nothing: the garbage collector need not look at a million of them.
type entry struct {
	live                                         bool
	internal, regression, ticket                 bool
	severity, status, scan, host, port, template uint32
	tags, labels, categories                     uint32
	rev, createdAt                               int64
}

func newIndex() *index {
	x := &index{live: roaring.New(), internal: roaring.New(), regression: roaring.New(), ticket: roaring.New(), names: map[uint32][]string{}, domain: map[string][]uint32{}}
	for _, f := range x.facets() {
		f.ids = map[string]uint32{}
	}
	for _, f := range []*facet{&x.tag, &x.label, &x.category} {
		f.sets, f.members = map[string]uint32{"": 0}, [][]uint32{nil}
	}
	for _, severity := range Severities { // in this order, whichever comes first
		x.severity.id(severity)
	}
	return x
}

func (x *index) facets() []*facet {
	return []*facet{&x.severity, &x.status, &x.scan, &x.host, &x.port, &x.template, &x.tag, &x.label, &x.category}
}

// facet is one thing to filter by.
type facet struct {
	ids    map[string]uint32 // the position of each value
	values []string
	bits   []*roaring.Bitmap
	sorted []uint32 // positions by value; nil: to be made

	// Of a facet of words:
	sets    map[string]uint32 // joined words → a place in members
	members [][]uint32        // the positions of the words of each set; the first has none
}

// id is the position of a value, which is added if need be.
func (f *facet) id(value string) uint32 {
	if id, ok := f.ids[value]; ok {
		return id
	}
	value = strings.Clone(value)
	id := uint32(len(f.values))
	f.ids[value] = id
	f.values, f.bits = append(f.values, value), append(f.bits, roaring.New())
	if f.sorted != nil {
		at, _ := slices.BinarySearchFunc(f.sorted, value, f.compare)
		f.sorted = slices.Insert(f.sorted, at, id)
	}
	return id
}

func (f *facet) compare(id uint32, value string) int { return strings.Compare(f.values[id], value) }

// set is the place in members of words joined by commas.
func (f *facet) set(column string) uint32 {
	if set, ok := f.sets[column]; ok {
		return set
	}
	var ids []uint32
	for _, word := range split(column) {
		ids = append(ids, f.id(strings.ToLower(word)))
	}
	set := uint32(len(f.members))
	f.sets[strings.Clone(column)], f.members = set, append(f.members, ids)
	return set
}

// order makes the positions by value. It writes: the caller holds the index alone.
func (f *facet) order() {
	if f.sorted == nil {
		f.sorted = make([]uint32, len(f.values))
		for i := range f.sorted {
			f.sorted[i] = uint32(i)
		}
		slices.SortFunc(f.sorted, func(a, b uint32) int { return strings.Compare(f.values[a], f.values[b]) })
	}
}

// any is the findings that have one of these values.
func (f *facet) any(values []string) *roaring.Bitmap {
	var parts []*roaring.Bitmap
	for _, value := range values {
		if id, ok := f.ids[value]; ok {
			parts = append(parts, f.bits[id])
		}
	}
	return union(parts)
}

func union(parts []*roaring.Bitmap) *roaring.Bitmap {
	if len(parts) == 1 {
		return parts[0]
	}
	return roaring.FastOr(parts...)
}

// loaded is a finding as the index reads it from the database.
type loaded struct {
	no, rev, createdAt                     int64
	severity, status, scan, host, template string
	port                                   int
	name, tags, labels, categories         string
	internal, regression, ticket           bool
}

// put takes a finding in, or what changed of it. Read twice, it changes nothing.
func (x *index) put(l loaded) {
	no := uint32(l.no)
	for len(x.rows) <= int(no) {
		x.rows = append(x.rows, entry{})
	}
	if x.rows[no].live && x.rows[no].rev == l.rev {
		return
	}
	x.drop(no)
	hosts := len(x.host.values)
	e := entry{
		live: true, internal: l.internal, regression: l.regression, ticket: l.ticket, rev: l.rev, createdAt: l.createdAt,
		severity: x.severity.id(l.severity), status: x.status.id(l.status), scan: x.scan.id(l.scan), host: x.host.id(l.host),
		port: x.port.id(portText(l.port)), template: x.template.id(l.template), tags: x.tag.set(l.tags), labels: x.label.set(l.labels), categories: x.category.set(l.categories),
	}
	if len(x.host.values) > hosts {
		x.addDomains(e.host)
	}
	if name := strings.ToLower(l.name); !slices.Contains(x.names[e.template], name) {
		x.names[e.template] = append(x.names[e.template], name)
	}
	x.rows[no] = e
	x.each(&e, func(b *roaring.Bitmap) { b.Add(no) })
	x.recent, x.at = append(x.recent, no), append(x.at, l.rev)
}

// portText is a port as a value that sorts as the number does.
func portText(port int) string { return fmt.Sprintf("%05d", port) }

// drop forgets a finding.
func (x *index) drop(no uint32) {
	if int(no) >= len(x.rows) || !x.rows[no].live {
		return
	}
	x.each(&x.rows[no], func(b *roaring.Bitmap) { b.Remove(no) })
	x.rows[no] = entry{}
}

// each calls do with every set that a finding is in.
func (x *index) each(e *entry, do func(*roaring.Bitmap)) {
	do(x.live)
	do(x.severity.bits[e.severity])
	do(x.status.bits[e.status])
	do(x.scan.bits[e.scan])
	do(x.host.bits[e.host])
	do(x.port.bits[e.port])
	do(x.template.bits[e.template])
	for _, id := range x.tag.members[e.tags] {
		do(x.tag.bits[id])
	}
	for _, id := range x.label.members[e.labels] {
		do(x.label.bits[id])
	}
	for _, id := range x.category.members[e.categories] {
		do(x.category.bits[id])
	}
	if e.internal {
		do(x.internal)
	}
	if e.regression {
		do(x.regression)
	}
	if e.ticket {
		do(x.ticket)
	}
}

// maxLabels bounds the domains of one host.
const maxLabels = 32

// addDomains notes the domains that a new host is at or below.
func (x *index) addDomains(host uint32) {
	domain := x.host.values[host]
	for range maxLabels {
		x.domain[domain] = append(x.domain[domain], host)
		_, parent, more := strings.Cut(domain, ".")
		if !more {
			return
		}
		domain = parent
	}
}

// tidy makes what reading needs, once what changed is in.
func (x *index) tidy() {
	for _, f := range []*facet{&x.status, &x.host, &x.port, &x.template} {
		f.order()
	}
	if len(x.recent) < 2*int(x.live.GetCardinality())+1000 {
		return
	}
	n := 0
	for i, no := range x.recent {
		if x.rows[no].live && x.rows[no].rev == x.at[i] {
			x.recent[n], x.at[n] = no, x.at[i]
			n++
		}
	}
	x.recent, x.at = x.recent[:n], x.at[:n]
}
