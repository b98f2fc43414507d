// Package script bounds the JavaScript of templates: its time, its memory and what it can reach. Flows and javascript
// blocks run in it.
package script

import (
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Bounds of one script. They are far above what templates do; what meets them is a mistake or an attack.
const (
	DefaultCompute = 5 * time.Second // of computing

	maxNesting = 256     // open brackets in the source
	maxStack   = 512     // JavaScript frames
	maxThrown  = 1 << 10 // bytes of a message that a script makes
)

// Error is a script that cannot be compiled, or that failed.
type Error struct {
	Line, Column int    // in the script's text, from 1; 0 when unknown
	Message      string // what JavaScript says
	Threw        bool   // the script threw it; a bound was reached otherwise
	Cause        error  // of a function of the host that failed; nil for others
}

// Error implements error.
func (e *Error) Error() string {
	if e.Line == 0 {
		return e.Message
	}
	return fmt.Sprintf("line %d: %s", e.Line, e.Message)
}

// Unwrap returns the cause.
func (e *Error) Unwrap() error { return e.Cause }

// boundRegexps limits backtracking regular expressions (look-ahead, back-references), which cannot be interrupted.
// The library has only this global setting.
var boundRegexps = sync.OnceFunc(func() { regexp2.DefaultMatchTimeout = time.Second / 2 })

// Parse parses a source. Source maps are off: they would read files. The error is an *Error.
func Parse(name, source string) (tree *ast.Program, err error) {
	boundRegexps()
	if Nesting(source) > maxNesting {
		return nil, &Error{Message: fmt.Sprintf("brackets nested more than %d deep", maxNesting)}
	}
	defer recovered(&err)
	if tree, err = parser.ParseFile(nil, name, source, 0, parser.WithDisableSourceMaps); err != nil {
		return nil, compileError(err)
	}
	return tree, nil
}

// Compile compiles a tree of Parse that CheckTree has accepted. The error is an *Error.
func Compile(tree *ast.Program) (program *goja.Program, err error) {
	defer recovered(&err)
	if program, err = goja.CompileAST(tree, false); err != nil {
		return nil, compileError(err)
	}
	return program, nil
}

func recovered(err *error) {
	if x := recover(); x != nil {
		*err = &Error{Message: fmt.Sprint("cannot be compiled: ", x)}
	}
}

// New is a machine with a bounded stack.
func New() *goja.Runtime {
	vm := goja.New()
	vm.SetMaxCallStackSize(maxStack)
	return vm
}

// Nesting is the depth of brackets, including those in strings and comments.
func Nesting(source string) int {
	depth, deepest := 0, 0
	for _, c := range []byte(source) {
		switch c {
		case '(', '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ')', ']', '}':
			depth--
		}
	}
	return deepest
}

// compileError makes an *Error of a compiler's error.
func compileError(err error) error {
	var list parser.ErrorList
	if errors.As(err, &list) && len(list) > 0 {
		return &Error{Line: list[0].Position.Line, Column: list[0].Position.Column, Message: list[0].Message}
	}
	var one *goja.CompilerSyntaxError
	if errors.As(err, &one) && one.File != nil {
		at := one.File.Position(one.Offset)
		return &Error{Line: at.Line, Column: at.Column, Message: one.Message}
	}
	return &Error{Message: err.Error()}
}

// RunError makes the error of a run of what ended a script: an *Error, or what interrupted it.
func RunError(err error) error {
	if err == nil {
		return nil
	}
	var (
		interrupted *goja.InterruptedError
		overflow    *goja.StackOverflowError
		exception   *goja.Exception
		bound       *Error
	)
	e := &Error{Message: "the script failed"}
	switch {
	case errors.As(err, &interrupted):
		cause := interrupted.Unwrap()
		if !errors.As(cause, &bound) {
			return cause // of the context or the host
		}
		e.Message = bound.Message
		e.at(interrupted.Stack())
	case errors.As(err, &overflow):
		e.Message = fmt.Sprintf("calls nested more than %d deep", maxStack)
		e.at(overflow.Stack())
	case errors.As(err, &exception):
		e.Threw, e.Cause = true, exception.Unwrap()
		if exception.Value() != nil {
			e.Message = errs.Clip(exception.Value().String(), maxThrown)
		}
		e.at(exception.Stack())
	default:
		e.Message = errs.Clip(err.Error(), maxThrown)
	}
	return e
}

// at sets the position of the script's innermost frame.
func (e *Error) at(stack []goja.StackFrame) {
	for _, frame := range stack {
		if p := frame.Position(); p.Line > 0 && frame.SrcName() != boundsName {
			e.Line, e.Column = p.Line, p.Column
			return
		}
	}
}
