package reporttest

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/core/export/report"
)

// TestEveryKindOfBlock: the report has each, so that who draws it draws all.
func TestEveryKindOfBlock(t *testing.T) {
	seen := map[report.Kind]bool{}
	for _, b := range Document().Blocks {
		seen[b.Kind] = true
	}
	for kind := report.Heading; kind <= report.Evidence; kind++ {
		if !seen[kind] {
			t.Errorf("there is no block of the kind %d", kind)
		}
	}
}
