package templates_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"testing/fstest"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"github.com/vedette-sec/vedette/internal/engine/templates"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// tree writes files below a new folder and gives the folder.
func tree(t testing.TB, files map[string]string) string {
	t.Helper()
	root := t.TempDir()
	for name, text := range files {
		at := filepath.Join(root, name)
		if err := os.MkdirAll(filepath.Dir(at), 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return root
}

// template is a template of an id; info and rest are more of it.
func template(id, info, rest string) string {
	if rest == "" {
		rest = "http: [{path: ['{{BaseURL}}']}]\n"
	}
	if !strings.Contains(info, "author:") {
		info = "  author: a\n" + info
	}
	return "id: " + id + "\ninfo:\n  name: n\n" + info + rest
}

func loaded(t testing.TB, o templates.Options) *templates.Result {
	t.Helper()
	got, err := templates.Load(context.Background(), o)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

func ids(templates []*syntax.Template) string {
	var all []string
	for _, t := range templates {
		all = append(all, t.ID)
	}
	return strings.Join(all, " ")
}

// Templates come in the order of their paths, each id once; what is no template by its
// name is passed over, what is none by its text is refused.
func TestLoad(t *testing.T) {
	root := tree(t, map[string]string{
		"b.yaml":                template("b", "", ""),
		"a/z.yaml":              template("z", "", ""),
		"a/twice.yml":           template("b", "", ""),
		"c.json":                `{"id":"c","info":{"name":"n","author":"a"},"http":[{"path":["x"]}]}`,
		"broken.yaml":           "id: [",
		"bad/unknown.yaml":      template("unknown", "", "http: [{path: [x], zzz: 1}]\n"),
		"helpers/no.yaml":       "x",
		"profiles/no.yml":       "x",
		".git/no.yaml":          "x",
		"a/.GitHub/no.yaml":     "x",
		"cves.json":             "x",
		"TEMPLATES-STATS.json":  "x",
		"contributors.json":     "x",
		".pre-commit.yaml":      "x",
		"README.md":             "x",
		"a/payload.yaml.backup": "x",
	})
	got := loaded(t, templates.Options{Paths: []string{root}})
	if ids(got.Templates) != "b z c" || got.Templates[0].Path != filepath.Join(root, "a/twice.yml") ||
		!reflect.DeepEqual(got.Skipped, []templates.Skip{{Path: filepath.Join(root, "b.yaml"),
			Reason: templates.SkippedDuplicate}}) {
		t.Errorf("%s %v", ids(got.Templates), got.Skipped)
	}
	if len(got.Refused) != 2 || got.Refused[0].Path != filepath.Join(root, "bad/unknown.yaml") ||
		!strings.Contains(got.Refused[0].Err.Error(), "unknown.yaml:5:20: http[0].zzz") {
		t.Errorf("%v", got.Refused)
	}
	lenient := loaded(t, templates.Options{Paths: []string{root}, Lenient: true})
	if ids(lenient.Templates) != "b z unknown c" {
		t.Error(ids(lenient.Templates))
	}
}

func TestPaths(t *testing.T) {
	root := tree(t, map[string]string{
		"x/a.yaml": template("a", "", ""), "x/b.yaml": template("b", "", ""), "y/c.yaml": template("c", "", ""),
		"list.txt": "# some\ny/c.yaml\n\nx/a*.yaml\n",
	})
	for want, paths := range map[string][]string{
		"a b c": {"x", "y", "x/a.yaml"},
		"a":     {filepath.Join(root, "x/a.yaml")},
		"b c":   {filepath.Join(root, "?/[bc].yaml")},
		"a c":   {"list.txt"},
	} {
		if got := loaded(t, templates.Options{Paths: paths, Roots: []string{root}}); ids(got.Templates) != want {
			t.Errorf("%v: %s", paths, ids(got.Templates))
		}
	}
	for _, path := range []string{"z", "x/z*.yaml", "x/[", ""} {
		_, err := templates.Load(context.Background(), templates.Options{Paths: []string{path}, Roots: []string{root}})
		if !errs.Is(err, errs.Invalid) {
			t.Errorf("%q: %v", path, err)
		}
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := templates.Load(ctx, templates.Options{Paths: []string{root}}); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

func TestFilters(t *testing.T) {
	root := tree(t, map[string]string{
		"http/a.yaml": template("CVE-2024-1",
			"  severity: high\n  tags: cve,panel\n  metadata: {max-request: 3, vendor: acme}\n  classification: {cvss-score: 9.8, cve-id: CVE-2024-1}\n", ""),
		"http/b.yaml": template("b-panel", "  severity: info\n  author: Bob\n  tags: [panel]\n",
			"http: [{raw: [\"@timeout: 5s\\nPOST / HTTP/1.1\"], body: XYZ, matchers: [{type: word, words: [a]}]}]\n"),
		"dns/c.yaml": template("c", "  tags: dos\n", "dns: [{name: x, extractors: [{type: regex, regex: [a]}]}]\n"),
		"net/d.yaml": template("d", "  severity: critical\n", "network: [{host: x}]\n"),
		"e.yaml":     template("e", "  tags: other\n", ""),

		".nuclei-ignore": "tags:\n  - dos\nfiles:\n  - e.yaml\n",
	})
	all := "c CVE-2024-1 b-panel d"
	for name, c := range map[string]struct {
		filter templates.Filter
		want   string
	}{
		"ignored":      {templates.Filter{}, "CVE-2024-1 b-panel d"},
		"tags":         {templates.Filter{Tags: []string{"Panel, other"}}, "CVE-2024-1 b-panel"},
		"exclude tags": {templates.Filter{ExcludeTags: []string{"cve"}}, "b-panel d"},
		"include tags": {templates.Filter{IncludeTags: []string{"dos"}, Severity: []string{"high"}}, "c CVE-2024-1"},
		"include path": {templates.Filter{IncludeTemplates: []string{"e.yaml"}, ExcludeType: []string{"http"}},
			"e d"},
		"include folder": {templates.Filter{IncludeTemplates: []string{"dns"}}, all},
		"exclude folder": {templates.Filter{ExcludeTemplates: []string{"http/"}}, "d"},
		"exclude glob": {templates.Filter{ExcludeTemplates: []string{filepath.Join(root, "http/[a].yaml")}},
			"b-panel d"},
		"authors":          {templates.Filter{Authors: []string{"BOB"}}, "b-panel"},
		"severity":         {templates.Filter{Severity: []string{"high", "critical"}}, "CVE-2024-1 d"},
		"no severity":      {templates.Filter{Severity: []string{"unknown"}, IncludeTags: []string{"dos"}}, "c"},
		"exclude severity": {templates.Filter{ExcludeSeverity: []string{"info"}}, "CVE-2024-1 d"},
		"type":             {templates.Filter{Type: []string{"network"}}, "d"},
		"id":               {templates.Filter{ID: []string{"cve-*", "?"}}, "CVE-2024-1 d"},
		"exclude id":       {templates.Filter{ExcludeID: []string{"cve-202[0-4]-*"}}, "b-panel d"},
		"two lists":        {templates.Filter{Tags: []string{"panel"}, Severity: []string{"info"}}, "b-panel"},
		"condition": {templates.Filter{Conditions: []string{"severity == 'high' && max_request > 2"}},
			"CVE-2024-1"},
		"score": {templates.Filter{Conditions: []string{"cvss_score >= 9", "contains(cve_id, 'cve-2024')"}},
			"CVE-2024-1"},
		"condition and forced": {templates.Filter{Conditions: []string{"protocol == 'dns'"},
			IncludeTags: []string{"dos", "cve"}}, "c"},
		"method":  {templates.Filter{Conditions: []string{"contains(http_method, 'POST') && contains(body, 'xyz') && contains(matcher_type, 'word')"}}, "b-panel"},
		"no bool": {templates.Filter{Conditions: []string{"1 + 1"}}, ""},
		"tags by condition": {templates.Filter{Conditions: []string{"contains(tags, 'panel') && vendor == 'acme'"}},
			"CVE-2024-1"},
	} {
		got := loaded(t, templates.Options{Paths: []string{root}, Filter: c.filter})
		if ids(got.Templates) != c.want || len(got.Templates)+counts(got)[templates.SkippedByFilter]+counts(got)[templates.SkippedIgnored] != 5 {
			t.Errorf("%s: %s %v %v", name, ids(got.Templates), got.Skipped, got.Refused)
		}
	}
	// A template that a filter leaves out, too, is not said to be ignored.
	for tags, want := range map[string]int{"": 2, "dos": 1, "panel": 0} {
		got := loaded(t, templates.Options{Paths: []string{root}, Filter: templates.Filter{Tags: []string{tags}}})
		if n := counts(got)[templates.SkippedIgnored]; n != want {
			t.Errorf("tags %q: %d ignored, want %d", tags, n, want)
		}
	}
	if got := loaded(t, templates.Options{Paths: []string{root},
		IncludeIgnored: true}); ids(got.Templates) != "c e CVE-2024-1 b-panel d" {
		t.Error(ids(got.Templates))
	}
	for _, f := range []templates.Filter{{Severity: []string{"bad"}}, {ExcludeType: []string{"ftp"}}, {ID: []string{"["}},
		{Conditions: []string{"a +"}}} {
		if _, err := templates.Load(context.Background(), templates.Options{Paths: []string{root}, Filter: f}); !errs.Is(err,
			errs.Invalid) {
			t.Errorf("%+v: %v", f, err)
		}
	}
}

func TestGates(t *testing.T) {
	root := tree(t, map[string]string{
		"code.yaml": template("code", "", "self-contained: true\ncode: [{engine: [sh], source: 'id'}]\n"),
		"dast.yaml": template("dast", "", "http: [{fuzzing: [{part: query, fuzz: [a]}]}]\n"),
		"file.yaml": template("file", "", "file: [{extensions: [all]}]\n"),
		"global.yaml": template("global", "",
			"http: [{global-matchers: true, path: [x], matchers: [{type: status, status: [200]}]}]\n"),
		"silent.yaml": template("silent", "",
			"http: [{global-matchers: true, matchers: [{type: status, status: [200]}]}]\n"),
		"headless.yaml": template("headless", "", "headless: [{steps: [{action: debug}]}]\n"),
		"plain.yaml":    template("plain", "", ""),
		"self.yaml":     template("self", "", "http: [{self-contained: true, path: ['http://127.0.0.1/']}]\n"),
		"signing.yaml":  template("signing", "", "signature: AWS\nhttp: [{path: [x]}]\n"),
		"walk.yaml":     template("walk", "", "headless: [{steps: [], fuzzing: [{part: query, fuzz: [a]}]}]\n"),
	})
	skips := func(reasons ...templates.Reason) map[templates.Reason]int {
		m := map[templates.Reason]int{}
		for _, r := range reasons {
			m[r]++
		}
		return m
	}
	for name, c := range map[string]struct {
		allow templates.Allow
		want  string
		skips map[templates.Reason]int
	}{
		"none": {templates.Allow{}, "global plain",
			skips(templates.SkippedGlobal, templates.SkippedCode, templates.SkippedFuzzing, templates.SkippedFuzzing,
				templates.SkippedFile, templates.SkippedHeadless, templates.SkippedSelfContained, templates.SkippedUnsigned)},
		"most": {templates.Allow{Headless: true, Code: true, File: true, GlobalMatchers: true},
			"file global headless plain self silent",
			skips(templates.SkippedUnsigned, templates.SkippedFuzzing, templates.SkippedFuzzing, templates.SkippedUnsigned)},
		"self-contained": {templates.Allow{SelfContained: true}, "global plain self",
			skips(templates.SkippedGlobal, templates.SkippedCode, templates.SkippedFuzzing, templates.SkippedFuzzing,
				templates.SkippedFile, templates.SkippedHeadless, templates.SkippedUnsigned)},
		"dast": {templates.Allow{DAST: true, GlobalMatchers: true}, "dast global silent",
			skips(templates.SkippedHeadless, templates.SkippedNotFuzzing, templates.SkippedNotFuzzing,
				templates.SkippedNotFuzzing, templates.SkippedNotFuzzing, templates.SkippedNotFuzzing,
				templates.SkippedNotFuzzing)},
		"verified": {templates.Allow{VerifiedOnly: true}, "",
			skips(templates.SkippedGlobal, templates.SkippedUnsigned, templates.SkippedUnsigned, templates.SkippedUnsigned,
				templates.SkippedCode, templates.SkippedFuzzing, templates.SkippedFuzzing, templates.SkippedFile,
				templates.SkippedHeadless, templates.SkippedSelfContained)},
	} {
		got := loaded(t, templates.Options{Paths: []string{root}, Allow: c.allow})
		if ids(got.Templates) != c.want || !reflect.DeepEqual(counts(got), c.skips) {
			t.Errorf("%s: %s %v %v", name, ids(got.Templates), got.Skipped, got.Refused)
		}
		for _, one := range got.Templates {
			if one.ID == "global" && one.HTTP[0].GlobalMatchers != c.allow.GlobalMatchers {
				t.Errorf("%s: a global matcher is plain: %v", name, !one.HTTP[0].GlobalMatchers)
			}
		}
	}
}

// Payloads, flows and scripts come from files; what a template may not read it does not
// get, however the file is named.
func TestHelperFiles(t *testing.T) {
	root := tree(t, map[string]string{
		"templates/http/deep/t.yaml": template("t", "",
			"http: [{body: '{{a}}{{b}}{{c}}', attack: pitchfork, path: [x], payloads: {a: helpers/list.txt, b: own.txt, c: ../near.txt}}]\n"),
		"templates/http/deep/own.txt": "one\r\n\ntwo\n",
		"templates/http/near.txt":     "near",
		"templates/helpers/list.txt":  "a\nb\n",
		"templates/flow.yaml": template("flow", "",
			"flow: helpers/flow.js\nhttp: [{path: [x]}]\njavascript: [{code: helpers/flow.js}, {code: none.js}]\n"),
		"templates/helpers/flow.js": "http(1);\nhttp(2)",
		"secret.txt":                "secret",
	})
	top := filepath.Join(root, "templates")
	if err := os.Symlink(filepath.Join(root, "secret.txt"), filepath.Join(top, "link.txt")); err != nil {
		t.Fatal(err)
	}
	for name, o := range map[string]templates.Options{
		"below a root":   {Paths: []string{top}},
		"without a root": {Paths: []string{filepath.Join(top, "http/deep/t.yaml"), filepath.Join(top, "flow.yaml")}},
		"above a root":   {Paths: []string{filepath.Join(top, "flow.yaml"), filepath.Join(top, "http/deep")}},
	} {
		got := loaded(t, o)
		if len(got.Refused) > 0 && name == "below a root" || len(got.Refused) > 0 && name == "above a root" &&
			!strings.Contains(got.Refused[0].Err.Error(), "../near.txt") {
			t.Fatalf("%s: %v", name, got.Refused)
		}
		flow, lists := got.Templates[0], got.Templates[len(got.Templates)-1]
		if name == "below a root" && !reflect.DeepEqual(lists.HTTP[0].Payloads[1].Values, []string{"one", "two"}) {
			t.Errorf("%s: %+v", name, lists.HTTP[0].Payloads)
		}
		if flow.Flow != "http(1);\nhttp(2)" || flow.JavaScript[0].Code != flow.Flow || flow.JavaScript[1].Code != "none.js" {
			t.Errorf("%s: %q %+v", name, flow.Flow, flow.JavaScript)
		}
	}
	secret := filepath.Join(root, "secret.txt")
	for _, path := range []string{secret, "../secret.txt", "../../secret.txt", "link.txt", "none.txt", "/etc/hostname",
		"etc/hostname", "http", "helpers/../../secret.txt", strings.Repeat("../", 20) + "etc/hostname"} {
		text := template("bad", "", fmt.Sprintf("http: [{path: ['{{a}}'], payloads: {a: %s}}]\n", path))
		at := filepath.Join(top, "bad.yaml")
		if err := os.WriteFile(at, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		got := loaded(t, templates.Options{Paths: []string{at}, Roots: []string{top}})
		if len(got.Refused) != 1 || !strings.Contains(got.Refused[0].Err.Error(),
			"bad.yaml:5: payloads.a: there is no file") {
			t.Errorf("%s: %v", path, got.Refused)
		}
		if path == secret {
			got = loaded(t, templates.Options{Paths: []string{at}, Roots: []string{top}, LocalFiles: true})
			if len(got.Templates) != 1 || !slices.Equal(got.Templates[0].HTTP[0].Payloads[0].Values, []string{"secret"}) {
				t.Errorf("%s: %v", path, got.Refused)
			}
		}
	}
	if err := os.WriteFile(filepath.Join(top, "bad.yaml"),
		[]byte(template("bad", "", "flow: none.js\nhttp: [{path: [x]}]\n")), 0o644); err != nil {
		t.Fatal(err)
	}
	if got := loaded(t, templates.Options{Paths: []string{filepath.Join(top, "bad.yaml")}}); len(got.Refused) != 1 ||
		!strings.Contains(got.Refused[0].Err.Error(), "flow: there is no file none.js") {
		t.Error(got.Refused)
	}
}

func TestAggression(t *testing.T) {
	root := tree(t, map[string]string{"a.yaml": template("a", "",
		"http: [{path: ['{{a}}'], payloads: {a: {low: [x], high: [y]}}}]\n")})
	for level, want := range map[string]string{"": "x", "low": "x", "medium": "x", "high": "x y"} {
		got := loaded(t, templates.Options{Paths: []string{root}, Aggression: level})
		if values := strings.Join(got.Templates[0].HTTP[0].Payloads[0].Values, " "); values != want {
			t.Errorf("%s: %s", level, values)
		}
	}
	if _, err := templates.Load(context.Background(),
		templates.Options{Paths: []string{root}, Aggression: "fierce"}); !errs.Is(err, errs.Invalid) {
		t.Error(err)
	}
}

func TestWorkflows(t *testing.T) {
	root := tree(t, map[string]string{
		"workflows/w.yaml": template("w", "",
			"workflows:\n  - template: http/a.yaml\n    subtemplates: [{tags: x}]\n  - template: http/\n    matchers: [{name: m, subtemplates: [{template: ./near.yaml}]}]\n"),
		"workflows/near.yaml": template("near", "", ""),
		"workflows/lost.yaml": template("lost", "", "workflows: [{template: none.yaml}]\n"),
		"http/a.yaml":         template("a", "", ""), "http/b.yaml": template("b", "  tags: x\n", ""),
		"http/c.yaml": template("c", "  tags: x\n", "file: [{extensions: [all]}]\n"),
	})
	got := loaded(t, templates.Options{Paths: []string{filepath.Join(root, "workflows")}, Roots: []string{root},
		Filter: templates.Filter{Type: []string{"workflow"}}})
	if ids(got.Templates) != "w" || len(got.Refused) != 1 ||
		!strings.Contains(got.Refused[0].Err.Error(), "lost.yaml:5: workflows.template: there is no template none.yaml") {
		t.Fatalf("%s %v", ids(got.Templates), got.Refused)
	}
	w := got.Templates[0]
	for step, want := range map[*syntax.Step]string{
		&w.Workflows[0]:                             "a",
		&w.Workflows[0].Subtemplates[0]:             "b",
		&w.Workflows[1]:                             "a b",
		&w.Workflows[1].Matchers[0].Subtemplates[0]: "near",
	} {
		if found := ids(got.Step(w, *step)); found != want {
			t.Errorf("%+v: %s", step, found)
		}
	}
}

// The whole corpus is loaded: what is left out is left out by a gate, or refused with
// file, line and key. What comes from the index is what was read from the text.
func TestCorpus(t *testing.T) {
	o := templates.Options{
		Paths: []string{corpus(t)}, Index: filepath.Join(t.TempDir(), "made", "index"), IncludeIgnored: true,
		Allow: templates.Allow{Headless: true, Code: true, File: true, GlobalMatchers: true},
	}
	got := loaded(t, o)
	t.Logf("%d templates, %d refused, skipped: %v", len(got.Templates), len(got.Refused), counts(got))
	for _, r := range got.Refused {
		e := errs.From(r.Err)
		if e.Kind != errs.Invalid || !strings.HasPrefix(e.Message, r.Path+":") || e.Param == "" {
			t.Error(r.Err)
		}
		t.Log(r.Err)
	}
	if sum := len(got.Templates) + len(got.Refused) + len(got.Skipped); sum < 3500 || len(got.Refused) > 5 {
		t.Errorf("%d templates, %d refused", sum, len(got.Refused))
	}
	again := loaded(t, o)
	if got.Indexed != 0 || got.IndexErr != nil || again.Indexed < len(again.Templates) {
		t.Errorf("%d and %d came from the index: %v", got.Indexed, again.Indexed, got.IndexErr)
	}
	o.Index = ""
	plain := loaded(t, o)
	same(t, plain, again)
	sameWhenSealed(t, plain, again)
}

// corpus is the folder of the public templates; the test is skipped where it is not.
func corpus(t testing.TB) string {
	dir := os.Getenv("VEDETTE_CORPUS")
	if dir == "" {
		dir = "../../../../shared/corpus"
	}
	dir = filepath.Join(dir, "templates")
	if _, err := os.Stat(dir); err != nil {
		t.Skip("the template corpus is not here; VEDETTE_CORPUS names its folder")
	}
	return dir
}

// TestFileSystem loads templates that are not on the disk, beside those that are; the
// filters are for both.
func TestFileSystem(t *testing.T) {
	template := func(id string) string {
		return "id: " + id + "\ninfo: {name: x, author: a, severity: low, tags: " + id +
			"}\nhttp:\n  - path: [\"{{BaseURL}}\"]\n"
	}
	root := tree(t, map[string]string{"one.yaml": template("one")})
	fsys := fstest.MapFS{
		"b/two.yaml": {Data: []byte(template("two"))}, "b/note.md": {Data: []byte("no template")},
		"a.yaml": {Data: []byte(template("three"))}, "c.yaml": {Data: []byte("id: wrong")},
	}
	got := loaded(t, templates.Options{Paths: []string{root}, FS: fsys,
		Filter: templates.Filter{ExcludeTags: []string{"two"}}})
	var ids []string
	for _, one := range got.Templates {
		ids = append(ids, one.ID)
	}
	if !slices.Equal(ids, []string{"one", "three"}) || len(got.Skipped) != 1 || len(got.Refused) != 1 ||
		got.Refused[0].Path != "c.yaml" {
		t.Errorf("%q, skipped %v, refused %v", ids, got.Skipped, got.Refused)
	}
}

// counts are the skipped templates by reason.
func counts(r *templates.Result) map[templates.Reason]int {
	all := map[templates.Reason]int{}
	for _, s := range r.Skipped {
		all[s.Reason]++
	}
	return all
}
