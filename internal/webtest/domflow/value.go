package domflow

import (
	"math"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja/ast"
)

// value is what an expression is: one of text, float64, bool, nothing, *list, *object, *function, *matcher,
// unknown, or doubt.
type value any

type (
	// text is a string; partial where unknown parts are left out of it.
	text struct {
		s       string
		partial bool
	}
	nothing struct{} // null and undefined
	unknown struct{} // what does not depend on the mark
	doubt   struct{} // unknown, since the mark went into it
	list    struct{ all []value }
	// object is one of the script's own, or one of the browser's by its kind.
	object struct {
		kind    string
		members map[string]value
		params  url.Values
	}
	// function is one of the script, or of the browser by its name and what it belongs to.
	function struct {
		params *ast.ParameterList
		body   *ast.BlockStatement
		result ast.Expression // instead of a body
		within *scope
		name   string
		of     value
	}
)

// scope has the names of a function.
type scope struct {
	names  map[string]value
	parent *scope
}

func (s *scope) find(name string) (*scope, bool) {
	for ; s != nil; s = s.parent {
		if _, ok := s.names[name]; ok {
			return s, true
		}
	}
	return nil, false
}

// truth is whether a value counts as true; known is false where that cannot be said.
func truth(v value) (is, known bool) {
	switch v := v.(type) {
	case text:
		return v.s != "", v.s != "" || !v.partial
	case float64:
		return v != 0 && !math.IsNaN(v), true
	case bool:
		return v, true
	case nothing:
		return false, true
	case *list, *object, *function, *matcher:
		return true, true
	}
	return false, false
}

// textOf is a value as a text; ok is false where it is not known.
func textOf(v value) (t text, ok bool) {
	switch v := v.(type) {
	case text:
		return v, true
	case float64:
		return text{s: strconv.FormatFloat(v, 'f', -1, 64)}, true
	case bool:
		return text{s: strconv.FormatBool(v)}, true
	case nothing:
		return text{s: "undefined"}, true
	case *object:
		return text{s: v.params.Encode()}, v.kind == kindParams
	case *list:
		return joined(v, ",")
	}
	return text{}, false
}

func joined(l *list, by string) (t text, ok bool) {
	parts := make([]string, 0, len(l.all))
	for _, one := range l.all {
		part, ok := textOf(one)
		if !ok || part.partial {
			t.partial = true
		}
		parts = append(parts, part.s)
	}
	t.s = strings.Join(parts, by)
	return t, len(t.s) <= maxText
}

// marked reports whether the marked text is in a value, or decided about it.
func (e *evaluation) marked(v value) bool { return e.markedAt(v, 4) }

func (e *evaluation) markedAt(v value, depth int) bool {
	if depth == 0 {
		return false
	}
	switch v := v.(type) {
	case doubt:
		return true
	case text:
		return strings.Contains(strings.ToLower(v.s), e.mark)
	case *list:
		return slices.ContainsFunc(v.all, func(one value) bool { return e.markedAt(one, depth-1) })
	case *object:
		if v.kind == kindLocation || v.kind == kindParams || v.kind == kindAddress {
			return true
		}
		for _, one := range v.members {
			if e.markedAt(one, depth-1) {
				return true
			}
		}
	}
	return false
}

// without is what is said of a result that is not known, made of other values.
func (e *evaluation) without(from ...value) value {
	if slices.ContainsFunc(from, e.marked) {
		return doubt{}
	}
	return unknown{}
}

// add is what + makes of two values.
func (e *evaluation) add(a, b value) value {
	x, isNumber := a.(float64)
	y, too := b.(float64)
	if isNumber && too {
		return x + y
	}
	_, left := a.(text)
	_, right := b.(text)
	if !left && !right {
		return e.without(a, b)
	}
	s, known := textOf(a)
	t, also := textOf(b)
	e.steps += (len(s.s) + len(t.s)) / 64
	if len(s.s)+len(t.s) > maxText {
		return e.without(a, b)
	}
	return text{s.s + t.s, s.partial || t.partial || !known || !also}
}

// equal says whether two values are the same; known is false where that cannot be said.
func equal(a, b value) (is, known bool) {
	if _, ok := a.(nothing); ok {
		_, is = b.(nothing)
		_, isUnknown := b.(unknown)
		_, isDoubt := b.(doubt)
		return is, !isUnknown && !isDoubt
	}
	if _, ok := b.(nothing); ok {
		return equal(b, a)
	}
	s, left := textOf(a)
	t, right := textOf(b)
	_, listed := a.(*list)
	_, other := b.(*list)
	return s.s == t.s, left && right && !s.partial && !t.partial && !listed && !other
}
