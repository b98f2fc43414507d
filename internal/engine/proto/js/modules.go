package js

import (
	"errors"
	"fmt"
	"path"
	"strings"

	"github.com/dop251/goja"

	"github.com/vedette-sec/vedette/internal/engine/proto/js/core"
	"github.com/vedette-sec/vedette/internal/engine/proto/js/host"
	"github.com/vedette-sec/vedette/internal/engine/script"
)

// maxModuleFiles bounds the files that a script requires: each is run, and may require the next.
const maxModuleFiles = 64

// namesFile reports whether the argument of require names a file, and no module.
func namesFile(name string) bool {
	return strings.HasPrefix(name, "./") || strings.HasPrefix(name, "../") || strings.HasPrefix(name, "/") ||
		strings.HasSuffix(name, ".js") || strings.HasSuffix(name, ".json")
}

// requireIn is require(path) in a file of a folder, which is one within that of the template.
func (r *run) requireIn(folder string) host.Method {
	return func(a *host.Args) (any, error) {
		if name := a.Text(0); namesFile(name) {
			return r.requireFile(folder, name)
		}
		return r.require(a)
	}
}

// requireFile is what a file of the template's folder exports: its value if it is JSON. It is run once.
func (r *run) requireFile(folder, name string) (goja.Value, error) {
	if r.host.Folder == "" {
		return nil, &host.Missing{Name: "require of a file, where none may be read,"}
	}
	r.outside = true
	at := path.Join(folder, name)
	if path.IsAbs(name) {
		return nil, fmt.Errorf("%.80q is not in the template's folder", name)
	}
	var source []byte
	err := errors.New("no name")
	for _, full := range []string{at, at + ".js", at + ".json"} {
		if module := r.files[full]; module != nil {
			return module.Get("exports"), nil
		}
		if source, err = core.ReadFile(r.host.Folder, full); err == nil {
			at = full
			break
		}
	}
	if err != nil {
		return nil, err
	}
	if len(r.files) == maxModuleFiles {
		return nil, fmt.Errorf("more than %d files are required", maxModuleFiles)
	}
	if err := r.host.Spend(len(source)); err != nil {
		return nil, err
	}
	module := r.vm.NewObject()
	if r.files == nil {
		r.files = map[string]*goja.Object{}
	}
	r.files[at] = module // before it runs: two files may require each other
	exports := goja.Value(r.vm.NewObject())
	if err := module.Set("exports", exports); err != nil {
		return nil, err
	}
	if strings.HasSuffix(at, ".json") {
		parse, _ := goja.AssertFunction(r.vm.Get("JSON").ToObject(r.vm).Get("parse"))
		if exports, err = parse(goja.Undefined(), r.vm.ToValue(string(source))); err != nil {
			return nil, fmt.Errorf("%.80q: %w", at, script.RunError(err))
		}
		return exports, module.Set("exports", exports)
	}
	if err := r.runFile(at, string(source), module); err != nil {
		if ended, ok := errors.AsType[*goja.InterruptedError](err); ok { // the script must end, too
			r.vm.Interrupt(ended.Value())
		}
		if thrown, ok := errors.AsType[*goja.Exception](err); ok && thrown.Value() != nil {
			panic(thrown.Value()) // what the file threw, for who requires it
		}
		return nil, fmt.Errorf("%.80q: %w", at, err)
	}
	return module.Get("exports"), nil
}

// runFile runs a file as a module.
func (r *run) runFile(at, source string, module *goja.Object) error {
	tree, err := script.Parse(at, "(function(exports, require, module) {"+source+"\n})")
	if err != nil {
		return err
	}
	if err := script.CheckTree(tree, func(any) any { return nil }); err != nil {
		return err
	}
	compiled, err := script.Compile(tree)
	if err != nil {
		return err
	}
	value, err := r.vm.RunProgram(compiled)
	if err != nil {
		return err
	}
	body, ok := goja.AssertFunction(value)
	if !ok {
		return errors.New("it is no module")
	}
	_, err = body(module, module.Get("exports"), r.host.Func(r.requireIn(path.Dir(at))), module)
	return err
}
