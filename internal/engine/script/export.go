package script

import (
	"reflect"
	"slices"
	"strconv"
	"time"

	"github.com/dop251/goja"
)

// Bounds of the values that a script hands out.
const (
	MaxValue  = 4 << 20 // bytes of one
	MaxValues = 300_000 // values in one
	maxDepth  = 16      // lists and objects of it inside each other
)

// Exporter makes values of Go out of a script's: nil, bool, int64, float64, string, []byte, []any or map[string]any.
// What is too large or too deep ends as a TypeError of the script.
type Exporter struct {
	VM       *goja.Runtime
	Function string // that the script called, for errors
	Bytes    int    // of all values so far

	values int
}

// TooLarge is the error of a value that reaches a bound.
func (e *Exporter) TooLarge() *goja.Object {
	return e.VM.NewTypeError(e.Function + ": the value is too large or too deep")
}

// Value is a value of the script in Go.
func (e *Exporter) Value(v goja.Value) any { return e.value(v, 0) }

var (
	listType = reflect.TypeFor[[]any]()
	mapType  = reflect.TypeFor[map[string]any]()
)

func (e *Exporter) spend(bytes int) {
	e.values++
	if e.Bytes += bytes; e.values > MaxValues || e.Bytes > MaxValue {
		panic(e.TooLarge())
	}
}

func (e *Exporter) value(v goja.Value, depth int) any {
	if depth > maxDepth {
		panic(e.TooLarge())
	}
	e.spend(8)
	o, isObject := v.(*goja.Object)
	if !isObject {
		if s, ok := v.(goja.String); ok {
			e.spend(s.Length())
			return s.String()
		}
		if v == nil {
			return nil
		}
		switch v := v.Export().(type) {
		case bool, int64, float64:
			return v
		}
		return nil // undefined, null, symbols
	}
	switch o.ExportType() {
	case listType:
		n := o.Get("length").ToInteger()
		if n > MaxValues {
			panic(e.TooLarge())
		}
		list := make([]any, n)
		for i := range list {
			list[i] = e.value(o.Get(strconv.Itoa(i)), depth+1)
		}
		return list
	case mapType:
		all := map[string]any{}
		for _, key := range o.Keys() {
			e.spend(len(key))
			all[key] = e.value(o.Get(key), depth+1)
		}
		return all
	}
	switch exported := o.Export().(type) {
	case []byte:
		e.spend(len(exported))
		return slices.Clone(exported)
	case goja.ArrayBuffer:
		e.spend(len(exported.Bytes()))
		return slices.Clone(exported.Bytes())
	}
	switch o.ClassName() {
	case "Date":
		if at, ok := o.Export().(time.Time); ok {
			return at.UTC().Format(time.RFC3339Nano)
		}
	case "String", "Number", "Boolean":
		return e.value(e.VM.ToValue(o.Export()), depth+1)
	}
	return nil // functions and the like
}
