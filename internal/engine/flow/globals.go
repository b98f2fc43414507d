package flow

import (
	"context"
	"fmt"
	"slices"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/script"
)

// run is one run of a script.
type run struct {
	ctx     context.Context
	host    *Host
	program *Program
	vm      *goja.Runtime
	clock   *script.Clock

	calls, set int // so far; set in bytes
}

// globals defines the names that a flow can use (template language 7.4).
func (r *run) globals() {
	if !r.program.plain {
		script.Bound(r.vm, false)
	}
	// What makes code of text: no template needs it, and the parser knows no bounds.
	r.define("eval", goja.Undefined())
	r.define("Function", goja.Undefined())
	for _, protocol := range r.program.protocols {
		r.define(protocol, func(f goja.FunctionCall) goja.Value { return r.call(protocol, f.Arguments) })
	}
	r.define("set", r.setValue)
	r.define("log", func(f goja.FunctionCall) goja.Value {
		if r.host.Log != nil {
			r.host.Log(f.Argument(0).String())
		}
		return f.Argument(0)
	})
	r.define("iterate", func(f goja.FunctionCall) goja.Value { return r.vm.NewArray(r.flatten(f.Arguments)...) })
	r.define("Dedupe", r.dedupe)
	r.refresh()
}

func (r *run) define(name string, value any) { r.must(r.vm.Set(name, value)) }

// must throws the error of defining a name.
func (r *run) must(err error) {
	if err != nil {
		panic(r.vm.NewGoError(err))
	}
}

// refresh renews the template object from the host's values, if the script uses it.
func (r *run) refresh() {
	if !r.program.snapshots {
		return
	}
	values := map[string]goja.Value{}
	for name, v := range r.host.Values() {
		values[name] = r.value(v)
	}
	r.define("template", r.vm.NewDynamicObject(&template{run: r, values: values}))
}

// value converts a host's value; lists become arrays that JavaScript can change.
func (r *run) value(v any) goja.Value {
	switch v := v.(type) {
	case []byte:
		return r.vm.ToValue(string(v))
	case []string:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		return r.vm.ToValue(list)
	}
	return r.vm.ToValue(v)
}

// call is a protocol call. What ends the flow cannot be caught by the script.
func (r *run) call(protocol string, arguments []goja.Value) goja.Value {
	if r.calls++; r.calls > maxCalls {
		r.vm.Interrupt(&script.Error{Message: fmt.Sprintf("more than %d protocol calls", maxCalls)})
		return goja.Undefined()
	}
	if len(arguments) > maxIDs {
		panic(r.vm.NewTypeError(fmt.Sprintf("%s: more than %d requests", protocol, maxIDs)))
	}
	call := Call{Protocol: protocol}
	for _, a := range arguments {
		call.IDs = append(call.IDs, a.String())
	}
	r.clock.Pause()
	defer r.clock.Resume()
	matched, err := r.host.Call(r.ctx, call)
	if err == nil {
		err = r.ctx.Err()
	}
	if err != nil {
		r.vm.Interrupt(err)
		return goja.Undefined()
	}
	r.refresh()
	return r.vm.ToValue(matched)
}

// setValue is set(name, value).
func (r *run) setValue(f goja.FunctionCall) goja.Value {
	e := script.Exporter{VM: r.vm, Function: "set"}
	value := e.Value(f.Argument(1))
	if r.set += e.Bytes; r.set > maxSet {
		panic(e.TooLarge())
	}
	r.host.Set(f.Argument(0).String(), value)
	return goja.Null()
}

// dedupe is new Dedupe(): Add(v…) adds values and lists of values, Values() returns each once, in order. Values with
// the same text are the same.
func (r *run) dedupe(c goja.ConstructorCall) *goja.Object {
	var values []any
	seen := map[string]bool{}
	add := func(f goja.FunctionCall) goja.Value {
		for _, v := range r.flatten(f.Arguments) {
			if text := fmt.Sprint(v); !seen[text] {
				seen[text] = true
				values = append(values, v)
			}
		}
		return r.vm.ToValue(true)
	}
	list := func(goja.FunctionCall) goja.Value { return r.vm.NewArray(slices.Clone(values)...) }
	for name, method := range map[string]func(goja.FunctionCall) goja.Value{"Add": add, "Values": list} {
		r.must(c.This.Set(name, method))
	}
	return nil
}

// flatten returns the values, those of lists one by one, without null and undefined.
func (r *run) flatten(arguments []goja.Value) []any {
	var all []any
	for _, a := range arguments {
		e := script.Exporter{VM: r.vm, Function: "iterate"}
		switch v := e.Value(a).(type) {
		case nil:
		case []any:
			all = append(all, v...)
		default:
			all = append(all, v)
		}
		if len(all) > script.MaxValues {
			panic(e.TooLarge())
		}
	}
	return all
}
