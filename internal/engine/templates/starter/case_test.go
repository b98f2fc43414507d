package starter_test

import (
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/trial"
)

func caseFile(id string) string { return "testdata/" + id + ".txtar" }

// TestCases runs each template against the servers of its case file: all that are
// positive must be found, with the values they say, and stand up to verification; none
// that is negative may be found.
func TestCases(t *testing.T) {
	for _, tmpl := range templates(t) {
		t.Run(tmpl.ID, func(t *testing.T) {
			p := compile(t, tmpl)[0]
			positive, negative := 0, 0
			for _, c := range readCases(t, caseFile(tmpl.ID)) {
				if c.Positive {
					positive++
				} else {
					negative++
				}
				t.Run(c.Name, func(t *testing.T) { runCase(t, p, c) })
			}
			if positive == 0 || negative == 0 {
				t.Errorf("%d positive and %d negative cases; both are needed", positive, negative)
			}
		})
	}
}

func runCase(t *testing.T, p *program.Program, c trial.Case) {
	server, err := c.Serve(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(server.Close)
	e, target := newEngine(t), server.URL
	_, events := scan(t, e, target, p)
	if (len(events) > 0) != c.Positive {
		t.Fatalf("found %d times", len(events))
	}
	var values []string
	for _, ev := range events {
		values = append(values, ev.ExtractedResults...)
		verify(t, e, target, p, ev)
	}
	for _, want := range c.Extracts {
		if !slices.Contains(values, want) {
			t.Errorf("extracted %q, not %q", values, want)
		}
	}
}

// readCases reads a case file.
func readCases(t *testing.T, path string) []trial.Case {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	cases, err := trial.Read(path, text)
	if err != nil {
		t.Fatal(err)
	}
	return cases
}

// serve starts a handler on loopback and returns its URL.
func serve(t *testing.T, h http.Handler) string {
	t.Helper()
	srv := httptest.NewServer(h)
	srv.Config.ErrorLog = log.New(io.Discard, "", 0)
	t.Cleanup(srv.Close)
	return srv.URL
}

// verify does with a finding what a task does before it reports one: ask again, and,
// when the finding is about a path, ask for a path beside it that cannot exist; when it is
// about a payload, ask without.
func verify(t *testing.T, e *engine.Engine, target string, p *program.Program, ev engine.Event) {
	t.Helper()
	if _, again, err := e.Confirm(t.Context(), target, p, ev); err != nil || !again {
		t.Errorf("not found again at %s: %v", ev.MatchedAt, err)
	}
	if !engine.HasControl(p, ev) {
		return
	}
	if _, everywhere, err := e.Control(t.Context(), target, p, ev); err != nil || everywhere {
		t.Errorf("found beside %s, too: %v", ev.MatchedAt, err)
	}
}

// TestCaseFiles refuses cases of templates that are no more.
func TestCaseFiles(t *testing.T) {
	ids := map[string]bool{}
	for _, tmpl := range templates(t) {
		ids[tmpl.ID] = true
	}
	entries, err := os.ReadDir("testdata")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if id, ok := strings.CutSuffix(e.Name(), ".txtar"); !ok || !ids[id] {
			t.Errorf("testdata/%s belongs to no template", e.Name())
		}
	}
}
