package jobs

import (
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/core/account"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/engine/child"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

const doubling = `id: doubling
info: {name: n, author: a, severity: low}
flow: |
  http(1); var s = "aaaaaaaaaaaaaaaa"; var all = []; while (true) { all.push(s += s); }
http:
  - path: ["{{BaseURL}}/"]
    matchers: [{type: status, status: [200]}]
`

// Templates that end the engine cost a model's task a line in the answer of its tool, and nobody anything else: the task
// goes on, finds what the next template shows, and is verified; the task of another team, too.
func TestHostileTemplatesOfATaskEndOnlyThemselves(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		url, _ := shop(t)
		leak := strings.Replace(strings.Replace(harmless, "{{BaseURL}}/", "{{BaseURL}}/debug", 1), "status, status: [200]",
			`word, words: ["DB_PASSWORD="]`, 1)
		o := openEngine(t, d, scripted(
			call(1, "run_template_text", map[string]any{"targets": []string{url}, "template": endless}),
			call(2, "run_template_text", map[string]any{"targets": []string{url}, "template": doubling}),
			call(3, "run_template_text", map[string]any{"targets": []string{url}, "template": endless}),
			call(4, "run_template_text", map[string]any{"targets": []string{url}, "template": leak}),
		), child.Config{
			Args: []string{engineCommand, strconv.Itoa(256 << 20)}, Memory: 256 << 20, Compute: 500 * time.Millisecond,
		})
		accounts, err := account.Open(t.Context(), d, account.Config{})
		if err != nil {
			t.Fatal(err)
		}
		u, err := accounts.CreateUser(t.Context(), account.NewUser{Email: "bob@example.com", Admin: true})
		if err != nil {
			t.Fatal(err)
		}
		bob := o
		bob.ctx = account.WithCaller(t.Context(), account.Caller{UserID: u.ID, TeamID: u.TeamID, Role: u.Role})
		bad, err := o.tasks.Create(o.ctx, task.NewTask{Instruction: "look at " + url,
			Options: task.Options{Scope: &task.Scope{Intrusiveness: task.Intrusive}}})
		if err != nil {
			t.Fatal(err)
		}
		good, err := bob.tasks.Create(bob.ctx, task.NewTask{Instruction: "check " + url,
			Options: task.Options{Model: "builtin"}})
		if err != nil {
			t.Fatal(err)
		}
		if good = bob.end(t, good); good.Status != task.Completed {
			t.Errorf("the other team's task: %s: %s", good.Status, good.Summary)
		}
		if bad = o.end(t, bad); bad.Status != task.Completed || !strings.Contains(bad.Summary, "1 verified finding") {
			t.Errorf("%s: %s", bad.Status, bad.Summary)
		}
		journal := o.journal(t, bad.ID)
		for _, want := range []string{"task.yaml: the engine ended: over time; it is set aside.",
			"task.yaml: the engine ended: over", "because it ended the engine twice (over time)"} {
			if !strings.Contains(journal, want) {
				t.Errorf("no answer says %q", want)
			}
		}
		attempts, err := db.Value[int](o.ctx, d, `SELECT max(attempt) FROM river_job WHERE kind LIKE 'task%'`)
		if err != nil || attempts != 1 {
			t.Errorf("%d attempts, %v", attempts, err)
		}
	})
}
