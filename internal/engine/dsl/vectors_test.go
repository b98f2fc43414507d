package dsl_test

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
)

// vector is an expression of a public template, with what its original evaluator made
// of it in each of three environments.
type vector struct {
	Expr         string `json:"expr"`
	CompileError string `json:"compile_error"`
	Results      []struct {
		Type  string `json:"type"`
		Value string `json:"value"`
		Error string `json:"error"`
	} `json:"results"`
}

// vectors reads the corpus, which lies beside the checkout or where VEDETTE_CORPUS says.
func vectors(t testing.TB) (all []vector, envs []map[string]any) {
	t.Helper()
	dir := os.Getenv("VEDETTE_CORPUS")
	if dir == "" {
		dir = "../../../../shared/corpus"
	}
	text, err := os.ReadFile(filepath.Join(dir, "dsl_vectors_env.json"))
	if err != nil {
		t.Skip("the vectors are not here; VEDETTE_CORPUS names their folder")
	}
	if err := json.Unmarshal(text, &envs); err != nil {
		t.Fatal(err)
	}
	file, err := os.Open(filepath.Join(dir, "dsl_vectors.jsonl"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	lines := bufio.NewScanner(file)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var v vector
		if err := json.Unmarshal(lines.Bytes(), &v); err != nil {
			t.Fatal(err)
		}
		all = append(all, v)
	}
	if err := lines.Err(); err != nil {
		t.Fatal(err)
	}
	return all, envs
}

// Every expression of the public templates means what it meant to its author.
func TestVectors(t *testing.T) {
	all, envs := vectors(t)
	if len(all) < 5000 || len(envs) != 3 {
		t.Fatalf("%d vectors in %d environments", len(all), len(envs))
	}
	for _, v := range all {
		e, err := dsl.Compile(v.Expr)
		if v.CompileError != "" {
			if err == nil {
				t.Errorf("%q compiles, want: %s", v.Expr, v.CompileError)
			}
			continue
		}
		if err != nil {
			t.Errorf("%q: %v", v.Expr, err)
			continue
		}
		for i, want := range v.Results {
			got, err := e.Eval(&dsl.Env{Vars: dsl.Map(envs[i])})
			if complaint := disagrees(got, err, want.Type, want.Value, want.Error); complaint != "" {
				t.Errorf("%q in environment %d: %s", v.Expr, i, complaint)
			}
		}
	}
}

func disagrees(got any, err error, kind, value, wantErr string) string {
	var missing *dsl.Missing
	switch {
	case wantErr == "" && err != nil:
		return fmt.Sprintf("%v, want %s", err, value)
	case wantErr != "" && err == nil:
		return fmt.Sprintf("%v, want the error %q", got, wantErr)
	case err != nil && errors.As(err, &missing) && missing.Error() != wantErr:
		return fmt.Sprintf("%v, want %q", err, wantErr)
	case err == nil && (fmt.Sprintf("%T", got) != kind || fmt.Sprint(got) != value):
		return fmt.Sprintf("%v (%T), want %s (%s)", got, got, value, kind)
	}
	return ""
}

func BenchmarkVectors(b *testing.B) {
	all, envs := vectors(b)
	b.Run("compile", func(b *testing.B) {
		b.ReportAllocs()
		for b.Loop() {
			for _, v := range all {
				_, _ = dsl.Compile(v.Expr)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(all)), "ns/expression")
	})
	b.Run("eval", func(b *testing.B) {
		var compiled []*dsl.Expr
		for _, v := range all {
			if e, err := dsl.Compile(v.Expr); err == nil {
				compiled = append(compiled, e)
			}
		}
		env := &dsl.Env{Vars: dsl.Map(envs[0])}
		b.ReportAllocs()
		for b.Loop() {
			for _, e := range compiled {
				_, _ = e.Eval(env)
			}
		}
		b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N*len(compiled)), "ns/expression")
	})
}
