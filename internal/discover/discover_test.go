package discover_test

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/discover"
)

func TestAnEmptyListAsksForEveryStep(t *testing.T) {
	for _, step := range discover.Steps {
		if !discover.Has(nil, step) {
			t.Errorf("no steps named: %s is not asked for", step)
		}
	}
	if only := []discover.Step{discover.PortScan}; discover.Has(only, discover.HTTPProbe) || !discover.Has(only, discover.PortScan) {
		t.Error("a list of steps asks for what is on it, and for nothing else")
	}
}
