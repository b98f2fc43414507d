package generic_test

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/importer/generic"
	"github.com/vedette-sec/vedette/internal/importer/importertest"
)

var update = importertest.Update()

// TestSamples compares what is read from each sample with its golden file.
func TestSamples(t *testing.T) { importertest.Golden(t, generic.Formats(), update) }
