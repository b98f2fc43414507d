package script_test

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/script"
)

// Values leave a machine as plain values of Go; what is too much ends as an exception of the script.
func TestExporter(t *testing.T) {
	for source, want := range map[string]string{
		"1": "1", "'é'": "é", "[1, [true, null], undefined]": "[1 [true <nil>] <nil>]", "({b: {a: 1.5}})": "map[b:map[a:1.5]]",
		"new Uint8Array([1, 2])": "[1 2]", "new Uint8Array([1, 2]).buffer": "[1 2]",
		"new Uint8Array([1, , 300, '4', null])": "[1 0 44 4 0]", "new Uint8Array(new Set([7, 8]))": "[7 8]",
		"new Uint8Array(new ArrayBuffer(4), 1, 2)": "[0 0]", "(function () {})": "<nil>",
		"new Date(0)": "1970-01-01T00:00:00Z", "new Number(2)": "2",
		"let a = []; a.push(a); a": "iterate: the value is too large", "'x'.repeat(5000000)": "iterate: the value is too large",
	} {
		vm := script.New()
		script.Bound(vm, true)
		v, err := vm.RunString(source)
		if err != nil {
			t.Fatal(source, err)
		}
		got := ""
		if err := vm.Try(func() {
			e := script.Exporter{VM: vm, Function: "iterate"}
			got = fmt.Sprint(e.Value(v))
		}); err != nil {
			got = err.Error()
		}
		if !strings.HasPrefix(strings.TrimPrefix(got, "TypeError: "), want) {
			t.Errorf("%s: %.100q", source, got)
		}
	}
}

// An error names the place in the script, and what a function of the host failed with.
func TestErrors(t *testing.T) {
	for _, source := range []string{"let =", "1n", "(((" + string(make([]byte, 3)), "/" + strings.Repeat("a{1000}", 100) + "/"} {
		tree, err := script.Parse("t", source)
		if err == nil {
			err = script.CheckTree(tree, func(any) any { return nil })
		}
		if _, ok := errors.AsType[*script.Error](err); !ok {
			t.Errorf("%q: %v", source, err)
		}
	}
	tree, err := script.Parse("t", "\n f()")
	if err != nil {
		t.Fatal(err)
	}
	program, err := script.Compile(tree)
	if err != nil {
		t.Fatal(err)
	}
	vm := script.New()
	cause := errors.New("cause")
	if err := vm.Set("f", func(goja.FunctionCall) goja.Value { panic(vm.NewGoError(cause)) }); err != nil {
		t.Fatal(err)
	}
	_, err = vm.RunProgram(program)
	got, ok := errors.AsType[*script.Error](script.RunError(err))
	if !ok || got.Line != 2 || !got.Threw || !errors.Is(got, cause) {
		t.Errorf("%+v", got)
	}
}

// A clock that stands still does not count.
func TestClock(t *testing.T) {
	stopped := make(chan any, 8)
	c := script.StartClock(time.Nanosecond, func(v any) { stopped <- v })
	if _, ok := (<-stopped).(*script.Error); !ok {
		t.Error("no error")
	}
	c.Pause()
	c.Resume()
	<-stopped
	c.Pause()
}
