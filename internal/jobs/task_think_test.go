package jobs

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/model"
	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/core/task/action"
	"github.com/vedette-sec/vedette/internal/infra/db"
	"github.com/vedette-sec/vedette/internal/infra/db/dbtest"
)

// call is a reply that calls one tool in a turn.
func call(turn int, tool string, args any) llm.Reply {
	text, _ := json.Marshal(args) // of literals
	return llm.Reply{Turn: turn, Tool: tool, Calls: []llm.ToolCall{{Name: tool, Args: string(text)}}}
}

// scripted is a configuration whose model answers so; what it does not know ends the run.
func scripted(replies ...llm.Reply) model.Config {
	return model.Config{Server: &model.Server{Config: llm.Config{Provider: "scripted"}, Model: "scripted",
		Script: &llm.Script{Replies: append(replies, llm.Reply{Text: "That is all."})}}}
}

// shop has one page that leaks, answers POST, and counts what it was asked.
func shop(t *testing.T) (url string, posts *atomic.Int64) {
	t.Helper()
	posts = new(atomic.Int64)
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch {
		case r.Method == http.MethodPost:
			posts.Add(1)
			fmt.Fprint(w, "posted "+r.Header.Get("X-Token"))
		case r.URL.Path == "/debug":
			fmt.Fprint(w, "DB_PASSWORD=hunter2hunter2")
		case r.URL.Path == "/":
			fmt.Fprint(w, `<a href="/debug">x</a>`)
		default:
			http.NotFound(w, r)
		}
	}))
	t.Cleanup(site.Close)
	return site.URL, posts
}

func proofAt(url string) map[string]any {
	return map[string]any{"title": "A leak", "severity": "high", "description": "d",
		"proof": map[string]any{"url": url, "contains": []string{"DB_PASSWORD="}}}
}

func TestModelFindsAndTheVerifierDecides(t *testing.T) {
	dbtest.Each(t, func(t *testing.T, d *db.DB) {
		url, _ := shop(t)
		o := openWith(t, d, scripted(
			call(1, "crawl", map[string]any{"url": url}),
			call(2, "http_request", map[string]any{"url": "http://192.0.2.1/"}),
			call(3, "report_issue", proofAt(url+"/debug")),
			call(4, "report_issue", proofAt(url+"/none")),
			call(5, "remember", map[string]any{"text": "it leaks"}),
		))
		var types []string
		made, issues := o.do(t, "look at "+url, func(_ task.Task, e *task.Event) { types = append(types, e.Type) })
		if made.Status != task.Completed || made.Model != "scripted" || len(issues) != 1 {
			t.Fatalf("%s %s, %d issues: %s", made.Status, made.Model, len(issues), made.Summary)
		}
		last := issues[0].Evidence[len(issues[0].Evidence)-1]
		if issues[0].Severity != "high" || last.Verdict != "confirmed" || last.Confirmed != 3 || last.Tried != 3 ||
			!strings.Contains(last.Response, "DB_PASSWORD") {
			t.Errorf("%+v", issues[0])
		}
		for _, want := range []string{task.EventDenied, task.EventIssue, "tool-input-available", "tool-output-available",
			"verdict", "text-delta"} {
			if !slices.Contains(types, want) {
				t.Errorf("the stream has no %s: %v", want, types)
			}
		}
		if !strings.Contains(made.Summary, "That is all.") || !strings.Contains(made.Summary, "refused: 1.") ||
			!strings.Contains(made.Summary, "1 verified finding: 1 high.") {
			t.Errorf("summary: %s", made.Summary)
		}
		if m, _, err := o.tasks.FindMemory(o.ctx, made.ID); err != nil || !slices.Equal(m.Insights, []string{"it leaks"}) {
			t.Errorf("memory %+v, %v", m, err)
		}
		events, _, err := o.tasks.FindLog(o.ctx, made.ID, task.LogFilter{Limit: 100, EventType: "tool_call"})
		if err != nil || len(events) != 6 || events[0].Status != action.Completed ||
			slices.ContainsFunc(events, func(d task.LogEvent) bool { return d.CompletedAt == nil }) {
			t.Errorf("the log has %+v, %v", events, err)
		}
		again, err := o.tasks.Create(o.ctx, task.NewTask{ID: made.ID, Instruction: "and now?"})
		if err != nil {
			t.Fatal(err)
		}
		o.follow(t, again)
		if streams, err := o.tasks.Streams(o.ctx, made.ID); err != nil || len(streams) != 2 ||
			streams[1].Status != task.Completed {
			t.Errorf("%+v, %v", streams, err)
		}
	})
}

// follow waits until a stream has ended, or is suspended.
func (o office) follow(t *testing.T, made task.Task) task.Task {
	t.Helper()
	events, err := o.tasks.Follow(o.ctx, made.ID, made.StreamID, 0)
	if err != nil {
		t.Fatal(err)
	}
	for e, err := range events {
		if err != nil {
			t.Fatal(err)
		}
		if e != nil && e.Type == task.EventSuspended {
			break
		}
	}
	if made, err = o.tasks.Find(o.ctx, made.ID); err != nil {
		t.Fatal(err)
	}
	return made
}

func TestChangeWaitsForAPersonsWord(t *testing.T) {
	for approve, want := range map[bool]int64{true: 1, false: 0} {
		dbtest.Each(t, func(t *testing.T, d *db.DB) {
			url, posts := shop(t)
			o := openWith(t, d, scripted(call(1, "http_request", map[string]any{"method": "POST", "url": url + "/form"})))
			made, err := o.tasks.Create(o.ctx, task.NewTask{Instruction: "look at " + url})
			if err != nil {
				t.Fatal(err)
			}
			made = o.follow(t, made)
			if made.Status != task.Suspended || posts.Load() != 0 || !strings.Contains(string(made.Pending), "POST") {
				t.Fatalf("%s, %d posts, %s", made.Status, posts.Load(), made.Pending)
			}
			if _, err := o.tasks.Approve(o.ctx, made.ID, task.Decision{Approve: approve}); err != nil {
				t.Fatal(err)
			}
			if made = o.end(t, made); made.Status != task.Completed || posts.Load() != want {
				t.Errorf("approved %v: %s, %d posts: %s", approve, made.Status, posts.Load(), made.Summary)
			}
		})
	}
}

// end follows a stream to its last event.
func (o office) end(t *testing.T, made task.Task) task.Task {
	t.Helper()
	events, err := o.tasks.Follow(o.ctx, made.ID, made.StreamID, 0)
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range events {
		if err != nil {
			t.Fatal(err)
		}
	}
	if made, err = o.tasks.Find(o.ctx, made.ID); err != nil {
		t.Fatal(err)
	}
	return made
}

func TestDeadProviderLeavesTheWorkToThePlanner(t *testing.T) {
	url, _ := shop(t)
	c := scripted()
	c.Server.Script = &llm.Script{Replies: []llm.Reply{{Error: llm.CodeKey}}}
	o := openWith(t, dbtest.Open(t, "sqlite"), c)
	made, _ := o.do(t, "check the security headers of "+url, nil)
	if made.Status != task.Completed || !strings.Contains(made.Summary, llm.CodeKey) ||
		!strings.Contains(made.Summary, "1 of 1 targets answered") {
		t.Errorf("%s: %s", made.Status, made.Summary)
	}
}

// TestLostModelLeavesTheWorkToThePlanner: a model that does not get as far as a request is
// as good as none, in a chat excepted.
func TestLostModelLeavesTheWorkToThePlanner(t *testing.T) {
	url, _ := shop(t)
	cut := llm.Reply{Text: strings.Repeat("and on ", 1000), Stop: llm.StopLength}
	o := openWith(t, dbtest.Open(t, "sqlite"), scripted(cut, cut))
	done, _ := o.do(t, "check the security headers of "+url, nil)
	if done.Status != task.Completed || !strings.Contains(done.Summary, "("+loop.CodeTruncated+")") ||
		!strings.Contains(done.Summary, "built-in planner did") || len(done.Summary) > 2000 ||
		!strings.Contains(done.Summary, "Templates: ") {
		t.Errorf("%s: %s", done.Status, done.Summary)
	}
}
