package agentapi

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/core/task"
	"github.com/vedette-sec/vedette/internal/infra/errs"
	"pgregory.net/rapid"
)

func TestHowTheAnswerIsChosen(t *testing.T) {
	for _, c := range []struct {
		format, accept string
		stream         bool
	}{
		{"", "", false},
		{"", "*/*", false},
		{"", "text/*", false},
		{"", "text/event-stream", true},
		{"", "Text/Event-Stream; charset=utf-8", true},
		{"", "application/json", false},
		{"", "application/json, text/plain;q=0.5", false},
		{"", "application/json, text/event-stream;q=0.5", true},
		{"", "text/event-stream;q=0.000, */*", false},
		{"", "x-text/event-stream", false},
		{"json", "text/event-stream", false},
		{"sse", "application/json", true},
	} {
		if got := (TaskRequest{ResponseFormat: c.format}).wantsStream(c.accept); got != c.stream {
			t.Errorf("response_format %q with Accept %q: a stream is wanted: %v", c.format, c.accept, got)
		}
	}
}

func TestInstructionOfARequest(t *testing.T) {
	for body, want := range map[string]string{
		`{"task":"look"}`: "look",
		`{"message":{"parts":[{"type":"text","text":"look"},{"type":"file","url":"x"},{"type":"text","text":"there"}]}}`: "look\nthere",
		`{"message":{"parts":[]}}`:                                     "",
		`{"task":"a","message":{"parts":[{"type":"text","text":""}]}}`: "message",
	} {
		var r TaskRequest
		if err := json.Unmarshal([]byte(body), &r); err != nil {
			t.Fatal(err)
		}
		n, err := r.newTask()
		if e := errs.From(err); e != nil {
			n.Instruction = e.Param
		}
		if n.Instruction != want {
			t.Errorf("%s: %q, want %q", body, n.Instruction, want)
		}
	}
}

func TestRequestIsKept(t *testing.T) {
	var r TaskRequest
	body := `{"task":"x","id":"A0EEBC99-9C0B-4EF8-BB6D-6BB9BD380A11","completion_delivery":"artifact","mode":"plan","max_steps":9,"secrets":["TOKEN"],"visibility":"team"}`
	if err := json.Unmarshal([]byte(body), &r); err != nil {
		t.Fatal(err)
	}
	n, err := r.newTask()
	if err != nil || n.ID != strings.ToLower(r.ID) || n.Delivery != task.Artifact || n.Options.Mode != "plan" ||
		*n.Options.MaxSteps != 9 ||
		!slices.Equal(n.Options.Secrets, []string{"TOKEN"}) || n.Options.Visibility != "team" {
		t.Errorf("%+v, %v", n, err)
	}
}

func TestPagesLoseNothing(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := rapid.SliceOfDistinct(rapid.StringN(1, 8, 8), rapid.ID[string]).Draw(t, "items")
		limit := rapid.IntRange(1, 10).Draw(t, "limit")
		var got []string
		for rest := all; ; {
			page, more, next := pageOf(rest[:min(len(rest), limit+1)], limit, func(s string) string { return s })
			got = append(got, page...)
			if !more {
				break
			}
			rest = all[slices.Index(all, next)+1:]
		}
		if !slices.Equal(got, all) {
			t.Fatalf("got %q of %q", got, all)
		}
	})
}
