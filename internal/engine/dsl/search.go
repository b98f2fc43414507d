package dsl

import (
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// search is contains, contains_all or contains_any with constant texts.
type search struct {
	call
	texts   []string
	any     bool     // one text is enough
	needles []Needle // of texts; nil when nothing but Eval can answer
}

// search makes the node of such a call, and needles when it searches a variable, or one in lower case.
func (e *Expr) search(c call) (node, bool) {
	if len(c.args) < 2 || c.function.Name == "contains" && len(c.args) != 2 {
		return nil, false
	}
	n := search{call: c, any: c.function.Name == "contains_any"}
	name, fold, isVariable := searched(c.args[0])
	var needles []Needle
	for _, a := range c.args[1:] {
		k, ok := a.(constant)
		if !ok {
			return nil, false
		}
		text := functions.String(k.value)
		n.texts = append(n.texts, text)
		needles = append(needles, Needle{Var: name, Text: text, Fold: fold})
		isVariable = isVariable && text != "" && (!fold || lowerASCII(text))
	}
	e.cost += costSearch * len(n.texts)
	if isVariable {
		n.needles = needles
		e.needles = append(e.needles, needles...)
	}
	return n, true
}

// searched is the variable in "x" and "to_lower(x)".
func searched(in node) (name string, fold, ok bool) {
	if lower, isCall := in.(call); isCall && lower.function.Name == "to_lower" && len(lower.args) == 1 {
		in, fold = lower.args[0], true
	}
	ref, ok := in.(reference)
	return ref.name, fold, ok
}

func lowerASCII(s string) bool {
	return !strings.ContainsFunc(s, func(c rune) bool { return c >= 0x80 || 'A' <= c && c <= 'Z' })
}

func (n search) eval(env *Env) (any, error) {
	text, evaluated := "", false
	for i, literal := range n.texts {
		hit, known := false, false
		if n.needles != nil && env.Needle != nil {
			hit, known = env.Needle(n.needles[i])
		}
		if !known {
			if !evaluated {
				v, err := n.args[0].eval(env)
				if err != nil {
					return nil, err
				}
				if _, spread := v.([]any); spread {
					return n.call.eval(env)
				}
				text, evaluated = functions.String(v), true
			}
			hit = textsearch.Contains(text, literal)
		}
		if hit == n.any {
			return hit, nil
		}
	}
	return !n.any, nil
}

// regexTest is regex, regex_all or regex_any with a constant pattern.
type regexTest struct {
	call
	pattern *textsearch.Pattern
	any     bool
	needle  *Needle // what the pattern looks for, when it is a literal in a variable
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
		return nil, false // an error of the evaluation
	}
	n := regexTest{call: c, pattern: p, any: c.function.Name == "regex_any"}
	ref, ok := c.args[1].(reference)
	l, whole := p.Literal()
	if whole && ok && len(c.args) == 2 {
		n.needle = &Needle{Var: ref.name, Text: l.Text, Fold: l.Fold}
		e.needles = append(e.needles, *n.needle)
		e.cost += costSearch
	} else {
		e.cost += costPattern * (len(c.args) - 1)
	}
	return n, true
}

func (n regexTest) eval(env *Env) (any, error) {
	if n.needle != nil && env.Needle != nil {
		if hit, known := env.Needle(*n.needle); known {
			return hit, nil
		}
	}
	all, held, err := values(env, n.args) // each must have a value, whichever decides
	if err != nil {
		return nil, err
	}
	env.functions.Budget.Release(held)
	for _, v := range all[1:] {
		hit, err := n.pattern.MatchStringContext(env.context(), functions.String(v))
		if err != nil {
			return nil, err
		}
		if hit == n.any {
			return hit, nil
		}
	}
	return !n.any, nil
}
