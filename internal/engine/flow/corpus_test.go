package flow_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"

	"github.com/vedette-sec/vedette/internal/engine/flow"
)

// corpus are the flows of the public templates, by file.
func corpus(t testing.TB) map[string]string {
	t.Helper()
	root := os.Getenv("VEDETTE_CORPUS")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared", "corpus")
	}
	root = filepath.Join(root, "templates")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("the corpus is not here: %v", err)
	}
	flows := map[string]string{}
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || d.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil || !strings.Contains("\n"+string(data), "\nflow:") {
			return err
		}
		var template struct{ Flow string }
		if err := yaml.Unmarshal(data, &template); err != nil {
			return fmt.Errorf("%s: %w", path, err)
		}
		flows[path] = template.Flow
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return flows
}

var protocols = []string{"http", "dns", "tcp", "ssl", "headless", "file", "websocket", "whois", "code", "javascript"}

func TestCorpus(t *testing.T) {
	native := 0
	flows := corpus(t)
	for path, source := range flows {
		p, err := flow.Compile(source, protocols)
		if err != nil {
			t.Errorf("%s: %v", path, err)
			continue
		}
		if p.Native() {
			native++
		}
		w := newWorld()
		w.values["encryptedPassword"] = "psyduck12"
		w.values["typename"] = []string{"a", "b"}
		if err := p.Run(t.Context(), &w.Host); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		if call, ok := p.First(); ok && w.trace[0] != fmt.Sprintf("%s(%s)", call.Protocol, strings.Join(call.IDs, ",")) {
			t.Errorf("%s: %v is not first of %v", path, call, w.trace)
		}
	}
	if len(flows) != 279 || native != 265 {
		t.Errorf("%d flows, of them %d native", len(flows), native)
	}
}

func FuzzFlow(f *testing.F) {
	for _, source := range corpus(f) {
		f.Add(source)
	}
	for _, source := range []string{"http(1)\n(http(2))", "!!!!http('a)", "/* http(1)", "http(1) // Export\n",
		"`${template}`", "(?=)", "http(1)<!--", "{\"a\":[", "\u2028http()"} {
		f.Add(source)
	}
	f.Fuzz(func(t *testing.T, source string) {
		p, err := flow.Compile(source, []string{"http"})
		if err != nil {
			return
		}
		run := func(p *flow.Program, compute time.Duration) (*world, error) {
			w := newWorld("http(1)", "http(3)", "http()")
			w.Compute = compute
			call := w.Call
			w.Call = func(ctx context.Context, c flow.Call) (bool, error) {
				if len(w.trace) > 50 {
					return false, errors.New("enough")
				}
				return call(ctx, c)
			}
			return w, p.Run(t.Context(), &w.Host)
		}
		if !p.Native() {
			_, _ = run(p, 20*time.Millisecond) // it may be endless
			return
		}
		native, err := run(p, time.Minute)
		if err != nil && len(native.trace) < 50 {
			t.Fatal(err)
		}
		script, err := flow.Compile(source+"\n;template", []string{"http"})
		if err != nil {
			t.Fatalf("native, but no JavaScript: %v", err)
		}
		if got, _ := run(script, time.Minute); !slices.Equal(got.trace, native.trace) {
			t.Fatalf("JavaScript did %v, the native form %v", got.trace, native.trace)
		}
	})
}

// 30 ns native; 50 µs and 28 kB for a script, which has a machine of its own.
func BenchmarkRun(b *testing.B) {
	for name, source := range map[string]string{
		"native": "http(1) && http(2)",
		"script": "http(1)\nfor (let p of iterate(template.project)) {\n  set('project', p)\n  http(2)\n}",
	} {
		b.Run(name, func(b *testing.B) {
			p := compile(b, source)
			host := &flow.Host{
				Call:   func(context.Context, flow.Call) (bool, error) { return true, nil },
				Values: func() map[string]any { return map[string]any{"project": []string{"a", "b"}} },
				Set:    func(string, any) {},
			}
			b.ReportAllocs()
			for b.Loop() {
				if err := p.Run(b.Context(), host); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkCompile(b *testing.B) {
	for name, source := range map[string]string{
		"native": "http(1) && http(2)",
		"script": "http(1)\nfor (let p of iterate(template.project)) {\n  set('project', p)\n  http(2)\n}",
	} {
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				compile(b, source)
			}
		})
	}
}
