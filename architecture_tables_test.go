package vedette_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
)

// tables are the tables of ARCHITECTURE.md and docs/contribute/libraries.md.
type tables struct {
	layers    []layer
	callbacks []string // "function or field that takes a callback"
	libraries []library
}

// layer is one row of the layer table.
type layer struct {
	number      int
	name        string
	packages    []string // patterns, left to right
	mayLayers   []string // layers by name, and "left"
	mayPackages []string // patterns
	never       []string // import paths and packages
}

// library is one row of the library table.
type library struct {
	path string
	only []string // patterns; none for what only tests import
}

// pkg is what `go list -json` says of one package, as far as the tests need it.
type pkg struct {
	ImportPath, Dir, Doc               string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
	Export                             string // file with the types that others import
	Error                              *struct{ Err string }
}

// find is the layer of a package, and the pattern that put it there: the longest one, so
// that infra/db/dbtest does not count as a part of infra/db/**.
func (table tables) find(name string) (found layer, pattern string, ok bool) {
	for _, l := range table.layers {
		for _, candidate := range l.packages {
			if match(candidate, name) && len(candidate) > len(pattern) {
				found, pattern, ok = l, candidate, true
			}
		}
	}
	return found, pattern, ok
}

func matchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return match(p, name) })
}

func match(pattern, name string) bool {
	if pattern == "**" {
		return true
	}
	tree, deep := strings.CutSuffix(pattern, "/**")
	return name == tree || deep && strings.HasPrefix(name, tree+"/")
}

func ours(path string) bool { return path == module || strings.HasPrefix(path, module+"/") }

// nameOf is what the table calls an import path of ours; other paths stay as they are.
func nameOf(path string) string {
	if path == module {
		return "."
	}
	if name, ok := strings.CutPrefix(path, module+"/internal/"); ok {
		return name
	}
	if name, ok := strings.CutPrefix(path, module+"/"); ok {
		return "./" + name
	}
	return path
}

// pathOf is the inverse of nameOf.
func pathOf(name string) string {
	if outside, ok := strings.CutPrefix(name, "./"); ok {
		return module + "/" + outside
	}
	return module + "/internal/" + name
}

func packages(t *testing.T) []pkg {
	t.Helper()
	all, err := listPackages()
	if err != nil {
		t.Fatal(err)
	}
	for _, p := range all {
		if p.Error != nil {
			t.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
	}
	return slices.DeleteFunc(slices.Clone(all), func(p pkg) bool { return !ours(p.ImportPath) })
}

// listPackages are the packages of the module and all they import, compiled.
var listPackages = sync.OnceValues(func() (all []pkg, err error) {
	list := exec.Command("go", "list", "-e", "-buildvcs=false", "-export", "-deps",
		"-json=ImportPath,Dir,Doc,GoFiles,TestGoFiles,XTestGoFiles,Imports,TestImports,XTestImports,Export,Error", "./...")
	var stderr bytes.Buffer
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		return nil, errors.Join(err, errors.New(stderr.String()))
	}
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, err
		}
		all = append(all, p)
	}
})

// readTables reads the tables. A cell that cannot be read is an error: a table that is
// misread would allow everything.
func readTables(t *testing.T) (table tables) {
	t.Helper()
	for _, row := range rows(t, "ARCHITECTURE.md", "layer", "packages", "may import", "never") {
		number, name, _ := strings.Cut(row[0], " ")
		l := layer{name: name, packages: quoted(row[1]), mayPackages: quoted(row[2]), never: quoted(row[3])}
		var err error
		if l.number, err = strconv.Atoi(number); err != nil || name == "" || len(l.packages) == 0 {
			t.Fatalf("layer table: cannot read row %q", row)
		}
		for word := range strings.SplitSeq(row[2], ",") {
			if word = strings.TrimSpace(word); !strings.HasPrefix(word, "`") && word != "nothing" {
				l.mayLayers = append(l.mayLayers, word)
			}
		}
		table.layers = append(table.layers, l)
	}
	for _, l := range table.layers {
		for _, word := range l.mayLayers {
			i := slices.IndexFunc(table.layers, func(g layer) bool { return g.name == word })
			if word != "left" && (i < 0 || table.layers[i].number > l.number) {
				t.Fatalf("layer table: %q may import %q, which is no layer at or below it", l.name, word)
			}
		}
	}
	for _, row := range rows(t, "ARCHITECTURE.md", "callback", "why it is one") {
		table.callbacks = append(table.callbacks, quoted(row[0])...)
	}
	for _, row := range rows(t, "docs/contribute/libraries.md", "library", "only in", "for") {
		path, only := quoted(row[0]), quoted(row[1])
		if len(path) != 1 || len(only) == 0 && row[1] != "tests" {
			t.Fatalf("library table: cannot read row %q", row)
		}
		table.libraries = append(table.libraries, library{path[0], only})
	}
	return table
}

// rows are the cells of the table of a Markdown file with these headings.
func rows(t *testing.T, file string, headings ...string) (found [][]string) {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	_, body, _ := strings.Cut(string(text), "| "+strings.Join(headings, " | ")+" |\n")
	for i, line := range strings.Split(body, "\n") {
		if !strings.HasPrefix(line, "|") {
			break
		}
		if i == 0 { // the rule under the headings
			continue
		}
		cells := strings.Split(strings.Trim(line, "|"), "|")
		for j := range cells {
			cells[j] = strings.TrimSpace(cells[j])
		}
		found = append(found, cells)
	}
	if len(found) == 0 {
		t.Fatalf("%s has lost its table %q", file, headings)
	}
	return found
}

var backticks = regexp.MustCompile("`([^`]+)`")

func quoted(cell string) (words []string) {
	for _, m := range backticks.FindAllStringSubmatch(cell, -1) {
		words = append(words, m[1])
	}
	return words
}
