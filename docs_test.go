package vedette_test

import (
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"
)

// longestPage is the limit of a page of docs/, in lines. Tables that tests write, the list of ASVS, and ADRs are as long as
// they get.
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
		written := strings.Contains(all[name], "is written by a test") || name == "docs/security/asvs.md"
		if n := strings.Count(all[name], "\n"); n > longestPage && !written {
			t.Errorf("%s has %d lines, more than %d", name, n, longestPage)
		}
	}
}

// shown finds the tests and stories that a page names, and reports those that do not exist.
func shown(t *testing.T, text string) (tests, stories []string) {
	t.Helper()
	function := regexp.MustCompile(`(?m)^func ((?:Test|Fuzz)\w+)\(`)
	known := map[string]bool{}
	err := filepath.WalkDir(".", func(name string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(name, "_test.go") {
			return err
		}
		code, err := os.ReadFile(name)
		for _, m := range function.FindAllSubmatch(code, -1) {
			known[string(m[1])] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range regexp.MustCompile("`((?:Test|Fuzz)\\w+)`").FindAllStringSubmatch(text, -1) {
		tests = append(tests, m[1])
		if !known[m[1]] {
			t.Errorf("there is no %s", m[1])
		}
	}
	for _, m := range regexp.MustCompile("(?:story|stories|and) `([a-z-]+)`").FindAllStringSubmatch(text, -1) {
		stories = append(stories, m[1])
		if _, err := os.Stat("api/stories/" + m[1] + ".txtar"); err != nil {
			t.Error(err)
		}
	}
	return tests, stories
}

// TestThreatModel: each test and story that the threat model names exists.
func TestThreatModel(t *testing.T) {
	tests, stories := shown(t, pages(t)["docs/security/threat-model.md"])
	if len(tests) < 50 || len(stories) < 5 {
		t.Errorf("the page names %d tests and %d stories", len(tests), len(stories))
	}
}

// TestHostilePage: each test and story that the page on hostile tenants names exists, and each point has some.
func TestHostilePage(t *testing.T) {
	text := pages(t)["docs/security/hostile.md"]
	shown(t, text)
	for point := 1; point <= 11; point++ {
		if !regexp.MustCompile(fmt.Sprintf("(?m)^\\| %d \\| .* \\| .*`Test", point)).MatchString(text) {
			t.Errorf("nothing shows point %d", point)
		}
	}
}

// asvs has how many requirements of levels 1 and 2 each section of OWASP ASVS 5.0.0 has; their numbers begin with 1.
const asvs = `1.1:2 1.2:9 1.3:11 1.4:3 1.5:2 2.1:3 2.2:3 2.3:4 2.4:1 3.2:2 3.3:4 3.4:6 3.5:5 3.7:2 4.1:3 4.2:1 4.3:2 4.4:4
	5.1:1 5.2:3 5.3:2 5.4:3 6.1:3 6.2:12 6.3:4 6.4:4 6.5:5 6.6:3 6.8:4 7.1:3 7.2:4 7.3:2 7.4:5 7.5:2 7.6:2 8.1:2 8.2:3 8.3:1
	8.4:1 9.1:3 9.2:4 10.1:2 10.2:2 10.3:4 10.4:11 10.5:5 10.6:2 10.7:3 11.1:2 11.2:3 11.3:3 11.4:4 11.5:1 11.6:1 12.1:3 12.2:2
	12.3:4 13.1:1 13.2:5 13.3:2 13.4:5 14.1:2 14.2:4 14.3:3 15.1:3 15.2:3 15.3:7 16.1:1 16.2:5 16.3:4 16.4:3 16.5:3 17.1:1 17.2:4 17.3:2`

// TestASVS: the list has each requirement once, in order, with an answer and its reason. A yes names a test, a story or a
// page.
func TestASVS(t *testing.T) {
	text := pages(t)["docs/security/asvs.md"]
	shown(t, text)
	var want, got []string
	for section := range strings.FieldsSeq(asvs) {
		section, count, _ := strings.Cut(section, ":")
		n, err := strconv.Atoi(count)
		if err != nil {
			t.Fatal(err)
		}
		for i := range n {
			want = append(want, fmt.Sprintf("%s.%d", section, i+1))
		}
	}
	row := regexp.MustCompile(`(?m)^\| ([\d.]+) \| (.*) \| (.*) \| (.*) \|$`)
	for _, m := range row.FindAllStringSubmatch(text, -1) {
		got = append(got, m[1])
		answer, reason := m[3], m[4]
		switch {
		case !slices.Contains([]string{"yes", "no", "n/a"}, answer), m[2] == "", reason == "":
			t.Errorf("%s has no answer, or no reason: %q, %q", m[1], answer, reason)
		case answer == "yes" && !strings.Contains(reason, "`") && !strings.Contains(reason, "]("):
			t.Errorf("%s: nothing shows the answer yes: %q", m[1], reason)
		}
	}
	if len(want) != 253 || !slices.Equal(got, want) {
		t.Errorf("%d requirements of %d, or not in order", len(got), len(want))
	}
}

// TestAPITop10: the list has the ten risks, and the tests that it names exist.
func TestAPITop10(t *testing.T) {
	text := pages(t)["docs/security/api-top-10.md"]
	for i := range 10 {
		_, row, ok := strings.Cut(text, fmt.Sprintf("\n| API%d |", i+1))
		row, _, _ = strings.Cut(row, "\n")
		if tests, _ := shown(t, row); !ok || len(tests) == 0 {
			t.Errorf("no test shows what holds against API%d", i+1)
		}
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
