package dsl

import (
	"context"
	"fmt"
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

// Env is what an evaluation may see and touch. It belongs to one goroutine at a time.
type Env struct {
	Ctx  context.Context // bounds functions that wait or use the network; nil is context.Background
	Vars Lookup
	Host *Host // nil: functions that need the world say that they cannot work here

	// Needle, when set, may know the answer of the literal test Expr.Needles()[i]
	// already; known false makes Eval look itself.
	Needle func(i int) (hit, known bool)
}

func (e *Env) value(name string) (any, bool) {
	if e == nil || e.Vars == nil {
		return nil, false
	}
	return e.Vars(name)
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
