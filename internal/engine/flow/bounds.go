package flow

import (
	_ "embed"
	"errors"
	"math/big"
	"reflect"
	"strconv"
	"sync"
	"time"

	"github.com/dop251/goja"
	"github.com/dop251/goja/ast"

	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// Bounds of one step of a script, which cannot be interrupted.
const (
	maxItems   = 1 << 20  // of a list that a method of lists works on
	maxText    = 32 << 20 // characters of a text that a method makes
	maxNodes   = 50_000   // values that JSON.stringify writes; each may be inside the one before
	maxPattern = 16 << 10 // bytes of a regular expression
	maxSearch  = 1 << 30  // instructions of a regular expression times characters of the text
	maxValues  = 300_000  // values of what a script hands to set, iterate or Dedupe
	maxDepth   = 16       // lists and objects of it inside each other
)

// boundsName is the source of frames that are not the script's.
const boundsName = "bounds.js"

//go:embed bounds.js
var boundsSource string

var boundsProgram = sync.OnceValue(func() *goja.Program {
	return goja.MustCompile(boundsName, boundsSource, true)
})

// bound bounds what the language offers: it cuts what makes functions of text or takes memory by the number, and
// looks at sizes before methods that compute in one step.
func (r *run) bound() {
	made, err := r.vm.RunProgram(boundsProgram())
	r.must(err)
	call, _ := goja.AssertFunction(made)
	check := func(look func(f goja.FunctionCall) error) func(goja.FunctionCall) goja.Value {
		return func(f goja.FunctionCall) goja.Value {
			if err := look(f); err != nil {
				panic(r.vm.NewTypeError(err.Error()))
			}
			return goja.Undefined()
		}
	}
	sizes := map[string]int{} // of patterns
	_, err = call(goja.Undefined(), r.vm.ToValue(maxItems), r.vm.ToValue(maxText), r.vm.ToValue(maxNodes),
		r.vm.ToValue(check(func(f goja.FunctionCall) error {
			_, err := patternSize(f.Argument(0).String())
			return err
		})),
		r.vm.ToValue(check(func(f goja.FunctionCall) error {
			source := f.Argument(0).String()
			size, known := sizes[source]
			if !known {
				var err error
				if size, err = patternSize(source); err != nil {
					return err
				}
				sizes[source] = size
			}
			if int64(size)*f.Argument(1).ToInteger() > maxSearch {
				return errors.New("the text is too long for the regular expression")
			}
			return nil
		})),
		r.vm.ToValue(check(func(f goja.FunctionCall) error {
			if nesting(f.Argument(0).String()) > maxJSON {
				return errors.New("JSON.parse: brackets nested too deep")
			}
			return nil
		})))
	r.must(err)
}

// patternSize is about the number of instructions of a regular expression. One that only JavaScript knows is run by
// a library that has a limit of time.
func patternSize(source string) (int, error) {
	if len(source) > maxPattern {
		return 0, errors.New("the regular expression is too large")
	}
	p, err := textsearch.Compile(source)
	switch {
	case err == nil:
		return p.Size(), nil
	case textsearch.TooLarge(err):
		return 0, err
	}
	return 1, nil
}

// checkTree refuses literals that the machine computes with without a bound, and reports whether all nodes are plain.
func checkTree(tree *ast.Program) (plain bool, err error) {
	w := treeWalk{seen: map[uintptr]bool{}, plain: true}
	for _, s := range tree.Body {
		if err := w.visit(reflect.ValueOf(s)); err != nil {
			return false, err
		}
	}
	return w.plain, nil
}

type treeWalk struct {
	seen  map[uintptr]bool
	plain bool
}

var (
	bigType     = reflect.TypeFor[*big.Int]()
	treePackage = reflect.TypeFor[ast.Program]().PkgPath()
)

func (w *treeWalk) visit(v reflect.Value) error {
	switch v.Kind() {
	case reflect.Interface:
		if v.IsNil() {
			return nil
		}
		return w.visit(v.Elem())
	case reflect.Pointer:
		return w.pointer(v)
	case reflect.Struct:
		for i := range v.NumField() {
			if v.Type().Field(i).IsExported() {
				if err := w.visit(v.Field(i)); err != nil {
					return err
				}
			}
		}
	case reflect.Slice:
		for i := range v.Len() {
			if err := w.visit(v.Index(i)); err != nil {
				return err
			}
		}
	}
	return nil
}

// pointer visits a node once; what is no part of the tree, such as positions in the source, is left out.
func (w *treeWalk) pointer(v reflect.Value) error {
	switch {
	case v.IsNil():
		return nil
	case v.Type() == bigType:
		return &Error{Message: "BigInt is not supported"}
	case v.Type().Elem().PkgPath() != treePackage || w.seen[v.Pointer()]:
		return nil
	}
	w.seen[v.Pointer()] = true
	node := v.Interface()
	w.plain = w.plain && plainNode(node)
	if of := objectOf(node); of != nil && ofTemplate(of) {
		w.seen[reflect.ValueOf(of).Pointer()] = true // no other use of the name is plain
	}
	if re, ok := node.(*ast.RegExpLiteral); ok {
		if _, err := patternSize(re.Pattern); err != nil {
			return &Error{Message: err.Error()}
		}
		return nil
	}
	return w.visit(v.Elem())
}

// export is a value of a script as Host.Set takes it. What is too large or too deep ends as a TypeError.
func (r *run) export(v goja.Value) any {
	e := exporter{run: r, function: "iterate"}
	return e.value(v, 0)
}

type exporter struct {
	run           *run
	function      string // of the script, for errors
	values, bytes int
}

func (r *run) tooLarge(function string) *goja.Object {
	return r.vm.NewTypeError(function + ": the value is too large or too deep")
}

var (
	listType = reflect.TypeFor[[]any]()
	mapType  = reflect.TypeFor[map[string]any]()
)

func (e *exporter) spend(bytes int) {
	e.values++
	if e.bytes += bytes; e.values > maxValues || e.bytes > maxValue {
		panic(e.run.tooLarge(e.function))
	}
}

func (e *exporter) value(v goja.Value, depth int) any {
	if depth > maxDepth {
		panic(e.run.tooLarge(e.function))
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
		if n > maxValues {
			panic(e.run.tooLarge(e.function))
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
	switch o.ClassName() {
	case "Date":
		if at, ok := o.Export().(time.Time); ok {
			return at.UTC().Format(time.RFC3339Nano)
		}
	case "String", "Number", "Boolean":
		return e.value(e.run.vm.ToValue(o.Export()), depth+1)
	}
	return nil // functions and the like
}
