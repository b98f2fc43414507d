package starter_test

import (
	"io/fs"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/templates/starter"
)

// templates parses the whole catalogue, in the order of its paths, and refuses ids
// that occur twice.
func templates(t *testing.T) []*syntax.Template {
	t.Helper()
	var all []*syntax.Template
	seen := map[string]string{}
	err := fs.WalkDir(starter.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(starter.FS(), path)
		if err != nil {
			return err
		}
		tmpl, err := syntax.Parse(path, data)
		if err != nil {
			return err
		}
		if other, twice := seen[tmpl.ID]; twice {
			t.Errorf("%s and %s have the same id", other, path)
		}
		seen[tmpl.ID] = path
		all = append(all, tmpl)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 48 {
		t.Fatalf("the catalogue holds %d templates", len(all))
	}
	return all
}

func compile(t *testing.T, all ...*syntax.Template) []*program.Program {
	t.Helper()
	programs := make([]*program.Program, len(all))
	for i, tmpl := range all {
		var err error
		if programs[i], err = program.Compile(tmpl); err != nil {
			t.Fatal(err)
		}
	}
	return programs
}

// scan runs programs against one target, and refuses a scan that left something out.
func scan(
	t *testing.T, e *engine.Engine, target string, programs ...*program.Program,
) (*engine.Report, []engine.Event) {
	t.Helper()
	var events []engine.Event
	report, err := e.Run(t.Context(), engine.Scan{
		Targets: []string{target}, Programs: programs,
		OnEvent: func(ev engine.Event) { events = append(events, ev) },
	})
	if err != nil {
		t.Fatal(err)
	}
	if report.Partial() {
		t.Fatalf("not everything was tested: %v", report.Counts())
	}
	return report, events
}

// newEngine is an engine that ends with the test.
func newEngine(t *testing.T) *engine.Engine {
	t.Helper()
	e := engine.New(engine.Config{})
	t.Cleanup(e.Close)
	return e
}
