package stories

import (
	"encoding/json"
	"flag"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/txtar"
)

var update = flag.Bool("update", false, "write docs/reference/api-coverage.md")

const (
	table = "../coverage.tsv"
	page  = "../../docs/reference/api-coverage.md"
)

// row is a line of the table of coverage: a documented operation, parameter or field of a body.
type row struct {
	op     string // METHOD PATH, as it is documented
	in     string // operation, path, query or body
	name   string // of the parameter, or the path of the field; empty for an operation
	status string // see statuses
	shown  string // the tests and stories that show it, separated by commas
	note   string // why it differs
}

func (r row) key() string { return r.op + "\t" + r.in + "\t" + r.name }

// statuses are what a row can say, and what each means.
var statuses = map[string]string{
	"acts":    "it does what is documented",
	"differs": "it does something else, for the reason given",
	"refused": "an error that names it, with a code; never 404",
	"warns":   "no effect, and the answer says so in `warnings`",
}

func readTable(t *testing.T) (rows []row) {
	t.Helper()
	text, err := os.ReadFile(table)
	if err != nil {
		t.Fatal(err)
	}
	for i, line := range strings.Split(strings.TrimSuffix(string(text), "\n"), "\n") {
		cells := strings.Split(line, "\t")
		if len(cells) != 6 {
			t.Fatalf("%s:%d has %d cells", table, i+1, len(cells))
		}
		rows = append(rows, row{cells[0], cells[1], cells[2], cells[3], cells[4], cells[5]})
	}
	return rows
}

// TestCoverageIsShown: each row says what happens, and names tests that exist and stories that send what it is about.
func TestCoverageIsShown(t *testing.T) {
	tests, sent := testNames(t), sentByStories(t)
	seen := map[string]bool{}
	for _, r := range readTable(t) {
		if seen[r.key()] {
			t.Errorf("%q is there twice", r.key())
		}
		seen[r.key()] = true
		if statuses[r.status] == "" {
			t.Errorf("%q: %q is no status", r.key(), r.status)
		}
		if (r.status == "differs") == (r.note == "") {
			t.Errorf("%q: a row has a reason if it differs, and only then: %q", r.key(), r.note)
		}
		if r.shown == "" && r.note == "" {
			t.Errorf("%q: no test shows it", r.key())
		}
		for name := range strings.SplitSeq(r.shown, ", ") {
			if strings.HasPrefix(name, "Test") && !tests[name] {
				t.Errorf("%q: there is no %s", r.key(), name)
			} else if name != "" && !strings.HasPrefix(name, "Test") && !sent[name].has(r) {
				t.Errorf("%q: the story %q does not send it", r.key(), name)
			}
		}
	}
}

// How many operations the public services document.
const (
	platformOperations = 125
	agentOperations    = 71
)

// ours are the operations with rows that nobody else documents.
var ours = []string{
	"DELETE /v1/template-keys/{key_id}", "GET /v1/template-keys", "POST /v1/template-keys", "GET /v1/template/schema",
	"POST /v1/template/test", "POST /v1/template/validate",
}

// counted are the documented operations of both services that have rows.
func counted(rows []row) (platform, agent int) {
	for _, r := range rows {
		switch {
		case r.in != "operation" || slices.Contains(ours, r.op):
		case strings.Contains(r.op, " /api/"):
			agent++
		default:
			platform++
		}
	}
	return platform, agent
}

// TestEveryDocumentedOperationIsAnswered: each has a row, and each row says that it acts, differs, warns or is refused.
func TestEveryDocumentedOperationIsAnswered(t *testing.T) {
	if platform, agent := counted(readTable(t)); platform != platformOperations || agent != agentOperations {
		t.Errorf("%s has %d of %d and %d of %d operations", table, platform, platformOperations, agent, agentOperations)
	}
}

// TestCoveragePage: the page says what the table says.
func TestCoveragePage(t *testing.T) {
	want := coveragePage(readTable(t))
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if have, err := os.ReadFile(page); err != nil || string(have) != want {
		t.Errorf("%s is stale: run go test ./api/stories -run TestCoveragePage -update (%v)", page, err)
	}
}

func coveragePage(rows []row) string {
	var b strings.Builder
	b.WriteString("# Coverage of the public interface\n\nEach operation that the public platform and agent services document, with its parameters and " +
		"fields, and what this server does with it.\nThis page is written by a test from `api/coverage.tsv`: `go test ./api/stories -run TestCoveragePage -update`. " +
		"Other tests check that\nno row is empty, and that what it names exists and sends the parameter.\n\n| word | meaning |\n|---|---|\n")
	counts := map[string]int{}
	for _, r := range rows {
		counts[r.status]++
	}
	for _, word := range []string{"acts", "differs", "refused", "warns"} {
		fmt.Fprintf(&b, "| %s | %s (%d rows) |\n", word, statuses[word], counts[word])
	}
	platform, agent := counted(rows)
	fmt.Fprintf(&b, "\nIt has %d of the %d operations of the platform, %d of the %d of the agent service, and %d of our own.\n",
		platform, platformOperations, agent, agentOperations, len(ours))
	b.WriteString("\nA test begins with `Test`; every other name is a story in `api/stories`. `a[].b` is the field b of the items of the " +
		"list a.\n")
	op := ""
	for _, r := range rows {
		if r.op != op {
			op = r.op
			fmt.Fprintf(&b, "\n## %s\n\n| in | name | | shown by, or why |\n|---|---|---|---|\n", op)
		}
		name := "`" + r.name + "`"
		if r.name == "" {
			name = ""
		}
		fmt.Fprintf(&b, "| %s | %s | %s | %s |\n", r.in, name, r.status, strings.Trim(r.note+"; "+r.shown, "; "))
	}
	return b.String()
}

// testNames are the functions of the repository that are tests.
func testNames(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	function := regexp.MustCompile(`(?m)^func (Test\w+)\(`)
	err := filepath.WalkDir("../..", func(path string, d os.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, "_test.go") {
			return err
		}
		text, err := os.ReadFile(path)
		for _, m := range function.FindAllStringSubmatch(string(text), -1) {
			names[m[1]] = true
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

// request is what a story sends once: the names of the parameters of the query and of the fields of the body.
type request struct {
	method string
	path   []string // its segments
	query  []string
	fields map[string]bool
}

type requests []request

// has reports whether one of the requests sends what a row is about.
func (rs requests) has(r row) bool {
	method, path, _ := strings.Cut(r.op, " ")
	segments := strings.Split(path, "/")
	return slices.ContainsFunc(rs, func(q request) bool {
		if q.method != method || len(q.path) != len(segments) {
			return false
		}
		for i, segment := range segments {
			if !strings.HasPrefix(segment, "{") && segment != q.path[i] {
				return false
			}
		}
		switch r.in {
		case "query":
			return slices.Contains(q.query, r.name)
		case "body":
			return q.fields[r.name]
		}
		return true
	})
}

var unquoted = regexp.MustCompile(`([:\[,] *)\{[a-z][a-z0-9_.]*\}`)

// sentByStories are the requests of each story.
func sentByStories(t *testing.T) map[string]requests {
	t.Helper()
	files, err := filepath.Glob("*.txtar")
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]requests{}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		name := strings.TrimSuffix(file, ".txtar")
		for _, section := range txtar.Parse(text).Files {
			words := strings.Fields(section.Name)
			if words[0] != "request" {
				continue
			}
			path, query, _ := strings.Cut(words[2], "?")
			q := request{words[1], strings.Split(path, "/"), nil, map[string]bool{}}
			for pair := range strings.SplitSeq(query, "&") {
				key, _, _ := strings.Cut(pair, "=")
				if key, err := url.QueryUnescape(key); err == nil && key != "" {
					q.query = append(q.query, key)
				}
			}
			_, body := headersOf(string(section.Data))
			var document any
			if json.Unmarshal([]byte(unquoted.ReplaceAllString(body, "${1}7")), &document) == nil {
				addFields(q.fields, "", document)
			} else if body != "" {
				q.fields["(raw)"] = true
			}
			out[name] = append(out[name], q)
		}
	}
	return out
}

// addFields adds the paths of all fields of a document.
func addFields(fields map[string]bool, within string, document any) {
	switch v := document.(type) {
	case map[string]any:
		for key, value := range v {
			fields[within+key] = true
			inner := "."
			if _, list := value.([]any); list {
				inner = "[]."
			}
			addFields(fields, within+key+inner, value)
		}
	case []any:
		for _, item := range v {
			addFields(fields, within, item)
		}
	}
}
