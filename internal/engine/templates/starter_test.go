package templates_test

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/templates"
)

func TestStarterTemplatesAreThere(t *testing.T) {
	_, programs, err := templates.Starter()
	if err != nil {
		t.Fatal(err)
	}
	if len(programs) < 40 {
		t.Errorf("%d starter templates, want at least 40", len(programs))
	}
	seen := map[string]bool{}
	for _, template := range programs {
		if seen[template.ID] {
			t.Errorf("two templates have the id %s", template.ID)
		}
		seen[template.ID] = true
	}
}
