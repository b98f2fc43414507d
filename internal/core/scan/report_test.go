package scan

import (
	"context"
	"os"
	"path/filepath"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/finding"
	"github.com/vedette-sec/vedette/internal/importer"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Every report of the corpus is stored whole: each record is a sighting in the scan, or one of a sighting in it.
func TestReportsOfTheCorpus(t *testing.T) {
	folder := filepath.Join("..", "..", "..", "..", "shared", "corpus", "imports")
	files, err := filepath.Glob(filepath.Join(folder, "*", "*"))
	if err != nil || len(files) == 0 {
		t.Skip("there is no corpus of reports beside the checkout")
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		y := setUp(t, d)
		y.TempDir = t.TempDir()
		stored := 0
		for _, name := range files {
			text, err := os.Open(name)
			if err != nil {
				t.Fatal(err)
			}
			sum, readErr := importer.Read(context.Background(), text, importer.Options{FileName: filepath.Base(name)},
				func(importer.Item) error { return nil })
			accepted := sum.Accepted
			if readErr != nil {
				accepted = -1
			}
			if _, err := text.Seek(0, 0); err != nil {
				t.Fatal(err)
			}
			got, err := y.ImportReport(y.alice, Report{FileName: filepath.Base(name)}, text)
			text.Close()
			if (err != nil) != (readErr != nil) {
				t.Errorf("%s: %v; read: %v", name, err, readErr)
				continue
			}
			if err != nil || accepted <= 0 {
				continue
			}
			if got.Accepted != accepted || got.Stored+got.Known > accepted || got.Stored+got.Known == 0 {
				t.Errorf("%s: %d accepted of %d, %d stored, %d known", name, got.Accepted, accepted, got.Stored, got.Known)
			}
			stored += got.Stored
		}
		_, total, err := y.findings.FindAll(y.alice, finding.Filter{}, nil, page.Window{Limit: 1})
		_, all, err2 := y.findings.FindAll(y.alice, finding.Filter{Sightings: true}, nil, page.Window{Limit: 1})
		if err != nil || err2 != nil || all != stored || total >= all {
			t.Errorf("%d weaknesses, %d sightings of %d stored, %v, %v", total, all, stored, err, err2)
		}
		t.Logf("%d files: %d sightings of %d weaknesses", len(files), all, total)
	})
}
