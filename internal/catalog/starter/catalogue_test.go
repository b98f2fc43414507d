package starter_test

import (
	"io/fs"
	"testing"

	"github.com/vedette-sec/vedette/internal/catalog/starter"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// templates parses the whole catalogue, in the order of its paths, and refuses ids
// that occur twice.
func templates(t *testing.T) []*syntax.Template {
	t.Helper()
	var all []*syntax.Template
	seen := map[string]string{}
	err := fs.WalkDir(starter.FS(), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		data, err := fs.ReadFile(starter.FS(), path)
		if err != nil {
			return err
		}
		tmpl, err := syntax.Parse(path, data)
		if err != nil {
			return err
		}
		if other, twice := seen[tmpl.ID]; twice {
			t.Errorf("%s and %s have the same id", other, path)
		}
		seen[tmpl.ID] = path
		all = append(all, tmpl)
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(all) < 48 {
		t.Fatalf("the catalogue holds %d templates", len(all))
	}
	return all
}
