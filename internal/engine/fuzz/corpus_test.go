package fuzz_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/fuzz"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

func TestCorpus(t *testing.T) {
	root := os.Getenv("VEDETTE_CORPUS")
	if root == "" {
		root = filepath.Join("..", "..", "..", "..", "shared", "corpus")
	}
	root = filepath.Join(root, "templates", "dast")
	if _, err := os.Stat(root); err != nil {
		t.Skipf("the corpus is not here: %v", err)
	}
	http, headless, sent := 0, 0, 0
	err := filepath.WalkDir(root, func(path string, d os.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".yaml" {
			return err
		}
		data, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		template, err := syntax.Parse(path, data)
		if err != nil {
			return err
		}
		for i := range template.HTTP {
			if len(template.HTTP[i].Fuzzing) == 0 {
				continue
			}
			http++
			plan, err := fuzz.Compile(path, &template.HTTP[i])
			if err != nil {
				return err
			}
			source := fuzz.Source{
				Base: request(t, "GET http://h/d?url=http://x&file=a.xml&xml=1&q=2"),
				Payloads: func(yield func(fuzz.Render) bool) {
					yield(func(text dsl.Text, _ string) (string, error) { return text.String(), nil })
				},
			}
			if !plan.Fits(fuzz.Input(source.Base), &dsl.Env{}) {
				t.Errorf("%s is not for a GET", path)
			}
			for range plan.All(source) {
				sent++
			}
		}
		for i := range template.Headless {
			if len(template.Headless[i].Fuzzing) > 0 {
				headless++
				if _, err := fuzz.CompileRules(path, template.Headless[i].Fuzzing); err != nil {
					return err
				}
			}
		}
		return nil
	})
	if err != nil {
		t.Error(err)
	}
	t.Logf("%d http blocks, %d headless blocks, %d requests", http, headless, sent)
	if http+headless != 83 || sent < http {
		t.Errorf("%d http blocks, %d headless blocks, %d requests", http, headless, sent)
	}
}

// About 5 µs a request, rendering included.
func BenchmarkAll(b *testing.B) {
	plan, err := fuzz.CompileRules("t.yaml", []syntax.FuzzRule{rule("request", "single", "postfix", "'")})
	if err != nil {
		b.Fatal(err)
	}
	source := fuzz.Source{Base: request(b, "POST http://h/a/b?q=1&r=2\nUser-Agent: me\n\n{\"a\":1,\"b\":[\"c\",\"d\"]}"),
		Payloads: renders()}
	n := 0
	b.ReportAllocs()
	for b.Loop() {
		for range plan.All(source) {
			n++
		}
	}
	b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(n), "ns/request")
}
