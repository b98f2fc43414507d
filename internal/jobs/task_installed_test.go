package jobs

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/secret"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
	"github.com/vedette-sec/vedette/internal/infra/isolate"
)

func (o office) under(t *testing.T, agents []string, text string) task.Task {
	t.Helper()
	made, err := o.tasks.Create(o.ctx, task.NewTask{Instruction: text,
		Options: task.Options{AgentID: agents[0], AgentIDs: agents[1:]}})
	if err != nil {
		t.Fatal(err)
	}
	return o.follow(t, made)
}

func (o office) member(t *testing.T, up customagent.Update) string {
	t.Helper()
	made, err := o.crew.Create(o.ctx, up)
	if err != nil {
		t.Fatal(err)
	}
	return made.ID
}

// An agent's tools work in its tasks alone: installed, with its owner's secret, which no text shows, and in scope.
func TestToolsOfAgentsJoinATask(t *testing.T) {
	if err := isolate.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	const token = "token-of-the-owner-0123456789"
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		url, _ := shop(t)
		say := func(turn int, system, tool, args string) llm.Reply {
			return llm.Reply{Turn: turn, System: system, Calls: []llm.ToolCall{{Name: tool, Args: args}}}
		}
		o := openWith(t, d, scripted(
			say(1, "It reads.", "weigh", `{"url":"x"}`), say(2, "It reads.", "count_words", `{}`),
			llm.Reply{Turn: 3, System: "It reads.", Text: "Read."},
			say(1, "It leads.", "weigh", `{"url":"`+url+`/"}`), say(2, "It leads.", "weigh", `{"url":"http://192.0.2.1/"}`),
			say(3, "It leads.", "count_words", `{}`),
			say(4, "It leads.", "delegate", `{"tasks":[{"instruction":"read it","agent":"Reader"}]}`),
		))
		if _, err := o.secrets.Create(o.ctx, secret.NewSecret{Name: "DESK", Value: token}); err != nil {
			t.Fatal(err)
		}
		lead := o.member(t, customagent.Update{Name: new("Lead"), SystemContext: new("It leads."), NativeTools: &[]string{"crawl"},
			Env: &[]string{"DESK"}, Install: &[]string{`echo "weighed with $DESK by" >words`}, Verify: &[]string{"cat words"},
			CustomTools: &[]customagent.Tool{{ID: "weigh", Description: "Weighs a page.",
				Command: `cat /agent/words; curl -s {{url}} | wc -c; curl -s {{url}}`,
				Schema:  map[string]any{"type": "object", "properties": map[string]any{"url": map[string]any{"type": "string"}}}}}})
		reader := o.member(t, customagent.Update{Name: new("Reader"), SystemContext: new("It reads."),
			CustomTools: &[]customagent.Tool{{ID: "count_words", Description: "d", Command: "echo 42 words"},
				{ID: "weigh", Description: "d", Command: "echo not this one"}}})
		done := o.under(t, []string{lead, reader}, "look at "+url)
		if done.Status != task.Completed || !strings.Contains(done.Summary, "the tool weigh of the agent Reader") ||
			!strings.Contains(done.Summary, "Requests sent to targets: 4") {
			t.Errorf("%s: %s", done.Status, done.Summary)
		}
		log := o.journal(t, done.ID)
		for text, want := range map[string]bool{token: false, "weighed with {{ $DESK}} by": true,
			"42 words": true, "not this one": false, "The connection was refused": true} {
			if strings.Contains(log, text) != want {
				t.Errorf("%q is in the log: %v: %s", text, !want, log)
			}
		}
		refused, err := db.Value[int](t.Context(), d, `SELECT count(*) FROM task_entry WHERE task_id = ? AND kind = 'tool_result'
			AND CAST(body AS TEXT) LIKE '%there is no tool with the name%'`, done.ID)
		if err != nil || refused != 2 {
			t.Errorf("%d calls of another agent's tool were refused, %v", refused, err)
		}
		a, err := o.crew.Find(o.ctx, lead)
		if err != nil || a.Installation.Status != customagent.Installed || strings.Contains(a.Installation.Output, token) {
			t.Errorf("%+v, %v", a.Installation, err)
		}
	})
}

// A task whose agent lacks something fails before it does anything, and says what is missing, with and without a model.
func TestAgentsThatLackSomething(t *testing.T) {
	if err := isolate.Check(t.Context()); err != nil {
		t.Skip(err)
	}
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		url, _ := shop(t)
		o := openWith(t, d, scripted(call(1, "crawl", map[string]any{"url": url})))
		none := o.member(t, customagent.Update{Name: new("None")})
		for want, up := range map[string]customagent.Update{
			"owner does not have: ONE, TWO (require_env_vars)": {Env: &[]string{"ONE", "TWO"}},
			"not on this server: no-such (prereq_packages)":    {Prereqs: &[]string{"no-such"}},
			"verify_commands[0] ended with the code 3":         {Verify: &[]string{"exit 3"}},
		} {
			up.Name = new("A" + want[:20])
			id := o.member(t, up)
			for _, agents := range [][]string{{id}, {none, id}} {
				done := o.under(t, agents, "look at "+url)
				if log := o.journal(t, done.ID); done.Status != task.Failed || !strings.Contains(done.Summary, want) ||
					strings.Contains(log, "crawl") {
					t.Errorf("%s: %s: %s", want, done.Status, done.Summary)
				}
			}
		}
	})
}
