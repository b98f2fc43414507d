package app_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vedette-sec/vedette/internal/app"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/templates"
)

// BenchmarkSelect loads and compiles the HTTP templates of the public set, as a scan
// does before its first request, with an index that has them.
func BenchmarkSelect(b *testing.B) {
	root := os.Getenv("VEDETTE_CORPUS")
	if root == "" {
		root = "../../../shared/corpus"
	}
	folder := filepath.Join(root, "templates", "http")
	if _, err := os.Stat(folder); err != nil {
		b.Skip("the templates are not beside this checkout")
	}
	b.Setenv("XDG_CACHE_HOME", b.TempDir())
	load := func() int {
		s, err := app.Select(b.Context(), templates.Options{Paths: []string{folder}}, program.Options{})
		if err != nil {
			b.Fatal(err)
		}
		return len(s.Programs)
	}
	n := load()
	b.ReportAllocs()
	for b.Loop() {
		load()
	}
	b.ReportMetric(float64(n)*float64(b.N)/b.Elapsed().Seconds(), "templates/s")
}
