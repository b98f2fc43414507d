package loop_test

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/loop"
)

// TestAgentsHaveTheirWordsAndTheirTools gives one part of the work to an agent with words
// and a tool of its own, which delegates on, and one to nobody in particular.
func TestAgentsHaveTheirWordsAndTheirTools(t *testing.T) {
	var b bench
	d := &disk{}
	c, s := config(d, []loop.Tool{b.tool("look", nil), b.tool("shout", nil)},
		calls("delegate", `{"tasks":[{"instruction":"left","agent":"Nobody"}]}`),
		calls("delegate", `{"tasks":[{"instruction":"left","agent":"Scout"},{"instruction":"right"}]}`), says("done"))
	c.Agents = []loop.Agent{{Name: "Scout", WhenToUse: "to look\naround", Context: "You never shout.",
		Tools: []string{"look"}}}
	s.answers["left"] = []llm.Response{calls("shout", `{}`), calls("look", `{}`),
		calls("delegate", `{"tasks":[{"instruction":"below"}]}`), says("left done")}
	s.answers["below"] = []llm.Response{calls("shout", `{"n":2}`), says("below done")}
	s.answers["right"] = []llm.Response{calls("shout", `{"n":3}`), says("right done")}
	want(t, run(t, c), loop.Completed, "")
	if b.did("look {}") != 1 || b.did("shout {}")+b.did(`shout {"n":2}`) != 0 || b.did(`shout {"n":3}`) != 1 {
		t.Errorf("the tools were called %v", b.count)
	}
	refused := 0
	for _, e := range d.of(loop.ToolResult) {
		if decode[loop.Returned](e.Body).Status == loop.CallRefused {
			refused++
		}
	}
	if refused != 3 { // Nobody, and shout twice
		t.Errorf("%d calls were refused", refused)
	}
	for _, r := range s.asked {
		scout := strings.HasPrefix(r.Messages[0].Text, "left")
		if strings.Contains(r.System, "You never shout.") != scout {
			t.Errorf("%q is told %s", r.Messages[0].Text, r.System)
		}
		has := func(name string) bool {
			return slices.ContainsFunc(r.Tools, func(t llm.Tool) bool { return t.Name == name })
		}
		if quiet := scout || strings.HasPrefix(r.Messages[0].Text, "below"); has("shout") == quiet || !has("look") {
			t.Errorf("%q has the tools %v", r.Messages[0].Text, r.Tools)
		}
	}
	i := slices.IndexFunc(s.asked[0].Tools, func(t llm.Tool) bool { return t.Name == "delegate" })
	if tool := s.asked[0].Tools[i]; !strings.Contains(tool.Description, "- Scout: to look around") ||
		!json.Valid(tool.Schema) || !strings.Contains(string(tool.Schema), `"enum":["Scout"]`) {
		t.Errorf("delegate is %s %s", tool.Description, tool.Schema)
	}
}

// A tool of one agent is that agent's alone: of the one that leads and of what it delegates to nobody in particular, or
// of a sub-agent.
func TestToolsOfOneAgent(t *testing.T) {
	var b bench
	d := &disk{}
	leads, reads := b.tool("lead", nil), b.tool("read", nil)
	leads.Agent, reads.Agent = "1", "2"
	c, s := config(d, []loop.Tool{leads, reads, b.tool("all", nil)}, calls("read", `{}`),
		calls("delegate", `{"tasks":[{"instruction":"left","agent":"Reader"},{"instruction":"right"}]}`), says("done"))
	c.Lead = "1"
	c.Agents = []loop.Agent{{ID: "2", Name: "Reader", Tools: []string{}}}
	s.answers["left"] = []llm.Response{calls("lead", `{"n":1}`), calls("all", `{"n":1}`), calls("read", `{"n":1}`),
		calls("delegate", `{"tasks":[{"instruction":"below"}]}`), says("left done")}
	s.answers["below"] = []llm.Response{calls("read", `{"n":2}`), calls("lead", `{"n":2}`), says("below done")}
	s.answers["right"] = []llm.Response{calls("lead", `{"n":3}`), calls("read", `{"n":3}`), says("right done")}
	want(t, run(t, c), loop.Completed, "")
	if b.did(`read {"n":1}`) != 1 || b.did(`read {"n":2}`) != 1 || b.did(`lead {"n":3}`) != 1 || len(b.count) != 3 {
		t.Errorf("the tools were called %v", b.count)
	}
	for _, r := range s.asked {
		of := slices.ContainsFunc(r.Tools, func(t llm.Tool) bool { return t.Name == "read" })
		if text := r.Messages[0].Text; of != (strings.HasPrefix(text, "left") || strings.HasPrefix(text, "below")) {
			t.Errorf("%q has the tools %v", text, r.Tools)
		}
	}
}
