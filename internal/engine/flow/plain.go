package flow

import (
	"slices"
	"sync"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
)

// plainMembers are properties that cannot take much in one step, on lists and texts as hosts and literals make them.
var plainMembers = []string{"length", "Add", "Values", "push", "forEach", "map", "filter", "some", "every", "find",
	"indexOf", "includes", "startsWith", "endsWith", "trim", "toLowerCase", "toUpperCase", "slice", "substring"}

// plainNames are global names that are as harmless.
var plainNames = []string{"undefined", "NaN", "Infinity", "isNaN", "isFinite", "parseInt", "parseFloat", "Number",
	"Boolean"}

// globalNames are all others that the language defines.
var globalNames = sync.OnceValue(func() map[string]bool {
	// What the global object inherits is reached by its name, too; template is plain where its properties are read.
	names := map[string]bool{"eval": true, "arguments": true, "constructor": true, "__proto__": true, "template": true}
	for _, name := range goja.New().GlobalObject().GetOwnPropertyNames() {
		names[name] = !slices.Contains(plainNames, name)
	}
	return names
})

// plainNode is false for a node by which a script could reach more than lists, texts and the names of flows, or make
// a list that is longer than what it holds. A script of plain nodes needs no bounds of single steps, which take about
// a millisecond to set up.
func plainNode(node any) bool {
	switch n := node.(type) {
	case *ast.Identifier:
		return !globalNames()[n.Name.String()]
	case *ast.PropertyShort:
		return !globalNames()[n.Name.Name.String()]
	case *ast.DotExpression:
		return ofTemplate(n.Left) || slices.Contains(plainMembers, n.Identifier.Name.String())
	case *ast.BracketExpression:
		return ofTemplate(n.Left)
	case *ast.AssignExpression:
		_, name := n.Left.(*ast.Identifier)
		return name
	case *ast.UnaryExpression:
		_, dot := n.Operand.(*ast.DotExpression)
		return !dot || !n.Postfix && n.Operator.String() != "++" && n.Operator.String() != "--" &&
			n.Operator.String() != "delete"
	case *ast.ObjectPattern, *ast.ArrayPattern, *ast.WithStatement, *ast.RegExpLiteral, *ast.ThisExpression,
		*ast.ClassLiteral, *ast.SuperExpression, *ast.PrivateDotExpression, *ast.TemplateLiteral,
		*ast.SpreadElement:
		return false
	}
	return true
}

// objectOf is the object whose property a node reads; nil for other nodes.
func objectOf(node any) ast.Expression {
	switch n := node.(type) {
	case *ast.DotExpression:
		return n.Left
	case *ast.BracketExpression:
		return n.Left
	}
	return nil
}

// ofTemplate reports whether an object is the template object, whose properties are the host's values.
func ofTemplate(x ast.Expression) bool {
	name, ok := x.(*ast.Identifier)
	return ok && name.Name == "template"
}
