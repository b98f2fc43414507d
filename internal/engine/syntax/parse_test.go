package syntax_test

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const full = `id: full-example
info:
  name: Everything
  author: Ann, BOB ,
  severity: High
  description: |
    Two
    lines
  impact: bad
  remediation: fix
  reference: https://a.example/x, https://b.example
  tags: [ Panel, "login" ]
  classification:
    cve-id: CVE-2024-0001
    cwe-id: [CWE-79, cwe-80]
    cvss-metrics: CVSS:3.1/AV:N
    cvss-score: 9
    epss-score: 0.5
    epss-percentile: 0.99
    cpe: cpe:2.3:a:x
  metadata:
    max-request: 2
    verified: true
    ratio: 1.5
    since: 2024-01-01
    list: [a, 1, {deep: ~}]
variables:
  zeta: 010
  alpha: "{{zeta}}"
  list: [a, {b: 1}]
  none: ~
  ratio: 1.50
constants: {fixed: true}
http:
  - method: post
    path: "{{BaseURL}}/one"
    headers: {X-B: 010, X-A: two}
    body: b
    host-redirects: yes
    max-redirects: 3
    matchers-condition: AND
    matchers:
      - type: Status
        status: 200
      - {type: word, part: header, words: single, negative: true, name: n, case-insensitive: true, condition: and}
    extractors:
      - {type: regex, regex: ['a(b)'], group: 1, name: x, internal: true, part: body}
`

func parse(t *testing.T, text string) *syntax.Template {
	t.Helper()
	got, err := syntax.Parse("t.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func TestParse(t *testing.T) {
	got := parse(t, full)
	if len(got.Digest) != 64 || got.Path != "t.yaml" || got.ID != "full-example" || got.Type() != "http" {
		t.Errorf("%+v", got)
	}
	info, _ := json.Marshal(got.Info)
	const want = `{"name":"Everything","author":["ann","bob"],"tags":["panel","login"],"description":"Two\nlines\n","impact":"bad","remediation":"fix",` +
		`"reference":["https://a.example/x"," https://b.example"],"severity":"high",` +
		`"metadata":{"list":["a",1,{"deep":null}],"max-request":2,"ratio":1.5,"since":"2024-01-01","verified":true},` +
		`"classification":{"cpe":"cpe:2.3:a:x","cve-id":["cve-2024-0001"],"cvss-metrics":"CVSS:3.1/AV:N","cvss-score":9,"cwe-id":["cwe-79","cwe-80"],"epss-percentile":0.99,"epss-score":0.5}}`
	if string(info) != want {
		t.Errorf("info\n got %s\nwant %s", info, want)
	}
	if want := []syntax.Variable{
		{Name: "zeta", Value: "8", Data: 8, Line: 28},
		{Name: "alpha", Value: "{{zeta}}", Data: "{{zeta}}", Line: 29},
		{Name: "list", Data: []any{"a", map[string]any{"b": 1}}, Line: 30},
		{Name: "none", Line: 31},
		{Name: "ratio", Value: "1.5", Data: 1.5, Line: 32},
	}; !reflect.DeepEqual(got.Variables, want) {
		t.Errorf("%+v", got.Variables)
	}
	if want := []syntax.Variable{{Name: "fixed", Value: "true", Data: true, Line: 33}}; !reflect.DeepEqual(got.Constants,
		want) {
		t.Errorf("%+v", got.Constants)
	}
	want2 := []syntax.HTTP{{
		Line: 35, Method: "POST", Path: []string{"{{BaseURL}}/one"}, Body: "b", HostRedirects: true, MaxRedirects: 3,
		Headers: []syntax.Pair{{Name: "X-B", Value: "010", Line: 37}, {Name: "X-A", Value: "two", Line: 37}},
		Operators: syntax.Operators{
			MatchersCondition: "and",
			Matchers: []syntax.Matcher{
				{Line: 43, Type: "status", Status: []int{200}},
				{Line: 45, Type: "word", Part: "header", Words: []string{"single"}, Negative: true, Name: "n",
					CaseInsensitive: true, Condition: "and"},
			},
			Extractors: []syntax.Extractor{{Line: 47, Type: "regex", Regex: []string{"a(b)"}, Group: 1, Name: "x",
				Internal: true, Part: "body"}},
		},
	}}
	if !reflect.DeepEqual(got.HTTP, want2) {
		t.Errorf("\n got %+v\nwant %+v", got.HTTP, want2)
	}
	if got.Signature.Present {
		t.Errorf("%+v", got.Signature)
	}
}

// Every key of the language is read: the two templates that use all keys leave no field
// of any struct without a value.
func TestEveryKey(t *testing.T) {
	filled, missing := map[string]bool{}, map[string]bool{}
	for _, name := range []string{"testdata/every-key.yaml", "testdata/workflow.yaml"} {
		data, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		got, err := syntax.Parse(name, data)
		if err != nil {
			t.Fatal(err)
		}
		walk(reflect.ValueOf(*got), filled, missing)
	}
	for key := range missing {
		if !filled[key] {
			t.Errorf("%s has no value", key)
		}
	}
	if len(filled) < 150 {
		t.Errorf("only %d keys were looked at", len(filled))
	}
}

func walk(v reflect.Value, filled, missing map[string]bool) {
	switch v.Kind() {
	case reflect.Pointer:
		if !v.IsNil() {
			walk(v.Elem(), filled, missing)
		}
	case reflect.Slice:
		for i := range v.Len() {
			walk(v.Index(i), filled, missing)
		}
	case reflect.Struct:
		for i := range v.NumField() {
			f := v.Type().Field(i)
			if key := f.Tag.Get("key"); key != "" && v.Field(i).IsZero() {
				missing[v.Type().Name()+"."+key] = true
			} else if key != "" {
				filled[v.Type().Name()+"."+key] = true
			}
			walk(v.Field(i), filled, missing)
		}
	}
}

func TestPayloads(t *testing.T) {
	data, err := os.ReadFile("testdata/every-key.yaml")
	if err != nil {
		t.Fatal(err)
	}
	want := []syntax.Payload{
		{Name: "list", Line: 29, Values: []string{"a", "1", "1.5", "true", ""}},
		{Name: "lines", Line: 29, Values: []string{"a", "b", ""}},
		{Name: "file", Line: 29, File: "helpers/a.txt"},
		{Name: "levels", Line: 29, Values: []string{"a"},
			Levels: &syntax.Levels{Low: []string{"a"}, Medium: []string{"b"}, High: []string{"c"}}},
	}
	got := parse(t, string(data)).HTTP[0].Payloads
	if !reflect.DeepEqual(got, want) {
		t.Errorf("%+v", got)
	}
	for level, want := range map[string]string{"": "a", "low": "a", "medium": "a b", "high": "a b c"} {
		if got := strings.Join(got[3].Levels.UpTo(level), " "); got != want {
			t.Errorf("%s: %s", level, got)
		}
	}
}

// Protocols run in written order, under the names of today; blocks get ids when they are
// several of a kind; what the template says counts for its blocks.
func TestProtocols(t *testing.T) {
	got := parse(t, minimal+"self-contained: true\nsignature: AWS\ntcp: [{host: a}]\ndns: [{name: a}, {id: own}]\nhttp: [{path: a}, {path: b}]\ncode: [{source: a}]\n")
	if !reflect.DeepEqual(got.Protocols, []string{"tcp", "dns", "http", "code"}) || got.Type() != "dns" {
		t.Errorf("%v %s", got.Protocols, got.Type())
	}
	if ids := []string{got.TCP[0].ID, got.DNS[0].ID, got.DNS[1].ID, got.HTTP[0].ID,
		got.HTTP[1].ID}; !reflect.DeepEqual(ids, []string{"", "dns_1", "own", "http_1", "http_2"}) {
		t.Error(ids)
	}
	if !got.HTTP[1].SelfContained || got.HTTP[0].Signature != "AWS" {
		t.Errorf("%+v", got)
	}
	got = parse(t, minimal+"headless: [{steps: [{action: waitload}]}]\n")
	if got.Type() != "headless" || len(got.Headless) != 1 {
		t.Errorf("%+v", got)
	}
	flow := parse(t, minimal+"workflows: [{template: a}]\n")
	if flow.Type() != "workflow" {
		t.Errorf("%+v", flow)
	}
}

func TestSeverityRank(t *testing.T) {
	for i, s := range []syntax.Severity{"unknown", "info", "low", "medium", "high", "critical"} {
		if s.Rank() != i {
			t.Errorf("%s has rank %d", s, s.Rank())
		}
	}
	if syntax.Severity("odd").Rank() != 0 {
		t.Error("an odd severity has a rank")
	}
}

const minimal = "id: a\ninfo: {name: n, author: a, severity: low}\n"

// corpus gives the public templates, or skips the test where they are not.
func corpus(t testing.TB) map[string][]byte {
	dir := os.Getenv("VEDETTE_CORPUS")
	if dir == "" {
		dir = "../../../../shared/corpus"
	}
	files := map[string][]byte{}
	for _, protocol := range []string{"http", "dns", "network", "dast", "file", "headless", "ssl", "workflows"} {
		filepath.WalkDir(filepath.Join(dir, "templates", protocol), func(path string, d os.DirEntry, err error) error {
			if err == nil && strings.HasSuffix(path, ".yaml") {
				files[path], err = os.ReadFile(path)
			}
			return err
		})
	}
	if len(files) == 0 {
		t.Skip("the template corpus is not here; VEDETTE_CORPUS names its folder")
	}
	return files
}

// Every public template is read, strictly; what is refused is refused by file, line and
// key, and there is nothing of the kind among them.
func TestCorpusParses(t *testing.T) {
	files, read, kinds := corpus(t), 0, map[string]int{}
	for path, data := range files {
		got, err := syntax.Parse(path, data)
		if err != nil {
			t.Error(err)
			continue
		}
		read++
		kinds[got.Type()]++
		if got.Type() != "workflow" && !got.Signature.Present {
			t.Errorf("%s: no digest line", path)
		}
	}
	t.Logf("%d of %d templates read: %v", read, len(files), kinds)
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{full, minimal, minimal + "http: [{path: [x], matchers: [{type: regex, regex: ['(']}]}]",
		"a: &a [*a]", "{{", "? a\n: b", "--- !!binary x", `{"id": "a"}`, minimal + "<<: *a", "# !include:a\n{{randstr}}"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		for _, path := range []string{"f.yaml", "f.json"} {
			for _, lenient := range []bool{false, true} {
				read := syntax.Options{
					Lenient: lenient, NewRandom: func() string { return "random" },
					Include: func(string) ([]byte, error) { return nil, errors.New("no files") },
				}
				got, err := read.Parse(path, data)
				if err != nil {
					if e := errs.From(err); e.Kind != errs.Invalid || e.Extra["line"] == "" {
						t.Errorf("%#v", e)
					}
					continue
				}
				if _, err := json.Marshal(got.Info); err != nil {
					t.Errorf("info has no JSON form: %v", err)
				}
				if again, err := read.Parse(path, data); err != nil || !reflect.DeepEqual(got, again) {
					t.Error("two readings differ")
				}
			}
		}
	})
}

func BenchmarkParse(b *testing.B) {
	b.ReportAllocs()
	b.SetBytes(int64(len(full)))
	for b.Loop() {
		if _, err := syntax.Parse("full.yaml", []byte(full)); err != nil {
			b.Fatal(err)
		}
	}
}

// BenchmarkParseCorpus reads the public templates on all processors; the metric is
// templates a second. One core of a busy machine reads 8,000, with 142 MB and 1,890,000
// allocations for 3,557 templates; three quarters of it are the YAML library's.
func BenchmarkParseCorpus(b *testing.B) {
	var files [][]byte
	for _, data := range corpus(b) {
		files = append(files, data)
	}
	b.ReportAllocs()
	for b.Loop() {
		var next atomic.Int64
		var wait sync.WaitGroup
		for range runtime.GOMAXPROCS(0) {
			wait.Go(func() {
				for i := next.Add(1) - 1; i < int64(len(files)); i = next.Add(1) - 1 {
					if _, err := syntax.Parse("t.yaml", files[i]); err != nil {
						b.Error(err)
					}
				}
			})
		}
		wait.Wait()
	}
	b.ReportMetric(float64(len(files))*float64(b.N)/b.Elapsed().Seconds(), "templates/s")
}

// ends fails when something goes on for a minute: a hang, not a busy machine.
func ends(t *testing.T, what string, do func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		do()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatalf("%s does not end", what)
	}
}
