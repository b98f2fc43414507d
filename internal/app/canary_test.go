package app

import (
	"context"
	"fmt"
	"net/http"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/knowledge"
	"github.com/vedette-sec/vedette/internal/core/network"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
)

// plant adds to what walk.seed made a text of the team's knowledge and a captured request, both with the mark, and
// returns the words that stand nowhere in plain: the value of a secret, a password, and what was captured.
func (w *walk) plant() (hidden []string) {
	w.t.Helper()
	ctx, mark := account.WithCaller(context.Background(), w.admin.Caller), w.marks[0]
	made, err := w.knowledge.Add(ctx, knowledge.New{Content: "The depot is behind " + mark + ".", Shared: true})
	if err == nil {
		err = w.knowledge.Index(ctx, knowledge.IndexArgs{SourceID: made[0].ID, Round: 1})
	}
	if err != nil {
		w.t.Fatal(err)
	}
	if found, err := w.knowledge.Search(ctx, "depot", "", 10); err != nil || len(found.Hits) != 1 || !strings.Contains(found.Hits[0].Text, mark) {
		w.t.Fatalf("the team does not find its own text: %+v, %v", found, err)
	}
	captured := "captured-" + mark
	r, err := w.network.Begin(ctx, network.Subject{TeamID: w.admin.TeamID, TaskID: w.taskID})
	if err != nil {
		w.t.Fatal(err)
	}
	r.Add(traffic.Exchange{At: time.Now(), Tool: "http", Method: "POST", URL: "http://127.0.0.1/" + captured,
		Request: []byte("POST /" + captured + " HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n" + captured), Response: []byte("HTTP/1.1 200 OK\r\n\r\n" + captured)})
	r.Close()
	if all, _, err := w.network.FindAll(ctx, network.Filter{Limit: 10}); err != nil || !strings.Contains(fmt.Sprint(all), captured) {
		w.t.Fatalf("the team does not find its own traffic: %v, %v", all, err)
	}
	return []string{"value-of-" + mark, mark + "-secret", captured}
}

// TestCanaries: what a team keeps, writes down and captures (secrets, keys, traffic, knowledge, prompts, skills, agents,
// files, memory, scans, findings …) is in no answer to another team and in no row of theirs, whatever they ask for; and
// secrets, passwords and traffic are in plain in no row of any table and in no line of the log.
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
						continue
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
			tables := 0
			for name, columns := range w.columns() {
				team := slices.Index(columns, "team_id")
				for _, row := range w.read(`SELECT "` + strings.Join(columns, `", "`) + `" FROM "` + name + `"`) {
					text := plainText(row)
					for _, word := range hidden {
						if strings.Contains(text, word) {
							t.Errorf("%s has %q in plain: %.500s", name, word, text)
						}
					}
					if team >= 0 && plainText(row[team:team+1]) != w.admin.TeamID && strings.Contains(text, w.marks[0]) {
						t.Errorf("a row of another team in %s: %.500s", name, text)
					}
				}
				tables++
			}
			log := w.logs.String()
			for _, word := range hidden {
				if strings.Contains(log, word) {
					t.Errorf("the log has %q", word)
				}
			}
			t.Logf("%d operations, %d tables", asked, tables)
			if asked < 60 || tables < 60 || !strings.Contains(log, eve.UserID) {
				t.Errorf("%d operations and %d tables only, or the log is empty", asked, tables)
			}
		})
	}
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
