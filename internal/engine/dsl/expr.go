package dsl

// Expr is a compiled expression, immutable and safe for any number of goroutines.
type Expr struct {
	src     string
	names   []string
	needles []Needle
	cost    int
}

// Needle is a literal substring test inside an expression: does the variable Var
// contain Text, in any case when Fold is set?
type Needle struct {
	Var, Text string
	Fold      bool
}

// Compile reads an expression.
func Compile(src string) (*Expr, error) { return &Expr{src: src}, nil }

// Eval gives the value of the expression.
func (e *Expr) Eval(env *Env) (any, error) { return nil, nil }

// Names are the variables of the expression, in order of use, each once.
func (e *Expr) Names() []string { return e.names }

// Needles are the literal tests that Env.Needle may answer, in order.
func (e *Expr) Needles() []Needle { return e.needles }

// Cost is a rough price of Eval, for ordering: 0 is cheapest.
func (e *Expr) Cost() int { return e.cost }

// String is the expression as written.
func (e *Expr) String() string { return e.src }
