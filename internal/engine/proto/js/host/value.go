package host

import (
	"maps"
	"slices"

	"github.com/dop251/goja"
)

// Field is a field of an object that a function returns.
type Field struct {
	Name  string
	Value any
}

// Fields are an object; its fields stay in order.
type Fields []Field

// Shown is an object that JSON shows in another form.
type Shown struct {
	Fields
	JSON any
}

// Value is a value of Go in JavaScript: nil, bool, numbers, string, []byte, []string, []any, map[string]any, Fields,
// Shown or a value of JavaScript.
func (h *Host) Value(v any) goja.Value {
	switch v := v.(type) {
	case nil:
		return goja.Undefined()
	case goja.Value:
		return v
	case []byte:
		o, err := h.bytes(nil, h.VM.ToValue(h.VM.NewArrayBuffer(v)))
		if err != nil {
			panic(err)
		}
		return o
	case []string:
		list := make([]any, len(v))
		for i := range v {
			list[i] = v[i]
		}
		return h.VM.NewArray(list...)
	case []any:
		list := make([]any, len(v))
		for i := range v {
			list[i] = h.Value(v[i])
		}
		return h.VM.NewArray(list...)
	case map[string]any:
		o := h.VM.NewObject()
		for _, name := range slices.Sorted(maps.Keys(v)) {
			h.set(o, name, h.Value(v[name]))
		}
		return o
	case Shown:
		o, _ := h.Value(v.Fields).(*goja.Object)
		toJSON := h.Func(func(*Args) (any, error) { return v.JSON, nil })
		if err := o.DefineDataProperty("toJSON", toJSON, goja.FLAG_TRUE, goja.FLAG_TRUE, goja.FLAG_FALSE); err != nil {
			panic(err)
		}
		return o
	case Fields:
		o := h.VM.NewObject()
		for _, f := range v {
			h.set(o, f.Name, h.Value(f.Value))
		}
		err := o.DefineDataPropertySymbol(h.made, goja.Undefined(), goja.FLAG_FALSE, goja.FLAG_FALSE, goja.FLAG_FALSE)
		if err != nil {
			panic(err)
		}
		return o
	}
	return h.VM.ToValue(v)
}

// IsFields reports whether a value was made of Fields or Shown, and not by the script.
func (h *Host) IsFields(v goja.Value) bool {
	o, ok := v.(*goja.Object)
	return ok && o.GetSymbol(h.made) != nil
}

// Module is an object with the functions and classes of a module.
func (h *Host) Module(values map[string]goja.Value) *goja.Object {
	o := h.VM.NewObject()
	for name, v := range values {
		h.set(o, name, v)
	}
	return o
}
