package asset

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/list"
	"github.com/vedette-sec/vedette/internal/infra/page"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// meaning makes of a Filter what package list answers. The same code decides what lists show, which
// the index finds, and what policies and lists as of a date mean, which are decided row by row
// (row.withColumns): only conditions on columns that the index leaves to the table differ.
type meaning struct {
	runs map[string]runs // of each enumeration; nil: the filter does not ask
	rows bool            // the filter is for rows by themselves
	team int64           // the team's number in ids
}

// runs are those of an enumeration, as far as filters ask.
type runs struct {
	latest    int64 // is_new: what it saw first
	covered   int64 // the latest that looked at everything
	coveredAt time.Time
}

// column is a condition on a column: in SQL, or on a value of the same name in a described row.
func (m meaning) column(name string, holds func(value string) bool, cond string, args ...any) list.Filter {
	if m.rows {
		return list.Match(name, "", holds)
	}
	return list.Column(cond, args...)
}

// between is a column with numbers from low on and below high.
func (m meaning) between(column string, low, high int64) list.Filter {
	holds := inRange(low, high)
	if low <= 0 {
		return m.column(column, holds, column+" < ?", high)
	}
	return m.column(column, holds, column+" >= ? AND "+column+" < ?", low, high)
}

// inRange reports whether a number is from low on and below high.
func inRange(low, high int64) func(value string) bool {
	return func(value string) bool { n := numberOf(value); return n >= low && n < high }
}

// empty is the assets of which a column says nothing.
func (m meaning) empty(column string) list.Filter {
	return m.column("empty", func(value string) bool { return value == column }, column+" = ''")
}

func (m meaning) missing() list.Filter {
	return m.column("is", func(value string) bool { return value == "missing" }, "is_missing")
}

// of is what a filter picks.
func (m meaning) of(f Filter) list.Filter {
	var all []list.Filter
	if f.IDs != nil {
		all = append(all, m.ids(f.IDs))
	}
	if f.Enumerations != nil {
		all = append(all, list.Has("enumeration", f.Enumerations...))
	}
	for _, field := range []struct {
		wanted []string
		means  func(word string) list.Filter
	}{
		{f.Labels, m.like("labels")}, {f.Hosts, m.like("host")}, {f.Titles, m.containing("title")},
		{f.CNAMEs, m.like("cname")}, {f.Techs, m.like("technologies")}, {f.IPs, inside},
	} {
		all = append(all, anyWord(field.wanted, field.means))
	}
	for _, field := range []struct {
		facet  string
		wanted []int64
	}{{"port", f.Ports}, {"status_code", f.Statuses}, {"content_length", f.Lengths}} {
		if len(field.wanted) > 0 {
			all = append(all, list.Has(field.facet, numbers(field.wanted)...))
		}
	}
	if len(f.Favicons) > 0 {
		all = append(all, list.Has("favicon", f.Favicons...))
	}
	if len(f.Domains) > 0 {
		all = append(all, under(f.Domains...))
	}
	if f.FirstRun > 0 {
		births := make([]string, len(f.Enumerations))
		for i, id := range f.Enumerations {
			births[i] = bornIn(id, f.FirstRun)
		}
		all = append(all, list.Has("born", births...))
	}
	if f.Search != "" {
		all = append(all, list.Contains(f.Search, "host", "title", "ip", "technologies", "labels"))
	}
	all = append(append(all, m.flags(f)...), m.times(f)...)
	if f.Custom != nil {
		all = append(all, m.condition(f.Custom))
	}
	for _, other := range f.And {
		all = append(all, m.of(other))
	}
	return list.All(all...)
}

// anyWord holds where one of some words does; without words it says nothing.
func anyWord(words []string, means func(word string) list.Filter) list.Filter {
	if len(words) == 0 {
		return nil
	}
	out := make([]list.Filter, len(words))
	for i, word := range words {
		out[i] = means(word)
	}
	return list.Any(out...)
}

func (m meaning) ids(ids []int64) list.Filter {
	var wanted []int64
	for _, id := range ids {
		if team, no := noOf(id); team == m.team {
			wanted = append(wanted, no)
		}
	}
	if len(wanted) == 0 {
		return list.Any()
	}
	holds := func(value string) bool { return slices.Contains(wanted, numberOf(value)) }
	return m.column("no", holds, "no IN ("+marks(len(wanted))+")", db.Anys(wanted)...)
}

func (m meaning) flags(f Filter) (out []list.Filter) {
	for _, flag := range []struct {
		want *bool
		is   func() list.Filter
	}{
		{f.Tech, is("technologies")}, {f.Favicon, is("favicon")}, {f.Screenshot, is("screenshot")},
		{f.Internal, is("internal")}, {f.New, m.fresh},
	} {
		if flag.want != nil {
			out = append(out, when(*flag.want, flag.is()))
		}
	}
	if f.OnlyIP != nil && *f.OnlyIP {
		out = append(out, list.Has("is", "address"))
	}
	if f.OnlyDNS != nil && *f.OnlyDNS {
		out = append(out, list.Not(list.Has("is", "address")))
	}
	return out
}

func is(flag string) func() list.Filter { return func() list.Filter { return list.Has("is", flag) } }

// when is a filter or its opposite.
func when(want bool, f list.Filter) list.Filter {
	if want {
		return f
	}
	return list.Not(f)
}

// forever is later than every moment.
const forever = 1<<63 - 1

func (m meaning) times(f Filter) (out []list.Filter) {
	if !f.Since.IsZero() || !f.Until.IsZero() {
		low, high := max(0, f.Since.UnixMicro()), int64(forever)
		if !f.Until.IsZero() {
			high = f.Until.UnixMicro()
		}
		out = append(out, m.between("created_at", low, high))
	}
	if !f.Unseen.IsZero() {
		out = append(out, m.unseen(f.Unseen))
	}
	return out
}

// fresh is what the latest runs of their enumerations saw first.
func (m meaning) fresh() list.Filter {
	births := make([]string, 0, len(m.runs))
	for id, runs := range m.runs {
		births = append(births, bornIn(id, runs.latest))
	}
	return list.Has("born", births...)
}

// unseen is what has not been seen since a moment, although a later run than the one that saw it
// last has looked at everything and ended after that moment. An asset that no run looked for is not
// called unseen.
func (m meaning) unseen(since time.Time) list.Filter {
	var each []list.Filter
	var conds []string
	var args []any
	for id, runs := range m.runs {
		if runs.covered == 0 || runs.coveredAt.Before(since) {
			continue
		}
		each = append(each, list.All(list.Has("enumeration", id), m.between("run", 0, runs.covered)))
		conds, args = append(conds, "enumeration_id = ? AND run < ?"), append(args, id, runs.covered)
	}
	long := m.between("seen_at", 0, since.UnixMicro())
	if m.rows || len(each) == 0 {
		return list.All(long, list.Any(each...))
	}
	return list.Column("seen_at < ? AND ("+strings.Join(conds, " OR ")+")", append([]any{db.At(since)}, args...)...)
}

// stored are the facets whose values are not in lower case.
func stored(facet string) bool { return facet == "service" || facet == "webserver" }

// like is the assets with a word in a column; in a word with a *, that stands for anything.
func (m meaning) like(column string) func(word string) list.Filter {
	return func(word string) list.Filter {
		switch {
		case strings.Contains(word, "*"):
			var out list.Filter
			if stored(column) {
				out = list.Match(column, "", func(value string) bool { return textsearch.Wildcard(word, strings.ToLower(value)) })
			} else {
				out = list.Match(column, longest(word), func(value string) bool { return textsearch.Wildcard(word, value) })
			}
			if strings.Trim(word, "*") == "" {
				return list.Any(out, m.empty(column))
			}
			return out
		case word == "":
			return m.empty(column)
		case column == "technologies":
			return list.Any(list.Has(column, word), list.Has("product", word))
		case stored(column):
			return list.Match(column, "", func(value string) bool {
				value = strings.ToLower(value)
				return value == word || column == "webserver" && versionless(value) == word
			})
		}
		return list.Has(column, word)
	}
}

// containing is the assets with a text in a column.
func (m meaning) containing(column string) func(part string) list.Filter {
	return func(part string) list.Filter {
		switch {
		case part == "":
			return list.All()
		case column == "title": // titles are many: the index finds those that have one
			return list.All(list.Has("is", "titled"), list.Contains(part, column))
		case stored(column):
			return list.Match(column, "", func(value string) bool { return strings.Contains(strings.ToLower(value), part) })
		}
		return list.Contains(part, column)
	}
}

// longest is the longest part of a pattern without a *.
func longest(pattern string) (out string) {
	for part := range strings.SplitSeq(pattern, "*") {
		if len(part) > len(out) {
			out = part
		}
	}
	return out
}

// under is the hosts at and below domains.
func under(domains ...string) list.Filter {
	return list.Any(list.Has("host", domains...), list.Has("under", domains...))
}

// inside is the assets with an address, or one of a network. Addresses have tokens of some
// networks: a network is the union of those of the next length, or a part of a larger one, whose
// addresses are then looked at.
func inside(text string) list.Filter {
	p, err := network(text)
	if err != nil { // Parse has read it
		return list.Any()
	}
	addr, bits := p.Addr(), p.Bits()
	within := list.Match("ip", "", func(value string) bool {
		a, err := netip.ParseAddr(value)
		return err == nil && p.Contains(a.Unmap())
	})
	if bits == addr.BitLen() {
		return list.Has("ip", addr.String())
	}
	around := 0
	for _, level := range append(netBits(addr), addr.BitLen()) {
		if bits <= level && level-bits <= 8 {
			return parts(p, level)
		}
		if level < bits {
			around = level
		}
	}
	if around == 0 {
		return within
	}
	larger := netip.PrefixFrom(addr, around).Masked()
	return list.All(list.Has("net", larger.String()), within)
}

// parts is the networks of a length, or the addresses, that a network is made of.
func parts(p netip.Prefix, level int) list.Filter {
	facet, names := "net", []string{}
	if level == p.Addr().BitLen() {
		facet = "ip"
	}
	for i := range 1 << (level - p.Bits()) {
		b := p.Addr().AsSlice()
		for bit := range level - p.Bits() { // the bits of i, the lowest at the end of the network
			at := level - 1 - bit
			b[at/8] |= byte(i>>bit&1) << (7 - at%8)
		}
		addr, _ := netip.AddrFromSlice(b)
		if facet == "ip" {
			names = append(names, addr.String())
		} else {
			names = append(names, netip.PrefixFrom(addr, level).String())
		}
	}
	return list.Has(facet, names...)
}

func numbers(ns []int64) (out []string) {
	for _, n := range ns {
		out = append(out, number(n))
	}
	return out
}

// condition is the assets for which a condition holds.
func (m meaning) condition(c *Condition) list.Filter {
	var parts []list.Filter
	for _, part := range c.parts {
		parts = append(parts, m.condition(part))
	}
	switch c.join {
	case "!":
		return list.Not(parts[0])
	case "&&":
		return list.All(parts...)
	case "||":
		return list.Any(parts...)
	}
	op, negated := strings.CutPrefix(c.op, "!")
	return when(!negated, m.comparing(c.field, op, c.value))
}

// comparing is the assets for which a comparison holds.
func (m meaning) comparing(field, op, value string) list.Filter {
	kind, _ := conditionField(field)
	switch {
	case kind == textField && op == "~":
		return m.containing(field)(value)
	case kind == textField:
		return m.like(field)(value)
	case kind == numberField:
		n, _ := strconv.ParseInt(value, 10, 63) // check has read it
		low, high := bounds(op, n)
		switch {
		case op == "=":
			return list.Has(field, number(n))
		case field == "content_length":
			return m.between(field, low, high)
		}
		return list.Match(field, "", inRange(low, high))
	case kind == timeField:
		t, _ := page.Moment("", strings.ToUpper(value), false)
		low, high := bounds(op, t.UnixMicro())
		column := map[string]string{"created_at": "created_at", "updated_at": "since", "last_seen": "seen_at"}[field]
		return m.between(column, low, high)
	case field == "domain":
		return under(strings.Trim(value, ".*"))
	case field == "ip":
		return inside(value)
	case field == "enumeration_id":
		return list.Has("enumeration", value)
	}
	want, _ := strconv.ParseBool(value)
	switch field {
	case "is_new":
		return when(want, m.fresh())
	case "is_missing":
		return when(want, m.missing())
	}
	return when(want, list.Has("is", strings.TrimPrefix(field, "is_")))
}

// asksRuns reports whether what a filter means depends on the runs of enumerations.
func (f Filter) asksRuns() bool {
	return f.New != nil || !f.Unseen.IsZero() || f.Custom != nil && strings.Contains(f.Custom.text, "is_new") ||
		slices.ContainsFunc(f.And, Filter.asksRuns)
}
