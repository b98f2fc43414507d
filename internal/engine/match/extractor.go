package match

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// Limits for one extractor and one response: values, and matches of a regular expression.
const maxValues, maxMatches = 10_000, 100_000

// extractor is one compiled extractor; only the list of its type is used.
type extractor struct {
	name     string
	part     partRef
	internal bool
	fold     bool
	group    int

	patterns  []*textsearch.Pattern
	keys      []string // in lower case
	written   []string // the keys as written
	filters   []filter
	queries   []query
	attribute string
	exprs     []*dsl.Expr
}

func (c *compiler) extractor(s syntax.Extractor) (extractor, error) {
	x := extractor{
		name: s.Name, part: c.names.refOf(s.Part), internal: s.Internal, fold: s.CaseInsensitive,
		group: s.Group, attribute: s.Attribute,
	}
	var err error
	switch s.Type {
	case "regex":
		x.patterns, err = compileAll(s.Regex, textsearch.Compile)
		// A pattern without the wanted group has no values.
		x.patterns = slices.DeleteFunc(x.patterns, func(p *textsearch.Pattern) bool {
			return p.Groups() < s.Group || s.Group < 0
		})
	case "kval":
		for _, key := range s.KVal {
			x.keys = append(x.keys, strings.ToLower(key))
			x.written = append(x.written, key)
		}
	case "json":
		x.filters, err = compileAll(s.JSON, compileFilter)
	case "xpath":
		for _, source := range s.XPath {
			if q, err := compileQuery(source); err == nil { // an invalid one finds nothing
				x.queries = append(x.queries, q)
			}
		}
	case "dsl":
		x.exprs, err = compileAll(s.DSL, dsl.Compile)
	default:
		return x, syntax.Fault(c.file, s.Line, 0, "extractors.type", "%q is no type of extractor", s.Type)
	}
	if err != nil {
		err = syntax.Fault(c.file, s.Line, 0, "extractors."+s.Type, "%v", err)
	}
	return x, err
}

// values are the extracted values, each once, in the order of the response.
func (x *extractor) values(r *Response) []string {
	var found valueSet
	x.named(r, &found)
	x.evaluated(r, &found)
	if len(x.patterns)+len(x.filters)+len(x.queries) == 0 {
		return found.list
	}
	v, ok := r.part(x.part)
	if !ok {
		return found.list
	}
	for _, p := range x.patterns {
		if !r.mayMatch(v, p) || r.spent() {
			continue
		}
		data := v.text.Bytes()
		all, err := p.FindAll(r.context(), data, maxMatches)
		r.note(err)
		for _, at := range all {
			// A group that is not part of the match has no value.
			if from, to := at[2*x.group], at[2*x.group+1]; from >= 0 && !found.add(string(data[from:to])) {
				break
			}
		}
	}
	for i := range x.filters {
		if r.spent() {
			break
		}
		x.filters[i].run(r, v, found.add)
	}
	for i := range x.queries {
		x.queries[i].textsOf(r, v, x.attribute, found.add)
	}
	return found.list
}

// named adds the values of a kval extractor.
func (x *extractor) named(r *Response, found *valueSet) {
	for i, key := range x.keys {
		value, ok := r.value(key)
		if !ok {
			// Parts have the names of headers with underscores; templates may use hyphens.
			value, ok = r.value(strings.ReplaceAll(key, "-", "_"))
		}
		if !ok && x.fold {
			value, ok = r.value(x.written[i])
		}
		text := functions.String(value)
		if x.fold {
			text = strings.ToLower(text)
		}
		if ok && text != "" {
			found.add(strings.Clone(text)) // so that the response can be freed
		}
	}
}

// evaluated adds the values of a dsl extractor. An expression with a name without value is skipped; any other error
// ends the extraction.
func (x *extractor) evaluated(r *Response, found *valueSet) {
	for _, e := range x.exprs {
		if r.spent() {
			return
		}
		value, err := e.Eval(&r.environments().expr)
		r.note(err)
		if _, missing := errors.AsType[*dsl.Missing](err); err != nil && !missing {
			return
		}
		if err != nil || value == nil {
			continue
		}
		if text := fmt.Sprint(value); text != "" {
			found.add(strings.Clone(text))
		}
	}
}

// valueSet is a list of different texts.
type valueSet struct {
	list []string
	seen map[string]bool // once the list is long
}

// add adds a text and reports whether there is room for more.
func (s *valueSet) add(text string) bool {
	switch {
	case len(s.list) < 16 && slices.Contains(s.list, text), s.seen[text]:
		return true
	case len(s.list) == maxValues:
		return false
	}
	s.list = append(s.list, text)
	if len(s.list) == 16 {
		s.seen = make(map[string]bool, 32)
		for _, t := range s.list {
			s.seen[t] = true
		}
	} else if s.seen != nil {
		s.seen[text] = true
	}
	return true
}
