package match

import (
	"fmt"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// maxValues bounds what one extractor takes out of one response, maxMatches among how
// many matches of an expression it looks for them.
const maxValues, maxMatches = 10_000, 100_000

// extractor is one compiled extractor; the list of its type is not empty.
type extractor struct {
	name     string
	part     partRef
	internal bool
	fold     bool
	group    int

	patterns  []pattern
	keys      []string // in lower case
	written   []string // the same keys as they were written
	filters   []filter
	queries   []query
	attribute string
	exprs     []expr
}

// extractor compiles what was written.
func (c *compiler) extractor(s syntax.Extractor) (extractor, error) {
	x := extractor{
		name: s.Name, part: c.names.refOf(s.Part), internal: s.Internal, fold: s.CaseInsensitive,
		group: s.Group, attribute: s.Attribute,
	}
	fault := func(key, format string, args ...any) (extractor, error) {
		return x, syntax.Fault(c.file, s.Line, 0, "extractors."+key, format, args...)
	}
	switch s.Type {
	case "regex":
		for _, source := range s.Regex {
			p, err := c.pattern(x.part, source)
			if err != nil {
				return fault("regex", "%v", err)
			}
			// A pattern with fewer groups than were asked for has nothing to give.
			if p.Groups() >= s.Group && s.Group >= 0 {
				x.patterns = append(x.patterns, p)
			}
		}
	case "kval":
		for _, key := range s.KVal {
			x.keys = append(x.keys, strings.ToLower(key))
			x.written = append(x.written, key)
		}
	case "json":
		for _, source := range s.JSON {
			f, err := compileFilter(source)
			if err != nil {
				return fault("json", "%q: %v", source, err)
			}
			x.filters = append(x.filters, f)
		}
	case "xpath":
		for _, source := range s.XPath {
			if q, err := compileQuery(source); err == nil { // one that cannot be read finds nothing
				x.queries = append(x.queries, q)
			}
		}
	case "dsl":
		for _, source := range s.DSL {
			e, err := c.expr(source)
			if err != nil {
				return fault("dsl", "%v", err)
			}
			x.exprs = append(x.exprs, e)
		}
	default:
		return fault("type", "%q is no type of extractor", s.Type)
	}
	return x, nil
}

// values takes the values out, each once, in the order of the response.
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
	for i := range x.patterns {
		p := &x.patterns[i]
		if !p.possible(r, v) || r.context().Err() != nil {
			continue
		}
		data := v.text.Bytes()
		for _, at := range p.Regexp().FindAllSubmatchIndex(data, maxMatches) {
			// A group that took no part in a match gives nothing.
			if from, to := at[2*x.group], at[2*x.group+1]; from >= 0 && !found.add(string(data[from:to])) {
				break
			}
		}
	}
	for i := range x.filters {
		x.filters[i].run(r, v, found.add)
	}
	for i := range x.queries {
		x.queries[i].texts(r, v, x.attribute, found.add)
	}
	return found.list
}

// named takes the values of a kval extractor.
func (x *extractor) named(r *Response, found *valueSet) {
	for i, key := range x.keys {
		value, ok := r.value(key)
		if !ok {
			// Header names are parts with underscores; people write them with hyphens.
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
			found.add(strings.Clone(text)) // not a part of the response, which can then go
		}
	}
}

// evaluated takes the values of a dsl extractor. A name without a value costs its
// expression, any other error all that follow.
func (x *extractor) evaluated(r *Response, found *valueSet) {
	for i := range x.exprs {
		value, err := x.exprs[i].eval(r)
		if err != nil && !missing(err) {
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

// valueSet is a list of texts, each once.
type valueSet struct {
	list []string
	seen map[string]bool // once the list is long
}

// add puts a text in, and reports whether there is room for more.
func (s *valueSet) add(text string) bool {
	if s.has(text) {
		return true
	}
	if len(s.list) == maxValues {
		return false
	}
	s.list = append(s.list, text)
	if s.seen != nil {
		s.seen[text] = true
	}
	return true
}

func (s *valueSet) has(text string) bool {
	if len(s.list) < 16 {
		return slices.Contains(s.list, text)
	}
	if s.seen == nil {
		s.seen = make(map[string]bool, 2*len(s.list))
		for _, t := range s.list {
			s.seen[t] = true
		}
	}
	return s.seen[text]
}
