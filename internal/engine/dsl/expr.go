package dsl

import (
	"fmt"
	"strconv"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
)

// Expr is a compiled expression, immutable and safe for any number of goroutines.
type Expr struct {
	src     string
	root    node
	names   []string
	needles []Needle
	cost    int

	pure    bool // the value depends on the variables alone
	open    bool // there are variables
	calls   bool // there are function calls
	members bool // there are members of variables
}

// Unsupported is the error for a function that this build deliberately lacks.
type Unsupported struct{ Function, Reason string }

func (e *Unsupported) Error() string {
	return fmt.Sprintf("the function %s is not supported: %s", e.Function, e.Reason)
}

// Compile compiles an expression (template language 6.1 to 6.3). Placeholders in its strings are rendered at each
// evaluation. The error is a *SyntaxError or an *Unsupported.
func Compile(src string) (*Expr, error) { return compile(src, false) }

func compile(src string, plain bool) (*Expr, error) {
	e := &Expr{src: src, pure: true}
	if err := parse(e, plain); err != nil {
		return nil, err
	}
	return e, nil
}

// Eval returns the value: nil, bool, float64, int, int64, string, []byte, []string or []any. The error is a *Missing
// when a variable has no value.
func (e *Expr) Eval(env *Env) (any, error) {
	if env == nil {
		env = &Env{}
	}
	env.begin()
	v, err := e.root.eval(env)
	env.end()
	return v, err
}

// Names are the variables that the expression may use, in order of use, without repetition.
func (e *Expr) Names() []string { return e.names }

// Needles are the tests that Env.Needle may answer.
func (e *Expr) Needles() []Needle { return e.needles }

// Cost estimates Eval: about one for each step that reads no text, more for the others, much more for those that use
// the network.
func (e *Expr) Cost() int { return e.cost + len(e.names) }

// Pure reports whether the value depends on the variables alone, not on chance, time or the network.
func (e *Expr) Pure() bool { return e.pure }

// String is the expression as written.
func (e *Expr) String() string { return e.src }

// Needle is the test whether the variable Var contains Text. With Fold, Text is in lower case, all ASCII, and letters
// match either case; nothing is known about texts that are textsearch.Text.Odd then.
type Needle struct {
	Var, Text string
	Fold      bool
}

// Costs, relative to a step that reads no text.
const (
	costSearch    = 8
	costCall      = 10
	costPattern   = 40
	costExpensive = 500
	costNetwork   = 100_000
)

// call makes the node of a call, or of its value if that is known.
func (e *Expr) call(c call) node {
	switch f := c.function; {
	case f.Waits:
		e.cost += costNetwork
	case f.Expensive:
		e.cost += costExpensive
	default:
		e.cost += costCall
	}
	if n, ok := c.fold(); ok {
		return n
	}
	switch c.function.Name {
	case "contains", "contains_all", "contains_any":
		if n, ok := e.search(c); ok {
			return n
		}
	case "regex", "regex_all", "regex_any":
		if n, ok := e.test(c); ok {
			return n
		}
	}
	return c
}

// call is a function with its arguments.
type call struct {
	function *functions.Function
	args     []node
}

func (n call) eval(env *Env) (any, error) {
	args, held, err := values(env, n.args)
	if err != nil {
		return nil, err
	}
	if len(args) == 1 && args[0] == nil {
		args = nil
	}
	v, err := env.call(n.function, args)
	env.functions.Budget.Release(held)
	return v, err
}

// Limits for calls that are evaluated when an expression is compiled, in bytes.
const (
	maxFoldedArguments = 1 << 10
	maxFoldedResult    = 4 << 10
)

// mayGrow reports whether a constant argument is the size of a large result.
func (n call) mayGrow() bool {
	at := map[string]int{"repeat": 1, "padding": 2}[n.function.Name]
	if at == 0 || len(n.args) <= at {
		return false
	}
	c, _ := n.args[at].(constant)
	size, err := strconv.ParseFloat(functions.String(c.value), 64)
	return err != nil || size > maxFoldedResult
}

// fold is the value of a call with constant arguments, if it is small. Errors are left to the evaluation.
func (n call) fold() (node, bool) {
	if n.function.Impure || n.function.Expensive {
		return nil, false
	}
	size := 0
	for _, a := range n.args {
		c, ok := a.(constant)
		if !ok {
			return nil, false
		}
		if s, ok := c.value.(string); ok {
			size += len(s)
		}
	}
	if size > maxFoldedArguments || n.mayGrow() {
		return nil, false
	}
	v, err := n.eval(&Env{})
	if err != nil {
		return nil, false
	}
	switch v := v.(type) {
	case string:
		return constant{v}, len(v) <= maxFoldedResult
	case bool, float64, int, int64:
		return constant{v}, true
	}
	return nil, false
}
