package importer_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/importer"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// FuzzRead reads broken reports as each format: it must end, without a panic, with faults of the report alone, and
// what it gives must be what it counts.
func FuzzRead(f *testing.F) {
	formats := importer.Formats()
	index := map[string]int{}
	for i, format := range formats {
		index[format.Name] = i
	}
	samples, _ := filepath.Glob("*/testdata/*/*")
	for _, name := range samples {
		i, known := index[filepath.Base(filepath.Dir(name))]
		if text, err := os.ReadFile(name); err == nil && known && !strings.HasSuffix(name, ".golden") {
			f.Add(text, uint8(i))
		}
	}
	others, _ := filepath.Glob(corpus + "/*/*")
	for i, name := range others {
		if text, err := os.ReadFile(name); err == nil && len(text) < 8<<10 {
			f.Add(text, uint8(i%len(formats)))
		}
	}
	f.Fuzz(func(t *testing.T, report []byte, which uint8) {
		format := formats[int(which)%len(formats)].Name
		for _, as := range []string{format, "auto"} {
			accepted, rejected := 0, 0
			sum, err := importer.Read(context.Background(), bytes.NewReader(report), importer.Options{Format: as, MaxBytes: 1 << 26},
				func(i importer.Item) error {
					switch {
					case i.Rejected != nil && i.Rejected.Reason != "" && i.Record == nil:
						rejected++
					case i.Record != nil && i.Record.Title != "" && i.Record.Check != "" && i.Record.Tool != "" && i.Record.Class != "":
						accepted++
					default:
						return errors.New("an item is not complete")
					}
					return nil
				})
			if err != nil && errs.From(err).Kind == errs.Internal {
				t.Errorf("%s: %v", as, err)
			}
			if accepted != sum.Accepted || rejected != sum.Rejected {
				t.Errorf("%s: %d and %d were given, %+v", as, accepted, rejected, sum)
			}
		}
	})
}
