package vedette_test

import (
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

// longestPage is the limit of a page of docs/, in lines. Tables that tests write, and ADRs, are as long as they get.
const longestPage = 250

var (
	fencedBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```$")
	codeSpan    = regexp.MustCompile("`[^`\n]*`")
	markdownRef = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading     = regexp.MustCompile(`(?m)^#{1,6} (.+)$`)
)

// pages are the Markdown pages of the repository, by path.
func pages(t *testing.T) map[string]string {
	t.Helper()
	found := map[string]string{}
	for _, pattern := range []string{"*.md", "docs/*.md", "docs/*/*.md", "api/stories/*.md", "oracle/*.md"} {
		names, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range names {
			text, err := os.ReadFile(name)
			if err != nil {
				t.Fatal(err)
			}
			found[name] = string(text)
		}
	}
	if len(found) < 30 {
		t.Fatalf("only %d pages were found", len(found))
	}
	return found
}

// anchors are the fragments that a page offers: its headings as GitHub and GitLab spell them.
func anchors(text string) []string {
	var all []string
	for _, m := range heading.FindAllStringSubmatch(fencedBlock.ReplaceAllString(text, ""), -1) {
		var b strings.Builder
		for _, r := range strings.ToLower(m[1]) {
			switch {
			case r == ' ':
				b.WriteByte('-')
			case unicode.IsLetter(r), unicode.IsDigit(r), r == '-', r == '_':
				b.WriteRune(r)
			}
		}
		all = append(all, b.String())
	}
	return all
}

// TestLinks: each relative link of a page leads to a file, and its fragment to a heading there.
func TestLinks(t *testing.T) {
	all := pages(t)
	for _, name := range slices.Sorted(maps.Keys(all)) {
		prose := codeSpan.ReplaceAllString(fencedBlock.ReplaceAllString(all[name], ""), "")
		for _, m := range markdownRef.FindAllStringSubmatch(prose, -1) {
			path, fragment, _ := strings.Cut(m[1], "#")
			if strings.Contains(path, ":") {
				continue // of another site
			}
			target := name
			if path != "" {
				target = filepath.Join(filepath.Dir(name), path)
			}
			if _, err := os.Stat(target); err != nil {
				t.Errorf("%s: the link %s leads nowhere", name, m[1])
				continue
			}
			if fragment != "" && !slices.Contains(anchors(all[target]), fragment) {
				t.Errorf("%s: %s has no heading for the link %s", name, target, m[1])
			}
		}
	}
}

// TestIndex: docs/README.md links to every page of docs/, decisions as a folder.
func TestIndex(t *testing.T) {
	all := pages(t)
	var linked []string
	for _, m := range markdownRef.FindAllStringSubmatch(all["docs/README.md"], -1) {
		path, _, _ := strings.Cut(m[1], "#")
		linked = append(linked, filepath.Join("docs", path))
	}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if !strings.HasPrefix(name, "docs/") || name == "docs/README.md" || strings.HasPrefix(name, "docs/adr/") {
			continue
		}
		if !slices.Contains(linked, name) {
			t.Errorf("docs/README.md does not list %s", name)
		}
		written := strings.Contains(all[name], "is written by a test")
		if n := strings.Count(all[name], "\n"); n > longestPage && !written {
			t.Errorf("%s has %d lines, more than %d", name, n, longestPage)
		}
	}
}

// TestThreatModel: each test and story that the threat model names exists.
func TestThreatModel(t *testing.T) {
	text := pages(t)["docs/security/threat-model.md"]
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	tests := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		code, err := os.ReadFile(name)
		for _, m := range function.FindAllSubmatch(code, -1) {
			tests[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	named := regexp.MustCompile("`(Test\\w+)`").FindAllStringSubmatch(text, -1)
	for _, m := range named {
		if !tests[m[1]] {
			t.Errorf("there is no %s", m[1])
		}
	}
	stories := regexp.MustCompile("story `([a-z-]+)`").FindAllStringSubmatch(text, -1)
	for _, m := range stories {
		if _, err := os.Stat("api/stories/" + m[1] + ".txtar"); err != nil {
			t.Error(err)
		}
	}
	if len(named) < 50 || len(stories) < 5 {
		t.Errorf("the page names %d tests and %d stories", len(named), len(stories))
	}
}

// TestWalks: each function that docs/contribute/walks.md names is in its file.
func TestWalks(t *testing.T) {
	steps := regexp.MustCompile("(?m)^\\| `(internal/[^`]+)` \\| `([^`]+)` \\|").
		FindAllStringSubmatch(pages(t)["docs/contribute/walks.md"], -1)
	if len(steps) < 20 {
		t.Fatalf("only %d steps were read", len(steps))
	}
	for _, step := range steps {
		file, name := step[1], step[2]
		text, err := os.ReadFile(file)
		if err != nil {
			t.Errorf("the walk names %s: %v", file, err)
			continue
		}
		if !regexp.MustCompile(`(?m)^func (\([^)]*\) )?` + name + `[(\[]`).Match(text) {
			t.Errorf("the walk names %s, which is not in %s", name, file)
		}
	}
}

// operation is a method and a path in a sentence, such as `GET /v1/scans/{id}`.
var operation = regexp.MustCompile("`(GET|POST|PUT|PATCH|DELETE) (/[^`? ]*)")

// besideTheAPIs are paths that the OpenAPI documents do not have.
var besideTheAPIs = []string{"/mcp", "/healthz", "/readyz", "/metrics", "/setup", "/docs"}

// TestOperations: each operation that a page names is in the OpenAPI documents.
func TestOperations(t *testing.T) {
	known := map[string]bool{}
	parameter := regexp.MustCompile(`\{[^}]*\}`)
	for _, name := range []string{"api/agent.openapi.yaml", "api/platform.openapi.yaml"} {
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		path := ""
		for _, m := range regexp.MustCompile(`(?m)^  (/\S+):$|^    (get|post|put|patch|delete):$`).FindAllStringSubmatch(string(text), -1) {
			if m[1] != "" {
				path = parameter.ReplaceAllString(m[1], "{}")
			} else {
				known[strings.ToUpper(m[2])+" "+path] = true
			}
		}
	}
	if len(known) < 100 {
		t.Fatalf("only %d operations were read", len(known))
	}
	for name, text := range pages(t) {
		for _, m := range operation.FindAllStringSubmatch(text, -1) {
			path := parameter.ReplaceAllString(m[2], "{}")
			if !known[m[1]+" "+path] && !slices.Contains(besideTheAPIs, path) {
				t.Errorf("%s: there is no operation %s %s", name, m[1], m[2])
			}
		}
	}
}
