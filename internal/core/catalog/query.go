package catalog

import (
	"cmp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

const (
	maxQuery = 500 // bytes
	maxTerms = 20
)

// term is one part of a query: a word that must begin one of the template's words, or a
// field that must have a value; with not, must not.
type term struct {
	field string // empty: any text
	value string // lower case
	not   bool
}

const numFacets = 10

// facets are the fields that a query may name and that are counted, with their values in
// an entry.
var facets = [numFacets]struct {
	name   string
	values func(e *entry, yield func(string))
}{
	{"author", func(e *entry, yield func(string)) { each(e.authors, yield) }},
	{"creation_stats", func(e *entry, yield func(string)) { yield(e.month) }},
	{"dir", func(e *entry, yield func(string)) { yield(e.dir) }},
	{"is_early", func(e *entry, yield func(string)) { yield(strconv.FormatBool(e.scope == EarlySet)) }},
	{"is_new", func(e *entry, yield func(string)) { yield(strconv.FormatBool(e.isNew)) }},
	{"product", func(e *entry, yield func(string)) { yield(e.product) }},
	{"severity", func(e *entry, yield func(string)) { yield(e.severity) }},
	{"tags", func(e *entry, yield func(string)) { each(e.tags, yield) }},
	{"type", func(e *entry, yield func(string)) { yield(e.typ) }},
	{"vendor", func(e *entry, yield func(string)) { yield(e.vendor) }},
}

func each(values []string, yield func(string)) {
	for _, v := range values {
		yield(v)
	}
}

// parse reads a query: words, of which all must begin a word of the template; "several
// words" in quotes, which are the same; field:value; and a - before what must not be.
func parse(q string) (terms []term, err error) {
	if len(q) > maxQuery {
		return nil, errs.Field("q", "q must have at most %d bytes.", maxQuery)
	}
	for rest := strings.TrimSpace(q); rest != ""; rest = strings.TrimSpace(rest) {
		var one string
		if one, rest = next(rest); one == "&&" || one == "AND" {
			continue
		}
		not := strings.HasPrefix(one, "-") && len(one) > 1
		if not {
			one = one[1:]
		}
		name, value, ok := strings.Cut(one, ":")
		value = strings.ToLower(strings.Trim(value, `"`))
		if ok && value != "" && (name == "id" || facetAt(name) >= 0) {
			terms = append(terms, term{field: name, value: value, not: not})
		} else {
			for word := range wholeWords(strings.ToLower(one)) {
				terms = append(terms, term{value: cut(word), not: not})
			}
		}
		if len(terms) > maxTerms {
			return nil, errs.Field("q", "q must have at most %d terms.", maxTerms)
		}
	}
	return terms, nil
}

// next cuts the first part off a query; quotes hold spaces.
func next(q string) (one, rest string) {
	quoted := false
	for i, r := range q {
		switch {
		case r == '"':
			quoted = !quoted
		case (r == ' ' || r == '\t' || r == '\n' || r == '\r') && !quoted:
			return q[:i], q[i:]
		}
	}
	return q, ""
}

func facetAt(name string) int {
	for i, f := range facets {
		if f.name == name {
			return i
		}
	}
	return -1
}

// hit is a template that a query found, and how well.
type hit struct {
	*entry
	score int
}

// find gives the entries that all terms hold of, by id.
func (x *index) find(terms []term) []hit {
	scores := make([]int, len(x.entries)) // -1: out
	for _, t := range terms {
		if t.field == "" {
			x.word(t, scores)
		} else {
			x.field(t, scores)
		}
	}
	out := make([]hit, 0, len(x.entries))
	for i, score := range scores {
		if score >= 0 {
			out = append(out, hit{&x.entries[i], score})
		}
	}
	return out
}

// word takes out what has no word that begins as the term does (or has one), and adds to
// the scores of the rest what the place of the best such word weighs: twice as much where
// it is the whole word.
func (x *index) word(t term, scores []int) {
	best := make([]int, len(x.entries))
	from, _ := slices.BinarySearch(x.words, t.value)
	for _, word := range x.words[from:] {
		if !strings.HasPrefix(word, t.value) {
			break
		}
		for _, p := range x.seen[word] {
			weight := int(p.weight)
			if word == t.value {
				weight *= 2
			}
			best[p.entry] = max(best[p.entry], weight)
		}
	}
	for i := range scores {
		switch {
		case scores[i] < 0:
		case (best[i] > 0) == t.not:
			scores[i] = -1
		default:
			scores[i] += best[i]
		}
	}
}

// field takes out what has not a term's value in its field (or has it), in any case. An
// id and a folder need only begin with it.
func (x *index) field(t term, scores []int) {
	if t.field == "id" {
		for i := range x.entries {
			e := &x.entries[i]
			if has := e.id == t.value || strings.HasPrefix(strings.ToLower(e.writtenID), t.value); has == t.not {
				scores[i] = -1
			}
		}
		return
	}
	f := facetAt(t.field)
	wanted := make([]bool, len(x.table[f].values))
	for at, v := range x.table[f].values {
		wanted[at] = strings.EqualFold(v, t.value) || t.field == "dir" && strings.HasPrefix(strings.ToLower(v), t.value+"/")
	}
	for i := range x.entries {
		if has := slices.ContainsFunc(x.entries[i].marks[f], func(at uint32) bool { return wanted[at] }); has == t.not {
			scores[i] = -1
		}
	}
}

// Bucket counts the templates that have a value.
type Bucket struct {
	Value string
	Count int
}

// Facet counts the values of one field over all that a search found.
type Facet struct {
	Buckets []Bucket // the most frequent ones; of equal ones the lesser value first
	Missing int      // templates without a value
	Other   int      // counts outside of Buckets
	Total   int      // all counts
}

// count counts the values of all facets; size is how many values each shows.
func count(hits []hit, size int) map[string]Facet {
	counts := map[*table]*[numFacets][]int{} // by place
	var missing [numFacets]int
	var of *[numFacets][]int
	for i, h := range hits {
		if i == 0 || h.table != hits[i-1].table {
			if of = counts[h.table]; of == nil {
				of = new([numFacets][]int)
				for f := range of {
					of[f] = make([]int, len(h.table[f].values))
				}
				counts[h.table] = of
			}
		}
		for f, marks := range h.marks {
			for _, at := range marks {
				of[f][at]++
			}
			if len(marks) == 0 {
				missing[f]++
			}
		}
	}
	out := make(map[string]Facet, numFacets)
	for f := range facets {
		byValue := map[string]int{}
		for t, of := range counts {
			for at, n := range of[f] {
				if n > 0 {
					byValue[t[f].values[at]] += n
				}
			}
		}
		out[facets[f].name] = facetOf(byValue, missing[f], size)
	}
	return out
}

// facetOf picks the values that a facet shows.
func facetOf(byValue map[string]int, missing, size int) Facet {
	facet := Facet{Buckets: make([]Bucket, 0, len(byValue)), Missing: missing}
	for value, n := range byValue {
		facet.Buckets = append(facet.Buckets, Bucket{value, n})
		facet.Total += n
	}
	slices.SortFunc(facet.Buckets, func(a, b Bucket) int { return cmp.Or(b.Count-a.Count, strings.Compare(a.Value, b.Value)) })
	facet.Buckets = facet.Buckets[:min(size, len(facet.Buckets))]
	facet.Other = facet.Total
	for _, b := range facet.Buckets {
		facet.Other -= b.Count
	}
	return facet
}

// Sortable are the fields of an order, as page.Sorts wants them.
var Sortable = map[string]string{
	"id": "id", "template_id": "template_id", "name": "name", "severity": "severity", "type": "type", "dir": "dir", "uri": "uri",
	"vendor": "vendor", "product": "product", "created_at": "created_at", "updated_at": "updated_at",
}

// order sorts hits: by sorts, then by how well they fit, then by id.
func order(hits []hit, sorts []page.Sort) {
	slices.SortFunc(hits, func(a, b hit) int {
		if c := cmp.Or(compareAll(sorts, a.entry, b.entry), b.score-a.score); c != 0 {
			return c
		}
		return cmp.Or(strings.Compare(a.writtenID, b.writtenID), strings.Compare(a.id, b.id))
	})
}

func compareAll(sorts []page.Sort, a, b *entry) int {
	for _, s := range sorts {
		c := compare(s.Column, a, b)
		if s.Desc {
			c = -c
		}
		if c != 0 {
			return c
		}
	}
	return 0
}

func compare(column string, a, b *entry) int {
	switch column {
	case "id":
		return strings.Compare(a.writtenID, b.writtenID)
	case "template_id":
		return strings.Compare(a.id, b.id)
	case "name":
		return strings.Compare(a.lowerName, b.lowerName)
	case "severity":
		return rank(a.severity) - rank(b.severity)
	case "type":
		return strings.Compare(a.typ, b.typ)
	case "dir":
		return strings.Compare(a.dir, b.dir)
	case "uri":
		return strings.Compare(a.path, b.path)
	case "vendor":
		return strings.Compare(a.vendor, b.vendor)
	case "product":
		return strings.Compare(a.product, b.product)
	case "created_at":
		return cmp.Compare(a.createdAt, b.createdAt)
	default:
		return cmp.Compare(a.updatedAt, b.updatedAt)
	}
}
