// Package workflow runs workflows (template language 1.6): templates that run only when others have found something,
// with the values that those extracted. A Host runs the programs.
package workflow

import (
	"context"
	"maps"
	"reflect"
	"slices"
	"strconv"
	"strings"

	"golang.org/x/sync/errgroup"

	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Bounds of one workflow.
const (
	maxSteps = 10_000
	maxDepth = 32
)

// Workflow is a compiled workflow. It is immutable and runs on any number of targets at once.
type Workflow struct {
	ID     string
	Path   string // of its template
	Digest string // of the template's bytes
	Info   syntax.Info

	steps    []step
	programs []*program.Program
}

// step runs programs, and further steps when those have found something.
type step struct {
	programs []*program.Program
	branches []branch
}

// branch is steps with their condition.
type branch struct {
	names []string // in lower case; none: whatever was found
	all   bool     // of the names have to be there
	steps []step
}

// Compile compiles the workflow of a template. find gives the programs of a step in order; its error ends the
// compilation. Errors are *errs.Error as of package syntax.
func Compile(t *syntax.Template, find func(syntax.Step) ([]*program.Program, error)) (*Workflow, error) {
	w := &Workflow{ID: t.ID, Path: t.Path, Digest: t.Digest, Info: t.Info}
	c := compiler{workflow: w, find: find, seen: map[*program.Program]bool{}}
	var err error
	w.steps, err = c.steps(t.Workflows, 0)
	return w, err
}

// Programs are all programs, each once, in the order of their steps.
func (w *Workflow) Programs() []*program.Program { return w.programs }

type compiler struct {
	workflow *Workflow
	find     func(syntax.Step) ([]*program.Program, error)
	count    int
	seen     map[*program.Program]bool
}

func (c *compiler) steps(list []syntax.Step, depth int) ([]step, error) {
	steps := make([]step, 0, len(list))
	for _, s := range list {
		if c.count++; c.count > maxSteps || depth > maxDepth {
			return nil, syntax.Fault(c.workflow.Path, s.Line, 0, "workflows",
				"more than %d steps, or more than %d inside each other", maxSteps, maxDepth)
		}
		programs, err := c.find(s)
		if err != nil {
			return nil, err
		}
		for _, p := range programs {
			if !c.seen[p] {
				c.seen[p] = true
				c.workflow.programs = append(c.workflow.programs, p)
			}
		}
		compiled := step{programs: programs}
		// A step with matchers does not look at subtemplates of its own.
		if len(s.Matchers) == 0 && len(s.Subtemplates) > 0 {
			s.Matchers = []syntax.StepMatcher{{Subtemplates: s.Subtemplates}}
		}
		for _, m := range s.Matchers {
			b := branch{all: m.Condition == "and"}
			for _, name := range m.Name {
				b.names = append(b.names, strings.ToLower(name))
			}
			if b.steps, err = c.steps(m.Subtemplates, depth+1); err != nil {
				return nil, err
			}
			compiled.branches = append(compiled.branches, b)
		}
		steps = append(steps, compiled)
	}
	return steps, nil
}

// Outcome is what a program found in one response.
type Outcome struct {
	Names    []string       // of the matchers that hold and the extractors that found something
	Extracts []match.Values // of named extractors that are not internal
}

// Host runs programs.
type Host struct {
	// Run runs programs on the target, in order, with the values extracted so far: strings and []string, which it
	// must not change. With collect it returns the findings instead of reporting them. A program that fails is no
	// error; an error ends the workflow.
	Run func(ctx context.Context, programs []*program.Program, values map[string]any, collect bool) ([]Outcome, error)
	// Parallel is how many steps run at once, at least 1.
	Parallel int
}

// Run runs the workflow on one target: its steps in order, and beside them the steps that these start. The error is
// ctx's or that of Host.Run.
func (w *Workflow) Run(ctx context.Context, host *Host, values map[string]any) error {
	group, ctx := errgroup.WithContext(ctx)
	r := &run{group: group, host: host, slots: make(chan struct{}, max(1, host.Parallel))}
	group.Go(func() error {
		for i := range w.steps {
			if err := r.step(ctx, &w.steps[i], values); err != nil {
				return err
			}
		}
		return nil
	})
	return group.Wait()
}

type run struct {
	group *errgroup.Group
	host  *Host
	slots chan struct{} // held by what runs, and not by what waits
}

// step runs a step and starts those of its branches.
func (r *run) step(ctx context.Context, s *step, values map[string]any) error {
	if len(s.programs) == 0 {
		return nil
	}
	found, err := r.programs(ctx, s, values)
	if err != nil || len(found) == 0 {
		return err
	}
	for i := range s.branches {
		b := &s.branches[i]
		for _, values := range b.starts(values, found) {
			for j := range b.steps {
				r.group.Go(func() error { return r.step(ctx, &b.steps[j], values) })
			}
		}
	}
	return nil
}

// starts are the initial values of a branch's steps. One without names starts once, with the values of all responses;
// others start with each matching response, with its values and earlier ones, unless nothing is new.
func (b *branch) starts(values map[string]any, found []Outcome) (all []map[string]any) {
	if len(b.names) == 0 {
		return []map[string]any{with(values, found)}
	}
	for i := range found {
		values = with(values, found[i:i+1])
		same := func(earlier map[string]any) bool { return reflect.DeepEqual(earlier, values) }
		if b.holds(found[i]) && !slices.ContainsFunc(all, same) {
			all = append(all, values)
		}
	}
	return all
}

func (r *run) programs(ctx context.Context, s *step, values map[string]any) ([]Outcome, error) {
	select {
	case r.slots <- struct{}{}:
		defer func() { <-r.slots }()
	case <-ctx.Done():
		return nil, ctx.Err()
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	return r.host.Run(ctx, s.programs, values, len(s.branches) > 0)
}

// holds reports whether a response has the names of the branch.
func (b *branch) holds(found Outcome) bool {
	has := func(name string) bool {
		return slices.ContainsFunc(found.Names, func(n string) bool { return strings.EqualFold(n, name) })
	}
	if b.all {
		return !slices.ContainsFunc(b.names, func(name string) bool { return !has(name) })
	}
	return slices.ContainsFunc(b.names, has)
}

// with adds extracted values: one value as a string; several as a list and also one by one, with numbers from 0 after
// the name.
func with(values map[string]any, found []Outcome) map[string]any {
	all := maps.Clone(values)
	if all == nil {
		all = map[string]any{}
	}
	lists := map[string][]string{}
	for _, o := range found {
		for _, x := range o.Extracts {
			for _, v := range x.Values {
				if !slices.Contains(lists[x.Name], v) {
					lists[x.Name] = append(lists[x.Name], v)
				}
			}
		}
	}
	for name, list := range lists {
		if len(list) == 1 {
			all[name] = list[0]
			continue
		}
		all[name] = list
		for i, v := range list {
			all[name+strconv.Itoa(i)] = v
		}
	}
	return all
}
