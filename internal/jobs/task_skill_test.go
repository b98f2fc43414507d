package jobs

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/core/customagent"
	"github.com/vedette-sec/vedette/internal/core/skill"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// TestSkillsOfATask: the prompt names skills, the model loads one as data, which the transcript shows, and gets none
// that its agent does not choose.
func TestSkillsOfATask(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		url, _ := shop(t)
		load := func(args string) []llm.ToolCall { return []llm.ToolCall{{Name: "load_skill", Args: args}} }
		o := openWith(t, d, scripted(
			llm.Reply{Turn: 1, System: "- house-rules: How we test.", Tool: "load_skill", Calls: load(`{"name":"house-rules"}`)},
			llm.Reply{Turn: 2, Last: "Begin with the login page.", Calls: load(`{"name":"house-rules","file":"notes/more.md"}`)},
			llm.Reply{Turn: 3, Last: "Then the rest.", Calls: load(`{"name":"tls-review"}`)},
			llm.Reply{Turn: 4, Last: "no skill", Text: "Done."},
		))
		made, err := o.skills.Create(o.ctx, skill.NewSkill{Text: skill.Text{Name: "house-rules", Description: "How we test.",
			Instructions: "Begin with the login page.", Files: []skill.File{{Path: "notes/more.md", Content: []byte("Then the rest.")}}}})
		if err != nil {
			t.Fatal(err)
		}
		agent, err := o.crew.Create(o.ctx, customagent.Update{Name: new("Lead"), Skills: &[]string{"house-rules", "gone"}})
		if err != nil {
			t.Fatal(err)
		}
		run, err := o.tasks.Create(o.ctx, task.NewTask{Instruction: "look at " + url, Options: task.Options{AgentID: agent.ID}})
		if err != nil {
			t.Fatal(err)
		}
		run = o.follow(t, run)
		if run.Status != task.Completed || !strings.Contains(run.Summary, "Done.") ||
			!strings.Contains(run.Summary, "no skill with the name gone") {
			t.Errorf("%s: %s", run.Status, run.Summary)
		}
		uses, err := o.skills.Uses(o.ctx, run.ID)
		if err != nil || len(uses) != 1 || uses[0].SkillID != made.ID || uses[0].Hash != made.Hash {
			t.Errorf("%+v, %v", uses, err)
		}
		shown, err := db.Value[int](t.Context(), d, `SELECT count(*) FROM stream_event WHERE stream_id = ? AND type = 'skill'`, run.StreamID)
		if err != nil || shown != 1 {
			t.Errorf("the transcript shows %d skills, %v", shown, err)
		}
		if used, err := o.crew.Uses(o.ctx, run.ID); err != nil || len(used) != 1 || !used[0].Lead || used[0].Hash != agent.Hash() {
			t.Errorf("%+v, %v", used, err)
		}
	})
}
