package flow

import (
	"context"
	"fmt"
	"math/big"
	"slices"
	"time"

	"github.com/dop251/goja"
)

// run is one run of a script.
type run struct {
	ctx     context.Context
	host    *Host
	program *Program
	vm      *goja.Runtime
	clock   *clock

	calls, set int // so far; set in bytes
}

// globals defines the names that a flow can use (template language 7.4).
func (r *run) globals() {
	// What makes code of text: no template needs it, and the parser knows no bounds.
	r.define("eval", goja.Undefined())
	r.define("Function", goja.Undefined())
	if r.program.json {
		r.boundJSON()
	}
	for _, protocol := range r.program.protocols {
		r.define(protocol, func(f goja.FunctionCall) goja.Value { return r.call(protocol, f.Arguments) })
	}
	r.define("set", r.setValue)
	r.define("log", func(f goja.FunctionCall) goja.Value { return f.Argument(0) })
	r.define("iterate", func(f goja.FunctionCall) goja.Value { return r.vm.NewArray(flatten(f.Arguments)...) })
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

// boundJSON makes JSON.parse refuse texts whose nesting would exhaust the stack.
func (r *run) boundJSON() {
	json := r.vm.Get("JSON").ToObject(r.vm)
	parse, _ := goja.AssertFunction(json.Get("parse"))
	r.must(json.Set("parse", func(f goja.FunctionCall) goja.Value {
		text := f.Argument(0).String()
		if nesting(text) > maxJSON {
			panic(r.vm.NewTypeError("JSON.parse: brackets nested too deep"))
		}
		v, err := parse(f.This, f.Arguments...)
		if err != nil {
			panic(err)
		}
		return v
	}))
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
		r.vm.Interrupt(&Error{Message: fmt.Sprintf("more than %d protocol calls", maxCalls)})
		return goja.Undefined()
	}
	call := Call{Protocol: protocol}
	for _, a := range arguments {
		call.IDs = append(call.IDs, a.String())
	}
	r.clock.pause()
	defer r.clock.resume()
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
	value, size, err := plain(f.Argument(1).Export(), 0)
	if r.set += size; err != nil || size > maxValue || r.set > maxSet {
		panic(r.vm.NewTypeError("set: the value is too large or too deep"))
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
		for _, v := range flatten(f.Arguments) {
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
func flatten(arguments []goja.Value) []any {
	var all []any
	for _, a := range arguments {
		switch v := a.Export().(type) {
		case nil:
		case []any:
			all = append(all, v...)
		default:
			all = append(all, v)
		}
	}
	return all
}

// plain converts an exported value for Host.Set, and returns its size.
func plain(v any, depth int) (value any, size int, err error) {
	if depth > 16 {
		return nil, 0, fmt.Errorf("nested more than %d deep", 16)
	}
	switch v := v.(type) {
	case nil, bool, int64, float64:
		return v, 8, nil
	case string:
		return v, len(v), nil
	case []any:
		list := make([]any, len(v))
		for i := range v {
			var n int
			if list[i], n, err = plain(v[i], depth+1); err != nil {
				return nil, 0, err
			}
			if size += 16 + n; size > maxValue {
				break
			}
		}
		return list, size, nil
	case map[string]any:
		m := make(map[string]any, len(v))
		for key, value := range v {
			var n int
			if m[key], n, err = plain(value, depth+1); err != nil {
				return nil, 0, err
			}
			if size += 32 + len(key) + n; size > maxValue {
				break
			}
		}
		return m, size, nil
	case []byte:
		return string(v), len(v), nil
	case goja.ArrayBuffer:
		return string(v.Bytes()), len(v.Bytes()), nil
	case *big.Int:
		return v.String(), v.BitLen() / 3, nil
	case time.Time:
		return v.UTC().Format(time.RFC3339Nano), 35, nil
	}
	return nil, 8, nil // functions, symbols and the like
}
