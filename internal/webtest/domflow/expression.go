package domflow

import (
	"math"
	"strconv"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

func itoa(n int) string { return strconv.Itoa(n) }

// expression is the value of an expression; what it writes on the way is noted.
func (e *evaluation) expression(x ast.Expression, in *scope) value {
	if x == nil {
		return nothing{}
	}
	if !e.step() || e.depth > maxNesting*4 {
		e.halted = true
		return doubt{}
	}
	e.depth++
	defer func() { e.depth-- }()
	switch x := x.(type) {
	case *ast.StringLiteral:
		return text{s: x.Value.String()}
	case *ast.NumberLiteral:
		switch n := x.Value.(type) {
		case int64:
			return float64(n)
		case float64:
			return n
		}
		return unknown{}
	case *ast.BooleanLiteral:
		return x.Value
	case *ast.NullLiteral:
		return nothing{}
	case *ast.RegExpLiteral:
		return expressionOf(x)
	case *ast.TemplateLiteral:
		return e.template(x, in)
	case *ast.Identifier:
		return e.named(x.Name.String(), in)
	case *ast.ThisExpression:
		if s, ok := in.find("this"); ok {
			return s.names["this"]
		}
		return &object{kind: kindWindow}
	case *ast.FunctionLiteral:
		return functionOf(x, in)
	case *ast.ArrowFunctionLiteral:
		f := &function{params: x.ParameterList, within: in}
		switch body := x.Body.(type) {
		case *ast.BlockStatement:
			f.body = body
		case *ast.ExpressionBody:
			f.result = body.Expression
		}
		return f
	case *ast.ObjectLiteral:
		return e.objectOf(x, in)
	case *ast.ArrayLiteral:
		return e.listOf(x.Value, in)
	case *ast.SequenceExpression:
		last := value(nothing{})
		for _, one := range x.Sequence {
			last = e.expression(one, in)
		}
		return last
	case *ast.AwaitExpression:
		return kept(e.expression(x.Argument, in))
	case *ast.OptionalChain:
		return e.expression(x.Expression, in)
	case *ast.Optional:
		return e.expression(x.Expression, in)
	}
	return e.operation(x, in)
}

// operation is the value of an expression with an operator, a member or a call.
func (e *evaluation) operation(x ast.Expression, in *scope) value {
	switch x := x.(type) {
	case *ast.DotExpression:
		return e.member(e.expression(x.Left, in), text{s: x.Identifier.Name.String()})
	case *ast.BracketExpression:
		return e.member(e.expression(x.Left, in), e.expression(x.Member, in))
	case *ast.CallExpression:
		return e.call(x, in)
	case *ast.NewExpression:
		return e.apply(e.expression(x.Callee, in), nothing{}, "", e.arguments(x.ArgumentList, in))
	case *ast.AssignExpression:
		return e.assignment(x, in)
	case *ast.ConditionalExpression:
		test := e.expression(x.Test, in)
		is, known := truth(test)
		switch {
		case known && is:
			return e.expression(x.Consequent, in)
		case known:
			return e.expression(x.Alternate, in)
		case e.marked(test):
			e.halted = true
			return doubt{}
		}
		e.unsure++
		a, b := e.expression(x.Consequent, in), e.expression(x.Alternate, in)
		e.unsure--
		return e.without(a, b)
	case *ast.BinaryExpression:
		return e.binary(x, in)
	case *ast.UnaryExpression:
		return e.unary(x, in)
	}
	return unknown{}
}

func (e *evaluation) template(x *ast.TemplateLiteral, in *scope) value {
	out := value(text{})
	for i, part := range x.Elements {
		out = e.add(out, text{s: part.Parsed.String()})
		if i < len(x.Expressions) {
			out = e.add(out, e.expression(x.Expressions[i], in))
		}
	}
	if x.Tag != nil {
		return e.without(out)
	}
	return out
}

func (e *evaluation) named(name string, in *scope) value {
	if s, ok := in.find(name); ok {
		return s.names[name]
	}
	if v, ok := e.globalOf(name); ok {
		return v
	}
	return unknown{}
}

func (e *evaluation) key(p *ast.PropertyKeyed, in *scope) (string, bool) {
	if id, ok := p.Key.(*ast.Identifier); ok && !p.Computed {
		return id.Name.String(), true
	}
	t, ok := textOf(e.expression(p.Key, in))
	return t.s, ok && !t.partial
}

func (e *evaluation) objectOf(x *ast.ObjectLiteral, in *scope) value {
	o := &object{members: map[string]value{}}
	for _, p := range x.Value {
		switch p := p.(type) {
		case *ast.PropertyShort:
			o.members[p.Name.Name.String()] = e.named(p.Name.Name.String(), in)
		case *ast.PropertyKeyed:
			key, ok := e.key(p, in)
			if !ok || p.Kind == ast.PropertyKindGet || p.Kind == ast.PropertyKindSet {
				return e.without(o)
			}
			o.members[key] = e.expression(p.Value, in)
		default:
			return unknown{}
		}
	}
	return o
}

func (e *evaluation) listOf(all []ast.Expression, in *scope) value {
	l := &list{}
	for _, x := range all {
		if spread, ok := x.(*ast.SpreadElement); ok {
			inner, known := e.expression(spread.Expression, in).(*list)
			if !known {
				return unknown{}
			}
			l.all = append(l.all, inner.all...)
			continue
		}
		l.all = append(l.all, e.expression(x, in))
	}
	return l
}

// assignment gives a variable or a member a value.
func (e *evaluation) assignment(x *ast.AssignExpression, in *scope) value {
	v := e.expression(x.Right, in)
	switch x.Operator {
	case token.ASSIGN:
	case token.PLUS, token.ADD_ASSIGN:
		v = e.add(e.expression(x.Left, in), v)
	default:
		v = e.without(e.expression(x.Left, in), v)
	}
	return e.assign(x.Left, v, in)
}

func (e *evaluation) assign(target ast.Expression, v value, in *scope) value {
	switch t := target.(type) {
	case *ast.Identifier:
		name := t.Name.String()
		if name == "location" {
			if _, ok := in.find(name); !ok {
				e.put(&object{kind: kindWindow}, name, v)
				return v
			}
		}
		if s, ok := in.find(name); ok {
			if e.unsure > 0 && s.names[name] != nil {
				v = e.either(s.names[name], v)
			}
			s.names[name] = v
			return v
		}
		e.global.names[name] = v
	case *ast.DotExpression:
		return e.put(e.expression(t.Left, in), t.Identifier.Name.String(), v)
	case *ast.BracketExpression:
		of := e.expression(t.Left, in)
		if key, ok := textOf(e.expression(t.Member, in)); ok && !key.partial {
			return e.put(of, key.s, v)
		}
	case *ast.ArrayPattern, *ast.ObjectPattern:
		e.bind(t, v, in)
	}
	return v
}

// either is a variable that has got another value in one of two cases.
func (e *evaluation) either(before, after value) value {
	if is, known := equal(before, after); is && known {
		return after
	}
	if _, ok := before.(nothing); ok && !e.marked(after) {
		return after
	}
	return e.without(before, after)
}

// put sets a member, and notes what that writes.
func (e *evaluation) put(of value, name string, v value) value {
	switch of.(type) {
	case nothing, failed:
		return failed{}
	}
	if kind, ok := sinkOf(of, name); ok {
		if t, ok := v.(text); ok {
			e.write(Write{Sink: name, Kind: kind, Text: t.s})
		}
		return v
	}
	if strings.HasPrefix(name, "on") && !listens("addEventListener", []value{text{s: name}, v}) {
		e.apply(v, of, "", []value{unknown{}})
	}
	if o, ok := of.(*object); ok {
		switch {
		case o.kind == kindWindow:
			e.global.names[name] = v
		case o.members != nil:
			o.members[name] = v
		}
	}
	return v
}

func (e *evaluation) binary(x *ast.BinaryExpression, in *scope) value {
	left := e.expression(x.Left, in)
	switch x.Operator {
	case token.LOGICAL_AND, token.LOGICAL_OR, token.COALESCE:
		return e.logical(x, left, in)
	}
	right := e.expression(x.Right, in)
	switch x.Operator {
	case token.PLUS:
		return e.add(left, right)
	case token.STRICT_EQUAL, token.EQUAL, token.STRICT_NOT_EQUAL, token.NOT_EQUAL:
		is, known := equal(left, right)
		if !known {
			return e.without(left, right)
		}
		return is == (x.Operator == token.STRICT_EQUAL || x.Operator == token.EQUAL)
	case token.INSTANCEOF, token.IN:
		return e.without(left, right)
	}
	a, ok := left.(float64)
	b, also := right.(float64)
	if !ok || !also {
		return e.without(left, right)
	}
	switch x.Operator {
	case token.MINUS:
		return a - b
	case token.MULTIPLY:
		return a * b
	case token.SLASH:
		return a / b
	case token.REMAINDER:
		return math.Mod(a, b)
	case token.LESS:
		return a < b
	case token.GREATER:
		return a > b
	case token.LESS_OR_EQUAL:
		return a <= b
	case token.GREATER_OR_EQUAL:
		return a >= b
	}
	return unknown{}
}

// logical is the value of two that a logical operator joins; the second is evaluated where the first does not decide.
func (e *evaluation) logical(x *ast.BinaryExpression, left value, in *scope) value {
	is, known := truth(left)
	if x.Operator == token.COALESCE && known {
		_, empty := left.(nothing)
		is = !empty
	}
	if known {
		if is == (x.Operator == token.LOGICAL_AND) {
			return e.expression(x.Right, in)
		}
		return left
	}
	if e.marked(left) {
		e.halted = true
		return doubt{}
	}
	e.unsure++
	right := e.expression(x.Right, in)
	e.unsure--
	return e.without(left, right)
}

func (e *evaluation) unary(x *ast.UnaryExpression, in *scope) value {
	v := e.expression(x.Operand, in)
	switch x.Operator {
	case token.NOT:
		if is, known := truth(v); known {
			return !is
		}
	case token.MINUS:
		if n, ok := v.(float64); ok {
			return -n
		}
	case token.INCREMENT, token.DECREMENT:
		n, ok := v.(float64)
		if !ok {
			return e.without(v)
		}
		after := n + 1
		if x.Operator == token.DECREMENT {
			after = n - 1
		}
		e.assign(x.Operand, after, in)
		if x.Postfix {
			return n
		}
		return after
	case token.VOID:
		return nothing{}
	case token.TYPEOF:
		return typeOf(e, v)
	}
	return e.without(v)
}

func typeOf(e *evaluation, v value) value {
	switch v.(type) {
	case text:
		return text{s: "string"}
	case float64:
		return text{s: "number"}
	case bool:
		return text{s: "boolean"}
	case nothing:
		return text{s: "undefined"}
	case *function:
		return text{s: "function"}
	case *object, *list:
		return text{s: "object"}
	}
	return e.without(v)
}
