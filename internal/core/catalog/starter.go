package catalog

import (
	"fmt"
	"io/fs"
	"path"

	"github.com/vedette-sec/vedette/internal/core/catalog/starter"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Starter reads the templates that come with the binary, in the order of their paths.
func Starter() ([]*syntax.Template, error) {
	var out []*syntax.Template
	files := starter.FS()
	err := fs.WalkDir(files, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || path.Ext(name) != ".yaml" {
			return err
		}
		text, err := fs.ReadFile(files, name)
		if err != nil {
			return err
		}
		t, err := syntax.Parse(name, text)
		if err != nil {
			return fmt.Errorf("starter template: %w", err)
		}
		out = append(out, t)
		return nil
	})
	return out, err
}
