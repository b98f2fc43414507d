package dsl

import (
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// search is contains, contains_all or contains_any with texts that are known.
type search struct {
	call
	in    node
	texts []literal
	any   bool // one text is enough
	first int  // the needle of the first text; -1 when these are none
}

// search makes the node of such a call, and needles when the text searched is a
// variable, or one in lower case.
func (e *Expr) search(c call) (node, bool) {
	if len(c.args) < 2 || c.function.Name == "contains" && len(c.args) != 2 {
		return nil, false
	}
	n := search{call: c, in: c.args[0], any: c.function.Name == "contains_any", first: -1}
	for _, a := range c.args[1:] {
		k, ok := a.(constant)
		if !ok {
			return nil, false
		}
		n.texts = append(n.texts, newLiteral(functions.String(k.value)))
	}
	e.cost += costSearch * len(n.texts)
	name, fold, ok := searched(n.in)
	if !ok {
		return n, true
	}
	for _, l := range n.texts {
		if l.text == "" || fold && !lowerASCII(l.text) {
			return n, true
		}
	}
	n.first = len(e.needles)
	for _, l := range n.texts {
		e.needles = append(e.needles, Needle{Var: name, Text: l.text, Fold: fold})
	}
	return n, true
}

// searched is the variable behind "x" and "to_lower(x)".
func searched(in node) (name string, fold, ok bool) {
	if lower, isCall := in.(call); isCall && lower.function.Name == "to_lower" && len(lower.args) == 1 {
		in, fold = lower.args[0], true
	}
	ref, ok := in.(reference)
	return ref.name, fold, ok
}

func (n search) eval(env *Env) (any, error) {
	text, looked := "", false
	for i, l := range n.texts {
		hit, known := env.needle(n.first, i)
		if !known {
			if !looked {
				v, err := n.in.eval(env)
				if err != nil {
					return nil, err
				}
				if _, spread := v.([]any); spread {
					return n.call.eval(env)
				}
				text, looked = functions.String(v), true
			}
			hit = l.in(text)
		}
		if hit == n.any {
			return hit, nil
		}
	}
	return !n.any, nil
}

// test is regex, regex_all or regex_any with an expression that is known.
type test struct {
	call
	pattern *textsearch.Pattern
	any     bool
	first   int
}

func (e *Expr) test(c call) (node, bool) {
	if len(c.args) < 2 || c.function.Name == "regex" && len(c.args) != 2 {
		return nil, false
	}
	k, ok := c.args[0].(constant)
	if !ok {
		return nil, false
	}
	p, err := textsearch.Compile(functions.String(k.value))
	if err != nil {
		return nil, false // which is an error of the evaluation
	}
	n := test{call: c, pattern: p, any: c.function.Name == "regex_any", first: -1}
	ref, ok := c.args[1].(reference)
	l, whole := p.Literal()
	if whole && ok && len(c.args) == 2 && l.Text != "" {
		n.first = len(e.needles)
		e.needles = append(e.needles, Needle{Var: ref.name, Text: l.Text, Fold: l.Fold})
		e.cost += costSearch
	} else {
		e.cost += costPattern * (len(c.args) - 1)
	}
	return n, true
}

func (n test) eval(env *Env) (any, error) {
	if hit, known := env.needle(n.first, 0); known {
		return hit, nil
	}
	if len(n.args) == 2 {
		v, err := n.args[1].eval(env)
		if err != nil {
			return nil, err
		}
		return n.pattern.MatchString(functions.String(v)), nil
	}
	all, err := values(env, n.args) // each must have a value, whichever decides
	if err != nil {
		return nil, err
	}
	for _, v := range all[1:] {
		if hit := n.pattern.MatchString(functions.String(v)); hit == n.any {
			return hit, nil
		}
	}
	return !n.any, nil
}
