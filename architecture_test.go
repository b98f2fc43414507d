// Package vedette_test checks the source tree against the tables of ARCHITECTURE.md and
// docs/contribute/libraries.md: which package may import which, which library is used where, and how
// large files and packages may be.
package vedette_test

import (
	"bytes"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

const module = "github.com/vedette-sec/vedette"

// A file should have at most usualLines and is refused beyond maxLines; a package is
// refused beyond packageLines. Tests do not count.
const usualLines, maxLines, packageLines = 400, 500, 3000

// untested are the packages that need no test file of their own, each with its reason.
var untested = map[string]string{
	"app/apptest":                    "other tests use it; those of app and the stories run it",
	"infra/db/dbtest":                "other tests use it; the tests of infra/db run it",
	"core/finding/findingtest":       "other tests use it; the tests of core/finding run it",
	"core/account/openid/openidtest": "other tests use it; those of api/console run it",
	"core/account/factor/factortest": "other tests use it; those of core/account/factor run it",
	"engine/proto/js/jstest":         "other tests use it; those of engine/proto/js/** run it",
	"importer/importertest":          "other tests use it; those of importer/** run it",
	"infra/netguard/sockstest":       "other tests use it; the tests of infra/netguard run it",
	"infra/netguard/dnstest":         "other tests use it; the tests of infra/netguard run it",
}

func TestArchitectureLayers(t *testing.T) {
	table := readTables(t)
	for _, p := range packages(t) {
		for _, problem := range slices.Concat(table.checkImports(p), table.checkLibraries(p)) {
			t.Error(problem)
		}
	}
}

func TestArchitectureSizes(t *testing.T) {
	exempt := maps.Clone(untested)
	for _, p := range packages(t) {
		name := nameOf(p.ImportPath)
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment", name)
		}
		tests := len(p.TestGoFiles) + len(p.XTestGoFiles)
		if _, listed := exempt[name]; !listed && tests == 0 {
			t.Errorf("%s has no test", name)
		} else if listed && tests > 0 {
			t.Errorf("%s has tests: take it off the list of untested packages", name)
		}
		delete(exempt, name)
		total := 0
		for _, base := range p.GoFiles {
			file := filepath.Join(p.Dir, base)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			lines := bytes.Count(text, []byte("\n"))
			total += lines
			switch {
			case lines > maxLines:
				t.Errorf("%s has %d lines, at most %d are allowed", file, lines, maxLines)
			case lines > usualLines:
				t.Logf("%s has %d lines, %d are usual", file, lines, usualLines)
			}
		}
		if total > packageLines {
			t.Errorf("%s has %d lines, at most %d are allowed: is there a second package in it?", name, total, packageLines)
		}
	}
	for name := range exempt {
		t.Errorf("%s is on the list of untested packages and does not exist", name)
	}
}

// TestArchitectureNotices breaks each rule once, in packages that exist only here.
func TestArchitectureNotices(t *testing.T) {
	table := readTables(t)
	in := func(name string, imports ...string) pkg {
		return pkg{ImportPath: pathOf(name), Imports: imports}
	}
	broken := map[string]pkg{
		"a package outside the table":        in("util"),
		"an import from a higher layer":      in("infra/errs", pathOf("infra/db")),
		"an engine that imports storage":     in("engine/proto/web", pathOf("infra/db")),
		"an engine that imports another":     in("agent", pathOf("engine")),
		"a part of the engine, upwards":      in("engine/syntax", pathOf("engine/match")),
		"a part of discovery, upwards":       in("discover/probe/web", pathOf("discover/pipeline")),
		"a service to its right":             in("core/account", pathOf("core/task")),
		"an API in an API":                   in("api/platform", pathOf("api/agentapi")),
		"an API that imports storage":        in("api/agentapi", pathOf("infra/queue")),
		"a test kit in the product":          in("core/account", pathOf("infra/db/dbtest")),
		"an import that is never allowed":    in("engine", "database/sql"),
		"a command that imports storage":     in("./cmd/vedette", pathOf("infra/db")),
		"a test that imports a higher layer": {ImportPath: pathOf("infra/errs"), XTestImports: []string{pathOf("app")}},
		"a library in the wrong package":     in("core/task", "github.com/riverqueue/river/rivertype"),
		"a library for tests only":           in("core/task", "pgregory.net/rapid"),
		"a library that is not listed":       in("core/task", "example.com/leftpad"),
		"an unlisted library in a test":      {ImportPath: pathOf("core/task"), TestImports: []string{"example.com/leftpad"}},
		"a library with a similar name":      in("infra/db", "modernc.org/sqlitefake"),
	}
	for name, p := range broken {
		if len(table.checkImports(p))+len(table.checkLibraries(p)) == 0 {
			t.Errorf("%s goes unnoticed", name)
		}
	}
	for _, p := range []pkg{
		in("core/task", pathOf("core/account"), pathOf("infra/queue"), pathOf("engine"), "fmt"),
		in("engine", pathOf("engine/syntax"), pathOf("infra/netguard")),
		in("infra/queue", pathOf("infra/db"), "github.com/riverqueue/river/rivertype"),
		{ImportPath: pathOf("core/catalog"),
			XTestImports: []string{pathOf("engine/program"), pathOf("infra/db/dbtest"), "pgregory.net/rapid"}},
	} {
		for _, problem := range slices.Concat(table.checkImports(p), table.checkLibraries(p)) {
			t.Errorf("a good package is refused: %s", problem)
		}
	}
}

// checkImports compares the imports of p with the layer table.
func (table tables) checkImports(p pkg) (problems []string) {
	name := nameOf(p.ImportPath)
	own, pattern, ok := table.find(name)
	if !ok {
		return []string{name + " is in no layer of ARCHITECTURE.md"}
	}
	for _, path := range p.Imports {
		if matchAny(own.never, path) || matchAny(own.never, nameOf(path)) {
			problems = append(problems, fmt.Sprintf("%s imports %s, which layer %q never does", name, path, own.name))
			continue
		}
		if !ours(path) {
			continue
		}
		target := nameOf(path)
		theirs, theirPattern, ok := table.find(target)
		samePattern := own.name == theirs.name && pattern == theirPattern
		toLeft := own.name == theirs.name && slices.Contains(own.mayLayers, "left") &&
			slices.Index(own.packages, theirPattern) < slices.Index(own.packages, pattern)
		named := own.name != theirs.name && slices.Contains(own.mayLayers, theirs.name) || matchAny(own.mayPackages, target)
		if !ok || !samePattern && !toLeft && !named {
			problems = append(problems, fmt.Sprintf("%s (%s) may not import %s (%s)", name, own.name, target, theirs.name))
		}
	}
	for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
		if theirs, _, _ := table.find(nameOf(path)); ours(path) && theirs.number > own.number {
			problems = append(problems, fmt.Sprintf("tests of %s (layer %d) may not import %s (layer %d)",
				name, own.number, nameOf(path), theirs.number))
		}
	}
	return problems
}

// checkLibraries compares the imports of p with the library table.
func (table tables) checkLibraries(p pkg) (problems []string) {
	name := nameOf(p.ImportPath)
	own, _, _ := table.find(name)
	testKit := strings.HasPrefix(own.name, "test ")
	find := func(path string) *library {
		for i, lib := range table.libraries {
			if path == lib.path || strings.HasPrefix(path, lib.path+"/") {
				return &table.libraries[i]
			}
		}
		problems = append(problems, fmt.Sprintf("%s imports %s, which is not in docs/contribute/libraries.md", name, path))
		return nil
	}
	foreign := func(path string) bool {
		first, _, _ := strings.Cut(path, "/")
		return strings.Contains(first, ".") && !ours(path)
	}
	for _, path := range p.Imports {
		if !foreign(path) {
			continue
		}
		if lib := find(path); lib != nil && !testKit && !matchAny(lib.only, name) {
			problems = append(problems, fmt.Sprintf("%s imports %s, which only %s may", name, path, strings.Join(lib.only, " ")))
		}
	}
	for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
		if foreign(path) {
			find(path)
		}
	}
	return problems
}
