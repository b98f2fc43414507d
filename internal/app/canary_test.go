package app

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// TestCanaries: what a team keeps, writes down and captures (secrets, keys, traffic, knowledge, prompts, skills, agents,
// files, memory, scans, findings …) is in no answer to another team and in no row of theirs, whatever they ask for; and
// secrets, passwords and traffic are in plain in no row of any table, in no line of the log and in no file of the server.
func TestCanaries(t *testing.T) {
	for _, engine := range dbtest.Engines {
		t.Run(engine, func(t *testing.T) {
			t.Parallel()
			all := walks(t, engine)
			w := all["agent"]
			hidden := w.plant()
			eve := w.member("canaries "+engine, account.Admin)
			stranger, asked := walker{"a stranger", by(eve), always(0), true}, 0
			for _, each := range all {
				for _, op := range each.doc.operations() {
					exports := op.method == http.MethodPost && strings.Contains(op.path, "/export")
					if !takesKey(op) || pathParameter(op) != "" || op.method != http.MethodGet && !exports {
						continue // those with an id are walked on in TestWalks
					}
					body := ""
					if bodySchema(op) != nil {
						body = string(encode(t, each.body(op)))
					}
					each.intrude(op, each.path(op), body, stranger)
					asked++
				}
			}
			search := slices.IndexFunc(w.doc.operations(), func(op *operation) bool { return op.OperationID == "search-knowledge" })
			w.intrude(w.doc.operations()[search], "/api/v1/knowledge/search", `{"query": "where is the depot?"}`, stranger)
			tools := w.askTools(eve, w.marks[0], "a stranger")
			tables := w.readTables(hidden)
			w.readElsewhere(hidden)
			t.Logf("%d operations, %d tools, %d tables", asked, tools, tables)
			if asked < 60 || tools < 10 || tables < 60 || !strings.Contains(w.logs.String(), eve.UserID) {
				t.Errorf("%d operations, %d tools and %d tables only, or the log is empty", asked, tools, tables)
			}
		})
	}
}

// readTables reads every row: no hidden word is in one, no row of another team has the mark, and every table has a row
// with the mark, or is known to need none.
func (w *walk) readTables(hidden []string) (tables int) {
	w.t.Helper()
	mark, known := w.marks[0], map[string]bool{}
	for reason, names := range unmarked {
		for name := range strings.FieldsSeq(names) {
			if known[name] {
				w.t.Errorf("%s is named twice, also with %q", name, reason)
			}
			known[name] = true
		}
	}
	columns := w.columns()
	for name, columns := range columns {
		team, marked := slices.Index(columns, "team_id"), false
		for _, row := range w.read(`SELECT "` + strings.Join(columns, `", "`) + `" FROM "` + name + `"`) {
			text := plainText(row)
			for _, word := range hidden {
				if strings.Contains(text, word) {
					w.t.Errorf("%s has %q in plain: %.500s", name, word, text)
				}
			}
			has := strings.Contains(text, mark)
			marked = marked || has
			if has && team >= 0 && plainText(row[team:team+1]) != w.admin.TeamID {
				w.t.Errorf("a row of another team in %s: %.500s", name, text)
			}
		}
		if !isIndex(name) && marked == known[name] {
			w.t.Errorf("%s has the mark: %v, and is in the list of tables without: %v", name, marked, known[name])
		}
		tables++
	}
	for name := range known {
		if columns[name] == nil {
			w.t.Errorf("%s is in the list of tables, and there is none", name)
		}
	}
	return tables
}

// readElsewhere looks for hidden words in the log and in the files of the server, of SQLite also in pages that are free.
func (w *walk) readElsewhere(hidden []string) {
	w.t.Helper()
	places := map[string]string{"the log": w.logs.String()}
	if file, is := strings.CutPrefix(w.App.config.Database, "sqlite:"); is {
		for _, name := range []string{file, file + "-wal"} {
			text, err := os.ReadFile(name)
			if err != nil || len(text) == 0 {
				w.t.Errorf("%s: %d bytes, %v", name, len(text), err)
			}
			places[name] = string(text)
		}
	}
	err := filepath.WalkDir(w.App.config.DataDir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		places[path] = string(text)
		return err
	})
	if err != nil || len(places) < 2 {
		w.t.Errorf("%d files: %v", len(places), err)
	}
	for place, text := range places {
		for _, word := range hidden {
			if strings.Contains(text, word) {
				w.t.Errorf("%s has %q", place, word)
			}
		}
	}
}

// askTools calls every tool of our MCP server as somebody who may not see the mark, with the ids of what has it.
func (w *walk) askTools(p person, mark, who string) (called int) {
	w.t.Helper()
	session := w.testServer.agent(p)
	list, err := session.ListTools(w.t.Context(), nil)
	if err != nil {
		w.t.Fatal(err)
	}
	for _, tool := range list.Tools {
		for _, args := range w.argsFor(tool) {
			result, err := session.CallTool(w.t.Context(), &mcp.CallToolParams{Name: tool.Name, Arguments: args})
			if err != nil {
				w.t.Fatalf("%s: %v", tool.Name, err)
			}
			sent, got := string(encode(w.t, args)), string(encode(w.t, result))
			if strings.Contains(got, mark) && !strings.Contains(sent, mark) {
				w.t.Errorf("the tool %s of %s, called with %s, shows %q: %s", tool.Name, who, sent, mark, got)
			}
		}
		called++
	}
	return called
}

// argsFor are calls of a tool: with no more than it needs, and with the id of each thing that the victim has.
func (w *walk) argsFor(tool *mcp.Tool) (out []map[string]any) {
	var schema struct {
		Properties map[string]json.RawMessage
		Required   []string
	}
	if err := json.Unmarshal(encode(w.t, tool.InputSchema), &schema); err != nil {
		w.t.Fatal(err)
	}
	plain := map[string]any{}
	for _, name := range schema.Required {
		plain[name] = "words"
		if strings.Contains(string(schema.Properties[name]), `"array"`) {
			plain[name] = []string{"127.0.0.1:9"}
		}
	}
	out = append(out, plain)
	for name := range schema.Properties {
		if name != "id" && !strings.HasSuffix(name, "_id") {
			continue
		}
		for _, table := range []string{"task", "scan", "finding", "enumeration", "asset_enumeration"} {
			args := map[string]any{name: w.only(`SELECT id FROM ` + table + ` WHERE team_id = '` + w.admin.TeamID + `'`)}
			for key, value := range plain {
				if key != name {
					args[key] = value
				}
			}
			out = append(out, args)
		}
	}
	return out
}

// plainText is a row as text.
func plainText(row []any) string {
	out := make([]string, len(row))
	for i, value := range row {
		if b, is := value.([]byte); is {
			value = string(b)
		}
		out[i] = fmt.Sprint(value)
	}
	return strings.Join(out, " ")
}
