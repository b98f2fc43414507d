package templates_test

import (
	"path/filepath"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/templates"
)

// BenchmarkSelect loads and compiles the HTTP templates of the public set, as a scan
// does before its first request, with an index that has them.
func BenchmarkSelect(b *testing.B) {
	folder := filepath.Join(corpus(b), "http")
	b.Setenv("XDG_CACHE_HOME", b.TempDir())
	load := func() int {
		s, err := templates.Select(b.Context(), templates.Options{Paths: []string{folder}}, program.Options{})
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
