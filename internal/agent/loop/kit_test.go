package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/loop"
)

// disk is a journal that outlives runs, and dies when told: nothing is written after that.
type disk struct {
	mu      sync.Mutex
	entries []loop.Entry
	dieAt   int  // the append that does not come back; 0: none
	after   bool // that append is still written
	appends int
	dead    bool
}

var errDied = errors.New("the process died")

func (d *disk) Entries(context.Context) ([]loop.Entry, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return slices.Clone(d.entries), nil
}

func (d *disk) Append(_ context.Context, e loop.Entry) (int64, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.dead {
		return 0, errDied
	}
	d.appends++
	d.dead = d.appends == d.dieAt
	if d.dead && !d.after {
		return 0, errDied
	}
	e.Seq = int64(len(d.entries) + 1)
	e.Body = slices.Clone(e.Body)
	d.entries = append(d.entries, e)
	if d.dead {
		return 0, errDied
	}
	return e.Seq, nil
}

// alive gives the disk to the next process.
func (d *disk) alive() *disk {
	d.mu.Lock()
	defer d.mu.Unlock()
	return &disk{entries: slices.Clone(d.entries)}
}

// of are the entries of a kind.
func (d *disk) of(kind loop.EntryKind) []loop.Entry {
	all, _ := d.Entries(context.Background())
	return slices.DeleteFunc(all, func(e loop.Entry) bool { return e.Kind != kind })
}

// remarks are the codes of the notes.
func (d *disk) remarks() (codes []string) {
	for _, e := range d.of(loop.Note) {
		codes = append(codes, decode[loop.Remark](e.Body).Code)
	}
	return codes
}

func decode[T any](doc []byte) (v T) {
	if err := json.Unmarshal(doc, &v); err != nil {
		panic(fmt.Sprintf("%v in %s", err, doc))
	}
	return v
}

// script is a model that answers the nth request of a conversation, which it knows by the
// first line of its instruction.
type script struct {
	answers map[string][]llm.Response
	extra   func(r llm.Request) (llm.Response, error) // asked when no answer is left
	mu      sync.Mutex
	asked   []llm.Request
}

func (s *script) Complete(ctx context.Context, r llm.Request, onText func(string)) (llm.Response, error) {
	if err := ctx.Err(); err != nil {
		return llm.Response{}, err
	}
	said := 0
	for _, m := range r.Messages {
		if m.Role == llm.Assistant {
			said++
		}
	}
	task, _, _ := strings.Cut(r.Messages[0].Text, "\n")
	s.mu.Lock()
	s.asked = append(s.asked, r)
	answers := s.answers[task]
	s.mu.Unlock()
	if said >= len(answers) {
		if s.extra != nil {
			return s.extra(r)
		}
		return llm.Response{}, fmt.Errorf("the script has no answer %d for %q", said, task)
	}
	a := answers[said]
	if a.Usage == (llm.Usage{}) {
		a.Usage = llm.Usage{Input: bytesOf(r) / 4, Output: 20}
	}
	if onText != nil && a.Text != "" {
		onText(a.Text)
	}
	return a, nil
}

func bytesOf(r llm.Request) int {
	doc, _ := json.Marshal(r)
	return len(doc)
}

// says and calls are answers; calls takes pairs of a tool and its arguments.
func says(text string) llm.Response { return llm.Response{Text: text, Stop: llm.StopEnd} }

func calls(pairs ...string) llm.Response {
	a := llm.Response{Stop: llm.StopCalls}
	for i := 0; i < len(pairs); i += 2 {
		a.Calls = append(a.Calls, llm.ToolCall{ID: fmt.Sprintf("c%d", i/2), Name: pairs[i], Args: pairs[i+1]})
	}
	return a
}

// bench is a tool's maker that counts.
type bench struct {
	mu    sync.Mutex
	count map[string]int // calls, by tool and arguments
}

func (b *bench) did(call string) int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return b.count[call]
}

// tool is one whose every call brings evidence of its own.
func (b *bench) tool(name string, change func(*loop.Tool)) loop.Tool {
	t := loop.Tool{Tool: llm.Tool{Name: name, Description: name, Schema: json.RawMessage(`{"type":"object"}`)},
		Repeatable: true}
	t.Call = func(_ context.Context, args json.RawMessage, _ func(string)) (loop.Result, error) {
		b.mu.Lock()
		defer b.mu.Unlock()
		if b.count == nil {
			b.count = map[string]int{}
		}
		b.count[name+" "+string(args)]++
		return loop.Result{Text: "did " + name + " " + string(args), Evidence: []string{name + string(args)}}, nil
	}
	if change != nil {
		change(&t)
	}
	return t
}

// gives makes a tool that always brings the same.
func gives(name string, r loop.Result) loop.Tool {
	return loop.Tool{
		Tool:       llm.Tool{Name: name, Schema: json.RawMessage(`{"type":"object"}`)},
		Repeatable: true,
		Call:       func(context.Context, json.RawMessage, func(string)) (loop.Result, error) { return r, nil },
	}
}

// config is a run with one conversation, "go".
func config(d *disk, tools []loop.Tool, answers ...llm.Response) (loop.Config, *script) {
	s := &script{answers: map[string][]llm.Response{"go": answers}}
	return loop.Config{Model: s, ModelName: "test", Journal: d, Instruction: "go", Tools: tools, Now: time.Now}, s
}

// run runs and wants no error.
func run(t *testing.T, c loop.Config) loop.Outcome {
	t.Helper()
	out, err := loop.Run(t.Context(), c)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// want holds an outcome against the end it should have.
func want(t *testing.T, out loop.Outcome, status loop.Status, code string) {
	t.Helper()
	if out.Status != status || out.Code != code {
		t.Fatalf("%s %q instead of %s %q: %s", out.Status, out.Code, status, code, out.Summary)
	}
}

// reply answers the one question that a suspended run waits for.
func reply(t *testing.T, d *disk, out loop.Outcome, r loop.Reply) {
	t.Helper()
	waiting := decode[[]loop.Waiting](out.Pending)
	if len(waiting) != 1 {
		t.Fatalf("%d questions wait: %s", len(waiting), out.Pending)
	}
	e, err := waiting[0].Answer(r, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Append(t.Context(), e); err != nil {
		t.Fatal(err)
	}
}
