package match

import (
	"slices"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Operators are the matchers and extractors of one block. They are immutable and safe for any number of goroutines.
type Operators struct {
	rules    func() *rules  // compiles them at the first call if they come from Later
	sealed   *syntax.Sealed // nil unless they come from Later
	statuses []int          // if not empty, no other status matches
}

type rules struct {
	matchers    []matcher // cheapest first
	extractors  []extractor
	names       namer
	condition   condition
	hasMatchers bool // even if all are excluded
	silent      bool // every matcher is internal: a match is no finding

	history, oast bool
}

type condition int

const (
	conditionOr condition = iota
	conditionAnd
	conditionNeither // any other text: or without names (4.1)
)

// Spec is the source of operators.
type Spec struct {
	Condition  string // between matchers: "and", "or", or "" for or
	Matchers   []syntax.Matcher
	Extractors []syntax.Extractor

	// DefaultPart replaces the parts "", "body" and "all" in protocols without a body; "" in others.
	DefaultPart string

	// Excluded reports whether a matcher is left out by its name (4.4); nil excludes none.
	Excluded func(matcher string) bool
}

// SpecOf is the Spec of the operators in a template.
func SpecOf(o syntax.Operators) Spec {
	return Spec{Condition: o.MatchersCondition, Matchers: o.Matchers, Extractors: o.Extractors}
}

type compiler struct {
	file  string
	names namer
}

// Compile makes operators. file is for error messages. Errors are those of syntax.Fault.
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
		c.names.extractorNames = make(map[string]bool, len(s.Extractors))
		for _, x := range s.Extractors {
			c.names.extractorNames[x.Name] = x.Name != ""
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
	o.names = c.names
	o.history, o.oast = mentions(s)
	return o, nil
}

// Finding is one result to report about a response.
type Finding struct {
	Matcher   string // of the matcher, if there is one finding for each named matcher
	Extractor string // of the extractor, if there is one finding for each named extractor
	Extracted []string
}

// Values are the results of the internal extractors of one name.
type Values struct {
	Name   string
	Values []string // different, in the order of the response; at least one
}

// Outcome is the result of operators for one response.
type Outcome struct {
	Matched bool // there are matchers and they match
	Silent  bool // and all are internal: nothing is to be reported

	// FlowMatched is a match for a flow: the matchers match; or there are none, and something was extracted or there is
	// nothing to extract.
	FlowMatched bool

	// Findings is what to report: with or, one for each named matcher that matches; else one for each named extractor
	// with values; else one.
	Findings []Finding

	// Named has the values of each named extractor that is not internal, however Findings are listed.
	Named []Finding

	// Internal has the values for later requests, in the order of the template, even without a match.
	Internal []Values

	// Limited is the error of an evaluation that reached a limit: nothing is known then. nil for none.
	Limited error
}

// Eval evaluates one response; vars are further variables for words, parts and expressions.
func (o *Operators) Eval(r *Response, vars dsl.Lookup) Outcome {
	if o.excludedByStatus(r) {
		return Outcome{}
	}
	r.evaluation.group = nil
	return o.rules().eval(r, vars)
}

func (o *rules) eval(r *Response, vars dsl.Lookup) Outcome {
	r.begin(o, vars)
	out := o.outcome(r)
	if err := r.evaluation.limited; err != nil {
		return Outcome{Limited: err}
	}
	return out
}

func (o *rules) outcome(r *Response) Outcome {
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
		if values := r.evaluation.internal(r, x.name); len(values) > 0 {
			list = append(list, Values{x.name, values})
		}
	}
	return list
}

// visible are the values of the other extractors: all together, and those with a name.
func (o *rules) visible(r *Response) (all []string, named []Finding) {
	var values valueSet
	for i := range o.extractors {
		x := &o.extractors[i]
		if x.internal {
			continue
		}
		own := r.evaluation.values(r, i)
		for _, v := range own {
			values.add(v)
		}
		if x.name == "" || len(own) == 0 {
			continue
		}
		at := slices.IndexFunc(named, func(f Finding) bool { return f.Extractor == x.name })
		if at < 0 {
			named = append(named, Finding{Extractor: x.name, Extracted: slices.Clone(own)})
			continue
		}
		for _, v := range own {
			if !slices.Contains(named[at].Extracted, v) {
				named[at].Extracted = append(named[at].Extracted, v)
			}
		}
	}
	return values.list, named
}

// evaluate runs the matchers, cheapest first. With and it stops at the first no, with or at the first yes, except for
// matchers with a name to report.
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
