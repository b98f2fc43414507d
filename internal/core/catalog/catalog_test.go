package catalog

import "testing"

func TestStarterTemplatesAreThere(t *testing.T) {
	templates, err := Starter()
	if err != nil {
		t.Fatal(err)
	}
	if len(templates) < 40 {
		t.Errorf("%d starter templates, want at least 40", len(templates))
	}
	seen := map[string]bool{}
	for _, template := range templates {
		if seen[template.ID] {
			t.Errorf("two templates have the id %s", template.ID)
		}
		seen[template.ID] = true
	}
}
