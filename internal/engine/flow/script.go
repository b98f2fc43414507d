package flow

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/script"
)

// compile compiles a source.
func (p *Program) compile(source string) error {
	p.snapshots = strings.Contains(source, "template")
	wrapped := strings.Contains(source, "Export")
	if wrapped {
		source = "(function() {" + source + "\n})()"
	}
	tree, err := script.Parse("flow", source)
	if err != nil {
		return flowError(err)
	}
	if !wrapped {
		p.first, p.native = p.firstOf(tree.Body), p.nativeOf(tree.Body)
	}
	if p.native != nil {
		return nil
	}
	p.plain = true
	err = script.CheckTree(tree, func(node any) (skip any) {
		p.plain = p.plain && plainNode(node)
		if of := objectOf(node); of != nil && ofTemplate(of) {
			return of // no other use of the name is plain
		}
		return nil
	})
	if err == nil {
		p.script, err = script.Compile(tree)
	}
	return flowError(err)
}

// flowError makes an *Error of a script's.
func flowError(err error) error {
	if e, ok := errors.AsType[*script.Error](err); ok {
		return &Error{Line: e.Line, Column: e.Column, Message: e.Message}
	}
	return err
}

// interpret runs the script on a new machine: nothing is left for the next target.
func (p *Program) interpret(ctx context.Context, host *Host) (err error) {
	r := &run{ctx: ctx, host: host, program: p, vm: script.New()}
	r.clock = script.StartClock(cmp.Or(host.Compute, script.DefaultCompute), r.vm.Interrupt)
	stop := context.AfterFunc(ctx, func() { r.vm.Interrupt(ctx.Err()) })
	defer func() {
		stop()
		r.clock.Pause()
		if x := recover(); x != nil {
			err = &Error{Message: fmt.Sprint("the JavaScript machine failed: ", x)}
		}
	}()
	if err := ctx.Err(); err != nil {
		return err
	}
	r.globals()
	_, err = r.vm.RunProgram(p.script)
	return flowError(script.RunError(err))
}
