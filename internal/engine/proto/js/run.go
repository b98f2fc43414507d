package js

import (
	"context"
	"errors"
	"fmt"
	mathrand "math/rand/v2"
	"net"
	"strings"
	"time"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
	"github.com/vedette-sec/vedette/internal/engine/script"
)

// result is what a script ended with. Nobody changes it.
type result struct {
	success  bool
	response any    // the value, or what was exported
	text     string // the same as a text
	exports  map[string]string
	updates  map[string][]string
	ip       string
	err      error // it threw, or was ended
	failed   error // a connection could not be made; the script may have caught that
}

// run is one run of a script.
type run struct {
	host    *host.Host
	vm      *goja.Runtime
	vars    *dsl.Env
	values  map[string]any // the arguments, by name; init adds to them
	modules map[string]*goja.Object
	files   map[string]*goja.Object // those that were required, by path; each is a module of CommonJS
	updates map[string][]string     // payloads, by name; init has them replaced
	log     func(text string)       // nil: it is dropped

	exported strings.Builder
	exports  map[string]string
	outside  bool // it asked for something that its arguments do not say, such as a server, a file, the time or chance
}

var errTimeout = errors.New("the script took too long")

// execute runs a script, or takes what it computed with the same arguments before.
func (p *Probe) execute(
	ctx context.Context, env *proto.Env, vars *dsl.Env, values map[string]any, code *program,
) result {
	if !code.computes || code == p.init { // init changes the arguments
		got, _ := p.evaluate(ctx, env, vars, values, code)
		return got
	}
	got, _ := env.Scripts.Once(ctx, code.source, values, func() (any, int, bool) {
		got, r := p.evaluate(ctx, env, vars, values, code)
		return got, got.size(), got.err == nil && r != nil && !r.outside
	}).(result)
	return got
}

// evaluate runs a script for at most twice the timeout of a connection. Without a turn there is no *run.
func (p *Probe) evaluate(
	ctx context.Context, env *proto.Env, vars *dsl.Env, values map[string]any, code *program,
) (got result, r *run) {
	end, err := env.Scripts.Turn(ctx)
	if err != nil {
		return result{err: err}, nil
	}
	defer end()
	ctx, cancel := context.WithTimeoutCause(ctx, 2*env.Timeout, errTimeout)
	defer cancel()
	slot := &slots{env: env}
	defer slot.end()
	vm := script.New()
	clock := script.StartClock(script.DefaultCompute, vm.Interrupt)
	defer clock.Pause()
	defer func() {
		x := recover()
		if ended, ok := x.(*goja.InterruptedError); ok { // before the script began
			got.err = script.RunError(ended)
		} else if x != nil {
			got.err = &script.Error{Message: fmt.Sprint("the JavaScript machine failed: ", x)}
		}
	}()
	script.Bound(vm, true)
	r = &run{vm: vm, vars: vars, values: values, modules: map[string]*goja.Object{},
		exports: map[string]string{}, log: env.Log}
	r.host = host.New(ctx, vm, clock, env.Timeout, slot.dial)
	if env.Files {
		r.host.Folder = p.folder
	}
	defer r.host.Close()
	defer context.AfterFunc(ctx, func() {
		vm.Interrupt(context.Cause(ctx))
		r.host.Close()
	})()
	vm.SetRandSource(func() float64 { r.outside = true; return mathrand.Float64() })
	vm.SetTimeSource(func() time.Time { r.outside = true; return time.Now() })
	r.globals(code == p.init)
	value, err := vm.RunProgram(code.compiled)
	got.exports, got.updates, got.ip, got.failed = r.exports, r.updates, r.host.IP(), r.host.Failed()
	if err == nil {
		take, _ := goja.AssertFunction(vm.ToValue(func(goja.FunctionCall) goja.Value { // getters may throw
			r.take(&got, value, code)
			return nil
		}))
		_, err = take(goja.Undefined())
	}
	if got.err = script.RunError(err); got.err != nil {
		got.success = false
	}
	return got, r
}

// size is about that of a result, in bytes.
func (got result) size() int {
	n := len(got.text)
	for name, text := range got.exports {
		n += len(name) + len(text)
	}
	return n
}

// take takes over what a script returned and exported.
func (r *run) take(got *result, value goja.Value, code *program) {
	if code.exports {
		r.export(value)
		got.text = r.exported.String()
		got.response, got.success = got.text, got.text != ""
		return
	}
	e := script.Exporter{VM: r.vm, Function: "the result"}
	got.response, got.success = e.Value(value), value.ToBoolean()
	if _, object := got.response.(map[string]any); object {
		got.response = r.shown(value, got.response)
	}
	got.text = functions.String(got.response)
}

// slots holds one place of the requests in flight: that of the connection which was opened last.
type slots struct {
	env  *proto.Env
	held func()
}

func (s *slots) end() {
	if s.held != nil {
		s.held()
	}
	s.held = nil
}

func (s *slots) dial(ctx context.Context, network, address string) (net.Conn, error) {
	s.end()
	end, err := s.env.Begin(ctx, address)
	if err != nil {
		return nil, err
	}
	s.held = end
	return s.env.Dial(ctx, network, address)
}
