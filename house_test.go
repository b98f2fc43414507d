// Package vedette_test holds the source tree against the tables of ARCHITECTURE.md.
package vedette_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const module = "github.com/vedette-sec/vedette"

// A file is comfortable up to habitLines and refused beyond maxLines.
const habitLines, maxLines = 400, 500

// untested are the packages that need no test file of their own, each with its reason.
var untested = map[string]string{
	"db/dbtest":           "it is the kit of other tests; db's tests run it",
	"finding/findingtest": "it is the kit of other tests; finding's tests run it",
	"netguard/dnstest":    "it is the kit of other tests; netguard's tests run it",
}

// floor is one row of the floor table.
type floor struct {
	number   int
	name     string
	rooms    []string // patterns, left to right
	mayNames []string // floors by name, and "left"
	mayRooms []string // patterns
	never    []string // import paths and rooms said aloud
}

// library is one row of the library table.
type library struct {
	path string
	only []string // patterns; "tests" for none but tests
}

// pkg is what `go list -json` says of one package, as far as we look.
type pkg struct {
	ImportPath, Dir, Doc               string
	GoFiles, TestGoFiles, XTestGoFiles []string
	Imports, TestImports, XTestImports []string
	Error                              *struct{ Err string }
}

func TestHouseKeepsItsFloors(t *testing.T) {
	floors, libraries := tables(t)
	for _, p := range packages(t) {
		for _, complaint := range slices.Concat(checkImports(floors, p), checkLibraries(floors, libraries, p)) {
			t.Error(complaint)
		}
	}
}

func TestHouseIsHabitable(t *testing.T) {
	exempt := maps.Clone(untested)
	for _, p := range packages(t) {
		room := roomOf(p.ImportPath)
		if len(p.GoFiles) > 0 && p.Doc == "" {
			t.Errorf("%s has no package comment", room)
		}
		tests := len(p.TestGoFiles) + len(p.XTestGoFiles)
		if _, listed := exempt[room]; !listed && tests == 0 {
			t.Errorf("%s has no test", room)
		} else if listed && tests > 0 {
			t.Errorf("%s has tests and need not be on the list of the untested", room)
		}
		delete(exempt, room)
		for _, name := range p.GoFiles {
			file := filepath.Join(p.Dir, name)
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			switch lines := bytes.Count(text, []byte("\n")); {
			case lines > maxLines:
				t.Errorf("%s has %d lines; %d is the end", file, lines, maxLines)
			case lines > habitLines:
				t.Logf("%s has %d lines; %d is the habit", file, lines, habitLines)
			}
		}
	}
	for room := range exempt {
		t.Errorf("%s is on the list of the untested and does not exist", room)
	}
}

// TestHouseNotices breaks each rule once, in packages that exist only here.
func TestHouseNotices(t *testing.T) {
	floors, libraries := tables(t)
	in := func(room string, imports ...string) pkg {
		return pkg{ImportPath: pathOf(room), Imports: imports}
	}
	broken := map[string]pkg{
		"a room outside the table":      in("cupboard"),
		"an arrow up":                   in("errs", pathOf("db")),
		"a wing in the cellar":          in("engine/proto/web", pathOf("db")),
		"a wing in another wing":        in("agent", pathOf("engine")),
		"a slice to its right":          in("account", pathOf("task")),
		"a door in a door":              in("api/platform", pathOf("api/agentapi")),
		"a door in the cellar":          in("api/agentapi", pathOf("queue")),
		"a test kit in the product":     in("account", pathOf("db/dbtest")),
		"an import that is never":       in("engine", "database/sql"),
		"a command in the cellar":       in("./cmd/vedette", pathOf("db")),
		"a test that reaches up":        {ImportPath: pathOf("errs"), XTestImports: []string{pathOf("app")}},
		"a library in the wrong room":   in("task", "github.com/riverqueue/river/rivertype"),
		"a library for tests only":      in("task", "github.com/miekg/dns"),
		"a library that is not listed":  in("task", "example.com/leftpad"),
		"an unlisted library in a test": {ImportPath: pathOf("task"), TestImports: []string{"example.com/leftpad"}},
		"a library with a name's start": in("db", "modernc.org/sqlitefake"),
	}
	for name, p := range broken {
		if len(checkImports(floors, p))+len(checkLibraries(floors, libraries, p)) == 0 {
			t.Errorf("%s goes unnoticed", name)
		}
	}
	for _, p := range []pkg{
		in("task", pathOf("account"), pathOf("queue"), pathOf("engine"), "fmt"),
		in("engine", pathOf("engine/syntax"), pathOf("netguard")),
		in("queue", pathOf("db"), "github.com/riverqueue/river/rivertype"),
		{ImportPath: pathOf("catalog/starter"), XTestImports: []string{pathOf("engine/program"), pathOf("db/dbtest"), "pgregory.net/rapid"}},
	} {
		for _, complaint := range slices.Concat(checkImports(floors, p), checkLibraries(floors, libraries, p)) {
			t.Errorf("said of a good package: %s", complaint)
		}
	}
}

// checkImports says what p imports against the floor table.
func checkImports(floors []floor, p pkg) (complaints []string) {
	room := roomOf(p.ImportPath)
	own, pattern, ok := place(floors, room)
	if !ok {
		return []string{room + " stands on no floor of ARCHITECTURE.md"}
	}
	for _, path := range p.Imports {
		if matchAny(own.never, path) || matchAny(own.never, roomOf(path)) {
			complaints = append(complaints, fmt.Sprintf("%s imports %s, which floor %q never does", room, path, own.name))
			continue
		}
		if !ours(path) {
			continue
		}
		target := roomOf(path)
		theirs, theirPattern, ok := place(floors, target)
		sameRoom := own.name == theirs.name && pattern == theirPattern
		toLeft := own.name == theirs.name && slices.Contains(own.mayNames, "left") &&
			slices.Index(own.rooms, theirPattern) < slices.Index(own.rooms, pattern)
		named := own.name != theirs.name && slices.Contains(own.mayNames, theirs.name) || matchAny(own.mayRooms, target)
		if !ok || !sameRoom && !toLeft && !named {
			complaints = append(complaints, fmt.Sprintf("%s (%s) may not import %s (%s)", room, own.name, target, theirs.name))
		}
	}
	for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
		if theirs, _, _ := place(floors, roomOf(path)); ours(path) && theirs.number > own.number {
			complaints = append(complaints, fmt.Sprintf("tests of %s (floor %d) may not import %s (floor %d)",
				room, own.number, roomOf(path), theirs.number))
		}
	}
	return complaints
}

// checkLibraries says what p imports against the library table.
func checkLibraries(floors []floor, libraries []library, p pkg) (complaints []string) {
	room := roomOf(p.ImportPath)
	own, _, _ := place(floors, room)
	testKit := strings.HasPrefix(own.name, "test ")
	find := func(path string) *library {
		for i, lib := range libraries {
			if path == lib.path || strings.HasPrefix(path, lib.path+"/") {
				return &libraries[i]
			}
		}
		complaints = append(complaints, fmt.Sprintf("%s imports %s, which is not on the list of libraries", room, path))
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
		if lib := find(path); lib != nil && !testKit && !matchAny(lib.only, room) {
			complaints = append(complaints, fmt.Sprintf("%s imports %s, which belongs to %s", room, path, strings.Join(lib.only, " ")))
		}
	}
	for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
		if foreign(path) {
			find(path)
		}
	}
	return complaints
}

// place finds the floor on which a room stands, and the pattern that put it there:
// the longest, so that db/dbtest is not taken for a part of a db/**.
func place(floors []floor, room string) (found floor, pattern string, ok bool) {
	for _, f := range floors {
		for _, candidate := range f.rooms {
			if match(candidate, room) && len(candidate) > len(pattern) {
				found, pattern, ok = f, candidate, true
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

// roomOf is the table's word for an import path of ours; other paths stay as they are.
func roomOf(path string) string {
	if path == module {
		return "."
	}
	if room, ok := strings.CutPrefix(path, module+"/internal/"); ok {
		return room
	}
	if room, ok := strings.CutPrefix(path, module+"/"); ok {
		return "./" + room
	}
	return path
}

// pathOf is the inverse of roomOf.
func pathOf(room string) string {
	if outside, ok := strings.CutPrefix(room, "./"); ok {
		return module + "/" + outside
	}
	return module + "/internal/" + room
}

func packages(t *testing.T) []pkg {
	t.Helper()
	var stderr bytes.Buffer
	list := exec.Command("go", "list", "-e", "-buildvcs=false", "-json", "./...")
	list.Stderr = &stderr
	out, err := list.Output()
	if err != nil {
		t.Fatalf("go list: %v\n%s", err, stderr.Bytes())
	}
	var all []pkg
	for dec := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := dec.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		if p.Error != nil {
			t.Errorf("%s: %s", p.ImportPath, p.Error.Err)
		}
		all = append(all, p)
	}
	if len(all) < 2 {
		t.Fatalf("go list names %d packages", len(all))
	}
	return all
}

// tables reads ARCHITECTURE.md. A cell that says nothing the reader knows is an error:
// a table that is misread would allow everything.
func tables(t *testing.T) (floors []floor, libraries []library) {
	t.Helper()
	text, err := os.ReadFile("ARCHITECTURE.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, row := range rows(string(text), "floor", "rooms", "may import", "never") {
		number, name, _ := strings.Cut(row[0], " ")
		f := floor{name: name, rooms: quoted(row[1]), mayRooms: quoted(row[2]), never: quoted(row[3])}
		if f.number, err = strconv.Atoi(number); err != nil || name == "" || len(f.rooms) == 0 {
			t.Fatalf("floor table: cannot read row %q", row)
		}
		for word := range strings.SplitSeq(row[2], ",") {
			if word = strings.TrimSpace(word); !strings.HasPrefix(word, "`") && word != "nothing" {
				f.mayNames = append(f.mayNames, word)
			}
		}
		floors = append(floors, f)
	}
	for _, f := range floors {
		for _, word := range f.mayNames {
			if i := slices.IndexFunc(floors, func(g floor) bool { return g.name == word }); word != "left" && (i < 0 || floors[i].number > f.number) {
				t.Fatalf("floor table: %q may import %q, which is no floor at or below it", f.name, word)
			}
		}
	}
	for _, row := range rows(string(text), "library", "only in", "for") {
		path, only := quoted(row[0]), quoted(row[1])
		if len(path) != 1 || len(only) == 0 && row[1] != "tests" {
			t.Fatalf("library table: cannot read row %q", row)
		}
		libraries = append(libraries, library{path[0], only})
	}
	if len(floors) == 0 || len(libraries) == 0 {
		t.Fatal("ARCHITECTURE.md has lost its tables")
	}
	return floors, libraries
}

// rows are the cells of the markdown table with these headings.
func rows(text string, headings ...string) (found [][]string) {
	_, body, _ := strings.Cut(text, "| "+strings.Join(headings, " | ")+" |\n")
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
	return found
}

var backticks = regexp.MustCompile("`([^`]+)`")

func quoted(cell string) (words []string) {
	for _, m := range backticks.FindAllStringSubmatch(cell, -1) {
		words = append(words, m[1])
	}
	return words
}
