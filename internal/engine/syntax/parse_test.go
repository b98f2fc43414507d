package syntax_test

import (
	"encoding/json"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/errs"
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
  reference: [https://a.example/x,y, https://b.example]
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
  zeta: 1
  alpha: "{{zeta}}"
constants: {fixed: true}
http:
  - method: post
    path: "{{BaseURL}}/one"
    headers: {X-B: 1, X-A: two}
    body: b
    host-redirects: true
    max-redirects: 3
    matchers-condition: AND
    matchers:
      - type: Status
        status: 200
      - {type: word, part: header, words: single, negative: true, name: n, case-insensitive: true, condition: and}
    extractors:
      - {type: regex, regex: ['a(b)'], group: 1, name: x, internal: true, part: body}
`

func TestParse(t *testing.T) {
	got, err := syntax.Parse("dir/full.yaml", []byte(full))
	if err != nil {
		t.Fatal(err)
	}
	if len(got.Digest) != 64 || got.Path != "dir/full.yaml" || got.ID != "full-example" {
		t.Errorf("%+v", got)
	}
	info, _ := json.Marshal(got.Info)
	const want = `{"name":"Everything","author":["ann","bob"],"tags":["panel","login"],"description":"Two\nlines\n","impact":"bad","remediation":"fix",` +
		`"reference":["https://a.example/x","y","https://b.example"],"severity":"high",` +
		`"metadata":{"list":["a",1,{"deep":null}],"max-request":2,"ratio":1.5,"since":"2024-01-01","verified":true},` +
		`"classification":{"cpe":"cpe:2.3:a:x","cve-id":["cve-2024-0001"],"cvss-metrics":"CVSS:3.1/AV:N","cvss-score":9,"cwe-id":["cwe-79","cwe-80"],"epss-percentile":0.99,"epss-score":0.5}}`
	if string(info) != want {
		t.Errorf("info\n got %s\nwant %s", info, want)
	}
	if !reflect.DeepEqual(got.Variables, []syntax.Variable{{Name: "zeta", Value: "1", Data: 1, Line: 28}, {Name: "alpha", Value: "{{zeta}}", Data: "{{zeta}}", Line: 29}}) ||
		!reflect.DeepEqual(got.Constants, []syntax.Variable{{Name: "fixed", Value: "true", Data: true, Line: 30}}) {
		t.Errorf("%+v %+v", got.Variables, got.Constants)
	}
	block := got.HTTP[0]
	if block.Method != "POST" || block.Path[0] != "{{BaseURL}}/one" || block.Headers[0].Name != "X-B" || !block.HostRedirects ||
		block.MaxRedirects != 3 || block.MatchersCondition != "and" || block.Line != 32 {
		t.Errorf("%+v", block)
	}
	if m := block.Matchers; m[0].Type != "status" || m[0].Status[0] != 200 || !m[1].Negative || !m[1].CaseInsensitive || m[1].Words[0] != "single" || m[1].Condition != "and" {
		t.Errorf("%+v", m)
	}
	if x := block.Extractors[0]; x.Group != 1 || !x.Internal || x.Regex[0] != "a(b)" {
		t.Errorf("%+v", x)
	}
	if len(got.Later) != 0 {
		t.Errorf("%+v", got.Later)
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

// Each refusal names the file, the line and what is wrong, and does it soon.
func TestRefusals(t *testing.T) {
	bomb := "a: &a [x,x,x,x,x,x,x,x,x,x]\n"
	var bombSb114 strings.Builder
	for c := 'b'; c <= 'k'; c++ {
		bombSb114.WriteString(string(c) + ": &" + string(c) + " [" + strings.Repeat("*"+string(c-1)+",", 10) + "]\n")
	}
	bomb += bombSb114.String()
	for name, c := range map[string]struct{ in, want string }{
		"empty":           {"", "t.yaml:1"},
		"text":            {"hello", "t.yaml:1:1: a template must be a mapping"},
		"tab":             {"id: a\ninfo:\n\tname: x", "t.yaml:3"},
		"unclosed":        {"id: [a", "t.yaml:2:1: did not find"},
		"two documents":   {minimal + "---\nid: b\n", "t.yaml:"},
		"not UTF-8":       {"id: \xff", "not valid UTF-8"},
		"too large":       {"#" + strings.Repeat("x", syntax.MaxBytes), "larger than"},
		"no info":         {"id: a\nhttp: [{path: [x]}]", "info: a template needs an info block"},
		"no name":         {"id: a\ninfo: {author: a}\nhttp: [{path: [x]}]", "info.name: a template needs a name"},
		"no author":       {"id: a\ninfo: {name: a, author: ' , '}\nhttp: [{path: [x]}]", "info.author: a template needs an author"},
		"severity":        {"id: a\ninfo: {name: a, author: b, severity: awful}", `info.severity: "awful" is none of`},
		"bad id":          {"id: a b\ninfo: {name: a, author: b}\nhttp: [{path: [x]}]", "the id"},
		"nan score":       {"id: a\ninfo: {name: a, author: b, classification: {cvss-score: .nan}}", "cvss-score: must be a number"},
		"list for text":   {"id: [a]\n", "id: must be a text"},
		"map for list":    {minimal + "http: [{path: {a: b}}]", "http[0].path: must be a text"},
		"text for map":    {minimal + "http: [x]", "http[0]: must be a mapping"},
		"negative count":  {minimal + "http: [{path: [x], max-redirects: -1}]", "must not be negative"},
		"key of a list":   {minimal + "? [a]\n: b", "a key must be a word"},
		"merge key":       {minimal + "http: [{<<: {a: b}, path: [x]}]", "no such key"},
		"alias bomb":      {minimal[:len(minimal)-2] + ", metadata: {" + strings.ReplaceAll(strings.TrimSuffix(bomb, "\n"), "\n", ", ") + "}}\n", "more than"},
		"alias to itself": {"id: a\ninfo: {name: n, author: a, metadata: &m {x: *m}}\n", "t.yaml:2"},
		"deep":            {"id: a\ninfo: {name: n, author: a, metadata: {x: " + strings.Repeat("[", 500) + strings.Repeat("]", 500) + "}}\n", "nested too deep"},
		"very deep":       {strings.Repeat("[", 200_000), "t.yaml:"},
	} {
		start := time.Now()
		_, err := syntax.Parse("t.yaml", []byte(c.in))
		if !errs.Is(err, errs.Invalid) || errs.From(err).Code != syntax.CodeInvalid || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(start); took > 3*time.Second {
			t.Errorf("%s took %v", name, took)
		}
	}
}

// What no engine runs yet is read all the same, and said.
func TestLater(t *testing.T) {
	got, err := syntax.Parse("t.yaml", []byte(minimal+"dns:\n  - name: '{{FQDN}}'\n    type: mx\nhttp:\n  - raw: [x]\n    unsafe: true\n"))
	if err != nil || len(got.Later) != 1 || got.Later[0] != (syntax.Later{Key: "dns", Line: 3}) || got.DNS[0].Type != "MX" {
		t.Errorf("%v %+v", err, got)
	}
}

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

func TestCorpusParses(t *testing.T) {
	for path, data := range corpus(t) {
		if _, err := syntax.Parse(path, data); err != nil {
			t.Error(err)
		}
	}
}

func FuzzParse(f *testing.F) {
	for _, s := range []string{full, minimal, minimal + "http: [{path: [x], matchers: [{type: regex, regex: ['(']}]}]", "a: &a [*a]", "{{", "? a\n: b", "--- !!binary x"} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := syntax.Parse("f.yaml", data)
		if err != nil {
			if e := errs.From(err); e.Kind != errs.Invalid || e.Extra["line"] == "" {
				t.Errorf("%#v", e)
			}
			return
		}
		if _, err := json.Marshal(got.Info); err != nil {
			t.Errorf("info has no JSON form: %v", err)
		}
		if again, err := syntax.Parse("f.yaml", data); err != nil || !reflect.DeepEqual(got, again) {
			t.Error("two readings differ")
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

// BenchmarkParseCorpus reads the public templates; the metric is templates a second.
func BenchmarkParseCorpus(b *testing.B) {
	files := corpus(b)
	b.ReportAllocs()
	for b.Loop() {
		for path, data := range files {
			if _, err := syntax.Parse(path, data); err != nil {
				b.Fatal(err)
			}
		}
	}
	b.ReportMetric(float64(len(files))*float64(b.N)/b.Elapsed().Seconds(), "templates/s")
}
