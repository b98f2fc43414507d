package app

import (
	"io/fs"
	"net/http"
	"os"
	"path/filepath"

	"github.com/vedette-sec/vedette/internal/catalog"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/errs"
	"github.com/vedette-sec/vedette/internal/weaksite"
)

// Templates compiles the templates of files and folders; without any, those of the
// starter catalogue. It tells of each that cannot run why not; the error is about the
// paths themselves.
func Templates(paths ...string) (programs []*program.Program, problems []error, err error) {
	add := func(t *syntax.Template, err error) {
		var p *program.Program
		if err == nil {
			p, err = program.Compile(t)
		}
		if err != nil {
			problems = append(problems, err)
			return
		}
		programs = append(programs, p)
	}
	if len(paths) == 0 {
		starter, err := catalog.Starter()
		for _, t := range starter {
			add(t, nil)
		}
		return programs, problems, err
	}
	for _, root := range paths {
		err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() {
				return err
			}
			if ext := filepath.Ext(path); path != root && ext != ".yaml" && ext != ".yml" {
				return nil
			}
			text, err := os.ReadFile(path)
			if err == nil {
				add(syntax.Parse(path, text))
			}
			return err
		})
		if err != nil {
			return nil, nil, errs.Field("templates", "%v", err)
		}
	}
	return programs, problems, nil
}

// WeakSite is the deliberately weak web site of the demo.
func WeakSite() http.Handler { return weaksite.New(1) }
