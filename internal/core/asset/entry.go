package asset

import (
	"net/netip"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/list"
)

// index is the list of the inventory: package list has the algorithm.
var index = list.Index{Name: "asset", Table: "asset", Searched: []string{
	"enumeration", "host", "port", "status_code", "title", "service", "webserver", "ip", "cname", "technologies",
	"favicon", "labels", "tls", "misconfiguration",
}}

// entry is the index row of an asset. Texts are in lower case because filters ignore case; service,
// webserver and enumeration are as stored because lists are sorted by them.
func (r *row) entry() list.Row {
	e := list.Row{No: r.no}
	add := func(facet string, values ...string) {
		for _, value := range values {
			e.Values = append(e.Values, list.Value{Facet: facet, Value: value})
		}
	}
	lower := func(column string) []string {
		if column == "" {
			return nil
		}
		return strings.Split(strings.ToLower(column), "\n")
	}
	add("enumeration", r.enumeration)
	add("born", bornIn(r.enumeration, r.firstRun))
	add("host", r.host)
	_, err := netip.ParseAddr(r.host)
	if err != nil {
		add("under", parents(r.host)...)
	}
	add("port", number(int64(r.port)))
	add("status_code", number(int64(r.status)))
	add("content_length", number(r.length))
	add("service", words(r.service)...)
	add("webserver", words(r.webserver)...)
	add("title", lower(r.title)...)
	add("cname", lower(r.cname)...)
	add("favicon", lower(r.favicon)...)
	add("labels", lower(r.labels)...)
	add("tls", lower(r.tls)...)
	add("misconfiguration", lower(r.misconfiguration)...)
	for _, word := range lower(r.technologies) {
		add("technologies", word)
		if name := versionless(word); name != word {
			add("product", name)
		}
	}
	for _, text := range lower(r.ip) {
		add("ip", text)
		if addr, err := netip.ParseAddr(text); err == nil {
			if plain := addr.Unmap().String(); plain != text {
				add("ip", plain)
			}
			add("net", networksOf(addr.Unmap())...)
		}
	}
	for _, flag := range []struct {
		name string
		is   bool
	}{
		{"internal", r.internal}, {"address", err == nil}, {"screenshot", r.screenshot != ""},
		{"technologies", r.technologies != ""}, {"favicon", r.favicon != ""},
		{"titled", r.title != ""},
	} {
		if flag.is {
			add("is", flag.name)
		}
	}
	return e
}

// withColumns adds to the entry the values that filters read from table columns, to evaluate filters
// without the database.
func (r *row) withColumns() list.Row {
	e := r.entry()
	for _, column := range []struct {
		name  string
		value int64
	}{
		{"no", r.no}, {"run", r.run}, {"created_at", r.createdAt.UnixMicro()}, {"since", r.since.UnixMicro()},
		{"seen_at", r.seenAt.UnixMicro()},
	} {
		e.Values = append(e.Values, list.Value{Facet: column.name, Value: number(column.value)})
	}
	for name, value := range map[string]string{
		"host": r.host, "title": r.title, "webserver": r.webserver, "service": r.service, "technologies": r.technologies,
		"cname":  r.cname,
		"labels": r.labels, "favicon": r.favicon, "tls": r.tls, "misconfiguration": r.misconfiguration,
	} {
		if value == "" {
			e.Values = append(e.Values, list.Value{Facet: "empty", Value: name})
		}
	}
	if r.missing {
		e.Values = append(e.Values, list.Value{Facet: "is", Value: "missing"})
	}
	return e
}

// number encodes a number as a text that sorts like it: a letter for its length, then its digits.
// Negative numbers count as 0.
func number(n int64) string {
	digits := strconv.FormatInt(max(n, 0), 10)
	return string(rune('a'+len(digits))) + digits
}

// numberOf decodes a text of number.
func numberOf(text string) int64 {
	n, err := strconv.ParseInt(text[1:], 10, 64)
	if err != nil {
		return -1
	}
	return n
}

// bornIn identifies the run of an enumeration that saw an asset first.
func bornIn(enumeration string, run int64) string {
	return enumeration + " " + strconv.FormatInt(run, 10)
}

// maxDots bounds the domains of one host.
const maxDots = 32

// parents are the domains that a host is below.
func parents(host string) (out []string) {
	for range maxDots {
		_, parent, more := strings.Cut(host, ".")
		if !more {
			break
		}
		out = append(out, parent)
		host = parent
	}
	return out
}

// versionless removes the version of a technology: nginx:1.18.0 and nginx/1.18.0 become nginx.
func versionless(word string) string {
	if end := strings.IndexAny(word, ":/"); end > 0 {
		return word[:end]
	}
	return word
}

// netBits are the prefix lengths of the networks that are indexed for an address.
func netBits(addr netip.Addr) []int {
	if addr.Is4() {
		return []int{8, 16, 24}
	}
	return []int{32, 48, 64}
}

func networksOf(addr netip.Addr) (out []string) {
	for _, bits := range netBits(addr) {
		if p, err := addr.WithZone("").Prefix(bits); err == nil {
			out = append(out, p.String())
		}
	}
	return out
}

// ipOrder is the sort key of a column of addresses: the first address as a number.
func ipOrder(column string) string {
	first, _, _ := strings.Cut(column, "\n")
	addr, err := netip.ParseAddr(first)
	if err != nil {
		return "~" + column // behind all addresses
	}
	const digits = "0123456789abcdef"
	out := make([]byte, 0, 32)
	for _, b := range addr.As16() {
		out = append(out, digits[b>>4], digits[b&15])
	}
	return string(out)
}
