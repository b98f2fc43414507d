package vedette_test

import (
	"errors"
	"fmt"
	"go/ast"
	"go/importer"
	"go/parser"
	"go/token"
	"go/types"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// TestArchitectureFunctions: a package must not get from a higher layer, as a function
// value, what it could import. A function is handed down when it is stored in a struct of a
// lower layer, or given to a constructor (New…, Open…) there. Functions that only take
// results (no result but an error) and those in the callback table are fine: results flow
// upwards.
func TestArchitectureFunctions(t *testing.T) {
	table := readTables(t)
	checker := newChecker(t)
	used := map[string]bool{}
	for _, p := range packages(t) {
		if own, _, ok := table.find(nameOf(p.ImportPath)); !ok || own.number == 0 || strings.HasPrefix(own.name, "test") {
			continue
		}
		for _, h := range checker.handedDown(t, table, p) {
			if slices.Contains(table.callbacks, h.to) {
				used[h.to] = true
				continue
			}
			t.Errorf("%s: %s gets %s from above: let it import what it needs, or move the code", h.at, h.to, h.what)
		}
	}
	for _, callback := range table.callbacks {
		if !used[callback] {
			t.Errorf("the callback table has %s, which gets no function from above", callback)
		}
	}
}

// TestArchitectureFunctionsNotices checks the rule on a file that breaks it three times.
func TestArchitectureFunctionsNotices(t *testing.T) {
	checker := newChecker(t)
	source := `package jobs
import ("net/url"; "github.com/vedette-sec/vedette/internal/engine"; "github.com/vedette-sec/vedette/internal/core/secret")
var _ = engine.Config{Allow: func(*url.URL) bool { return true }}
func allow(*url.URL) bool { return true }
func set(c *engine.Config) { c.Allow = allow }
func answer() func(*url.URL) bool { return allow }
var _ = engine.Config{Allow: answer()}
var _ = secret.Secrets{}
`
	name := filepath.Join(t.TempDir(), "jobs.go")
	if err := os.WriteFile(name, []byte(source), 0o600); err != nil {
		t.Fatal(err)
	}
	found := checker.handedDown(t, readTables(t), pkg{ImportPath: pathOf("jobs"), GoFiles: []string{name}})
	if len(found) != 3 {
		t.Errorf("of three functions that are handed down %d are noticed: %v", len(found), found)
	}
}

// handed is a function that a lower layer gets from a higher one.
type handed struct{ at, to, what string }

// checker knows the types of all packages.
type checker struct {
	fset *token.FileSet
	imp  types.Importer
}

func newChecker(t *testing.T) *checker {
	t.Helper()
	all, err := listPackages()
	if err != nil {
		t.Fatal(err)
	}
	exports := map[string]string{}
	for _, p := range all {
		exports[p.ImportPath] = p.Export
	}
	c := &checker{fset: token.NewFileSet()}
	c.imp = importer.ForCompiler(c.fset, "gc", func(path string) (io.ReadCloser, error) {
		if exports[path] == "" {
			return nil, errors.New("no types of " + path)
		}
		return os.Open(exports[path])
	})
	return c
}

// handedDown are the functions that a package hands to layers below it.
func (c *checker) handedDown(t *testing.T, table tables, p pkg) (found []handed) {
	t.Helper()
	var files []*ast.File
	for _, name := range p.GoFiles {
		if !filepath.IsAbs(name) {
			name = filepath.Join(p.Dir, name)
		}
		file, err := parser.ParseFile(c.fset, name, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		files = append(files, file)
	}
	info := &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Uses: map[*ast.Ident]types.Object{}}
	config := types.Config{Importer: c.imp}
	if _, err := config.Check(p.ImportPath, c.fset, files, info); err != nil {
		t.Fatalf("%s: %v", p.ImportPath, err)
	}
	own, _, _ := table.find(nameOf(p.ImportPath))
	note := func(value ast.Expr, owner types.Object, to string) {
		if owner == nil || owner.Pkg() == nil || !ours(owner.Pkg().Path()) || !answers(info.Types[value].Type) {
			return
		}
		lower, _, _ := table.find(nameOf(owner.Pkg().Path()))
		from, ok := origin(info, value, p.ImportPath)
		if !ok {
			return
		}
		source, _, _ := table.find(nameOf(from))
		if lower.number < own.number && lower.number < source.number {
			found = append(found, handed{c.fset.Position(value.Pos()).String(), nameOf(owner.Pkg().Path()) + "." + to,
				types.ExprString(value)})
		}
	}
	for _, file := range files {
		ast.Inspect(file, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.CompositeLit:
				if owner := named(info.Types[n].Type); owner != nil {
					for _, element := range n.Elts {
						if pair, ok := element.(*ast.KeyValueExpr); ok {
							note(pair.Value, owner, fmt.Sprintf("%s.%s", owner.Name(), types.ExprString(pair.Key)))
						}
					}
				}
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if field, ok := left.(*ast.SelectorExpr); ok && len(n.Rhs) == len(n.Lhs) {
						if owner := named(info.Types[field.X].Type); owner != nil {
							note(n.Rhs[i], owner, owner.Name()+"."+field.Sel.Name)
						}
					}
				}
			case *ast.CallExpr:
				if callee := calleeOf(info, n); callee != nil &&
					(strings.HasPrefix(callee.Name(), "New") || strings.HasPrefix(callee.Name(), "Open")) {
					for _, argument := range n.Args {
						note(argument, callee, callee.Name())
					}
				}
			}
			return true
		})
	}
	return found
}

// answers reports whether a type is a function that returns more than an error.
func answers(t types.Type) bool {
	if t == nil {
		return false
	}
	f, ok := t.Underlying().(*types.Signature)
	if !ok {
		return false
	}
	for result := range f.Results().Variables() {
		if result.Type().String() != "error" {
			return true
		}
	}
	return false
}

// origin is the package that a function value comes from: where it is declared, or for a
// function literal and for the result of a call, the package that writes it there.
func origin(info *types.Info, value ast.Expr, here string) (path string, ok bool) {
	switch value := ast.Unparen(value).(type) {
	case *ast.FuncLit:
		return here, true
	case *ast.CallExpr:
		if callee := calleeOf(info, value); callee != nil && callee.Pkg() != nil && ours(callee.Pkg().Path()) {
			return callee.Pkg().Path(), true
		}
	case *ast.Ident, *ast.SelectorExpr:
		ident, isIdent := value.(*ast.Ident)
		if !isIdent {
			ident = value.(*ast.SelectorExpr).Sel
		}
		if f, isFunc := info.Uses[ident].(*types.Func); isFunc && f.Pkg() != nil && ours(f.Pkg().Path()) {
			return f.Pkg().Path(), true
		}
	}
	return "", false
}

// calleeOf is the function that a call names; nil for a call of a variable or a type.
func calleeOf(info *types.Info, call *ast.CallExpr) *types.Func {
	var ident *ast.Ident
	switch fun := ast.Unparen(call.Fun).(type) {
	case *ast.Ident:
		ident = fun
	case *ast.SelectorExpr:
		ident = fun.Sel
	default:
		return nil
	}
	f, _ := info.Uses[ident].(*types.Func)
	return f
}

// named is the name of the type of a struct, also behind a pointer.
func named(t types.Type) *types.TypeName {
	if t == nil {
		return nil
	}
	if pointer, ok := t.Underlying().(*types.Pointer); ok {
		t = pointer.Elem()
	}
	if n, ok := t.(*types.Named); ok {
		return n.Obj()
	}
	return nil
}
