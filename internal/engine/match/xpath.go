package match

import (
	"context"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/antchfx/htmlquery"
	"github.com/antchfx/xmlquery"
	"github.com/antchfx/xpath"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/infra/cputime"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// Limits of XPath. The library cannot be stopped, but it asks a navigator for each step.
const (
	maxQuery     = 16 << 10  // bytes of an expression
	maxTexts     = 256 << 20 // bytes of text that one query reads
	maxMatched   = 1 << 20   // of them when it has matches()
	maxMatching  = 500       // instructions of all patterns of matches()
	queryTime    = 2 * time.Second
	stepsPerLook = 4096 // between two looks at the clock
)

type query struct {
	expr  *xpath.Expr
	texts int // bytes that it may read
}

var (
	quoted   = regexp.MustCompile(`"[^"]*"|'[^']*'`)
	growing  = regexp.MustCompile(`\b(replace|string-join)\s*\(`)
	matching = regexp.MustCompile(`\bmatches\s*\(`)
)

func compileQuery(source string) (query, error) {
	q := query{texts: maxTexts}
	if len(source) > maxQuery {
		return q, fmt.Errorf("%.40q: %w", source, functions.ErrTooLarge)
	}
	bare := quoted.ReplaceAllString(source, "''")
	if f := growing.FindStringSubmatch(bare); f != nil {
		return q, fmt.Errorf("%.200q: %s is not offered: its result may be of any size", source, f[1])
	}
	if all := matching.FindAllStringIndex(bare, -1); all != nil {
		q.texts = maxMatched
		if err := checkMatches(source, bare, all); err != nil {
			return q, fmt.Errorf("%.200q: %w", source, err)
		}
	}
	e, err := xpath.Compile(source)
	if err != nil {
		err = fmt.Errorf("%q: %w", source, err)
	}
	q.expr = e
	return q, err
}

// checkMatches reports whether every pattern of matches() is written down and small.
func checkMatches(source, bare string, all [][]int) error {
	for _, at := range all {
		depth, comma, end := 1, -1, at[1]
		for ; end < len(bare) && depth > 0; end++ {
			switch bare[end] {
			case '(':
				depth++
			case ')':
				depth--
			case ',':
				if depth == 1 {
					comma = end
				}
			}
		}
		if comma < 0 || strings.TrimSpace(bare[comma+1:end-1]) != "''" {
			return errors.New("the pattern of matches() is not a text in quotes")
		}
	}
	size := 0
	for _, text := range quoted.FindAllString(source, -1) {
		if p, err := textsearch.Compile(text[1 : len(text)-1]); err == nil {
			size += p.Size()
		}
	}
	if size > maxMatching {
		return functions.ErrTooLarge
	}
	return nil
}

// walk is the work of one query. Its navigators panic with an error when it is too much.
type walk struct {
	ctx   context.Context
	steps int
	texts int // bytes that are left
	begin cputime.Moment
}

func (w *walk) step() {
	if w.steps++; w.steps%stepsPerLook != 0 {
		return
	}
	if err := w.ctx.Err(); err != nil {
		panic(err)
	}
	if w.begin.Over(queryTime) {
		panic(functions.ErrTooLong)
	}
}

// navigator counts the steps of a navigator.
type navigator struct {
	xpath.NodeNavigator
	walk *walk
}

func (n *navigator) Copy() xpath.NodeNavigator {
	n.walk.step()
	return &navigator{n.NodeNavigator.Copy(), n.walk}
}

func (n *navigator) MoveTo(other xpath.NodeNavigator) bool {
	n.walk.step()
	if o, ok := other.(*navigator); ok {
		other = o.NodeNavigator
	}
	return n.NodeNavigator.MoveTo(other)
}

func (n *navigator) MoveToParent() bool {
	n.walk.step()
	return n.NodeNavigator.MoveToParent()
}

func (n *navigator) MoveToNextAttribute() bool {
	n.walk.step()
	return n.NodeNavigator.MoveToNextAttribute()
}

func (n *navigator) MoveToChild() bool {
	n.walk.step()
	return n.NodeNavigator.MoveToChild()
}

func (n *navigator) MoveToFirst() bool {
	n.walk.step()
	return n.NodeNavigator.MoveToFirst()
}

func (n *navigator) MoveToNext() bool {
	n.walk.step()
	return n.NodeNavigator.MoveToNext()
}

func (n *navigator) MoveToPrevious() bool {
	n.walk.step()
	return n.NodeNavigator.MoveToPrevious()
}

func (n *navigator) Value() string {
	n.walk.step()
	s := n.NodeNavigator.Value()
	if n.walk.texts -= len(s); n.walk.texts < 0 {
		panic(functions.ErrTooLarge)
	}
	return s
}

// NamespaceURL is for namespace-uri(), which asks for it beside the interface.
func (n *navigator) NamespaceURL() string {
	if with, ok := n.NodeNavigator.(interface{ NamespaceURL() string }); ok {
		return with.NamespaceURL()
	}
	return ""
}

// each calls found with the nodes that a query finds until it returns false.
func (q *query) each(r *Response, v *view, found func(xpath.NodeNavigator) bool) {
	defer func() {
		// Functions of the library panic for unexpected arguments.
		if err, ok := recover().(error); ok {
			r.note(err)
		}
	}()
	var root xpath.NodeNavigator
	switch d := v.tree(); {
	case d.html != nil:
		root = htmlquery.CreateXPathNavigator(d.html)
	case d.xml != nil:
		root = xmlquery.CreateXPathNavigator(d.xml)
	default:
		return
	}
	if r.spent() {
		return
	}
	w := &walk{ctx: r.context(), texts: q.texts, begin: cputime.Now()}
	for nodes := q.expr.Select(&navigator{root, w}); nodes.MoveNext() && w.ctx.Err() == nil; {
		if !found(nodes.Current()) {
			return
		}
	}
}

// holds reports whether a query finds a node.
func (q *query) holds(r *Response, v *view) (yes bool) {
	q.each(r, v, func(xpath.NodeNavigator) bool { yes = true; return false })
	return yes
}

// textsOf adds the text of each node that a query finds, or one attribute of it, which is empty if the node lacks it.
func (q *query) textsOf(r *Response, v *view, attribute string, add func(string) bool) {
	q.each(r, v, func(node xpath.NodeNavigator) bool {
		switch {
		case attribute == "" || node.NodeType() == xpath.AttributeNode && node.LocalName() == attribute:
			return add(node.Value())
		case node.NodeType() == xpath.AttributeNode:
			return add("")
		}
		value := ""
		for of := node.Copy(); of.MoveToNextAttribute(); {
			if name := of.LocalName(); name == attribute || of.Prefix()+":"+name == attribute {
				value = of.Value()
				break
			}
		}
		return add(value)
	})
}
