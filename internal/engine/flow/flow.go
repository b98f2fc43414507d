// Package flow runs the flow of a template: JavaScript that decides which of its requests are made, in which order
// and with which values (template language 7.4).
//
// Most flows consist of protocol calls, such as http(1) && http(2); they become a small tree and need no JavaScript
// engine. All others are compiled once and run on a JavaScript machine per target, bounded in time, stack and output.
// The calls go to a Host.
package flow

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/dop251/goja"
)

// Bounds of one program and one run. They are far above what templates do; what meets them is a mistake or an attack.
const (
	maxSource = 64 << 10 // bytes of source
	maxIDs    = 1_000    // requests that one call names
	maxCalls  = 10_000   // protocol calls of a run
	maxSet    = 32 << 20 // bytes of all values that a run sets
)

// Call is a protocol call: http("login", 2) is {"http", ["login", "2"]}. An id is a request's id or its number from
// 1; without IDs all requests of the protocol are meant.
type Call struct {
	Protocol string
	IDs      []string
}

// Host is what a flow may call. Its functions are called from the goroutine of Run.
type Host struct {
	// Call makes requests and reports whether one matched. A request that fails is just false; an error ends the flow
	// and is returned from Run.
	Call func(ctx context.Context, call Call) (matched bool, err error)
	// Values returns the template's current values: nil, bool, int, int64, float64, string, []byte, []string, []any
	// or map[string]any. The script owns the map.
	Values func() map[string]any
	// Field returns a value that Values does not list, such as http_1_body; nil for none.
	Field func(name string) (value any, ok bool)
	// Set sets a value for the requests that follow: nil, bool, int64, float64, string, []any or map[string]any.
	Set func(name string, value any)
	// Log shows what the script logs; nil: nobody does.
	Log func(text string)
	// Compute is how long a script may compute in all; 0 means script.DefaultCompute.
	Compute time.Duration
}

// Error is a flow that cannot be compiled, or that failed.
type Error struct {
	Line, Column int    // in the flow's text, from 1; 0 when unknown
	Message      string // what JavaScript says
}

func (e *Error) Error() string {
	if e.Line == 0 {
		return "flow: " + e.Message
	}
	return fmt.Sprintf("flow: line %d: %s", e.Line, e.Message)
}

// Program is a compiled flow. It is immutable and runs on any number of targets at once.
type Program struct {
	protocols []string
	first     *Call         // that every run makes; nil when unknown
	native    []*expression // the statements, when all of them are native
	script    *goja.Program // otherwise
	snapshots bool          // the script mentions template
	plain     bool          // the script needs no bounds of single steps, see plainNode
}

// Compile compiles a flow's text. Only the template's protocols can be called. The error is an *Error.
func Compile(source string, protocols []string) (*Program, error) {
	if len(source) > maxSource {
		return nil, &Error{Message: fmt.Sprintf("%d bytes are more than %d", len(source), maxSource)}
	}
	p := &Program{protocols: slices.Clone(protocols)}
	if err := p.compile(source); err != nil {
		return nil, err
	}
	return p, nil
}

// Native reports whether the program runs without a JavaScript machine.
func (p *Program) Native() bool { return p.script == nil }

// First is the call that every run makes first, if the text determines one.
func (p *Program) First() (call Call, ok bool) {
	if p.first == nil {
		return Call{}, false
	}
	return *p.first, true
}

// Run runs the program for one target. The error is ctx's, the host's, or an *Error: the script threw, or reached a
// bound.
func (p *Program) Run(ctx context.Context, host *Host) error {
	if p.script != nil {
		return p.interpret(ctx, host)
	}
	for _, statement := range p.native {
		if _, err := statement.eval(ctx, host); err != nil {
			return err
		}
	}
	return nil
}
