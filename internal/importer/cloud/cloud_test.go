package cloud_test

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/importer/cloud"
	"github.com/vedette-sec/vedette/internal/importer/importertest"
)

var update = importertest.Update()

// TestSamples compares what is read from each sample with its golden file.
func TestSamples(t *testing.T) { importertest.Golden(t, cloud.Formats(), update) }
