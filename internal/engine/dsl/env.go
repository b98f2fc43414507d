package dsl

import (
	"context"
	"errors"
	"fmt"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
)

// Lookup finds the value of a variable: nil, bool, float64, int, int64, string, []byte, []string, []any, Raw or Text.
type Lookup func(name string) (value any, ok bool)

// Map is a Lookup over a map.
func Map[V any](m map[string]V) Lookup {
	return func(name string) (any, bool) { v, ok := m[name]; return v, ok }
}

// First is a Lookup that tries several in turn; any may be nil.
func First(all ...Lookup) Lookup {
	return func(name string) (any, bool) {
		for _, l := range all {
			if l == nil {
				continue
			}
			if v, ok := l(name); ok {
				return v, true
			}
		}
		return nil, false
	}
}

// Env is the environment of an evaluation. It belongs to one goroutine. Keep one for all evaluations of a response:
// it caches long texts in lower case.
type Env struct {
	Ctx  context.Context // bounds functions that wait or use the network; nil is context.Background
	Vars Lookup
	Host *functions.Host // nil: functions that need the network fail

	// Needle, if set, may know the answer of one of Expr.Needles already.
	Needle func(Needle) (hit, known bool)

	depth     int           // of texts inside values of texts
	raw       string        // the name of a Raw that was read
	unfilled  bool          // a placeholder in a string of the expression has no value
	active    int           // evaluations inside each other
	functions functions.Env // for calls
}

// begin starts a budget, unless an evaluation is under way.
func (e *Env) begin() {
	if e.active++; e.active == 1 {
		e.functions.Budget = functions.Budget{}
	}
}

func (e *Env) end() { e.active-- }

func (e *Env) call(f *functions.Function, args []any) (any, error) {
	e.functions.Ctx, e.functions.Host = e.Ctx, e.Host
	return f.Call(&e.functions, args)
}

func (e *Env) context() context.Context {
	if e == nil || e.Ctx == nil {
		return context.Background()
	}
	return e.Ctx
}

func (e *Env) value(name string) (any, bool) {
	if e == nil || e.Vars == nil {
		return nil, false
	}
	return e.Vars(name)
}

// maxNesting bounds texts in the values of texts.
const maxNesting = 32

var errNesting = errors.New("a variable stands for itself")

func (e *Env) nested(t Text) (string, error) {
	if e.depth >= maxNesting {
		return "", errNesting
	}
	if err := e.functions.Budget.Spend(e.Ctx, 0); err != nil {
		return "", err
	}
	e.depth++
	defer func() { e.depth-- }()
	return t.Render(e)
}

// Raw is a template variable whose rendering failed. It is inserted unchanged, and the text that uses it is
// unresolved.
type Raw string

// Missing is the error for a variable without value.
type Missing struct{ Name string }

func (e *Missing) Error() string { return fmt.Sprintf("No parameter '%s' found.", e.Name) }

// Unresolved is the error for a placeholder left in a rendered text, which must not be sent unless the template turns
// that check off.
type Unresolved struct{ Name string }

func (e *Unresolved) Error() string { return fmt.Sprintf("the variable {{%s}} has no value", e.Name) }
