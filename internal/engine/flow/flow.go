// Package flow runs the flow of a template: the few lines of JavaScript that say which of its requests are made, in
// which order, and with which values (section 7.4 of the template language).
//
// Most flows are one line over protocol calls, such as http(1) && http(2). Those are compiled to a small tree and
// walked natively; all others are compiled once by a JavaScript engine and run on a machine of their own for every
// target, bounded in time, stack and output. A Program does not know what a request is: the calls go to its Host.
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
	maxSource  = 64 << 10  // bytes of source
	maxNesting = 256       // open brackets in the source
	maxJSON    = 10_000    // open brackets in a text that JSON.parse is given
	maxCalls   = 10_000    // protocol calls of a run
	maxStack   = 512       // JavaScript frames
	maxValue   = 4 << 20   // bytes of one value that a run sets
	maxSet     = 32 << 20  // bytes of all values that a run sets
	maxHeap    = 512 << 20 // bytes by which the process may grow while a script computes
)

// DefaultCompute is how long a script may compute, unless its Host says otherwise.
const DefaultCompute = 5 * time.Second

// Call names a protocol call: http("login", 2) is {"http", ["login", "2"]}. Without IDs all requests of the protocol
// are meant. An id is a request's id or its number in the list of its protocol, from 1.
type Call struct {
	Protocol string
	IDs      []string
}

// Host is what a flow may call. All functions are called from the goroutine of Run, one at a time.
type Host struct {
	// Call makes requests and reports whether one of them matched. A request that fails is no error but false; an
	// error ends the flow and comes back from Run.
	Call func(ctx context.Context, call Call) (matched bool, err error)
	// Values returns the template's values as they are now: nil, bool, int, int64, float64, string, []byte, []string,
	// []any or map[string]any. The map becomes the script's.
	Values func() map[string]any
	// Field returns a value that Values does not list, such as http_1_body, when a script asks for it by its name. It
	// may be nil: then there are no others.
	Field func(name string) (value any, ok bool)
	// Set returns a value a name, for the requests that follow. Values are nil, bool, int64, float64, string, []any
	// and map[string]any.
	Set func(name string, value any)
	// Compute is how long a script may compute on the whole; the time inside calls does not count. 0 means
	// DefaultCompute.
	Compute time.Duration
}

// Error is a flow that cannot be compiled, or that threw.
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

// Program is a compiled flow. It does not change, and runs on any number of targets at once.
type Program struct {
	protocols []string
	first     *Call         // that every run makes; nil when unknown
	native    []*expression // the statements, when all of them are native
	script    *goja.Program // otherwise
	snapshots bool          // the script mentions template
	json      bool          // the script mentions JSON
}

// Compile makes a program of a flow's text. Protocols are those of which the template has requests; only they can be
// called. The error is an *Error.
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

// Native reports whether the program is walked without a JavaScript machine.
func (p *Program) Native() bool { return p.script == nil }

// First is the call that every run of the program makes before all others. It is not ok when that cannot be told from
// the text.
func (p *Program) First() (call Call, ok bool) {
	if p.first == nil {
		return Call{}, false
	}
	return *p.first, true
}

// Run runs the program for one target, from its first statement to its last. The error is ctx's when ctx has ended,
// the host's when a call returned one, and otherwise an *Error: the script threw, or met one of its bounds.
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
