package starter_test

import (
	"os"
	"slices"
	"strings"
	"testing"
)

func caseFile(id string) string { return "testdata/" + id + ".txtar" }

// TestCases runs each template against the servers of its case file: all that are
// positive must be found, with the values they say, and none that is negative.
func TestCases(t *testing.T) {
	for _, tmpl := range templates(t) {
		t.Run(tmpl.ID, func(t *testing.T) {
			positive, negative := 0, 0
			for _, s := range readScripts(t, caseFile(tmpl.ID)) {
				if s.positive() {
					positive++
				} else {
					negative++
				}
				t.Run(s.name, func(t *testing.T) {
					found := scan(t, serve(t, s, s.tls), tmpl)
					if (len(found) > 0) != s.positive() {
						t.Fatalf("found %d times", len(found))
					}
					var values []string
					for _, f := range found {
						values = append(values, f.extracted...)
					}
					for _, want := range s.extracts {
						if !slices.Contains(values, want) {
							t.Errorf("extracted %q, not %q", values, want)
						}
					}
				})
			}
			if positive == 0 || negative == 0 {
				t.Errorf("%d positive and %d negative cases; both are needed", positive, negative)
			}
		})
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
