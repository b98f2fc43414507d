package app

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"os"
	"path/filepath"
	"runtime"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/vedette-sec/vedette/internal/core/catalog/starter"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/engine/workflow"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/lab/weaksite"
)

// Selection is what a scan can run, and what became of all other templates.
type Selection struct {
	Programs  []*program.Program   // in the order of their paths
	Workflows []*workflow.Workflow // in the order of their paths

	Refused     []templates.Refusal // they are wrong
	Unsupported []templates.Refusal // they are right, and this build cannot run them; Param of the error is what it lacks
	Skipped     []templates.Skip    // they were not asked for

	IndexErr error // why the next start will be no faster; nothing is lost by it
}

// Add adds what another selection holds.
func (s *Selection) Add(more *Selection) {
	s.Programs, s.Workflows = append(s.Programs, more.Programs...), append(s.Workflows, more.Workflows...)
	s.Refused, s.Unsupported = append(s.Refused, more.Refused...), append(s.Unsupported, more.Unsupported...)
	s.Skipped, s.IndexErr = append(s.Skipped, more.Skipped...), cmp.Or(s.IndexErr, more.IndexErr)
}

// Partial says whether templates that were asked for cannot run.
func (s *Selection) Partial() bool { return len(s.Refused)+len(s.Unsupported) > 0 }

// Select loads and compiles templates; without paths, those of the starter catalogue.
// The error is about the options or the paths: what is wrong with a template is in the
// selection.
func Select(ctx context.Context, o templates.Options, how program.Options) (*Selection, error) {
	if len(o.Paths) == 0 {
		o.FS = starter.FS()
	} else if cache, err := os.UserCacheDir(); err == nil {
		o.Index = filepath.Join(cache, "vedette", "templates.index")
	}
	loaded, err := templates.Load(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &Selection{Refused: loaded.Refused, Skipped: loaded.Skipped, IndexErr: loaded.IndexErr}
	c := compiler{how: how, done: map[*syntax.Template]*compiled{}}
	c.compile(loaded.Templates)
	for _, t := range loaded.Templates {
		if t.Type() == "workflow" {
			w, err := workflow.Compile(t, func(step syntax.Step) ([]*program.Program, error) { return c.step(loaded.Step(t, step)), nil })
			if err == nil {
				s.Workflows = append(s.Workflows, w)
			} else {
				s.refuse(t.Path, err)
			}
		} else if p, err := c.one(t); err == nil {
			s.Programs = append(s.Programs, p)
		}
	}
	for t, done := range c.done {
		if done.err != nil {
			s.refuse(t.Path, done.err)
		}
	}
	for _, list := range [][]templates.Refusal{s.Refused, s.Unsupported} {
		slices.SortStableFunc(list, func(a, b templates.Refusal) int { return cmp.Compare(a.Path, b.Path) })
	}
	return s, nil
}

func (s *Selection) refuse(path string, err error) {
	var e *errs.Error
	if errors.As(err, &e) && e.Code == syntax.CodeUnsupported {
		s.Unsupported = append(s.Unsupported, templates.Refusal{Path: path, Err: err})
		return
	}
	s.Refused = append(s.Refused, templates.Refusal{Path: path, Err: err})
}

// compiler compiles each template once.
type compiler struct {
	how  program.Options
	done map[*syntax.Template]*compiled
}

type compiled struct {
	program *program.Program
	err     error
}

// compile compiles templates, several at once.
func (c *compiler) compile(templates []*syntax.Template) {
	var group errgroup.Group
	group.SetLimit(runtime.GOMAXPROCS(0))
	for part := range slices.Chunk(templates, 64) {
		fresh := make([]compiled, len(part))
		for i, t := range part {
			if t.Type() != "workflow" {
				c.done[t] = &fresh[i]
			}
		}
		group.Go(func() error {
			for i, t := range part {
				if t.Type() != "workflow" {
					fresh[i].program, fresh[i].err = c.how.Compile(t)
				}
			}
			return nil
		})
	}
	_ = group.Wait() // what failed is in done
}

// one gives the program of a template.
func (c *compiler) one(t *syntax.Template) (*program.Program, error) {
	done := c.done[t]
	if done == nil {
		done = new(compiled)
		c.done[t] = done
		done.program, done.err = c.how.Compile(t)
	}
	return done.program, done.err
}

// step gives the programs of a workflow's step, but for those that cannot run.
func (c *compiler) step(templates []*syntax.Template) (programs []*program.Program) {
	for _, t := range templates {
		if p, err := c.one(t); err == nil {
			programs = append(programs, p)
		}
	}
	return programs
}

// Templates compiles the templates of files and folders; without any, those of the
// starter catalogue. It tells of each that cannot run why not; the error is about the
// paths themselves.
func Templates(ctx context.Context, paths ...string) (programs []*program.Program, problems []error, err error) {
	plain, err := Select(ctx, templates.Options{Paths: paths, IgnoredToo: true, Allow: AllTemplates()}, program.Options{})
	if err != nil {
		return nil, nil, err
	}
	for _, r := range slices.Concat(plain.Refused, plain.Unsupported) {
		problems = append(problems, r.Err)
	}
	fuzzing := false
	for _, skip := range plain.Skipped {
		if skip.Reason == templates.SkippedFuzzing {
			fuzzing = true
			continue
		}
		problems = append(problems, errs.New(errs.Invalid, syntax.CodeUnsupported, "%s: skipped: %s", skip.Path, skip.Reason))
	}
	if !fuzzing {
		return plain.Programs, problems, nil
	}
	allow := AllTemplates()
	allow.DAST = true
	s, err := Select(ctx, templates.Options{Paths: paths, IgnoredToo: true, Allow: allow}, program.Options{})
	if err != nil {
		return nil, nil, err
	}
	again := func(p *program.Program) bool { // global matchers run in both kinds of scans
		return slices.ContainsFunc(plain.Programs, func(q *program.Program) bool { return q.Path == p.Path })
	}
	return slices.Concat(plain.Programs, slices.DeleteFunc(s.Programs, again)), problems, nil
}

// AllTemplates allows everything but fuzzing alone.
func AllTemplates() templates.Allow {
	return templates.Allow{Headless: true, Code: true, SelfContained: true, GlobalMatchers: true, File: true}
}

// WeakSite is the deliberately weak web site of the demo.
func WeakSite() http.Handler { return weaksite.New(1) }
