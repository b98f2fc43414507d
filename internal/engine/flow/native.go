package flow

import (
	"context"
	"slices"
	"strconv"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/token"
)

// expression is a protocol call, or an operation on expressions.
type expression struct {
	operator token.Token // &&, || or !; 0 for a call
	operands []*expression
	call     Call
}

// eval works as in JavaScript: an operand that cannot change the result is not called.
func (e *expression) eval(ctx context.Context, host *Host) (bool, error) {
	switch e.operator {
	case token.NOT:
		v, err := e.operands[0].eval(ctx, host)
		return !v, err
	case token.LOGICAL_AND, token.LOGICAL_OR:
		v, err := e.operands[0].eval(ctx, host)
		if err != nil || v == (e.operator == token.LOGICAL_OR) {
			return v, err
		}
		return e.operands[1].eval(ctx, host)
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return host.Call(ctx, e.call)
}

// nativeOf makes expressions of statements; nil unless they consist of calls, !, && and ||.
func (p *Program) nativeOf(statements []ast.Statement) (all []*expression) {
	for _, s := range statements {
		switch s := s.(type) {
		case *ast.EmptyStatement:
		case *ast.ExpressionStatement:
			e := p.expression(s.Expression)
			if e == nil {
				return nil
			}
			all = append(all, e)
		default:
			return nil
		}
	}
	return all
}

// expression is the native form of an expression; nil without one.
func (p *Program) expression(x ast.Expression) *expression {
	var e *expression
	switch x := x.(type) {
	case *ast.UnaryExpression:
		e = &expression{x.Operator, []*expression{p.expression(x.Operand)}, Call{}}
	case *ast.BinaryExpression:
		e = &expression{x.Operator, []*expression{p.expression(x.Left), p.expression(x.Right)}, Call{}}
	default:
		call := p.callOf(x)
		if call == nil {
			return nil
		}
		return &expression{call: *call}
	}
	native := []token.Token{token.NOT, token.LOGICAL_AND, token.LOGICAL_OR}
	if !slices.Contains(native, e.operator) || slices.Contains(e.operands, nil) {
		return nil
	}
	return e
}

// callOf is a protocol call with whole numbers and strings without escapes as arguments; nil otherwise.
func (p *Program) callOf(x ast.Expression) *Call {
	c, ok := x.(*ast.CallExpression)
	if !ok {
		return nil
	}
	callee, ok := c.Callee.(*ast.Identifier)
	if !ok || !slices.Contains(p.protocols, callee.Name.String()) {
		return nil
	}
	call := &Call{Protocol: callee.Name.String()}
	for _, a := range c.ArgumentList {
		switch a := a.(type) {
		case *ast.StringLiteral:
			if strings.Contains(a.Literal, `\`) {
				return nil
			}
			call.IDs = append(call.IDs, a.Value.String())
		case *ast.NumberLiteral:
			n, ok := a.Value.(int64)
			if !ok {
				return nil
			}
			call.IDs = append(call.IDs, strconv.FormatInt(n, 10))
		default:
			return nil
		}
	}
	return call
}

// firstOf is the call that a script begins with; nil when it begins with anything else.
func (p *Program) firstOf(statements []ast.Statement) *Call {
	if len(statements) == 0 {
		return nil
	}
	var x ast.Expression
	switch s := statements[0].(type) {
	case *ast.ExpressionStatement:
		x = s.Expression
	case *ast.IfStatement:
		x = s.Test
	}
	for {
		switch e := x.(type) {
		case *ast.UnaryExpression:
			x = e.Operand
		case *ast.BinaryExpression:
			x = e.Left
		default:
			return p.callOf(x)
		}
	}
}
