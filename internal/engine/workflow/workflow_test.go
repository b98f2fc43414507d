package workflow_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/workflow"
)

// shelf gives programs by the names of templates and tags; tags can stand for several.
type shelf map[string]*program.Program

func (s shelf) find(step syntax.Step) ([]*program.Program, error) {
	if step.Template == "missing" {
		return nil, syntax.Fault("w.yaml", step.Line, 0, "workflows.template", "there is no template missing")
	}
	var list []*program.Program
	for _, name := range append(strings.Split(step.Template, "+"), step.Tags...) {
		if name == "" {
			continue
		}
		if s[name] == nil {
			s[name] = &program.Program{ID: name}
		}
		list = append(list, s[name])
	}
	return list, nil
}

func compile(t testing.TB, text string) *workflow.Workflow {
	t.Helper()
	template, err := syntax.Parse("w.yaml",
		[]byte("id: w\ninfo: {name: W, author: me, severity: info}\nworkflows:\n"+text))
	if err != nil {
		t.Fatal(err)
	}
	w, err := workflow.Compile(template, shelf{}.find)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

// target is a host that knows what each program finds, and remembers what ran.
type target struct {
	workflow.Host
	finds map[string][]workflow.Outcome // by program

	mu  sync.Mutex
	ran []string
}

func newTarget(finds map[string][]workflow.Outcome) *target {
	h := &target{finds: finds}
	h.Parallel = 3
	h.Run = func(_ context.Context, programs []*program.Program, values map[string]any, collect bool) ([]workflow.Outcome, error) {
		var found []workflow.Outcome
		h.mu.Lock()
		defer h.mu.Unlock()
		for _, p := range programs {
			line := p.ID
			if !collect {
				line += "!"
			}
			var names []string
			for name, v := range values {
				names = append(names, fmt.Sprintf("%s=%v", name, v))
			}
			sort.Strings(names)
			h.ran = append(h.ran, strings.Join(append([]string{line}, names...), " "))
			found = append(found, h.finds[p.ID]...)
		}
		return found, nil
	}
	return h
}

func found(names ...string) []workflow.Outcome { return []workflow.Outcome{{Names: names}} }

func TestRun(t *testing.T) {
	extracts := []workflow.Outcome{
		{Extracts: []match.Values{{Name: "one", Values: []string{"1"}}, {Name: "two", Values: []string{"a", "b"}}}},
		{Names: []string{"x"}, Extracts: []match.Values{{Name: "two", Values: []string{"b", "c"}}}},
	}
	for _, c := range []struct {
		name, workflow string
		finds          map[string][]workflow.Outcome
		want           string // programs, ! when their findings are printed; sorted from the second line on
	}{
		{"alone", "- template: a\n- tags: b,c\n", nil, "a! b! c!"},
		{"nothing found", "- template: a\n  subtemplates: [{template: b}]\n- template: c\n", nil, "a c!"},
		{"found", "- template: a\n  subtemplates: [{template: b}, {tags: c}]\n", map[string][]workflow.Outcome{"a": found()},
			"a b! c!"},
		{"one of several", "- template: a+d\n  subtemplates: [{template: b}]\n", map[string][]workflow.Outcome{"d": found()},
			"a b! d"},
		{"nested", "- template: a\n  subtemplates: [{template: b, subtemplates: [{template: c}]}]\n",
			map[string][]workflow.Outcome{"a": found(), "b": found("x")}, "a b c!"},
		{
			"or", "- template: a\n  matchers:\n  - name: [Apache, iis]\n    subtemplates: [{template: b}]\n  - name: nginx\n    subtemplates: [{template: c}]\n",
			map[string][]workflow.Outcome{"a": found("APACHE", "php")}, "a b!",
		},
		{
			"and", "- template: a\n  matchers:\n  - name: [x, y]\n    condition: and\n    subtemplates: [{template: b}]\n  - name: [x, z]\n    condition: and\n    subtemplates: [{template: c}]\n",
			map[string][]workflow.Outcome{"a": {{Names: []string{"x", "y"}}, {Names: []string{"z"}}}}, "a b!",
		},
		{
			"once for several responses", "- template: a\n  matchers: [{name: x, subtemplates: [{template: b}]}]\n",
			map[string][]workflow.Outcome{"a": {{Names: []string{"x"}}, {Names: []string{"x"}}}}, "a b!",
		},
		{
			"once for each response that says something new",
			"- template: a\n  matchers: [{name: x, subtemplates: [{template: b}]}]\n",
			map[string][]workflow.Outcome{"a": {
				{Names: []string{"x"}, Extracts: []match.Values{{Name: "v", Values: []string{"1"}}}},
				{Names: []string{"y"}, Extracts: []match.Values{{Name: "v", Values: []string{"2"}}}},
				{Names: []string{"x"}, Extracts: []match.Values{{Name: "v", Values: []string{"3"}}}},
			}},
			"a, b! v=1, b! v=3",
		},
		{
			"matchers before subtemplates", "- template: a\n  matchers: [{name: x, subtemplates: [{template: b}]}]\n  subtemplates: [{template: c}]\n",
			map[string][]workflow.Outcome{"a": found("x")}, "a b!",
		},
		{
			"values", "- template: a\n  subtemplates: [{template: b, subtemplates: [{template: c}]}]\n- template: d\n",
			map[string][]workflow.Outcome{"a": extracts,
				"b": {{Extracts: []match.Values{{Name: "one", Values: []string{"2"}}}}}},
			"a, b one=1 two0=a two1=b two2=c two=[a b c], c! one=2 two0=a two1=b two2=c two=[a b c], d!",
		},
	} {
		h := newTarget(c.finds)
		if err := compile(t, c.workflow).Run(t.Context(), &h.Host, nil); err != nil {
			t.Errorf("%s: %v", c.name, err)
		}
		sort.Strings(h.ran)
		separator := " "
		if strings.Contains(c.want, ",") {
			separator = ", "
		}
		if got := strings.Join(h.ran, separator); got != c.want {
			t.Errorf("%s: ran %s, want %s", c.name, got, c.want)
		}
	}
}

func TestStepsRunInOrder(t *testing.T) {
	h := newTarget(nil)
	if err := compile(t, "- template: c\n- template: a\n- template: b\n").Run(t.Context(), &h.Host,
		map[string]any{"v": "1"}); err != nil {
		t.Fatal(err)
	}
	if got := strings.Join(h.ran, ", "); got != "c! v=1, a! v=1, b! v=1" {
		t.Error(got)
	}
}

// As many steps run at once as the host allows, and no more; what waits for others holds
// up nobody.
func TestParallel(t *testing.T) {
	w := compile(t, "- template: a\n  subtemplates: [{template: b}, {template: c}, {template: d}, {template: e}]\n")
	var mu sync.Mutex
	running, most := 0, 0
	full := make(chan struct{})
	host := workflow.Host{Parallel: 2,
		Run: func(ctx context.Context, programs []*program.Program, _ map[string]any, collect bool) ([]workflow.Outcome, error) {
			if collect {
				return found(), nil
			}
			mu.Lock()
			if running++; running > most {
				if most = running; most == 2 {
					close(full)
				}
			}
			mu.Unlock()
			select {
			case <-full:
			case <-ctx.Done():
			}
			for range 1000 {
				runtime.Gosched() // whoever else may run, runs now
			}
			mu.Lock()
			running--
			mu.Unlock()
			return nil, nil
		}}
	if err := w.Run(t.Context(), &host, nil); err != nil || most != 2 {
		t.Error(most, err)
	}
}

func TestErrorsEndTheWorkflow(t *testing.T) {
	w := compile(t, "- template: a\n  subtemplates: [{template: b}]\n- template: c\n")
	broken := errors.New("the budget is spent")
	h := newTarget(map[string][]workflow.Outcome{"a": found()})
	run := h.Run
	h.Run = func(ctx context.Context, programs []*program.Program, values map[string]any, collect bool) ([]workflow.Outcome, error) {
		_, _ = run(ctx, programs, values, collect)
		return nil, broken
	}
	if err := w.Run(t.Context(), &h.Host, nil); !errors.Is(err, broken) || len(h.ran) != 1 {
		t.Error(h.ran, err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	h = newTarget(nil)
	if err := w.Run(ctx, &h.Host, nil); !errors.Is(err, context.Canceled) || len(h.ran) != 0 {
		t.Error(h.ran, err)
	}
}

func TestCompile(t *testing.T) {
	w := compile(t, "- template: a\n  matchers: [{name: x, subtemplates: [{template: b}, {template: a}]}]\n- tags: b\n- template: c\n")
	var ids []string
	for _, p := range w.Programs() {
		ids = append(ids, p.ID)
	}
	if !slices.Equal(ids, []string{"a", "b", "c"}) || w.ID != "w" || w.Info.Name != "W" {
		t.Error(ids, w.ID, w.Info.Name)
	}
	deep := syntax.Step{Template: "a"}
	for range 40 {
		deep = syntax.Step{Template: "a", Subtemplates: []syntax.Step{deep}}
	}
	for want, steps := range map[string][]syntax.Step{
		"there is no template": {{Template: "a", Subtemplates: []syntax.Step{{Template: "missing", Line: 7}}}},
		"inside each other":    {deep},
		"10000 steps":          slices.Repeat([]syntax.Step{{Template: "a"}}, 10_001),
	} {
		if _, err := workflow.Compile(&syntax.Template{Workflows: steps}, shelf{}.find); err == nil ||
			!strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v", want, err)
		}
	}
}

func TestCorpus(t *testing.T) {
	root := os.Getenv("VEDETTE_CORPUS")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared", "corpus")
	}
	files, err := filepath.Glob(filepath.Join(root, "templates", "workflows", "*.yaml"))
	if err != nil || len(files) == 0 {
		t.Skipf("the corpus is not here: %v", err)
	}
	for _, path := range files {
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		template, err := syntax.Parse(path, data)
		if err != nil {
			t.Error(err)
			continue
		}
		w, err := workflow.Compile(template, shelf{}.find)
		if err != nil {
			t.Error(err)
			continue
		}
		// Every program that finds all the names there are calls for all the others.
		h := newTarget(nil)
		run := h.Run
		all := names(template.Workflows)
		h.Run = func(ctx context.Context, programs []*program.Program, values map[string]any, collect bool) ([]workflow.Outcome, error) {
			_, err := run(ctx, programs, values, collect)
			return found(all...), err
		}
		if err := w.Run(t.Context(), &h.Host, nil); err != nil || len(h.ran) < len(w.Programs()) {
			t.Errorf("%s: %d of %d programs ran: %v", path, len(h.ran), len(w.Programs()), err)
		}
	}
	if len(files) != 59 {
		t.Errorf("%d workflows", len(files))
	}
}

func names(steps []syntax.Step) (all []string) {
	for _, s := range steps {
		for _, m := range s.Matchers {
			all = append(append(all, m.Name...), names(m.Subtemplates)...)
		}
		all = append(all, names(s.Subtemplates)...)
	}
	return all
}
