package match

import (
	"slices"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// Operators are the matchers and extractors of one block. They are not changed after
// Compile or Later and are safe for any number of goroutines.
type Operators struct {
	rules    func() *rules  // compiles them first, when they are Later's
	sealed   *syntax.Sealed // nil when they are not Later's
	statuses []int          // when there are some: a response with any other is a no
}

// rules are operators, compiled.
type rules struct {
	matchers    []matcher // cheapest first
	extractors  []extractor
	sites       []spot
	condition   condition
	hasMatchers bool // matchers were written, even if all are excluded
	silent      bool // every matcher is internal: a match is no finding

	history, oast bool
}

type condition int

const (
	conditionOr condition = iota
	conditionAnd
	conditionNeither // any other text: or, without names (4.1)
)

// Spec is what operators are made of.
type Spec struct {
	Condition  string // between matchers: "and", "or", or "" for or
	Matchers   []syntax.Matcher
	Extractors []syntax.Extractor

	// DefaultPart is what stands for the body in the protocol: where no part is written,
	// and for the parts "body" and "all". "" when the protocol has a body.
	DefaultPart string

	// Excluded says which matchers are left out by their name (4.4); nil for none.
	Excluded func(matcher string) bool
}

// SpecOf is the Spec of operators as they were written.
func SpecOf(o syntax.Operators) Spec {
	return Spec{Condition: o.MatchersCondition, Matchers: o.Matchers, Extractors: o.Extractors}
}

// compiler makes operators.
type compiler struct {
	file  string
	names namer
	sites []spot
}

// Compile makes operators of what was written. file is for error messages. Errors are
// *errs.Error as of package syntax.
func Compile(file string, s Spec) (*Operators, error) {
	c, err := compileRules(file, s)
	if err != nil {
		return nil, err
	}
	return &Operators{rules: func() *rules { return c }}, nil
}

func compileRules(file string, s Spec) (*rules, error) {
	o := &rules{hasMatchers: len(s.Matchers) > 0, silent: len(s.Matchers) > 0}
	switch s.Condition {
	case "and":
		o.condition = conditionAnd
	case "", "or":
	default:
		o.condition = conditionNeither
	}
	c := compiler{file: file, names: namer{body: PartBody}}
	if s.DefaultPart != "" {
		c.names.body = s.DefaultPart
	}
	if len(s.Extractors) > 0 {
		c.names.taken = make(map[string]bool, len(s.Extractors))
		for _, x := range s.Extractors {
			c.names.taken[x.Name] = x.Name != ""
		}
		o.extractors = make([]extractor, 0, len(s.Extractors))
	}
	o.matchers = make([]matcher, 0, len(s.Matchers))
	for _, x := range s.Extractors {
		compiled, err := c.extractor(x)
		if err != nil {
			return nil, err
		}
		o.extractors = append(o.extractors, compiled)
	}
	for i, m := range s.Matchers {
		compiled, err := c.matcher(i, m)
		if err != nil {
			return nil, err
		}
		o.silent = o.silent && m.Internal
		if s.Excluded == nil || !s.Excluded(m.Name) {
			o.matchers = append(o.matchers, compiled)
		}
	}
	slices.SortStableFunc(o.matchers, func(a, b matcher) int { return a.cost - b.cost })
	o.sites = c.sites
	o.history, o.oast = mentions(s)
	return o, nil
}

// site is the number of a spot in the operators' list.
type site int32

// noSite is where no group can know the result.
const noSite site = -1

func (s site) plus(i int) site {
	if s == noSite {
		return noSite
	}
	return s + site(i)
}

// spot is a literal that some operator looks for in a view.
type spot struct {
	view    int // viewNamed when no group can know
	literal textsearch.Literal
}

// site returns literals that are looked for in a part their numbers.
func (c *compiler) site(part partRef, literals ...textsearch.Literal) site {
	if len(literals) == 0 || part.index == viewNamed {
		return noSite
	}
	first := site(len(c.sites))
	for _, l := range literals {
		c.sites = append(c.sites, spot{part.index, l})
	}
	return first
}

// Finding is one thing to report about a response.
type Finding struct {
	Matcher   string // the name of the matcher that matched, when findings are listed by matcher
	Extractor string // the name of the extractor whose values these are, when listed by extractor
	Extracted []string
}

// Values are what internal extractors of one name found.
type Values struct {
	Name   string
	Values []string // each once, in the order of the response; at least one
}

// Outcome is the result of operators for one response.
type Outcome struct {
	Matched bool // there are matchers and they hold
	Silent  bool // they are all internal, too: nothing is to be reported

	// FlowMatched is what a flow takes for a match: the matchers match; or there are none, and
	// something was extracted or there was nothing to extract.
	FlowMatched bool

	// Findings is what to report: with or, one for each named matcher that holds; else one
	// for each named extractor that found something; else one.
	Findings []Finding

	// Named is what named extractors found that are not internal, whatever Findings tells
	// apart; Matcher is empty.
	Named []Finding

	// Internal is what was extracted for later requests, in written order, whether the
	// matchers hold or not.
	Internal []Values
}

// Eval evaluates one response; vars are the variables that words, parts and expressions
// may name besides what the response and the extractors give.
func (o *Operators) Eval(r *Response, vars dsl.Lookup) Outcome {
	if o.refuse(r) {
		return Outcome{}
	}
	rules := o.rules()
	r.work.group = nil
	r.begin(rules, vars)
	return rules.eval(r)
}

func (o *rules) eval(r *Response) Outcome {
	var names []string
	out := Outcome{Internal: o.internal(r)}
	out.Matched, names = o.evaluate(r)
	if o.hasMatchers && (o.silent || !out.Matched) {
		out.FlowMatched, out.Silent = out.Matched, out.Matched
		return out
	}
	if len(o.extractors) == 0 {
		if out.FlowMatched = true; out.Matched {
			out.Findings = findings(names, nil, nil)
		}
		return out
	}
	all, named := o.visible(r)
	if len(all) > 0 || out.Matched {
		out.Findings, out.Named = findings(names, named, all), named
	}
	out.FlowMatched = out.Matched || len(all) > 0 || len(out.Internal) > 0
	return out
}

func findings(names []string, named []Finding, all []string) []Finding {
	if len(names) == 0 {
		if len(named) > 0 {
			return named
		}
		return []Finding{{Extracted: all}}
	}
	list := make([]Finding, len(names))
	for i, name := range names {
		list[i] = Finding{Matcher: name, Extracted: all}
	}
	return list
}

// internal are the values of all internal extractors that have a name.
func (o *rules) internal(r *Response) []Values {
	var list []Values
	for i := range o.extractors {
		x := &o.extractors[i]
		if !x.internal || x.name == "" || slices.ContainsFunc(list, func(v Values) bool { return v.Name == x.name }) {
			continue
		}
		if values := r.work.internal(r, x.name); len(values) > 0 {
			list = append(list, Values{x.name, values})
		}
	}
	return list
}

// visible are the values of the other extractors: all together, and those with a name.
func (o *rules) visible(r *Response) (all []string, named []Finding) {
	var together valueSet
	for i := range o.extractors {
		x := &o.extractors[i]
		if x.internal {
			continue
		}
		values := r.work.values(r, i)
		for _, v := range values {
			together.add(v)
		}
		if x.name == "" || len(values) == 0 {
			continue
		}
		at := slices.IndexFunc(named, func(f Finding) bool { return f.Extractor == x.name })
		if at < 0 {
			named = append(named, Finding{Extractor: x.name, Extracted: slices.Clone(values)})
			continue
		}
		for _, v := range values {
			if !slices.Contains(named[at].Extracted, v) {
				named[at].Extracted = append(named[at].Extracted, v)
			}
		}
	}
	return together.list, named
}

// evaluate runs the matchers, cheapest first. With and it stops at the first no; with or
// it stops at the first yes, but for matchers that have a name to report.
func (o *rules) evaluate(r *Response) (matched bool, names []string) {
	if o.condition == conditionAnd {
		return every(o.matchers, true, func(m *matcher) bool { return m.match(r) }), nil
	}
	var hits []*matcher
	for i := range o.matchers {
		m := &o.matchers[i]
		named := m.name != "" && o.condition == conditionOr
		if matched && !named || !m.match(r) {
			continue
		}
		matched = true
		if named {
			hits = append(hits, m)
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
