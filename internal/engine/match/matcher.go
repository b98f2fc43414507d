package match

import (
	"encoding/hex"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

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
	patterns []*textsearch.Pattern
	exprs    []*dsl.Expr
	queries  []query
}

type word struct {
	literal  textsearch.Literal
	nonASCII bool      // ignores the case of letters outside ASCII
	open     *dsl.Text // the text with its placeholders; nil when it has none
}

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

// costs are in the unit of dsl.Expr.Cost.
var costs = [...]int{kindStatus: 0, kindSize: 1, kindWord: 10, kindBinary: 10, kindRegex: 15, kindDSL: 0,
	kindXPath: 200}

// estimate orders matchers: status and size, header words, body words, regexes, expressions by their own estimate.
func (m *matcher) estimate() int {
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
		c += 4 // may copy the whole response
	}
	if len(m.words) > 0 && m.words[0].literal.Fold {
		c++
	}
	return c
}

func (c *compiler) matcher(order int, s syntax.Matcher) (matcher, error) {
	m := matcher{
		kind: kinds[s.Type], part: c.names.refOf(s.Part), name: s.Name, order: order,
		and: s.Condition == "and", negative: s.Negative,
	}
	var err error
	switch s.Type {
	case "status":
		m.numbers = s.Status
	case "size":
		m.numbers = s.Size
	case "word":
		for _, text := range s.Words {
			m.words = append(m.words, newWord(text, s.Encoding, s.CaseInsensitive))
		}
	case "binary":
		for _, text := range s.Binary {
			data, wrong := hex.DecodeString(strings.TrimSpace(text))
			if wrong != nil {
				err = fmt.Errorf("%q is not hexadecimal", text)
			}
			m.words = append(m.words, constant(string(data), false))
		}
	case "regex":
		m.and = m.and || s.MatchAll // all patterns must match, as with and
		m.patterns, err = compileAll(s.Regex, textsearch.Compile)
	case "dsl":
		m.exprs, err = compileAll(s.DSL, dsl.Compile)
	case "xpath":
		m.queries, err = compileAll(s.XPath, compileQuery)
	default:
		return m, syntax.Fault(c.file, s.Line, 0, "matchers.type", "%q is no type of matcher", s.Type)
	}
	if err != nil {
		return m, syntax.Fault(c.file, s.Line, 0, "matchers."+s.Type, "%v", err)
	}
	m.cost = m.estimate()
	return m, nil
}

// compileAll compiles sources up to the first error.
func compileAll[T any](sources []string, compile func(string) (T, error)) (all []T, err error) {
	for _, source := range sources {
		one, err := compile(source)
		if err != nil {
			return nil, err
		}
		all = append(all, one)
	}
	return all, nil
}

func newWord(text, encoding string, fold bool) word {
	if data, err := hex.DecodeString(text); encoding == "hex" && err == nil && len(data) > 0 {
		return constant(string(data), fold)
	}
	open := dsl.Parse(text)
	if s, ok := open.Const(); ok {
		return constant(s, fold)
	}
	return word{open: &open, literal: textsearch.Literal{Text: text, Fold: fold}}
}

// constant is a word without placeholders.
func constant(text string, fold bool) word {
	if !fold {
		return word{literal: textsearch.Literal{Text: text}}
	}
	l, ascii := textsearch.Fold(text)
	return word{literal: l, nonASCII: !ascii}
}

// match reports whether a response matches. If it lacks the part, not even a negative matcher matches. Expressions have
// no part.
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
		if r.Head == nil { // the part is the number, such as the rcode of DNS
			n, err := strconv.Atoi(strings.TrimSpace(asString(v.text.Bytes())))
			return err == nil && slices.Contains(m.numbers, n)
		}
		return slices.Contains(m.numbers, r.Status)
	case kindSize:
		return slices.Contains(m.numbers, len(v.text.Bytes()))
	case kindRegex:
		return every(m.patterns, m.and, func(p **textsearch.Pattern) bool { return r.matches(v, *p) })
	case kindXPath:
		return every(m.queries, m.and, func(q *query) bool { return q.holds(r, v) })
	default:
		return every(m.words, m.and, func(w *word) bool { return w.match(r, v, m.and) })
	}
}

// every tests items until the result is known: with and until the first no, else until the first yes. The result for
// no items is no.
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
		// The case of the placeholders' names is ignored as well (4.3).
		text, err = dsl.Parse(strings.ToLower(w.literal.Text)).Render(&r.environments().text)
	}
	r.note(err)
	if err != nil && !errors.As(err, &open) {
		// What cannot be rendered is searched for as written, or does not match with and.
		if and {
			return false
		}
		text = w.literal.Text
	}
	rendered := constant(text, w.literal.Fold)
	return rendered.in(r, v)
}

// in looks for a word without placeholders.
func (w *word) in(r *Response, v *view) bool {
	if !w.nonASCII && r.contains(v, w.literal) {
		return true
	}
	return w.literal.Fold && (w.nonASCII || v.text.Odd()) && strings.Contains(asString(v.folded()), w.literal.Text)
}

// mayMatch is false when a pattern has no match in a view.
func (r *Response) mayMatch(v *view, p *textsearch.Pattern) bool {
	return p.Possible(v.text, func(l textsearch.Literal) bool { return r.contains(v, l) })
}

func (r *Response) matches(v *view, p *textsearch.Pattern) bool {
	if !r.mayMatch(v, p) {
		return false
	}
	if p.Sure(v.text) {
		return true
	}
	if r.spent() {
		return false
	}
	hit, err := p.Search(r.context(), v.text.Bytes())
	r.note(err)
	return hit
}

// holds evaluates the expressions. Values other than true and false are skipped, so that with and the last one must be
// true; an error is a no (4.3).
func (m *matcher) holds(r *Response) bool {
	for i := range m.exprs {
		if r.spent() {
			return false
		}
		value, err := m.exprs[i].Eval(&r.environments().expr)
		r.note(err)
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
