package templates

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/templates/starter"
	"github.com/vedette-sec/vedette/internal/engine/workflow"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Selection holds the programs that a scan can run, and why other templates cannot.
type Selection struct {
	Programs  []*program.Program   // in the order of their paths
	Workflows []*workflow.Workflow // in the order of their paths

	Refused     []Refusal // the template is wrong
	Unsupported []Refusal // this build cannot run the template; Param of the error names the missing feature
	Skipped     []Skip    // the options leave the template out

	IndexErr error             // why the index could not be used; the next start will be no faster
	Types    map[string]string // as of Result
}

// Add appends another selection.
func (s *Selection) Add(other *Selection) {
	s.Programs, s.Workflows = append(s.Programs, other.Programs...), append(s.Workflows, other.Workflows...)
	s.Refused, s.Unsupported = append(s.Refused, other.Refused...), append(s.Unsupported, other.Unsupported...)
	s.Skipped, s.IndexErr = append(s.Skipped, other.Skipped...), cmp.Or(s.IndexErr, other.IndexErr)
}

// IDs are the ids of the templates and workflows, in the order in which a scan numbers them.
func (s *Selection) IDs() (ids []string) {
	for _, p := range s.Programs {
		ids = append(ids, p.ID)
	}
	for _, w := range s.Workflows {
		ids = append(ids, w.ID)
	}
	return ids
}

// Problems are why templates cannot run, one error each.
func (s *Selection) Problems() (problems []error) {
	for _, r := range slices.Concat(s.Refused, s.Unsupported) {
		problems = append(problems, r.Err)
	}
	for _, skip := range s.Skipped {
		problems = append(problems, errs.New(errs.Invalid, syntax.CodeUnsupported, "%s: skipped: %s", skip.Path, skip.Reason))
	}
	return problems
}

// Partial reports whether requested templates cannot run.
func (s *Selection) Partial() bool { return len(s.Refused)+len(s.Unsupported) > 0 }

// Select loads and compiles the templates of the paths, with the user's index file, or the starter catalogue without
// paths. The error is about the options or the paths; a faulty template is listed in the selection.
func Select(ctx context.Context, o Options, how program.Options) (*Selection, error) {
	if len(o.Paths) == 0 {
		o.FS = starter.FS()
	} else if cache, err := os.UserCacheDir(); err == nil {
		o.Index = filepath.Join(cache, "vedette", "templates.index")
	}
	loaded, err := Load(ctx, o)
	if err != nil {
		return nil, err
	}
	s := &Selection{Refused: loaded.Refused, Skipped: loaded.Skipped, IndexErr: loaded.IndexErr,
		Types: loaded.Types}
	c := compiler{how: how, done: map[*syntax.Template]compiled{}}
	if err := c.all(ctx, loaded.Templates); err != nil {
		return nil, err
	}
	for _, t := range loaded.Templates {
		if t.Type() != "workflow" {
			if p := c.one(t); p != nil {
				s.Programs = append(s.Programs, p)
			}
			continue
		}
		w, err := workflow.Compile(t, func(step syntax.Step) ([]*program.Program, error) {
			return c.step(loaded.Step(t, step)), nil
		})
		if err == nil {
			s.Workflows = append(s.Workflows, w)
		} else {
			s.refuse(t.Path, err)
		}
	}
	for t, result := range c.done {
		if result.err != nil {
			s.refuse(t.Path, result.err)
		}
	}
	for _, list := range [][]Refusal{s.Refused, s.Unsupported} {
		slices.SortStableFunc(list, func(a, b Refusal) int { return cmp.Compare(a.Path, b.Path) })
	}
	return s, nil
}

func (s *Selection) refuse(path string, err error) {
	if isUnsupported(err) {
		s.Unsupported = append(s.Unsupported, Refusal{Path: path, Err: err})
		return
	}
	s.Refused = append(s.Refused, Refusal{Path: path, Err: err})
}

// isUnsupported reports whether a template is correct and this build cannot run it.
func isUnsupported(err error) bool {
	e, ok := errors.AsType[*errs.Error](err)
	return ok && e.Code == syntax.CodeUnsupported
}

// compiler compiles each template once, also one that several workflows run.
type compiler struct {
	how  program.Options
	done map[*syntax.Template]compiled
}

type compiled struct {
	program *program.Program
	err     error
}

// all compiles templates on all processors.
func (c *compiler) all(ctx context.Context, all []*syntax.Template) error {
	results := make([]compiled, len(all))
	err := parallel(ctx, len(all), func(i int) {
		if all[i].Type() != "workflow" {
			results[i].program, results[i].err = c.how.Compile(all[i])
		}
	})
	for i, t := range all {
		c.done[t] = results[i]
	}
	return err
}

// one is the program of a template; nil when it cannot run.
func (c *compiler) one(t *syntax.Template) *program.Program {
	result, ok := c.done[t]
	if !ok {
		result.program, result.err = c.how.Compile(t)
		c.done[t] = result
	}
	return result.program
}

// step is the programs of a workflow's step that can run.
func (c *compiler) step(templates []*syntax.Template) (programs []*program.Program) {
	for _, t := range templates {
		if p := c.one(t); p != nil {
			programs = append(programs, p)
		}
	}
	return programs
}

// Starter is the starter catalogue: templates and programs in the order of their paths.
func Starter() (all []*syntax.Template, programs []*program.Program, err error) {
	all, texts, err := StarterTexts()
	if err != nil {
		return nil, nil, err
	}
	for i, t := range all {
		_, p, err := Compile(t.Path, texts[i], nil)
		if err != nil {
			return nil, nil, fmt.Errorf("starter template: %w", err)
		}
		programs = append(programs, p)
	}
	return all, programs, nil
}

// StarterTexts is the starter catalogue with its texts, not compiled.
func StarterTexts() (all []*syntax.Template, texts [][]byte, err error) {
	files := starter.FS()
	paths, err := findTemplates(files)
	if err != nil {
		return nil, nil, err
	}
	for _, path := range paths {
		text, err := fs.ReadFile(files, path)
		if err != nil {
			return nil, nil, err
		}
		t, err := syntax.Parse(path, text)
		if err != nil {
			return nil, nil, fmt.Errorf("starter template: %w", err)
		}
		all, texts = append(all, t), append(texts, text)
	}
	return all, texts, nil
}
