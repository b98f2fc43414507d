package program_test

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func compile(t testing.TB, rest string) *program.Program {
	t.Helper()
	p, err := compileErr(rest)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func compileErr(rest string) (*program.Program, error) {
	template, err := syntax.Parse("t.yaml", []byte("id: a\ninfo: {name: n, author: a, severity: low}\n"+rest))
	if err != nil {
		return nil, err
	}
	return program.Compile(template)
}

// Keys are equal exactly for requests that are equal on the kind of target.
func TestKey(t *testing.T) {
	key := func(root bool, block string) string {
		return string(compile(t, "http: [{"+block+"}]").Bind(program.Vars{Texts: map[string]string{"v": "x"}}).AppendKey(nil,
			0, 0, root))
	}
	const base = "path: ['{{BaseURL}}/x']"
	for _, c := range []struct {
		block      string
		root, deep bool // equal to base on targets without, and with, a path
	}{
		{base + ", matchers: [{type: status, status: [200]}]", true, true},
		{base + ", method: GET", true, true},
		{base + ", host-redirects: false", true, true},
		{"path: ['{{RootURL}}/x']", true, false},
		{"path: ['{{BaseURL}}/{{v}}']", true, true},
		{base + ", method: POST", false, false},
		{base + ", headers: {A: b}", false, false},
		{base + ", body: b", false, false},
		{base + ", redirects: true", true, true}, // the first answer is shared
		{base + ", max-redirects: 2", true, true},
		{base + ", max-size: 5", false, false},
		{"path: ['{{BaseURL}}/x/']", false, false},
	} {
		if got := key(true, c.block) == key(true, base); got != c.root {
			t.Errorf("%s on a root: %v", c.block, got)
		}
		if got := key(false, c.block) == key(false, base); got != c.deep {
			t.Errorf("%s below: %v", c.block, got)
		}
	}
	if key(true, "path: ['{{BaseURL}}']") != key(true, "path: ['{{BaseURL}}/']") ||
		key(false, "path: ['{{BaseURL}}']") == key(false, "path: ['{{BaseURL}}/']") {
		t.Error("the root with and without slash is one request on a root target, and two below")
	}
}

func TestRequest(t *testing.T) {
	b := compile(t, `variables: {a: '1', b: '{{a}}{{c}}', host: '{{Hostname}}'}
constants: {k: const}
http:
  - method: PUT
    path: ['{{BaseURL}}/{{b}}/{{k}}?q={{Scheme}}', '{{BaseURL}}{{missing}}', 'nothing', '{{RootURL}}']
    headers: {X: '{{host}}'}
    body: "l1\nl2"
    redirects: true
    max-redirects: 2
`).Bind(program.Vars{Texts: map[string]string{"c": "given", "a": "2", "k": "no"}})
	target, _ := rawurl.Parse("https://h:8443/app/?t=1")
	ask := func(entry int) (program.Request, error) { return b.Request(0, entry, program.Input{Target: target}) }
	req, err := ask(0)
	if err != nil || req.EventURL(nil) != "https://h:8443/app/2given/const?t=1&q=https" || req.Method != "PUT" ||
		string(req.Body) != "l1\r\nl2" ||
		!slices.Equal(req.Headers, []web.Header{{Name: "X", Value: "h:8443"}}) ||
		b.Follow(0, 0) != (program.Follow{Mode: web.AllRedirects, Max: 2}) {
		t.Errorf("%+v %v", req, err)
	}
	for i, want := range map[int]string{1: "the variable {{missing}} has no value",
		2: `"nothing" is not an http or https URL`} {
		if _, err := ask(i); err == nil || err.Error() != want {
			t.Errorf("%d: %v", i, err)
		}
	}
	if req, _ := ask(3); req.EventURL(nil) != "https://h:8443?t=1" {
		t.Errorf("%s", req.EventURL(nil))
	}
}

// A random marker is text like any other: with it, variables have one value for all requests of a target, whatever
// letters were drawn, so that a request can ask for what the one before it stored.
func TestRandomMarkerDoesNotDependOnTheTarget(t *testing.T) {
	target, _ := rawurl.Parse("http://h/")
	for range 300 {
		b := compile(t, `variables: {file: '{{randstr}}', word: '{{rand_base(9)}}', mail: '{{randstr_1}}@{{word}}.com'}
http: [{method: POST, path: ['{{BaseURL}}/{{file}}', '{{BaseURL}}/{{word}}', '{{BaseURL}}/{{mail}}']}]`).Bind(program.Vars{})
		for entry := range 3 {
			first, err := b.Request(0, entry, program.Input{Target: target})
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := b.Request(0, entry, program.Input{Target: target}); again.EventURL(nil) != first.EventURL(nil) {
				t.Fatalf("%s, then %s", first.EventURL(nil), again.EventURL(nil))
			}
		}
	}
}

func TestBounds(t *testing.T) {
	_, err := compileErr("http: [{path: [" + strings.Repeat("x,", 10_001) + "]}]")
	if !errs.Is(err, errs.Invalid) || !strings.Contains(err.Error(), "10001 requests") {
		t.Error(err)
	}
	p := compile(t, "http: [{path: [a, b]}, {path: [c], matchers: [{type: word, part: tls_version, words: [x]}]}]")
	if p.Requests() != 3 || p.NeedsTLS() {
		t.Errorf("%d requests, needs TLS %v", p.Requests(), p.NeedsTLS())
	}
}

// Every public template compiles or is refused as not supported yet, by name and line.
func TestCorpusCompiles(t *testing.T) {
	templates := corpus(t)
	compiled := 0
	for _, template := range templates {
		_, err := program.Compile(template)
		if err == nil {
			compiled++
			continue
		}
		if e := errs.From(err); e.Code != syntax.CodeUnsupported || e.Param == "" ||
			!strings.HasPrefix(e.Message, template.Path+":") {
			t.Error(err)
		}
	}
	t.Logf("%d of %d templates compile", compiled, len(templates))
	if compiled < len(templates)/3 {
		t.Errorf("only %d of %d templates compile", compiled, len(templates))
	}
}

func corpus(t testing.TB) (all []*syntax.Template) {
	dir := os.Getenv("VEDETTE_CORPUS")
	if dir == "" {
		dir = "../../../../shared/corpus"
	}
	for _, protocol := range []string{"http", "dns", "network", "dast", "file", "headless"} {
		filepath.WalkDir(filepath.Join(dir, "templates", protocol), func(path string, d os.DirEntry, err error) error {
			if err != nil || !strings.HasSuffix(path, ".yaml") {
				return err
			}
			data, err := os.ReadFile(path)
			if err != nil {
				return err
			}
			template, err := syntax.Parse(path, data)
			if err == nil {
				all = append(all, template)
			}
			return err
		})
	}
	if len(all) == 0 {
		t.Skip("the template corpus is not here; VEDETTE_CORPUS names its folder")
	}
	return all
}

func BenchmarkCompileCorpus(b *testing.B) {
	templates := corpus(b)
	b.ReportAllocs()
	for b.Loop() {
		for _, template := range templates {
			_, _ = program.Compile(template) // refusals cost, too
		}
	}
	b.ReportMetric(float64(len(templates))*float64(b.N)/b.Elapsed().Seconds(), "templates/s")
}
