package match

import (
	"slices"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Operators are the matchers and extractors of one block, compiled. They are not
// changed after Compile and are safe for any number of goroutines.
type Operators struct {
	matchers   []matcher // cheapest first
	extractors []extractor
	and        bool
	silent     bool // every matcher is internal: a match is no finding
}

// Finding is one thing to report about a response.
type Finding struct {
	Matcher   string // the name of the matcher that said yes, when it is told apart
	Extractor string // the name of the extractor whose values these are, when told apart
	Extracted []string
}

// Compile makes operators of what was written; condition is "and", "or" or "", which
// is or. file is for messages. Errors are *errs.Error as of package syntax.
func Compile(file, condition string, matchers []syntax.Matcher, extractors []syntax.Extractor) (*Operators, error) {
	o := &Operators{and: condition == "and", silent: len(matchers) > 0}
	for i, s := range matchers {
		m, err := compileMatcher(file, i, s)
		if err != nil {
			return nil, err
		}
		o.matchers = append(o.matchers, m)
		o.silent = o.silent && m.internal
	}
	slices.SortStableFunc(o.matchers, func(a, b matcher) int { return a.cost() - b.cost() })
	for _, s := range extractors {
		x, err := compileExtractor(file, s)
		if err != nil {
			return nil, err
		}
		o.extractors = append(o.extractors, x)
	}
	return o, nil
}

// Eval judges one response; vars are the variables that words and parts may name
// besides what the response and the extractors give. matched says whether the matchers hold; findings is what
// to report: with or, one for each named matcher that holds; else one for each named
// extractor that found something; else one. Without matchers, extracted values alone
// are a finding, and matched stays false.
func (o *Operators) Eval(r *Response, vars dsl.Lookup) (matched bool, findings []Finding) {
	taken := o.expose(r, vars)
	matched, names := o.judge(r)
	if o.silent || !matched && len(o.matchers) > 0 {
		return matched, nil
	}
	var all []string
	var named []Finding
	for i := range o.extractors {
		x := &o.extractors[i]
		if x.internal {
			continue
		}
		values := taken(i)
		for _, v := range values {
			all = appendNew(all, v)
		}
		if x.name == "" || len(values) == 0 {
			continue
		}
		if at := slices.IndexFunc(named, func(f Finding) bool { return f.Extractor == x.name }); at >= 0 {
			for _, v := range values {
				named[at].Extracted = appendNew(named[at].Extracted, v)
			}
			continue
		}
		named = append(named, Finding{Extractor: x.name, Extracted: slices.Clone(values)})
	}
	switch {
	case !matched && len(all) == 0:
		return false, nil
	case len(names) > 0:
		for _, name := range names {
			findings = append(findings, Finding{Matcher: name, Extracted: all})
		}
		return matched, findings
	case len(named) > 0:
		return matched, named
	}
	return matched, []Finding{{Extracted: all}}
}

// judge asks the matchers, cheapest first. With and it stops at the first no; with or
// it stops at the first yes, but for matchers that have a name to report.
func (o *Operators) judge(r *Response) (matched bool, names []string) {
	if o.and {
		return every(o.matchers, true, func(m *matcher) bool { return m.match(r) }), nil
	}
	var hits []*matcher
	for i := range o.matchers {
		m := &o.matchers[i]
		if matched && (m.name == "" || m.internal) {
			continue
		}
		if m.match(r) {
			matched = true
			if m.name != "" && !m.internal {
				hits = append(hits, m)
			}
		}
	}
	slices.SortFunc(hits, func(a, b *matcher) int { return a.order - b.order })
	for _, m := range hits {
		if !slices.Contains(names, m.name) {
			names = append(names, m.name)
		}
	}
	return matched, names
}

// expose sets what names mean during this Eval: the named extractors, the response,
// the variables, in this order. It gives each extractor's values; an extractor works at
// most once, and only when asked.
func (o *Operators) expose(r *Response, vars dsl.Lookup) (values func(i int) []string) {
	r.named = nil
	if len(o.extractors) == 0 {
		r.scope = dsl.First(r.Named, vars)
		return nil
	}
	done := make([]bool, len(o.extractors))
	taken := make([][]string, len(o.extractors))
	values = func(i int) []string {
		if !done[i] {
			done[i] = true // before the work: an extractor that reads its own name finds none
			taken[i] = o.extractors[i].values(r)
		}
		return taken[i]
	}
	extracted := func(name string) (any, bool) {
		for i := range o.extractors {
			if o.extractors[i].name == name && name != "" {
				if found := values(i); len(found) > 0 {
					return found[0], true
				}
			}
		}
		return nil, false
	}
	r.scope = dsl.First(extracted, r.Named, vars)
	return values
}

// Requires says whether nothing can be found without a part for which is holds: with
// and, when one matcher reads such a part; else when all that could report do.
func (o *Operators) Requires(is func(part string) bool) bool {
	if len(o.matchers) == 0 {
		return len(o.extractors) > 0 && !slices.ContainsFunc(o.extractors, func(x extractor) bool { return !is(x.part.name) || len(x.keys) > 0 })
	}
	reads := func(m matcher) bool { return is(m.part.name) }
	if o.and {
		return slices.ContainsFunc(o.matchers, reads)
	}
	return !slices.ContainsFunc(o.matchers, func(m matcher) bool { return !reads(m) })
}

// ReadsPage says whether the verdict depends on the status or the body: on the page
// that was asked for, rather than on headers that a server sends with every page.
func (o *Operators) ReadsPage() bool {
	page := func(p partRef) bool { return p.index != viewHeader && p.index != viewNamed && p.index != viewRequest }
	for i := range o.matchers {
		m := &o.matchers[i]
		if m.kind == kindStatus || page(m.part) || m.part.name == "status_code" || m.part.name == "content_length" {
			return true
		}
	}
	if len(o.matchers) > 0 {
		return false
	}
	return slices.ContainsFunc(o.extractors, func(x extractor) bool { return len(x.patterns) > 0 && page(x.part) })
}
