package dsl

import (
	"fmt"
	"maps"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
)

// placeholder is a placeholder: a name, an expression, or a name that may turn out to be an expression.
type placeholder struct {
	name     string // the variable that replaces the placeholder; "" when none can
	nameOnly bool   // a name, and never an expression
	expr     *Expr  // nil when it is only a name, or is wrong
	always   bool   // an expression whatever the variables are
	err      error  // why an expression cannot be compiled
	bound    map[string]any
}

func (h *placeholder) names() []string {
	var names []string
	if h.name != "" {
		names = append(names, h.name)
	}
	if h.expr == nil {
		return names
	}
	for _, name := range h.expr.names {
		v, bound := h.bound[name]
		if !bound && name != h.name {
			names = append(names, name)
		} else if t, ok := v.(Text); ok {
			names = append(names, t.Names()...)
		}
	}
	return names
}

// key is equal for holes with the same meaning.
func (h *placeholder) key() string {
	if h.expr == nil {
		return h.name
	}
	var b strings.Builder
	b.WriteString(h.expr.src)
	for _, name := range h.expr.names {
		switch v := h.bound[name].(type) {
		case nil:
		case Text:
			fmt.Fprintf(&b, "\x00%s=%s", name, v.Key())
		default:
			fmt.Fprintf(&b, "\x00%s:%#v", name, v)
		}
	}
	return b.String()
}

// eval evaluates the expression. done is false if the placeholder is not one for these variables and stays as
// written.
func (h *placeholder) eval(env *Env) (v any, done bool, err error) {
	if h.nameOnly {
		return nil, false, nil
	}
	if h.bound != nil {
		inner := *env
		inner.Vars, inner.Needle = First(Map(h.bound), env.Vars), nil
		outer := env
		env = &inner
		defer func() { outer.functions.Budget = inner.functions.Budget }()
	}
	if !h.always && !functions.Mentioned(h.name) && !h.usesVariable(env) {
		return nil, false, nil
	}
	switch {
	case h.err != nil:
		return nil, false, h.err
	case h.expr == nil:
		return nil, false, &Missing{h.name}
	}
	raw, unfilled := env.raw, env.unfilled
	env.raw, env.unfilled = "", false
	v, err = h.expr.Eval(env)
	raw, env.raw = env.raw, raw
	unfilled, env.unfilled = env.unfilled, unfilled
	switch {
	case err != nil:
		return nil, false, fmt.Errorf("{{%s}}: %w", h.expr.src, err)
	case raw != "" && h.expr.calls:
		// The result hides the placeholder, but the text must not be sent.
		return nil, false, &Unresolved{raw}
	case raw != "" || unfilled:
		return Raw(functions.String(v)), true, nil
	}
	return v, true, nil
}

// usesVariable reports whether the placeholder is an expression for these variables: its text contains the name of one
// (template language 6.4, step 2).
func (h *placeholder) usesVariable(env *Env) bool {
	source := h.name
	if h.expr != nil {
		source = h.expr.src
		for _, name := range h.expr.names {
			if _, ok := env.value(name); ok {
				return true
			}
		}
	}
	return mentions(source, env)
}

const maxMentions = 512

// mentions reports whether the text contains the name of a variable, among names of letters, digits and underscores.
func mentions(source string, env *Env) bool {
	tries := 0
	for start := range len(source) {
		for end := start; end < len(source) && isNameByte(source[end]); end++ {
			if tries++; tries > maxMentions {
				return false
			}
			if _, ok := env.value(source[start : end+1]); ok {
				return true
			}
		}
	}
	return false
}

// bind keeps the known values of the expression's variables.
func (h *placeholder) bind(known Lookup) *placeholder {
	bound := h.bound
	copied := false
	for _, name := range h.expr.names {
		if _, have := bound[name]; have {
			continue
		}
		v, ok := known(name)
		if !ok {
			continue
		}
		if !copied {
			copied = true
			bound = make(map[string]any, len(h.expr.names))
			maps.Copy(bound, h.bound)
		}
		if t, isText := v.(Text); isText {
			if s, constant := t.Const(); constant {
				v = s
			}
		}
		bound[name] = v
	}
	if !copied {
		return h
	}
	b := *h
	b.bound = bound
	return &b
}

// value is the value of an expression if it depends only on bound variables. Errors, and values whose rendering
// failed, are left to Render.
func (h *placeholder) value() (any, bool) {
	if h.expr == nil || !h.expr.pure || !h.always && len(h.bound) == 0 {
		return nil, false
	}
	for _, name := range h.expr.names {
		switch h.bound[name].(type) {
		case Text, Raw:
			return nil, false
		case nil:
			if _, ok := h.bound[name]; !ok {
				return nil, false
			}
		}
	}
	v, err := h.expr.Eval(&Env{Vars: Map(h.bound)})
	if err != nil {
		return nil, false
	}
	return v, true
}
