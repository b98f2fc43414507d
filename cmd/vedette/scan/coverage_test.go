package scan

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/event"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// coverageReport is that of a scan with a template that runs and one that cannot.
func coverageReport(t *testing.T) *engine.Report {
	t.Helper()
	site := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(site.Close)
	var programs []*program.Program
	for id, path := range map[string]string{"a": "x", "b": "{{unknown}}"} {
		text := "id: " + id + "\ninfo: {name: N, author: a, severity: low}\nhttp: [{path: ['{{BaseURL}}/" + path +
			"'], matchers: [{type: status, status: [200]}]}]\n"
		template, err := syntax.Parse(id+".yaml", []byte(text))
		if err != nil {
			t.Fatal(err)
		}
		p, err := program.Compile(template)
		if err != nil {
			t.Fatal(err)
		}
		programs = append(programs, p)
	}
	e := engine.New(engine.Config{})
	t.Cleanup(e.Close)
	report, err := e.Run(t.Context(), engine.Scan{Targets: []string{site.URL}, Programs: programs})
	if err != nil {
		t.Fatal(err)
	}
	report.Targets[0].Target = "evil\x1b[2J\u202e"
	report.Targets[0].Marks = []event.Mark{event.AnswersAlike, event.MatchDensity}
	return report
}

// The report as JSON is one document with every cell.
func TestWriteJSON(t *testing.T) {
	report := coverageReport(t)
	name := filepath.Join(t.TempDir(), "coverage.json")
	file, err := createCoverage(name)
	if err != nil {
		t.Fatal(err)
	}
	file.add(report.Targets[0], report.Templates)
	if err := file.close(report); err != nil {
		t.Fatal(err)
	}
	text, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	var doc struct {
		Partial bool
		Counts  map[engine.State]int
		Targets []struct {
			Alive  bool
			Counts map[engine.State]int
		}
		Cells []engine.Cell
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	if !doc.Partial || fmt.Sprint(doc.Counts) != "map[skipped:1 tested:1]" || len(doc.Targets) != 1 ||
		!doc.Targets[0].Alive || len(doc.Cells) != 2 {
		t.Errorf("%+v", doc)
	}
	for _, cell := range doc.Cells {
		want := engine.Cell{Target: report.Targets[0].Target, Template: "a", State: engine.Tested}
		if cell.Template == "b" {
			want.Template, want.State, want.Reason = "b", engine.Skipped, "the variable {{unknown}} has no value"
		}
		if cell != want {
			t.Errorf("%+v", cell)
		}
	}
}

// The table has no character that controls a terminal, and says why a finding is in doubt.
func TestWriteTable(t *testing.T) {
	var text strings.Builder
	table := newTable(&text)
	table.target(coverageReport(t).Targets[0])
	table.flush()
	if strings.ContainsAny(text.String(), "\x1b\u202e") ||
		!strings.Contains(text.String(), "1 tested, 1 skipped") || strings.Count(text.String(), "second look") != 2 {
		t.Errorf("%q", text.String())
	}
}
