package jobs

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// TestAgentsOfATask lets one agent do a task and another a part of it: what each is told
// and may do is its own.
func TestAgentsOfATask(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		url, _ := shop(t)
		part := func(turn int, tool string, args string) llm.Reply {
			return llm.Reply{Turn: turn, System: "It reads only.", Calls: []llm.ToolCall{{Name: tool, Args: args}}}
		}
		o := openWith(t, d, scripted(
			part(1, "crawl", `{"url":"`+url+`"}`), part(2, "read_findings", `{}`),
			llm.Reply{Turn: 3, System: "It reads only.", Text: "Read."},
			llm.Reply{Turn: 1, System: "It leads.",
				Calls: []llm.ToolCall{{Name: "http_request", Args: `{"url":"` + url + `"}`}}},
			llm.Reply{Turn: 2, System: "It leads.",
				Calls: []llm.ToolCall{{Name: "delegate", Args: `{"tasks":[{"instruction":"read it","agent":"Reader"}]}`}}},
		))
		ids := map[string]string{}
		for name, a := range map[string]struct {
			context string
			tools   []string
		}{"Lead": {"It leads.", []string{"crawl", "read_findings"}},
			"Reader": {"It reads only.", []string{"read_findings"}}} {
			made, err := o.crew.Create(o.ctx, customagent.Update{Name: &name, SystemContext: &a.context, NativeTools: &a.tools})
			if err != nil {
				t.Fatal(err)
			}
			ids[name] = made.ID
		}
		made, err := o.tasks.Create(o.ctx,
			task.NewTask{Instruction: "look at " + url,
				Options: task.Options{AgentID: ids["Lead"], AgentIDs: []string{ids["Reader"], "gone"}}})
		if err != nil {
			t.Fatal(err)
		}
		made = o.follow(t, made)
		if made.Status != task.Completed || !strings.Contains(made.Summary, "no agent any more with the id gone") {
			t.Errorf("%s: %s", made.Status, made.Summary)
		}
		rows, err := d.Query(t.Context(),
			`SELECT branch, body FROM task_entry WHERE task_id = ? AND kind = 'tool_result' ORDER BY seq`, made.ID)
		told, err := db.Collect(rows, err, func(r db.Row) (s string, err error) {
			var branch, body string
			err = r.Scan(&branch, &body)
			return branch + " " + body, err
		})
		if err != nil || len(told) != 4 {
			t.Fatalf("%q, %v", told, err)
		}
		for i, want := range []struct{ branch, status string }{
			{`main {"tool":"http_request"`, `"status":"refused"`}, {`main.1 {"tool":"crawl"`, `"status":"refused"`},
			{`main.1 {"tool":"read_findings"`, `"status":"completed"`}, {`main {"tool":"delegate"`, `"status":"completed"`},
		} {
			if !strings.HasPrefix(told[i], want.branch) || !strings.Contains(told[i], want.status) {
				t.Errorf("call %d came to %s", i+1, told[i])
			}
		}
	})
}
