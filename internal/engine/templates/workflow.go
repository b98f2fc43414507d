package templates

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Step is the templates that a step of a loaded workflow runs, in the order of their paths: of the file or folder
// that it names, or all of the roots with one of its tags. Filters do not count here; permissions do.
func (r *Result) Step(workflow *syntax.Template, s syntax.Step) []*syntax.Template {
	return r.steps[keyOf(workflow, s)]
}

// stepKey decides which templates a step runs.
type stepKey struct{ workflow, template, tags string }

func keyOf(workflow *syntax.Template, s syntax.Step) stepKey {
	if s.Template != "" {
		return stepKey{workflow: workflow.Path, template: s.Template}
	}
	return stepKey{tags: strings.Join(s.Tags, ",")}
}

// workflows finds the templates of all steps. A workflow that names a missing one is refused.
func (l *loader) workflows(ctx context.Context, r *Result) error {
	named, tagged := map[stepKey][]string{}, map[stepKey][]string{} // files and tags of each key
	kept := r.Templates[:0]
	for _, t := range r.Templates {
		if err := l.steps(t, t.Workflows, named, tagged); err != nil {
			r.Refused = append(r.Refused, Refusal{Path: t.Path, Err: err})
			continue
		}
		kept = append(kept, t)
	}
	r.Templates = kept
	slices.SortStableFunc(r.Refused, func(a, b Refusal) int { return strings.Compare(a.Path, b.Path) })
	if len(named) == 0 && len(tagged) == 0 {
		return nil
	}
	r.steps = map[stepKey][]*syntax.Template{}
	var files []string
	for _, list := range named {
		files = append(files, list...)
	}
	if len(tagged) > 0 {
		all, err := expand(l.roots, nil)
		if err != nil {
			return err
		}
		files = append(files, all...)
	}
	slices.Sort(files)
	read, err := l.all(ctx, slices.Compact(files), nil, nil)
	if err != nil {
		return err
	}
	for _, one := range read {
		if one.template == nil || one.err != nil || one.template.Type() == "workflow" {
			continue
		}
		for name, list := range named {
			if _, has := slices.BinarySearch(list, one.path); has {
				r.steps[name] = append(r.steps[name], one.template)
			}
		}
		for name, list := range tagged {
			if overlap(list, one.template.Info.Tags) {
				r.steps[name] = append(r.steps[name], one.template)
			}
		}
	}
	return nil
}

// steps collects what steps name, including those inside them.
func (l *loader) steps(t *syntax.Template, steps []syntax.Step, named, tagged map[stepKey][]string) error {
	for _, s := range steps {
		if s.Template == "" {
			tagged[keyOf(t, s)] = s.Tags
		} else if _, known := named[keyOf(t, s)]; !known {
			files, err := l.step(t, s)
			if err != nil {
				return err
			}
			named[keyOf(t, s)] = files
		}
		for _, m := range s.Matchers {
			if err := l.steps(t, m.Subtemplates, named, tagged); err != nil {
				return err
			}
		}
		if err := l.steps(t, s.Subtemplates, named, tagged); err != nil {
			return err
		}
	}
	return nil
}

// step finds the files of a step: below a root, or where helper files may be.
func (l *loader) step(t *syntax.Template, s syntax.Step) ([]string, error) {
	for _, base := range l.helpers.bases(t.Path, s.Template, true) {
		at := s.Template
		if !filepath.IsAbs(at) {
			at = filepath.Join(base.dir, at)
		}
		if _, err := os.Stat(at); err == nil && (inside(base.dir, at) || l.LocalFiles) {
			return expand([]string{at}, nil)
		}
	}
	return nil, syntax.Fault(t.Path, s.Line, 0, "workflows.template", "there is no template %s", s.Template)
}
