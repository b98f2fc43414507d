package script

import (
	_ "embed"
	"errors"
	"math/big"
	"reflect"
	"sync"

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
	maxJSON    = 10_000   // open brackets in a text that JSON.parse is given
)

// boundsName is the source of frames that are not the script's.
const boundsName = "bounds.js"

//go:embed bounds.js
var boundsSource string

var boundsProgram = sync.OnceValue(func() *goja.Program {
	return goja.MustCompile(boundsName, boundsSource, true)
})

// Bound bounds what the language offers: it cuts what makes functions of text or takes memory by the number, and
// looks at sizes before methods that compute in one step. With bytes there are arrays of bytes, which are as small as
// lists. It panics with a JavaScript error if the machine was changed before.
func Bound(vm *goja.Runtime, bytes bool) {
	must := func(err error) {
		if err != nil {
			panic(vm.NewGoError(err))
		}
	}
	made, err := vm.RunProgram(boundsProgram())
	must(err)
	call, _ := goja.AssertFunction(made)
	check := func(look func(f goja.FunctionCall) error) func(goja.FunctionCall) goja.Value {
		return func(f goja.FunctionCall) goja.Value {
			if err := look(f); err != nil {
				panic(vm.NewTypeError(err.Error()))
			}
			return goja.Undefined()
		}
	}
	sizes := map[string]int{} // of patterns
	_, err = call(goja.Undefined(), vm.ToValue(maxItems), vm.ToValue(maxText), vm.ToValue(maxNodes),
		vm.ToValue(check(func(f goja.FunctionCall) error {
			_, err := patternSize(f.Argument(0).String())
			return err
		})),
		vm.ToValue(check(func(f goja.FunctionCall) error {
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
		vm.ToValue(check(func(f goja.FunctionCall) error {
			if Nesting(f.Argument(0).String()) > maxJSON {
				return errors.New("JSON.parse: brackets nested too deep")
			}
			return nil
		})), vm.ToValue(bytes))
	must(err)
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

// CheckTree refuses literals that the machine computes with without a bound. look sees each node; it may name one that
// is not to be visited, and nil.
func CheckTree(tree *ast.Program, look func(node any) (skip any)) error {
	w := treeWalk{seen: map[uintptr]bool{}, look: look}
	for _, s := range tree.Body {
		if err := w.visit(reflect.ValueOf(s)); err != nil {
			return err
		}
	}
	return nil
}

type treeWalk struct {
	seen map[uintptr]bool
	look func(node any) (skip any)
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
	if f, ok := node.(*ast.FunctionLiteral); ok && f.Generator {
		// One that runs itself nests without a bound: the machine counts the calls of each on their own.
		return &Error{Message: "generators are not supported"}
	}
	if skip := w.look(node); skip != nil {
		w.seen[reflect.ValueOf(skip).Pointer()] = true
	}
	if re, ok := node.(*ast.RegExpLiteral); ok {
		if _, err := patternSize(re.Pattern); err != nil {
			return &Error{Message: err.Error()}
		}
		return nil
	}
	return w.visit(v.Elem())
}
