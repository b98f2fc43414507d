package importer_test

import (
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/importer"
	"github.com/vedette-sec/vedette/internal/importer/importertest"
)

var update = importertest.Update()

const (
	page     = "../../docs/use/import.md"
	tableTop = "| format | of | files | for example |\n|---|---|---|---|\n"
)

// TestPage: the table in docs/use/import.md is that of the code; with -update it is written.
func TestPage(t *testing.T) {
	var table strings.Builder
	table.WriteString(tableTop)
	for _, f := range importer.Formats() {
		name := "`" + f.Name + "`"
		for _, family := range f.Families {
			name += ", `" + family + "`"
		}
		fmt.Fprintf(&table, "| %s | %s | %s | %s |\n", name, f.Title, strings.Join(f.Kinds, ", "),
			strings.ReplaceAll(f.Example, "|", `\|`))
	}
	text, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), tableTop)
	if !ok {
		t.Fatalf("%s has no table of formats", page)
	}
	_, after, _ := strings.Cut(rest, "\n\n")
	want := before + table.String() + "\n" + after
	if string(text) == want {
		return
	}
	if !*update {
		t.Fatalf("the table in %s is old: run go test ./internal/importer -run TestPage -update", page)
	}
	if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
		t.Fatal(err)
	}
}

// TestFormats: each format says what a person needs, and names are used once.
func TestFormats(t *testing.T) {
	names, titles := map[string]bool{}, map[string]bool{}
	for _, f := range importer.Formats() {
		if f.Name == "" || f.Title == "" || f.Tool == "" || len(f.Kinds) == 0 || f.Example == "" || f.Class == "" || f.Read == nil {
			t.Errorf("the format %q is not complete", f.Name)
		}
		if names[f.Name] || titles[f.Title] || f.Name == "auto" {
			t.Errorf("%s is there twice", f.Name)
		}
		names[f.Name], titles[f.Title] = true, true
	}
	if len(names) < 45 {
		t.Errorf("there are %d formats", len(names))
	}
}
