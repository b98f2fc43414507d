package dsl

import (
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// Limits of expressions.
const (
	maxSource = 1 << 20 // bytes of an expression
	maxDepth  = 250     // parentheses and calls inside each other
)

// parser builds a tree of tokens. Operators of equal precedence make one node, so that the tree is as deep as the
// parentheses.
type parser struct {
	src    string
	tokens []token
	at     int
	depth  int
	plain  bool // strings have placeholders with plain names only
	expr   *Expr
	seen   map[string]bool // the names so far
}

func (p *parser) name(name string) {
	if p.seen == nil {
		p.seen = map[string]bool{}
	}
	if !p.seen[name] {
		p.seen[name] = true
		p.expr.names = append(p.expr.names, name)
	}
}

// parse parses a whole expression into e.
func parse(e *Expr, plain bool) error {
	if len(e.src) > maxSource {
		return &SyntaxError{Source: e.src, At: maxSource, Reason: "the expression is too long"}
	}
	all, err := tokens(e.src)
	if err != nil {
		return err
	}
	p := parser{src: e.src, tokens: all, plain: plain, expr: e}
	e.root, err = p.operation(0)
	return err // what follows a closing parenthesis without an operator is ignored
}

func (p *parser) peek() (t token, ok bool) {
	if p.at == len(p.tokens) {
		return token{}, false
	}
	return p.tokens[p.at], true
}

// level is the precedence of the next operator; 0 when there is none.
func (p *parser) level() int {
	t, _ := p.peek()
	return precedence[t.op]
}

// operation reads operands and operators with a precedence of at least least.
func (p *parser) operation(least int) (node, error) {
	left, err := p.operand()
	if err != nil {
		return nil, err
	}
	for {
		level := p.level()
		if level == 0 || level < least {
			return left, nil
		}
		c := chain{first: left}
		for p.level() == level {
			o := p.tokens[p.at].op
			p.at++
			right, err := p.right(o, level)
			if err != nil {
				return nil, err
			}
			c.rest = append(c.rest, right)
		}
		left = c.node(level)
	}
}

// right reads the right side of an operator.
func (p *parser) right(o op, level int) (link, error) {
	t, _ := p.peek()
	x, err := p.operation(level + 1)
	if err != nil {
		return link{}, err
	}
	l := link{op: o, x: x}
	switch {
	case (o == opMatch || o == opNoMatch) && t.kind == text:
		if c, ok := x.(constant); ok {
			source, _ := c.value.(string)
			if l.pattern, err = textsearch.Compile(source); err != nil {
				return link{}, &SyntaxError{Source: p.src, At: t.at, Reason: err.Error()}
			}
		}
	case o == opIn && t.kind == open:
		l.x = choices(x)
	}
	return l, nil
}

// choices is the list in the parentheses after "in": one constant is a list, too, and a list of constants is one
// value.
func choices(x node) node {
	switch x := x.(type) {
	case constant:
		if x.value != nil {
			return constant{[]any{x.value}}
		}
	case list:
		all := make([]any, 0, len(x.items))
		for _, item := range x.items {
			c, ok := item.(constant)
			if !ok {
				return x
			}
			all = append(all, c.value)
		}
		return constant{all}
	}
	return x
}

func (p *parser) operand() (node, error) {
	t, ok := p.peek()
	if !ok || t.kind == closing {
		return constant{nil}, nil // the right side of an operator may be missing: "(a == )"
	}
	p.at++
	switch t.kind {
	case prefix:
		x, err := p.operand()
		if err != nil {
			return nil, err
		}
		return newUnary(t.op, x), nil
	case number, boolean, dateText:
		return constant{t.value}, nil
	case text:
		return p.literal(t.text), nil
	case variable:
		p.name(t.text)
		p.expr.open = true
		return reference{t.text}, nil
	case function:
		return p.call(t)
	case accessor:
		return p.member(t)
	case open:
		return p.group(t)
	}
	return nil, &SyntaxError{Source: p.src, At: t.at, Reason: "a value is expected here"}
}

// literal is a string; one with placeholders is rendered at each evaluation.
func (p *parser) literal(s string) node {
	if !hasMarker(s) {
		return constant{s}
	}
	t := parseText(s, p.plain)
	if !t.open() {
		return constant{s}
	}
	for _, name := range t.Names() {
		p.name(name)
	}
	p.expr.pure = p.expr.pure && t.Pure()
	return interpolated{t}
}

func (p *parser) group(t token) (node, error) {
	if p.depth++; p.depth > maxDepth {
		return nil, &SyntaxError{Source: p.src, At: t.at, Reason: "the expression is nested too deeply"}
	}
	defer func() { p.depth-- }()
	x, err := p.operation(0)
	if err != nil {
		return nil, err
	}
	p.at = min(p.at+1, len(p.tokens)) // the parenthesis, or an ignored token in its place
	return x, nil
}

func (p *parser) call(t token) (node, error) {
	f := functions.All[t.text]
	if f.Refused != "" {
		return nil, &Unsupported{Function: t.text, Reason: f.Refused}
	}
	paren, _ := p.peek()
	p.at++
	x, err := p.group(paren)
	if err != nil {
		return nil, err
	}
	p.expr.calls = true
	p.expr.pure = p.expr.pure && !f.Impure
	c := call{function: f}
	switch x := x.(type) {
	case list:
		c.args = x.items
	case constant:
		if x.value != nil {
			c.args = []node{x}
		}
	default:
		c.args = []node{x}
	}
	return p.expr.call(c), nil
}

// member reads a name with a dot. Evaluating it is an error, which templates rely on.
func (p *parser) member(t token) (node, error) {
	m := member{path: t.text}
	p.name(m.base())
	p.expr.members = true
	if next, ok := p.peek(); ok && next.kind == open {
		if p.depth++; p.depth > maxDepth {
			return nil, &SyntaxError{Source: p.src, At: t.at, Reason: "the expression is nested too deeply"}
		}
		defer func() { p.depth-- }()
		args, err := p.operation(0)
		if err != nil {
			return nil, err
		}
		m.args = args
	}
	return m, nil
}
