package app

import (
	"context"
	"net/http"
	"os"
	"path/filepath"
	"runtime"

	"golang.org/x/sync/errgroup"

	"github.com/vedette-sec/vedette/internal/catalog"
	"github.com/vedette-sec/vedette/internal/engine/load"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/errs"
	"github.com/vedette-sec/vedette/internal/weaksite"
)

// Templates compiles the templates of files and folders; without any, those of the
// starter catalogue. It tells of each that cannot run why not; the error is about the
// paths themselves.
func Templates(paths ...string) (programs []*program.Program, problems []error, err error) {
	templates, problems, err := readTemplates(paths)
	if err != nil {
		return nil, nil, err
	}
	compiled := make([]*program.Program, len(templates))
	failed := make([]error, len(templates))
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for i, t := range templates {
		group.Go(func() error {
			compiled[i], failed[i] = program.Compile(t)
			return nil
		})
	}
	if err := group.Wait(); err != nil {
		return nil, nil, err
	}
	for i, p := range compiled {
		if failed[i] != nil {
			problems = append(problems, failed[i])
			continue
		}
		programs = append(programs, p)
	}
	return programs, problems, nil
}

func readTemplates(paths []string) (templates []*syntax.Template, problems []error, err error) {
	if len(paths) == 0 {
		templates, err = catalog.Starter()
		return templates, nil, err
	}
	o := load.Options{
		Paths: paths, IgnoredToo: true,
		Allow: load.Allow{Headless: true, Code: true, SelfContained: true, GlobalMatchers: true, File: true},
	}
	if cache, err := os.UserCacheDir(); err == nil {
		o.Index = filepath.Join(cache, "vedette", "templates.index")
	}
	loaded, err := load.Load(context.Background(), o)
	if err != nil {
		return nil, nil, err
	}
	for _, r := range loaded.Refused {
		problems = append(problems, r.Err)
	}
	for _, s := range loaded.Skipped {
		problems = append(problems, errs.New(errs.Invalid, syntax.CodeUnsupported, "%s: skipped: %s", s.Path, s.Reason))
	}
	return loaded.Templates, problems, nil
}

// WeakSite is the deliberately weak web site of the demo.
func WeakSite() http.Handler { return weaksite.New(1) }
