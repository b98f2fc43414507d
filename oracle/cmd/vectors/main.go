// Command vectors evaluates expressions and texts with placeholders with nuclei's evaluator, and writes
// the results in the format of the corpus's dsl_vectors.jsonl, for the tests of our evaluator: VEDETTE_CORPUS=FOLDER go
// test ./internal/engine/dsl
package main

import (
	"bufio"
	"encoding/json"
	"flag"
	"fmt"
	"io"
	"log"
	"os"
	"path/filepath"

	"github.com/projectdiscovery/govaluate"
	"github.com/projectdiscovery/nuclei/v3/pkg/operators/common/dsl"
	"github.com/projectdiscovery/nuclei/v3/pkg/protocols/common/expressions"
)

// result is the value of one expression or text in one environment.
type result struct {
	Type  string `json:"type,omitempty"`
	Value string `json:"value"`
	Error string `json:"error,omitempty"`
}

type vector struct {
	Expr         string   `json:"expr,omitempty"`
	Text         string   `json:"text,omitempty"`
	CompileError string   `json:"compile_error,omitempty"`
	Results      []result `json:"results,omitempty"`
}

func main() {
	log.SetFlags(0)
	from := flag.String("from", "testdata", "folder with expressions.jsonl, texts.jsonl and environments.json")
	to := flag.String("to", ".", "folder to write dsl_vectors.jsonl, text_vectors.jsonl and dsl_vectors_env.json to")
	flag.Parse()
	if err := run(*from, *to); err != nil {
		log.Fatal(err)
	}
}

func run(from, to string) error {
	text, err := os.ReadFile(filepath.Join(from, "environments.json"))
	if err != nil {
		return err
	}
	var environments []map[string]any
	if err := json.Unmarshal(text, &environments); err != nil {
		return err
	}
	if err := os.WriteFile(filepath.Join(to, "dsl_vectors_env.json"), text, 0o644); err != nil {
		return err
	}
	jobs := []struct {
		in, out string
		judge   func(string, []map[string]any) vector
	}{
		{"expressions.jsonl", "dsl_vectors.jsonl", evaluate},
		{"texts.jsonl", "text_vectors.jsonl", render},
	}
	for _, job := range jobs {
		if err := convert(filepath.Join(from, job.in), filepath.Join(to, job.out), environments, job.judge); err != nil {
			return fmt.Errorf("%s: %w", job.in, err)
		}
	}
	return nil
}

// convert evaluates every line of the file in, each a JSON string.
func convert(in, out string, environments []map[string]any, judge func(string, []map[string]any) vector) error {
	source, err := os.Open(in)
	if err != nil {
		return err
	}
	defer source.Close()
	target, err := os.Create(out)
	if err != nil {
		return err
	}
	defer target.Close()
	lines := json.NewDecoder(bufio.NewReader(source))
	encoder := json.NewEncoder(target)
	for {
		var line string
		if err := lines.Decode(&line); err == io.EOF {
			return target.Close()
		} else if err != nil {
			return err
		}
		if err := encoder.Encode(judge(line, environments)); err != nil {
			return err
		}
	}
}

func evaluate(source string, environments []map[string]any) (v vector) {
	v.Expr = source
	defer func() {
		if p := recover(); p != nil {
			v.Results, v.CompileError = nil, fmt.Sprint("panic: ", p)
		}
	}()
	compiled, err := govaluate.NewEvaluableExpressionWithFunctions(source, dsl.HelperFunctions)
	if err != nil {
		v.CompileError = err.Error()
		return v
	}
	for _, environment := range environments {
		v.Results = append(v.Results, resultOf(compiled.Evaluate(environment)))
	}
	return v
}

func resultOf(value any, err error) result {
	if err != nil {
		return result{Error: err.Error()}
	}
	return result{Type: fmt.Sprintf("%T", value), Value: fmt.Sprintf("%v", value)}
}

func render(text string, environments []map[string]any) vector {
	v := vector{Text: text}
	for _, environment := range environments {
		value, err := expressions.Evaluate(text, environment)
		r := result{Type: "string", Value: value}
		if err != nil {
			r.Error = err.Error()
		}
		v.Results = append(v.Results, r)
	}
	return v
}
