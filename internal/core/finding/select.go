package finding

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/RoaringBitmap/roaring/v2"
)

// Filter picks findings. An empty field picks all; within a field any value will do,
// and every field must hold.
type Filter struct {
	IDs        []string
	ScanIDs    []string
	Severities []string
	Statuses   []Status
	Hosts      []string // exact, in any case
	Domains    []string // hosts at and below them
	Ports      []int
	Templates  []string // ids
	Categories []string
	Tags       []string
	Labels     []string
	Search     string // a part of the host, the template's id or its name, in any case
	Internal   *bool
	Regression *bool
	Ticket     *bool
	Since      time.Time // when it was found first
	Until      time.Time // before this
	Before     int64     // only what arrived before the finding of this number; 0: all
}

// picksAll reports whether a filter says nothing.
func (f Filter) picksAll() bool {
	for _, n := range []int{
		len(f.IDs), len(f.ScanIDs), len(f.Severities), len(f.Statuses), len(f.Hosts), len(f.Domains), len(f.Ports), len(f.Templates), len(f.Categories), len(f.Tags), len(f.Labels), len(f.Search),
	} {
		if n > 0 {
			return false
		}
	}
	return f.Internal == nil && f.Regression == nil && f.Ticket == nil && f.Since.IsZero() && f.Until.IsZero() && f.Before == 0
}

// Sortable are the fields of an order, as page.Sorts wants them.
var Sortable = map[string]string{
	"created_at": "created_at", "updated_at": "updated_at", "severity": "severity", "vuln_status": "status",
	"host": "host", "port": "port", "template_id": "template", "template": "template",
}

// span is a range of numbers: from the first, before the second.
type span struct{ From, To uint32 }

// span is the numbers that a filter's times and Before leave. Numbers are given in the
// order of arrival, so that a time is a range of them.
func (x *index) span(f Filter) span {
	s := span{0, uint32(len(x.rows))}
	if !f.Since.IsZero() {
		s.From = uint32(x.firstAt(f.Since.UnixMicro()))
	}
	if !f.Until.IsZero() {
		s.To = uint32(x.firstAt(f.Until.UnixMicro()))
	}
	if f.Before > 0 {
		s.To = uint32(min(f.Before, int64(s.To)))
	}
	return s
}

// pick is the findings of a range that a filter picks; ids are the numbers of Filter.IDs.
// The filter's own times are those of the range.
func (x *index) pick(f Filter, within span, ids []uint32) *roaring.Bitmap {
	sets := []*roaring.Bitmap{x.live}
	one := func(facet *facet, values []string) {
		if len(values) > 0 {
			sets = append(sets, facet.any(values))
		}
	}
	one(&x.severity, lower(f.Severities))
	one(&x.status, words(f.Statuses))
	one(&x.scan, f.ScanIDs)
	one(&x.host, lower(f.Hosts))
	one(&x.template, f.Templates)
	one(&x.category, lower(f.Categories))
	one(&x.tag, lower(f.Tags))
	one(&x.label, lower(f.Labels))
	if len(f.Ports) > 0 {
		var ports []string
		for _, p := range f.Ports {
			ports = append(ports, portText(p))
		}
		one(&x.port, ports)
	}
	if f.IDs != nil {
		sets = append(sets, roaring.BitmapOf(ids...))
	}
	slices.SortStableFunc(sets, func(a, b *roaring.Bitmap) int { return cmp.Compare(a.GetCardinality(), b.GetCardinality()) })
	out := sets[0].Clone()
	for _, set := range sets[1:] {
		out.And(set)
	}
	for set, want := range map[*roaring.Bitmap]*bool{x.internal: f.Internal, x.regression: f.Regression, x.ticket: f.Ticket} {
		switch {
		case want == nil:
		case *want:
			out.And(set)
		default:
			out.AndNot(set)
		}
	}
	out.RemoveRange(0, uint64(within.From))
	out.RemoveRange(uint64(within.To), uint64(len(x.rows)))
	if len(f.Domains) > 0 {
		out = x.narrow(out, x.below(f.Domains), nil)
	}
	if f.Search != "" {
		hosts, templates := x.search(strings.ToLower(f.Search))
		out = x.narrow(out, hosts, templates)
	}
	return out
}

// below is the hosts at and below domains.
func (x *index) below(domains []string) (hosts []uint32) {
	for _, domain := range lower(domains) {
		hosts = append(hosts, x.domain[strings.Trim(domain, ".*")]...)
	}
	return hosts
}

// search is the hosts and the templates that hold a text. It reads every distinct value,
// and no finding.
func (x *index) search(text string) (hosts, templates []uint32) {
	for id, host := range x.host.values {
		if strings.Contains(host, text) {
			hosts = append(hosts, uint32(id))
		}
	}
	for id, template := range x.template.values {
		if strings.Contains(strings.ToLower(template), text) || slices.ContainsFunc(x.names[uint32(id)], func(name string) bool { return strings.Contains(name, text) }) {
			templates = append(templates, uint32(id))
		}
	}
	return hosts, templates
}

// unionMost is up to how many sets are joined before the findings are looked at instead.
const unionMost = 1000

// narrow keeps of a set what is at one of these hosts or of one of these templates.
func (x *index) narrow(set *roaring.Bitmap, hosts, templates []uint32) *roaring.Bitmap {
	if len(hosts)+len(templates) <= unionMost {
		var parts []*roaring.Bitmap
		for _, id := range hosts {
			parts = append(parts, x.host.bits[id])
		}
		for _, id := range templates {
			parts = append(parts, x.template.bits[id])
		}
		set.And(union(parts))
		return set
	}
	host, template := make([]bool, len(x.host.values)), make([]bool, len(x.template.values))
	for _, id := range hosts {
		host[id] = true
	}
	for _, id := range templates {
		template[id] = true
	}
	kept := make([]uint32, 0, set.GetCardinality())
	for _, no := range set.ToArray() {
		if e := &x.rows[no]; host[e.host] || template[e.template] {
			kept = append(kept, no)
		}
	}
	return roaring.BitmapOf(kept...)
}

// firstAt is the least number that is not older than a time.
func (x *index) firstAt(micros int64) int {
	low, high := 0, len(x.rows)
	for low < high {
		middle := (low + high) / 2
		next := middle // a number that was given to nobody, or is deleted, says nothing
		for next < high && !x.rows[next].live {
			next++
		}
		if next == high || x.rows[next].createdAt >= micros {
			high = middle
		} else {
			low = next + 1
		}
	}
	return low
}

func lower(values []string) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = strings.ToLower(strings.TrimSpace(v))
	}
	return out
}

func words[S ~string](values []S) []string {
	out := make([]string, len(values))
	for i, v := range values {
		out[i] = string(v)
	}
	return out
}
