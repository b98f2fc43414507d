package dsl

import (
	"context"
	"errors"
	"fmt"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
)

// Lookup gives the value of a variable, and whether it has one. Values are nil, bool,
// float64, int, int64, string, []byte, []string, []any, Raw or Text.
type Lookup func(name string) (value any, ok bool)

// Map is a Lookup over a map.
func Map[V any](m map[string]V) Lookup {
	return func(name string) (any, bool) { v, ok := m[name]; return v, ok }
}

// First asks each of several lookups in turn; nil ones have nothing to say.
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

// Env is what an evaluation may see and touch. It belongs to one goroutine at a time,
// and is best kept for all evaluations that concern one response: it remembers long
// texts in lower case.
type Env struct {
	Ctx  context.Context // bounds functions that wait or use the network; nil is context.Background
	Vars Lookup
	Host *functions.Host // nil: functions that need the network fail

	// Needle, when set, may know the answer of the literal test Expr.Needles()[i]
	// already; known false makes Eval look itself.
	Needle func(i int) (hit, known bool)

	depth     int           // of texts inside values of texts
	raw       string        // the name of a Raw that was read
	stayed    bool          // a placeholder in a string of the expression has no value
	functions functions.Env // for calls
}

// call runs a function with what it may use.
func (e *Env) call(f *functions.Function, args []any) (any, error) {
	e.functions.Ctx, e.functions.Host = e.Ctx, e.Host
	return f.Call(&e.functions, args)
}

func (e *Env) value(name string) (any, bool) {
	if e == nil || e.Vars == nil {
		return nil, false
	}
	return e.Vars(name)
}

func (e *Env) needle(first, i int) (hit, known bool) {
	if first < 0 || e.Needle == nil {
		return false, false
	}
	return e.Needle(first + i)
}

// maxNesting bounds values that are texts with values that are texts.
const maxNesting = 32

var errNesting = errors.New("a variable stands for itself")

// nested renders a value that is a text.
func (e *Env) nested(t Text) (string, error) {
	if e.depth++; e.depth > maxNesting {
		return "", errNesting
	}
	defer func() { e.depth-- }()
	return t.Render(e)
}

// Raw is the text of a template variable whose own rendering failed. It is put in as it
// is, and the text that uses it counts as unresolved.
type Raw string

// Missing says that an expression names a variable that has no value.
type Missing struct{ Name string }

func (e *Missing) Error() string { return fmt.Sprintf("No parameter '%s' found.", e.Name) }

// Unresolved says that a marker of the template stays in a rendered text: nothing with
// this text may be sent, unless the template says that variables are not checked.
type Unresolved struct{ Name string }

func (e *Unresolved) Error() string { return fmt.Sprintf("the variable {{%s}} has no value", e.Name) }
