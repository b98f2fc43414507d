// Package importertest runs the samples of formats: testdata/FORMAT/NAME is a report, and NAME.golden beside it what is
// read from it. With -update, the golden files are written.
package importertest

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/importer/kit"
)

// Golden compares each sample under testdata with its golden file, and asks that each format that has signs is
// recognised by them, and that each format of the set which is not among the corpus has a sample.
func Golden(t *testing.T, set kit.Set, update *bool) {
	t.Helper()
	names, err := filepath.Glob("testdata/*/*")
	if err != nil || len(names) == 0 {
		t.Fatal("there are no samples", err)
	}
	seen := map[string]bool{}
	for _, name := range names {
		if strings.HasSuffix(name, ".golden") || filepath.Base(filepath.Dir(name)) == "fuzz" {
			continue
		}
		seen[filepath.Base(filepath.Dir(name))] = true
		t.Run(name, func(t *testing.T) { one(t, set, name, *update) })
	}
	for _, f := range set {
		if !seen[f.Name] {
			t.Errorf("the format %s has no sample in testdata/%s", f.Name, f.Name)
		}
	}
}

// Update defines the flag -update.
func Update() *bool { return flag.Bool("update", false, "write the golden files") }

func one(t *testing.T, set kit.Set, name string, update bool) {
	t.Helper()
	report, err := os.ReadFile(name)
	if err != nil {
		t.Fatal(err)
	}
	want := filepath.Base(filepath.Dir(name))
	opts := kit.Options{Format: "auto", FileName: name, TempDir: t.TempDir()}
	if named, err := set.Named(want); err != nil {
		t.Fatal(err)
	} else if len(named[0].Signs) == 0 {
		opts.Format = want
	}
	var got bytes.Buffer
	enc := json.NewEncoder(&got)
	enc.SetIndent("", "  ")
	enc.SetEscapeHTML(false)
	sum, err := set.Read(context.Background(), bytes.NewReader(report), opts, func(item kit.Item) error {
		return enc.Encode(item)
	})
	if err != nil {
		t.Fatal(err)
	}
	if sum.Format != want {
		t.Errorf("it is taken for %s", sum.Format)
	}
	if err := enc.Encode(sum); err != nil {
		t.Fatal(err)
	}
	golden := name + ".golden"
	if update {
		if err := os.WriteFile(golden, got.Bytes(), 0o600); err != nil {
			t.Fatal(err)
		}
		return
	}
	expected, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got.Bytes(), expected) {
		t.Errorf("%s differs:\n%s\nwith -update it is written; read the difference", golden, got.String())
	}
}
