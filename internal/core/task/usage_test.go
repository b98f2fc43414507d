package task

import (
	"encoding/json"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/core/model"
)

func TestUsageOfAStream(t *testing.T) {
	entry := func(kind loop.EntryKind, turn int, body any) loop.Entry {
		text, err := json.Marshal(body)
		if err != nil {
			t.Fatal(err)
		}
		return loop.Entry{Kind: kind, Stream: turn, Branch: "main", Body: text}
	}
	r := usage(Task{Stream: Stream{Index: 1}}, model.Chosen{}, loop.Outcome{Status: loop.Stopped, Micros: 5}, []loop.Entry{
		entry(loop.ModelAnswer, 0, loop.Answered{Took: 1}), entry(loop.BranchStart, 1, loop.Started{}),
		entry(loop.ModelCall, 1, loop.Asked{}), entry(loop.ModelAnswer, 1, loop.Answered{Took: 2}),
		entry(loop.ToolResult, 1, loop.Returned{Tool: "crawl", Took: 3}),
	})
	if r.Steps != 1 || r.Calls != 1 || r.Agents != 1 || r.LLM != 2 || r.Tools != 3 || r.Micros != 5 ||
		r.Status != "completed" || r.Detail.Tools["crawl"] != 1 {
		t.Errorf("%+v", r)
	}
}

// TestInterruptedCallsCount: a call of a model that a restart interrupted was made, and is made again under its key.
func TestInterruptedCallsCount(t *testing.T) {
	entry := func(kind loop.EntryKind, key string, body string) loop.Entry {
		return loop.Entry{Kind: kind, Branch: "main", Key: key, Body: json.RawMessage(body)}
	}
	call, answer := loop.ModelCall, loop.ModelAnswer
	resumed := entry(loop.Note, "resumed", `{"code":"`+loop.CodeResumed+`"}`)
	for want, entries := range map[int][]loop.Entry{
		1: {entry(call, "1", "{}"), entry(answer, "1", "{}"), resumed},
		2: {entry(call, "1", "{}"), resumed, entry(answer, "1", "{}")},
		4: {entry(call, "1", "{}"), resumed, resumed, entry(answer, "1", "{}"), entry(call, "2", "{}")},
		5: {entry(call, "1", "{}"), entry(call, "main.1/1", "{}"), resumed, entry(answer, "1", "{}"),
			entry(answer, "main.1/1", "{}"), entry(call, "2", "{}"), entry(loop.Note, "n", `{"code":"max_steps"}`)},
	} {
		if r := usage(Task{}, model.Chosen{}, loop.Outcome{}, entries); r.Steps != want {
			t.Errorf("%d steps, want %d", r.Steps, want)
		}
	}
}
