package dsl

import (
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// node is a part of a compiled expression.
type node interface {
	eval(env *Env) (any, error)
}

type constant struct{ value any }

func (n constant) eval(*Env) (any, error) { return n.value, nil }

type reference struct{ name string }

func (n reference) eval(env *Env) (any, error) {
	v, err := n.value(env)
	if err != nil {
		return nil, err
	}
	return functions.Widen(v), nil
}

// value is the value as the lookup gave it.
func (n reference) value(env *Env) (any, error) {
	v, ok := env.value(n.name)
	if !ok {
		return nil, &Missing{n.name}
	}
	switch v := v.(type) {
	case Raw:
		env.raw = n.name
		return string(v), nil
	case Text:
		return env.nested(v)
	}
	return v, nil
}

// interpolated is a string with placeholders.
type interpolated struct{ text Text }

func (n interpolated) eval(env *Env) (any, error) {
	s, err := n.text.fill(env)
	if err != nil {
		return nil, err
	}
	return s, nil
}

// member is "a.B", something inside a variable. No value has members.
type member struct {
	path string
	args node
}

func (n member) base() string {
	base, _, _ := strings.Cut(n.path, ".")
	return base
}

func (n member) eval(env *Env) (any, error) {
	if n.args != nil {
		if _, err := n.args.eval(env); err != nil {
			return nil, err
		}
	}
	if _, err := (reference{n.base()}).value(env); err != nil {
		return nil, err
	}
	return nil, fmt.Errorf("%s: %s has no members", n.path, n.base())
}

// unary is an operator before a value.
type unary struct {
	op op
	x  node
}

// newUnary makes the node of a unary operator, or of its value if that is known.
func newUnary(o op, x node) node {
	u := unary{o, x}
	if _, ok := x.(constant); ok {
		if v, err := u.eval(nil); err == nil {
			return constant{v}
		}
	}
	return u
}

func (n unary) eval(env *Env) (any, error) {
	v, err := n.x.eval(env)
	if err != nil {
		return nil, err
	}
	if n.op == opNot {
		if b, ok := v.(bool); ok {
			return !b, nil
		}
		return nil, errOperand(n.op, v)
	}
	x, ok := v.(float64)
	if !ok {
		return nil, errOperand(n.op, v)
	}
	if n.op == opNegate {
		return -x, nil
	}
	return float64(^int64(x)), nil
}

// chain is values with operators of equal precedence between them, evaluated from left to right.
type chain struct {
	first node
	rest  []link
}

type link struct {
	op      op
	x       node
	pattern *textsearch.Pattern // of a constant text after =~ and !~
}

// node is the node of a chain, with what is known evaluated.
func (c chain) node(level int) node {
	switch level {
	case precedence[opList]:
		l := list{items: []node{c.first}}
		for _, r := range c.rest {
			l.items = append(l.items, r.x)
		}
		return l
	case precedence[opThen]:
		return choice(c)
	case precedence[opAnd], precedence[opOr]:
		l := logic{and: level == precedence[opAnd], items: []node{c.first}}
		for _, r := range c.rest {
			l.items = append(l.items, r.x)
		}
		return l
	}
	return c.fold()
}

// fold evaluates the constants at the beginning of the chain.
func (c chain) fold() node {
	for len(c.rest) > 0 {
		_, left := c.first.(constant)
		_, right := c.rest[0].x.(constant)
		if !left || !right {
			return c
		}
		v, err := (chain{first: c.first, rest: c.rest[:1]}).eval(nil)
		if err != nil {
			return c
		}
		c.first, c.rest = constant{v}, c.rest[1:]
	}
	return c.first
}

func (c chain) eval(env *Env) (any, error) {
	v, err := c.first.eval(env)
	if err != nil {
		return nil, err
	}
	for i := range c.rest {
		r := &c.rest[i]
		if s, ok := v.(string); ok && r.op == opAdd && i+1 < len(c.rest) {
			return appendAll(env, s, c.rest[i:])
		}
		x, err := r.x.eval(env)
		if err != nil {
			return nil, err
		}
		if r.op == opMatch || r.op == opNoMatch {
			v, err = r.match(env, v, x)
		} else {
			v, err = applyBinary(r.op, v, x)
		}
		if err != nil {
			return nil, err
		}
	}
	return v, nil
}

// appendAll appends values to a string without a string for each step.
func appendAll(env *Env, s string, rest []link) (any, error) {
	var b strings.Builder
	b.WriteString(s)
	for i := range rest {
		r := &rest[i]
		x, err := r.x.eval(env)
		if err != nil {
			return nil, err
		}
		if r.op != opAdd {
			return nil, errOperand(r.op, b.String())
		}
		if t, ok := x.(string); ok {
			b.WriteString(t)
		} else {
			fmt.Fprint(&b, x)
		}
		if b.Len() > functions.MaxResult {
			return nil, functions.ErrTooLarge
		}
	}
	return b.String(), nil
}

func (r *link) match(env *Env, v, x any) (any, error) {
	s, ok := v.(string)
	if !ok {
		return nil, errOperand(r.op, v)
	}
	p := r.pattern
	if p == nil {
		source, ok := x.(string)
		if !ok {
			return nil, errOperand(r.op, x)
		}
		var err error
		if p, err = functions.CompileRegexp(source); err != nil {
			return nil, err
		}
	}
	hit, err := p.MatchStringContext(env.context(), s)
	return hit == (r.op == opMatch), err
}

// logic is && or || between any number of values. It stops at the first value that decides.
type logic struct {
	and   bool
	items []node
}

func (n logic) eval(env *Env) (any, error) {
	for _, item := range n.items {
		v, err := item.eval(env)
		if err != nil {
			return nil, err
		}
		b, ok := v.(bool)
		switch {
		case !ok && n.and:
			return nil, errOperand(opAnd, v)
		case !ok:
			return nil, errOperand(opOr, v)
		}
		if b != n.and {
			return b, nil
		}
	}
	return n.and, nil
}

// choice is a chain of ?, : and ??: a condition that is false becomes nil, and : or ?? replaces nil by what follows.
type choice chain

func (n choice) eval(env *Env) (any, error) {
	v, err := n.first.eval(env)
	if err != nil {
		return nil, err
	}
	for i := range n.rest {
		r := &n.rest[i]
		if r.op == opThen && v == false {
			v = nil
			continue
		}
		if r.op != opThen && v != nil {
			continue
		}
		x, err := r.x.eval(env)
		if err != nil {
			return nil, err
		}
		if r.op == opThen && v != true {
			return nil, errOperand(opThen, v)
		}
		v = x
	}
	return v, nil
}

// list is values with commas between them; a first value that is a list is extended.
type list struct{ items []node }

func (n list) eval(env *Env) (any, error) {
	all, held, err := values(env, n.items)
	if err != nil {
		return nil, err
	}
	env.functions.Budget.Release(held)
	if held > functions.MaxResult {
		return nil, functions.ErrTooLarge
	}
	return all, nil
}

// values evaluates items; a first one that is a list is spread. What they hold is to be released after their use.
func values(env *Env, items []node) (all []any, held int, err error) {
	all = make([]any, 0, len(items))
	defer func() {
		if err != nil {
			env.functions.Budget.Release(held)
		}
	}()
	for i, item := range items {
		v, err := item.eval(env)
		if err != nil {
			return nil, held, err
		}
		size := functions.Size(v)
		held += size
		if err := env.functions.Budget.Hold(size); err != nil {
			return nil, held, err
		}
		if spread, ok := v.([]any); ok && i == 0 {
			all = append(all, spread...)
			continue
		}
		all = append(all, v)
	}
	return all, held, nil
}
