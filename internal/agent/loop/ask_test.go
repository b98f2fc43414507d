package loop_test

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/loop"
)

// intrusive makes a tool that needs a person's word.
func intrusive(t *loop.Tool) {
	t.Repeatable = false
	t.Approval = func(args json.RawMessage) *loop.Approval {
		return &loop.Approval{Action: "break " + string(args), Reason: "asked for", Risk: "high"}
	}
}

func TestApproval(t *testing.T) {
	for _, approve := range []bool{true, false} {
		t.Run(fmt.Sprint(approve), func(t *testing.T) {
			var b bench
			d := &disk{}
			c, s := config(d, []loop.Tool{b.tool("break", intrusive)}, calls("break", `{"it":1}`), says("Done."))
			out := run(t, c)
			want(t, out, loop.Suspended, "")
			want(t, run(t, c), loop.Suspended, "") // nobody has answered
			if b.did(`break {"it":1}`) != 0 || len(s.asked) != 1 {
				t.Fatal("it was done, or paid for, before it was approved")
			}
			reply(t, d, out, loop.Reply{Approve: approve, Text: "because I say so"})
			want(t, run(t, c), loop.Completed, "")
			if did := b.did(`break {"it":1}`); did != map[bool]int{true: 1}[approve] {
				t.Errorf("it was done %d times", did)
			}
			m := s.asked[1].Messages[2]
			if strings.Contains(m.Text, "because I say so") == approve {
				t.Errorf("the model is told %q", m.Text)
			}
			want(t, run(t, c), loop.Completed, "")
		})
	}
}

func TestAskQuestion(t *testing.T) {
	d := &disk{}
	c, s := config(d, nil, calls("ask_question", `{"question":"Which port?","options":["80","443"]}`), says("Thanks."))
	c.AskQuestion = true
	out := run(t, c)
	want(t, out, loop.Suspended, "")
	if w := decode[[]loop.Waiting](out.Pending)[0]; w.Ask.Kind != loop.AskUser || w.Ask.Text != "Which port?" ||
		len(w.Ask.Options) != 2 {
		t.Errorf("%+v", w)
	}
	reply(t, d, out, loop.Reply{Approve: true, Metadata: json.RawMessage(`{"answer":"443"}`)})
	want(t, run(t, c), loop.Completed, "")
	if m := s.asked[1].Messages[2]; !strings.Contains(m.Text, "443") {
		t.Errorf("the model is told %q", m.Text)
	}
	c, s = config(&disk{}, nil, calls("ask_question", `{"question":"?"}`), says("Then not."))
	want(t, run(t, c), loop.Completed, "") // nobody is to be asked: the tool is not there
	if len(s.asked[0].Tools) != 1 || !s.asked[1].Messages[2].Failed {
		t.Errorf("%+v", s.asked[0].Tools)
	}
}

func TestPlanWaitsForApproval(t *testing.T) {
	var b bench
	d := &disk{}
	read := b.tool("read", func(t *loop.Tool) { t.Passive = true })
	c, s := config(d, []loop.Tool{read, b.tool("scan", nil)},
		calls("scan", `{}`), calls("read", `{}`), calls("propose_plan", `{"summary":"Scan all.","steps":[{"title":"scan"}]}`),
		calls("propose_plan", `{"summary":"Scan one."}`), calls("scan", `{"n":1}`), says("Scanned."))
	c.Mode = loop.ModePlan
	out := run(t, c)
	want(t, out, loop.Suspended, "")
	if b.did("scan {}") != 0 || b.did("read {}") != 1 {
		t.Error("planning touched a target, or could not read")
	}
	if w := decode[[]loop.Waiting](out.Pending)[0]; w.Ask.Plan.Summary != "Scan all." || len(w.Ask.Plan.Steps) != 1 {
		t.Errorf("%+v", w.Ask)
	}
	reply(t, d, out, loop.Reply{Text: "Only one host!"})
	out = run(t, c)
	want(t, out, loop.Suspended, "")
	reply(t, d, out, loop.Reply{Approve: true})
	out = run(t, c)
	want(t, out, loop.Completed, "")
	if b.did(`scan {"n":1}`) != 1 || out.Summary != "Scanned." {
		t.Errorf("%+v", out)
	}
	said := s.asked[3].Messages
	if !strings.Contains(said[len(said)-1].Text, "Only one host!") {
		t.Errorf("the model is not told why: %+v", said[len(said)-1])
	}
}

func TestPlanThatIsDeclinedOrNeedsNoApproval(t *testing.T) {
	d := &disk{}
	c, _ := config(d, nil, says("I would look."), says("never"))
	c.Mode = loop.ModePlan
	reply(t, d, run(t, c), loop.Reply{})
	want(t, run(t, c), loop.Stopped, loop.CodePlanDeclined)

	var b bench
	c, _ = config(&disk{}, []loop.Tool{b.tool("scan", nil)}, says("I would scan."), calls("scan", `{}`), says("Scanned."))
	c.Mode, c.AutoExecute = loop.ModePlan, true
	out := run(t, c)
	want(t, out, loop.Completed, "")
	if b.did("scan {}") != 1 || out.Summary != "Scanned." {
		t.Errorf("%+v", out)
	}
}

func TestChatHasNoToolThatTouches(t *testing.T) {
	var b bench
	c, s := config(&disk{}, []loop.Tool{b.tool("read", func(t *loop.Tool) { t.Passive = true }), b.tool("scan", nil)},
		calls("scan", `{}`, "delegate", `{"tasks":[{"instruction":"scan"}]}`), says("I may not."))
	c.Mode = loop.ModeChat
	want(t, run(t, c), loop.Completed, "")
	if tools := s.asked[0].Tools; len(tools) != 1 || tools[0].Name != "read" || b.did("scan {}") != 0 {
		t.Errorf("%+v", tools)
	}
}

// TestTwoSubagentsWaitForTwoAnswers, which come one after the other.
func TestTwoSubagentsWaitForTwoAnswers(t *testing.T) {
	var b bench
	d := &disk{}
	c, s := config(d, []loop.Tool{b.tool("break", intrusive), b.tool("look", nil)},
		calls("delegate", `{"tasks":[{"instruction":"a"},{"instruction":"b"},{"instruction":"c"}]}`), says("All done."))
	s.answers["a"] = []llm.Response{calls("break", `{"w":"a"}`), says("a done")}
	s.answers["b"] = []llm.Response{calls("look", `{}`), calls("break", `{"w":"b"}`), says("b done")}
	s.answers["c"] = []llm.Response{calls("look", `{"c":1}`), says("c done")}
	out := run(t, c)
	want(t, out, loop.Suspended, "")
	for range 2 {
		waiting := decode[[]loop.Waiting](out.Pending)
		e, _ := waiting[0].Answer(loop.Reply{Approve: true}, time.Now())
		if _, err := d.Append(t.Context(), e); err != nil {
			t.Fatal(err)
		}
		out = run(t, c)
	}
	want(t, out, loop.Completed, "")
	if b.did(`break {"w":"a"}`) != 1 || b.did(`break {"w":"b"}`) != 1 || b.did("look {}") != 1 ||
		b.did(`look {"c":1}`) != 1 {
		t.Errorf("%v", b.count)
	}
	results := s.asked[len(s.asked)-1].Messages[2].Text
	if a, c := strings.Index(results, "a done"), strings.Index(results, "c done"); a < 0 || c < a ||
		strings.Count(results, "Result ") != 3 {
		t.Errorf("not one result each, in order: %s", results)
	}
	if len(s.asked) != 9 {
		t.Errorf("the model was asked %d times instead of 9", len(s.asked))
	}
}

// TestUnknownEnd is a call that must not be made twice and was under way when the process died.
func TestUnknownEnd(t *testing.T) {
	for _, tt := range []struct {
		name   string
		ask    bool
		again  bool
		did    int
		status loop.CallStatus
	}{
		{"nobody to ask", false, false, 1, loop.CallUnknown},
		{"not again", true, false, 1, loop.CallUnknown},
		{"again", true, true, 2, loop.CallCompleted},
	} {
		t.Run(tt.name, func(t *testing.T) {
			var b bench
			d := &disk{dieAt: 5} // start, call, answer, the tool's call, its result
			c, _ := config(d, []loop.Tool{b.tool("once", func(t *loop.Tool) { t.Repeatable = false })}, calls("once", `{}`),
				says("Well."))
			c.AskQuestion = tt.ask
			if _, err := loop.Run(t.Context(), c); err == nil {
				t.Fatal("the process did not die")
			}
			d = d.alive()
			c.Journal = d
			out := run(t, c)
			if tt.ask {
				want(t, out, loop.Suspended, "")
				reply(t, d, out, loop.Reply{Approve: tt.again})
				out = run(t, c)
			}
			want(t, out, loop.Completed, "")
			ends := d.of(loop.ToolResult)
			if got := decode[loop.Returned](ends[0].Body).Status; len(ends) != 1 || got != tt.status ||
				b.did("once {}") != tt.did {
				t.Errorf("%s after %d calls", got, b.did("once {}"))
			}
		})
	}
}

// TestWallTimeCountsOnlyWork: neither the wait for an answer nor the night between two
// processes is the run's.
func TestWallTimeCountsOnlyWork(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		var b bench
		slow := b.tool("slow", func(tool *loop.Tool) {
			inner := tool.Call
			tool.Call = func(ctx context.Context, args json.RawMessage, say func(string)) (loop.Result, error) {
				select {
				case <-time.After(4 * time.Minute):
					return inner(ctx, args, say)
				case <-ctx.Done():
					return loop.Result{}, ctx.Err()
				}
			}
		})
		c, _ := config(d, []loop.Tool{slow}, calls("slow", `{"n":1}`), calls("ask_question", `{"question":"?"}`),
			calls("ask_question", `{"question":"Sure?"}`),
			calls("slow", `{"n":2}`), calls("slow", `{"n":3}`), says("never"))
		c.AskQuestion, c.Caps.Wall = true, 10*time.Minute
		out := run(t, c)
		for range 2 {
			want(t, out, loop.Suspended, "")
			time.Sleep(48 * time.Hour)
			reply(t, d, out, loop.Reply{Approve: true, Text: "yes"})
			time.Sleep(time.Hour)
			if out.Steps == 2 {
				out = run(t, c)
			}
		}
		begun := time.Now()
		out = run(t, c)
		want(t, out, loop.Stopped, loop.CodeTime)
		if took := time.Since(begun); took != 6*time.Minute {
			t.Errorf("it went on for %s instead of six minutes", took)
		}
		if b.did(`slow {"n":2}`) != 1 || b.did(`slow {"n":3}`) != 0 || !slices.Contains(d.remarks(), loop.CodeTime) {
			t.Errorf("%v %v", b.count, d.remarks())
		}
	})
}
