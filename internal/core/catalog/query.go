package catalog

import (
	"cmp"
	"context"
	"database/sql"
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/errs"
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

// facets are the fields that a query may name and that are counted.
var facets = [...]string{
	"author", "creation_stats", "dir", "is_early", "is_new", "product", "severity", "tags", "type", "vendor",
}

// parse reads a query: words, of which all must begin a word of the template; "several
// words" in quotes, which are the same; field:value; and a - before what must not be.
func parse(q string) (terms []term, err error) {
	if len(q) > maxQuery {
		return nil, errs.Field("q", "q must have at most %d bytes.", maxQuery)
	}
	for rest := strings.TrimSpace(db.Clean(q)); rest != ""; rest = strings.TrimSpace(rest) {
		var one string
		if one, rest = next(rest); one == "&&" || one == "AND" {
			continue
		}
		not := strings.HasPrefix(one, "-") && len(one) > 1
		if not {
			one = one[1:]
		}
		name, value, ok := strings.Cut(one, ":")
		value = strings.ToLower(oneLine(strings.Trim(value, `"`)))
		if ok && value != "" && (name == "id" || slices.Contains(facets[:], name)) {
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

// where adds the condition that a term holds of a row of template_search: a word of the template
// begins as the term does, or the term's value is in its field. An id and a folder need only begin
// with it.
func (t term) where(w *db.Where, d db.Dialect) {
	line := "\n" + t.field + "=" + t.value
	cond, args := d.Find("e.folded")+" > 0", []any{line + "\n"}
	switch t.field {
	case "":
		cond, args = d.Find("e.words")+" > 0", []any{":" + t.value}
	case "id":
		cond, args = "("+cond+" OR e.id = ?)", []any{line, t.value}
	case "dir":
		cond, args = "("+cond+" OR "+cond+")", []any{line + "\n", line + "/"}
	}
	if t.not {
		cond = "NOT " + cond
	}
	w.And(cond, args...)
}

// score is how well a row fits the words of a query: for each the weight of the best word that
// begins with it, and that of the word itself.
func score(terms []term, d db.Dialect) (expression string, args []any) {
	var weight strings.Builder
	weight.WriteString(" + CASE substr(e.words, " + d.Find("e.words") + " - 1, 1)")
	for i, w := range weights {
		fmt.Fprintf(&weight, " WHEN '%c' THEN %d", 'a'+i, w)
	}
	weight.WriteString(" ELSE 0 END")
	n := 0
	for _, t := range terms {
		if t.field == "" && !t.not {
			n += 2
			args = append(args, ":"+t.value, ":"+t.value+" ")
		}
	}
	return "0" + strings.Repeat(weight.String(), n), args
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

// count counts what a condition picks, and the values of its facets; size is how many each shows.
func (c *Catalog) count(ctx context.Context, where db.Where, size int) (total int, out map[string]Facet, err error) {
	lines := map[string]int{}
	has := map[string]int{} // templates that have a value
	for row, err := range c.db.Rows(ctx, `SELECT e.facets FROM template_search e`+where.String(), where.Args...) {
		var values sql.RawBytes
		if err == nil {
			err = row.Scan(&values)
		}
		if err != nil {
			return 0, nil, err
		}
		total++
		last := ""
		for line := range strings.SplitSeq(strings.Trim(string(values), "\n"), "\n") {
			lines[line]++
			if name, _, _ := strings.Cut(line, "="); name != last {
				has[name]++
				last = name
			}
		}
	}
	out = make(map[string]Facet, len(facets))
	for _, name := range facets {
		out[name] = Facet{Buckets: []Bucket{}, Missing: total - has[name]}
	}
	for line, n := range lines {
		name, value, _ := strings.Cut(line, "=")
		f := out[name]
		f.Buckets, f.Total = append(f.Buckets, Bucket{value, n}), f.Total+n
		out[name] = f
	}
	for name, f := range out {
		slices.SortFunc(f.Buckets, func(a, b Bucket) int {
			return cmp.Or(b.Count-a.Count, strings.Compare(a.Value, b.Value))
		})
		f.Buckets = f.Buckets[:min(size, len(f.Buckets))]
		f.Other = f.Total
		for _, b := range f.Buckets {
			f.Other -= b.Count
		}
		out[name] = f
	}
	return total, out, nil
}
