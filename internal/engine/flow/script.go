package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/dlclark/regexp2"
	"github.com/dop251/goja"
	"github.com/dop251/goja/parser"
)

// boundRegexps limits backtracking regular expressions (look-ahead, back-references), which cannot be interrupted.
// The library has only this global setting.
var boundRegexps = sync.OnceFunc(func() { regexp2.DefaultMatchTimeout = time.Second / 2 })

// compile compiles a source. Source maps are off: they would read files.
func (p *Program) compile(source string) (err error) {
	boundRegexps()
	if nesting(source) > maxNesting {
		return &Error{Message: fmt.Sprintf("brackets nested more than %d deep", maxNesting)}
	}
	p.snapshots = strings.Contains(source, "template")
	wrapped := strings.Contains(source, "Export")
	if wrapped {
		source = "(function() {" + source + "\n})()"
	}
	defer func() {
		if x := recover(); x != nil {
			err = &Error{Message: fmt.Sprint("cannot be compiled: ", x)}
		}
	}()
	tree, err := parser.ParseFile(nil, "flow", source, 0, parser.WithDisableSourceMaps)
	if err != nil {
		return compileError(err)
	}
	if !wrapped {
		p.first, p.native = p.firstOf(tree.Body), p.nativeOf(tree.Body)
	}
	if p.native != nil {
		return nil
	}
	if p.plain, err = checkTree(tree); err != nil {
		return err
	}
	if p.script, err = goja.CompileAST(tree, false); err != nil {
		return compileError(err)
	}
	return nil
}

// nesting is the depth of brackets, including those in strings and comments.
func nesting(source string) int {
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

// interpret runs the script on a new machine: nothing is left for the next target.
func (p *Program) interpret(ctx context.Context, host *Host) (err error) {
	r := &run{ctx: ctx, host: host, program: p, vm: goja.New()}
	r.vm.SetMaxCallStackSize(maxStack)
	r.clock = startClock(cmp.Or(host.Compute, DefaultCompute), r.vm.Interrupt)
	stop := context.AfterFunc(ctx, func() { r.vm.Interrupt(ctx.Err()) })
	defer func() {
		stop()
		r.clock.pause()
		if x := recover(); x != nil {
			err = &Error{Message: fmt.Sprint("the JavaScript machine failed: ", x)}
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	r.globals()
	_, err = r.vm.RunProgram(p.script)
	return runError(err)
}

// runError makes the error of Run of what ended a script.
func runError(err error) error {
	if err == nil {
		return nil
	}
	var (
		interrupted *goja.InterruptedError
		overflow    *goja.StackOverflowError
		exception   *goja.Exception
		bound       *Error
	)
	e := &Error{Message: err.Error()}
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
		if exception.Value() != nil {
			e.Message = exception.Value().String()
		}
		e.at(exception.Stack())
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
