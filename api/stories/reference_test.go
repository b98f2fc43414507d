package stories

import (
	"errors"
	"io/fs"
	"os"
	"regexp"
	"strings"
	"testing"
)

// references describe the public services. They are not part of the repository.
const references = "../../../shared/reference/"

// TestCoverageIsComplete: each documented operation, parameter and field has a row.
func TestCoverageIsComplete(t *testing.T) {
	platform, err := os.ReadFile(references + "platform-api.md")
	if errors.Is(err, fs.ErrNotExist) {
		t.Skipf("%s is not here: whether rows are missing is not checked", references)
	}
	if err != nil {
		t.Fatal(err)
	}
	agent, err := os.ReadFile(references + "agent-api.md")
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]bool{}
	for _, r := range readTable(t) {
		have[r.key()] = true
	}
	ofPlatform, ofAgent := documentedRows(string(platform)), append(agentRows(string(agent)), inProse...)
	if n, m := operationsOf(ofPlatform), operationsOf(ofAgent); n != platformOperations || m != agentOperations {
		t.Errorf("%s has %d and %d operations, want %d and %d", references, n, m, platformOperations, agentOperations)
	}
	documented := append(ofPlatform, ofAgent...)
	if len(documented) < 1100 {
		t.Errorf("only %d rows are read from %s", len(documented), references)
	}
	for _, r := range documented {
		if !have[r.key()] {
			t.Errorf("%s has no row for %q", table, r.key())
		}
	}
}

// inProse are the rows of two operations of the agent service that its reference names beside its tables.
var inProse = []row{
	{op: "POST /api/v1/dynamic-tools", in: "operation"}, {op: "POST /api/v1/dynamic-tools", in: "body", name: "tool_id"},
	{op: "POST /api/v1/dynamic-tools", in: "body", name: "timeout"}, {op: "POST /api/v1/dynamic-tools", in: "body", name: "toolkit_id"},
	{op: "GET /api/v1/issues", in: "operation"}, {op: "GET /api/v1/issues", in: "query", name: "per_page"},
}

func operationsOf(rows []row) int {
	ops := map[string]bool{}
	for _, r := range rows {
		ops[r.op] = true
	}
	return len(ops)
}

var (
	operationCell = regexp.MustCompile("^`([A-Z]+ \\S+)`")
	schemaLine    = regexp.MustCompile("(?m)^- `(\\w+)`[^:\n]*: (.*)$")
	leadingName   = regexp.MustCompile(`^[\w-]+`)
	typed         = regexp.MustCompile(`^[\w-]+\*? \[?(s|i|i64|n|f|f64|b|dt|date|time|[A-Z]\w+)\b`)
	schemaName    = regexp.MustCompile(`^[A-Z]\w+`)
)

// documentedRows reads the tables of operations (section 1) and the schemas (section 2) of the reference.
func documentedRows(text string) (rows []row) {
	_, text, _ = strings.Cut(text, "## 1. Operations")
	operations, rest, _ := strings.Cut(text, "## 2. Component")
	components, _, _ := strings.Cut(rest, "## 3. ")
	schemas := schemasOf{}
	for _, m := range schemaLine.FindAllStringSubmatch(components, -1) {
		schemas[m[1]] = m[2]
	}
	for line := range strings.SplitSeq(strings.ReplaceAll(operations, `\|`, "¦"), "\n") {
		if !strings.HasPrefix(line, "| `") {
			continue
		}
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		op := operationCell.FindStringSubmatch(cells[0])[1]
		rows = append(rows, row{op: op, in: "operation"})
		for part := range strings.SplitSeq(cells[3], "; ") {
			kind, names, _ := strings.Cut(strings.TrimSpace(part), ":")
			if kind != "query" && kind != "path" {
				continue
			}
			for _, p := range splitList(names) {
				if typed.MatchString(p) { // other words are values of a default
					rows = append(rows, row{op: op, in: kind, name: leadingName.FindString(p)})
				}
			}
		}
		for _, name := range schemas.fields(cells[4], "") {
			rows = append(rows, row{op: op, in: "body", name: name})
		}
	}
	return rows
}

// splitList splits at commas that no bracket surrounds.
func splitList(text string) (out []string) {
	depth, from := 0, 0
	for i, c := range text {
		switch {
		case strings.ContainsRune("{[(<", c):
			depth++
		case strings.ContainsRune("}])>", c):
			depth--
		case c == ',' && depth == 0:
			out = append(out, strings.TrimSpace(text[from:i]))
			from = i + 1
		}
	}
	if last := strings.TrimSpace(text[from:]); last != "" {
		out = append(out, last)
	}
	return out
}

// schemasOf are the descriptions of schemas by name.
type schemasOf map[string]string

// fields are the paths of the fields that a description of a body has.
func (s schemasOf) fields(body, within string) (out []string) {
	body = strings.TrimSpace(strings.TrimPrefix(strings.TrimSpace(body), "(req)"))
	switch {
	case strings.HasPrefix(body, "{"):
	case s[leadingName.FindString(body)] != "":
		return s.fields(s[leadingName.FindString(body)], within)
	case body == "–" || body == "" || body == "(empty)":
		return nil
	default:
		return []string{"(raw)"}
	}
	end, depth := 0, 0
	for i, c := range body {
		switch c {
		case '{':
			depth++
		case '}':
			depth--
		}
		if depth == 0 {
			end = i
			break
		}
	}
	for _, field := range splitList(body[1:end]) {
		name := leadingName.FindString(field)
		out = append(out, within+name)
		inner, isList := strings.CutPrefix(strings.TrimSpace(strings.TrimLeft(field[len(name):], "*")), "[")
		at := within + name + "."
		if isList {
			at = within + name + "[]."
		}
		if schema := s[schemaName.FindString(inner)]; strings.HasPrefix(schema, "{") {
			inner = schema
		}
		if strings.HasPrefix(inner, "{") {
			out = append(out, s.fields(inner, at)...)
		}
	}
	return out
}

var (
	agentLine  = regexp.MustCompile("^\\| (GET|POST|PATCH|PUT|DELETE) `([^`]+)`")
	inBrackets = regexp.MustCompile(`\([^()]*\)`)
	quoted     = regexp.MustCompile("`([^`]*)`")
	fieldName  = regexp.MustCompile(`^([a-z][a-z0-9_]*)(\[\])?(\{\})?[*?]?$`)
	beforeWord = regexp.MustCompile(`^( |/| default )+$`)
	taskField  = regexp.MustCompile("^\\| `([a-z_]+)`")
	pathName   = regexp.MustCompile(`\{(\w+)\}`)
)

// agentRows reads the tables of operations of the agent service (section 1). They are prose: what is quoted in the column
// about the request is a name, unless it follows another as one of its values.
func agentRows(text string) (rows []row) {
	_, text, _ = strings.Cut(text, "## 1. Operations per area")
	text, _, _ = strings.Cut(text, "## 2. Task lifecycle")
	var head []string
	ofTask := false
	for line := range strings.SplitSeq(text, "\n") {
		cells := strings.Split(strings.Trim(line, "| "), " | ")
		switch m := agentLine.FindStringSubmatch(line); {
		case strings.HasPrefix(line, "| Method"):
			head = cells
		case strings.HasPrefix(line, "| Field"): // the body of a new task has a table of its own
			ofTask = true
		case !strings.HasPrefix(line, "|"):
			ofTask = false
		case ofTask && taskField.MatchString(line):
			rows = append(rows, row{op: "POST /api/v1/tasks", in: "body", name: taskField.FindStringSubmatch(line)[1]})
		case m != nil:
			path := m[2]
			if !strings.HasPrefix(path, "/api/") {
				path = "/api/v1" + path
			}
			rows = append(rows, agentOperation(m[1], path, head, cells)...)
		}
	}
	return rows
}

func agentOperation(method, path string, head, cells []string) []row {
	op, in := method+" "+path, "body"
	if method == "GET" {
		in = "query"
	}
	rows := []row{{op: op, in: "operation"}}
	for _, m := range pathName.FindAllStringSubmatch(path, -1) {
		rows = append(rows, row{op: op, in: "path", name: m[1]})
	}
	for i, title := range head {
		sent, _, both := strings.Cut(cells[min(i, len(cells)-1)], "→")
		about := strings.Contains(title, "Request") || strings.Contains(title, "Query") || strings.Contains(title, "Fields")
		if !about || !both && in == "query" && strings.Contains(title, "response") {
			continue
		}
		for shorter := ""; shorter != sent; {
			shorter, sent = sent, inBrackets.ReplaceAllString(sent, "")
		}
		last := -1
		for _, at := range quoted.FindAllStringSubmatchIndex(sent, -1) {
			isValue := last >= 0 && beforeWord.MatchString(sent[last:at[0]])
			last = at[1]
			if name := fieldName.FindStringSubmatch(sent[at[2]:at[3]]); name != nil && !isValue {
				rows = append(rows, row{op: op, in: in, name: name[1]})
			}
		}
	}
	return rows
}
