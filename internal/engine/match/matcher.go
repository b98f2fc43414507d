package match

import (
	"encoding/hex"
	"errors"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// matcher is one compiled matcher.
type matcher struct {
	kind     kind
	part     partRef
	name     string
	order    int // where it was written, from 0
	cost     int
	and      bool
	negative bool

	numbers  []int // status or size
	words    []word
	patterns []pattern
	exprs    []expr
	queries  []query
}

// word is a text to look for.
type word struct {
	literal textsearch.Literal
	site    site
	wide    bool      // in any case, with letters outside ASCII
	open    *dsl.Text // what it is before rendering, while it has placeholders
}

// pattern is a regular expression; its needs have the sites from site on.
type pattern struct {
	*textsearch.Pattern
	site site
}

// expr is an expression; its needles have the sites from site on.
type expr struct {
	*dsl.Expr
	site site
}

// kind is what a matcher looks at.
type kind int

const (
	kindStatus kind = iota
	kindSize
	kindWord
	kindBinary
	kindRegex
	kindDSL
	kindXPath
)

var kinds = map[string]kind{
	"status": kindStatus, "size": kindSize, "word": kindWord, "binary": kindBinary,
	"regex": kindRegex, "dsl": kindDSL, "xpath": kindXPath,
}

// What the kinds cost, in the unit of dsl.Expr.Cost.
var costs = [...]int{kindStatus: 0, kindSize: 1, kindWord: 10, kindBinary: 10, kindRegex: 15, kindDSL: 0, kindXPath: 200}

// price orders matchers: status and size, then header words, body words, regexes, and
// expressions by what they say of themselves.
func (m *matcher) price() int {
	c := costs[m.kind]
	for _, e := range m.exprs {
		c += 1 + e.Cost()
	}
	if m.kind == kindDSL || m.kind == kindStatus {
		return c
	}
	switch m.part.index {
	case viewBody, viewRequest:
		c += 2
	case viewAll, viewResponse:
		c += 4 // a copy of the whole response, unless it was made before
	}
	if len(m.words) > 0 && m.words[0].literal.Fold {
		c++
	}
	return c
}

// matcher compiles what was written.
func (c *compiler) matcher(order int, s syntax.Matcher) (matcher, error) {
	m := matcher{
		kind: kinds[s.Type], part: c.names.refOf(s.Part), name: s.Name, order: order,
		and: s.Condition == "and", negative: s.Negative,
	}
	fault := func(key, format string, args ...any) (matcher, error) {
		return m, syntax.Fault(c.file, s.Line, 0, "matchers."+key, format, args...)
	}
	switch s.Type {
	case "status":
		m.numbers = s.Status
	case "size":
		m.numbers = s.Size
	case "word":
		for _, text := range s.Words {
			m.words = append(m.words, c.word(m.part, text, s.Encoding, s.CaseInsensitive))
		}
	case "binary":
		for _, text := range s.Binary {
			data, err := hex.DecodeString(strings.TrimSpace(text))
			if err != nil {
				return fault("binary", "%q is not hexadecimal", text)
			}
			l := textsearch.Literal{Text: string(data)}
			m.words = append(m.words, word{literal: l, site: c.site(m.part, l)})
		}
	case "regex":
		m.and = m.and || s.MatchAll // all patterns must match, as with and
		for _, source := range s.Regex {
			p, err := c.pattern(m.part, source)
			if err != nil {
				return fault("regex", "%v", err)
			}
			m.patterns = append(m.patterns, p)
		}
	case "dsl":
		for _, source := range s.DSL {
			e, err := c.expr(source)
			if err != nil {
				return fault("dsl", "%v", err)
			}
			m.exprs = append(m.exprs, e)
		}
	case "xpath":
		for _, source := range s.XPath {
			q, err := compileQuery(source)
			if err != nil {
				return fault("xpath", "%q: %v", source, err)
			}
			m.queries = append(m.queries, q)
		}
	default:
		return fault("type", "%q is no type of matcher", s.Type)
	}
	m.cost = m.price()
	return m, nil
}

func (c *compiler) word(part partRef, text, encoding string, fold bool) word {
	open := dsl.Text{}
	data, err := hex.DecodeString(text)
	if decoded := encoding == "hex" && err == nil && len(data) > 0; decoded {
		text = string(data)
	} else {
		open = dsl.Parse(text)
		if constant, ok := open.Const(); ok {
			text = constant
		} else {
			return word{open: &open, literal: textsearch.Literal{Text: text, Fold: fold}, site: noSite}
		}
	}
	w := constant(text, fold)
	if !w.wide {
		w.site = c.site(part, w.literal)
	}
	return w
}

// constant is a word without placeholders, which is not shared.
func constant(text string, fold bool) word {
	if !fold {
		return word{literal: textsearch.Literal{Text: text}, site: noSite}
	}
	l, ascii := textsearch.Fold(text)
	return word{literal: l, wide: !ascii, site: noSite}
}

func (c *compiler) pattern(part partRef, source string) (pattern, error) {
	p, err := textsearch.Compile(source)
	if err != nil {
		return pattern{}, err
	}
	return pattern{p, c.site(part, p.Needs()...)}, nil
}

func (c *compiler) expr(source string) (expr, error) {
	e, err := dsl.Compile(source)
	if err != nil {
		return expr{}, err
	}
	at := noSite
	if strings.Contains(source, "{{") || strings.Contains(source, "§") {
		return expr{e, at}, nil // the expressions in its strings number needles of their own
	}
	for i, n := range e.Needles() {
		if i == 0 {
			at = site(len(c.sites))
		}
		where := spot{viewNamed, textsearch.Literal{Text: n.Text, Fold: n.Fold}}
		if n.Fold {
			folded, ascii := textsearch.Fold(n.Text)
			if where.literal = folded; !ascii {
				where.literal.Text = ""
			}
		}
		if where.literal.Text != "" {
			where.view = c.names.varOf(n.Var).index
		}
		c.sites = append(c.sites, where)
	}
	return expr{e, at}, nil
}

// match answers for one response. A part that the response does not have is a no, even
// for a negative matcher: there is nothing to be evaluated. Expressions have no part.
func (m *matcher) match(r *Response) bool {
	if m.kind == kindDSL {
		return m.holds(r) != m.negative
	}
	v, ok := r.part(m.part)
	return ok && m.evaluate(r, v) != m.negative
}

func (m *matcher) evaluate(r *Response, v *view) bool {
	switch m.kind {
	case kindStatus:
		return slices.Contains(m.numbers, r.Status)
	case kindSize:
		return slices.Contains(m.numbers, len(v.text.Bytes()))
	case kindRegex:
		return every(m.patterns, m.and, func(p *pattern) bool { return p.match(r, v) })
	case kindXPath:
		return every(m.queries, m.and, func(q *query) bool { return q.holds(r, v) })
	default:
		return every(m.words, m.and, func(w *word) bool { return w.match(r, v, m.and) })
	}
}

// every asks items until the result is known: with and until the first no, else until
// the first yes. No items are a no.
func every[T any](items []T, and bool, test func(*T) bool) bool {
	for i := range items {
		if test(&items[i]) != and {
			return !and
		}
	}
	return and && len(items) > 0
}

func (w *word) match(r *Response, v *view, and bool) bool {
	if w.open == nil {
		return w.in(r, v)
	}
	text, err := w.open.Render(&r.environments().text)
	open := (*dsl.Unresolved)(nil)
	if w.literal.Fold && errors.As(err, &open) {
		// The names of the placeholders may be in any case, too (4.3).
		text, err = dsl.Parse(strings.ToLower(w.literal.Text)).Render(&r.environments().text)
	}
	if err != nil && !errors.As(err, &open) {
		// What cannot be rendered is looked for as it was written, or with and fails.
		if and {
			return false
		}
		text = w.literal.Text
	}
	rendered := constant(text, w.literal.Fold)
	return rendered.in(r, v)
}

// in looks for a word that has no placeholders (any more).
func (w *word) in(r *Response, v *view) bool {
	if !w.wide && r.has(v, w.site, w.literal) {
		return true
	}
	return w.literal.Fold && (w.wide || v.text.Odd()) && contains(v.folded(), w.literal.Text)
}

// possible is false when the pattern surely has no match.
func (p *pattern) possible(r *Response, v *view) bool {
	needs := p.Needs()
	if len(needs) == 0 || p.Doubtful(v.text) {
		return true
	}
	for i, l := range needs {
		if r.has(v, p.site.plus(i), l) {
			return true
		}
	}
	return false
}

func (p *pattern) match(r *Response, v *view) bool {
	if !p.possible(r, v) {
		return false
	}
	sure := p.Whole() && !p.Doubtful(v.text)
	return sure || r.context().Err() == nil && p.Regexp().Match(v.text.Bytes())
}

// holds evaluates the expressions. What gives no truth value is skipped, so that
// with and the last one must give one; an error is a no (4.3).
func (m *matcher) holds(r *Response) bool {
	for i := range m.exprs {
		value, err := m.exprs[i].eval(r)
		yes, ok := value.(bool)
		switch {
		case err == nil && !ok:
			continue
		case err != nil || !yes:
			if m.and {
				return false
			}
		case !m.and || i == len(m.exprs)-1:
			return true
		}
	}
	return false
}

func (e *expr) eval(r *Response) (any, error) {
	before := r.work.needles
	r.work.needles = e.site
	value, err := e.Eval(&r.environments().expr)
	r.work.needles = before // of an expression that asks for what this one extracts
	return value, err
}
