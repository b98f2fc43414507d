package web_test

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/importer/importertest"
	"github.com/vedette-sec/vedette/internal/importer/web"
)

var update = importertest.Update()

// TestSamples compares what is read from each sample with its golden file.
func TestSamples(t *testing.T) { importertest.Golden(t, web.Formats(), update) }
