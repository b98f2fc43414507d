package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestRunCallsToolsUntilTheModelIsDone(t *testing.T) {
	var b bench
	d := &disk{}
	c, s := config(d, []loop.Tool{b.tool("look", nil)}, calls("look", `{"at":1}`, "look", `{"at":2}`),
		says("All is well."))
	var events []loop.Event
	c.Emit = func(e loop.Event) { events = append(events, e) }
	out := run(t, c)
	want(t, out, loop.Completed, "")
	if out.Summary != "All is well." || out.Steps != 2 || out.Calls != 2 || b.did(`look {"at":2}`) != 1 {
		t.Errorf("%+v", out)
	}
	last := s.asked[1].Messages
	if len(last) != 4 || last[1].Calls[0].ID != last[2].CallID || last[2].CallID == last[3].CallID ||
		!strings.Contains(last[3].Text, `did look {"at":2}`) {
		t.Errorf("the model was shown %+v", last)
	}
	var kinds []string
	for _, e := range events {
		kinds = append(kinds, string(e.Type))
	}
	if got := strings.Join(kinds, " "); got != "tool-input-available tool-output-available tool-input-available tool-output-available text-delta" {
		t.Errorf("events: %s", got)
	}
}

// TestFinishedTurnIsNotTouchedAgain replays with a model and a tool that fail when touched:
// as it stands, and with its last entry lost, so that everything is derived once more.
func TestFinishedTurnIsNotTouchedAgain(t *testing.T) {
	d := &disk{}
	finding := gives("look", loop.Result{Text: "found", Candidate: json.RawMessage(`{"title":"x"}`),
		Evidence: []string{"x"}, Requests: 3})
	c, s := config(d, []loop.Tool{finding}, calls("look", `{}`), calls("delegate", `{"tasks":[{"instruction":"part"}]}`),
		says("Done."))
	s.answers["part"] = []llm.Response{calls("look", `{"n":1}`), says("Part done.")}
	c.Price = llm.Price{Input: 3_000_000, Output: 15_000_000}
	c.MaxIterations = 1
	c.Verify = func(context.Context, json.RawMessage) (loop.Verification, error) {
		return loop.Verification{Result: loop.Confirmed, Confirmed: 3, Tried: 3, Requests: 3}, nil
	}
	first := run(t, c)
	want(t, first, loop.Completed, "")
	if first.Micros == 0 || first.Requests != 9 || len(first.Candidates) != 1 || first.Steps != 5 || first.Calls != 2 {
		t.Fatalf("%+v", first)
	}
	touched := func() error { t.Error("the replay touched something"); return errors.New("touched") }
	c.Model = &script{extra: func(llm.Request) (llm.Response, error) { return llm.Response{}, touched() }}
	c.Verify = func(context.Context, json.RawMessage) (loop.Verification, error) {
		return loop.Verification{}, touched()
	}
	c.Tools[0].Call = func(context.Context, json.RawMessage, func(string)) (loop.Result, error) {
		return loop.Result{}, touched()
	}
	same := func(got loop.Outcome) {
		t.Helper()
		a, _ := json.Marshal(first)
		b, _ := json.Marshal(got)
		if string(a) != string(b) {
			t.Errorf("the replay came to\n%s\ninstead of\n%s", b, a)
		}
	}
	same(run(t, c))
	ends := d.of(loop.BranchEnd)
	d.entries = slices.DeleteFunc(d.entries, func(e loop.Entry) bool { return e.Kind == loop.BranchEnd })
	same(run(t, c))
	if again := d.of(loop.BranchEnd); len(again) != len(ends) || string(again[1].Body) != string(ends[1].Body) {
		t.Errorf("the ends differ: %v", again)
	}
}

func TestModelsThatDoNotAnswerAsAsked(t *testing.T) {
	refusal := llm.Response{Stop: llm.StopRefusal, Text: "I cannot."}
	cut := llm.Response{Stop: llm.StopLength, Text: "first half "}
	for name, tt := range map[string]struct {
		answers []llm.Response
		status  loop.Status
		code    string
		summary string
		steps   int
	}{
		"refusal":  {[]llm.Response{refusal}, loop.Failed, loop.CodeRefused, "I cannot.", 1},
		"cut once": {[]llm.Response{cut, says("second half")}, loop.Completed, "", "first half second half", 2},
		"cut twice": {[]llm.Response{cut, cut, says("no")}, loop.Stopped, loop.CodeTruncated, "first half first half",
			2},
		"cut in a call": {[]llm.Response{{Stop: llm.StopLength, Calls: calls("look", `{"a":`).Calls}, says("fine")},
			loop.Completed, "", "fine", 2},
		"empty once":  {[]llm.Response{says(" "), says("x")}, loop.Completed, "", "x", 2},
		"empty twice": {[]llm.Response{says(""), says("")}, loop.Failed, loop.CodeEmpty, "nothing, twice", 2},
		"calls for ever": {slices.Repeat([]llm.Response{calls("look", `{}`)}, 3), loop.Stopped, loop.CodeSameCall,
			"third time", 3},
	} {
		t.Run(name, func(t *testing.T) {
			c, s := config(&disk{}, []loop.Tool{gives("look", loop.Result{Text: "nothing"})}, tt.answers...)
			if strings.HasPrefix(name, "empty") { // nothing was added to the conversation that the script counts
				left := tt.answers
				s.answers = nil
				s.extra = func(llm.Request) (llm.Response, error) { a := left[0]; left = left[1:]; return a, nil }
			}
			out := run(t, c)
			want(t, out, tt.status, tt.code)
			if !strings.Contains(out.Summary, tt.summary) || out.Steps != tt.steps {
				t.Errorf("%d steps, %q", out.Steps, out.Summary)
			}
		})
	}
}

func TestProvidersThatFail(t *testing.T) {
	for name, tt := range map[string]struct {
		err  error
		code string
	}{
		"a storm of 429":  {errs.New(errs.RateLimited, llm.CodeLimited, "The provider is limiting."), llm.CodeLimited},
		"a dead provider": {errs.New(errs.Unavailable, llm.CodeUnavailable, "Nobody answers."), llm.CodeUnavailable},
		"a crash":         {errors.New("boom"), llm.CodeUnavailable},
	} {
		t.Run(name, func(t *testing.T) {
			d := &disk{}
			c, s := config(d, nil)
			s.extra = func(llm.Request) (llm.Response, error) { return llm.Response{}, tt.err }
			c.Price = llm.Price{Input: 1_000_000}
			out := run(t, c)
			want(t, out, loop.Failed, tt.code)
			if out.Micros != 0 {
				t.Errorf("an answer that did not come cost %d", out.Micros)
			}
			s.extra = nil
			want(t, run(t, c), loop.Failed, tt.code)
		})
	}
}

// endless streams until it is told to stop, and then a little longer.
type endless struct{ stopped chan struct{} }

func (e endless) Complete(ctx context.Context, _ llm.Request, onText func(string)) (llm.Response, error) {
	defer close(e.stopped)
	for ctx.Err() == nil {
		onText("more and ")
		time.Sleep(time.Second)
	}
	return llm.Response{}, ctx.Err()
}

func TestModelThatStreamsForEver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		d := &disk{}
		c, _ := config(d, nil)
		c.Price = llm.Price{Input: 1_000_000, Output: 1_000_000}
		e := endless{make(chan struct{})}
		c.Model = e
		out := run(t, c)
		want(t, out, loop.Failed, llm.CodeUnavailable)
		if out.Usage.Output == 0 || out.Micros == 0 {
			t.Errorf("what was streamed costs money: %+v", out)
		}
		<-e.stopped
	})
}

func TestCallsThatCannotBeMade(t *testing.T) {
	look := gives("look", loop.Result{})
	look.Schema = json.RawMessage(`{"type":"object","properties":{"port":{"type":"integer","maximum":65535}},"required":["port"],"additionalProperties":false}`)
	d := &disk{}
	c, s := config(d, []loop.Tool{look},
		calls("nmap", `{}`), calls("look", `{"port":`), calls("look", `{"port":70000,"x":1}`), calls("look", `[1]`),
		says("I give up."))
	want(t, run(t, c), loop.Completed, "")
	for i, wish := range []string{`"nmap"`, "not JSON", "/port", "not a JSON object"} {
		messages := s.asked[i+1].Messages
		m := messages[len(messages)-1]
		if !m.Failed || !strings.Contains(m.Text, wish) {
			t.Errorf("the model is not told %q: %+v", wish, m)
		}
	}
	c, _ = config(&disk{}, []loop.Tool{look}, calls("a", `{}`), calls("b", `{}`), calls("c", `{}`), calls("d", `{}`),
		calls("e", `{}`), says("never"))
	out := run(t, c)
	want(t, out, loop.Stopped, loop.CodeMalformed)
}

func TestGuard(t *testing.T) {
	var b bench
	ask := func(i string) llm.Response { return calls("look", `{"i":`+i+`}`) }
	stale := gives("look", loop.Result{Text: "same", Evidence: []string{"one"}})
	distinct := []llm.Response{ask("1"), ask("2"), ask("3"), ask("4"), ask("5"), ask("6"), says("no")}
	for name, tt := range map[string]struct {
		tool    loop.Tool
		answers []llm.Response
		code    string
	}{
		"thrice": {stale, []llm.Response{ask("0"), ask("1"), ask("2"), ask("1"), ask("3"), ask("1"), says("no")},
			loop.CodeSameCall},
		"spelt anew": {stale, []llm.Response{ask("0"), calls("look", `{"a":1,"b":2}`), ask("2"),
			calls("look", `{ "b":2, "a":1 }`), ask("3"), calls("look", `{"b":2,"a":1}`), says("no")}, loop.CodeSameCall},
		"twice": {stale, []llm.Response{ask("0"), ask("1"), ask("1"), says("yes")}, ""},
		"a-b-a-b": {stale, []llm.Response{ask("0"), ask("1"), ask("2"), ask("1"), ask("2"), says("no")},
			loop.CodeAlternating},
		"nothing new": {stale, distinct, loop.CodeNoEvidence},
		"always new":  {b.tool("look", nil), distinct, ""},
	} {
		t.Run(name, func(t *testing.T) {
			d := &disk{}
			c, s := config(d, []loop.Tool{tt.tool}, tt.answers...)
			s.extra = func(llm.Request) (llm.Response, error) { return says("ended by itself"), nil }
			c.StaleSteps = 5
			if tt.code == "" {
				want(t, run(t, c), loop.Completed, "")
				return
			}
			out := run(t, c)
			want(t, out, loop.Stopped, tt.code)
			if codes := d.remarks(); !slices.Contains(codes, tt.code) {
				t.Errorf("the journal does not say why: %v", codes)
			}
		})
	}
}

func TestMaxSteps(t *testing.T) {
	var b bench
	c, _ := config(&disk{}, []loop.Tool{b.tool("look", nil)}, calls("look", `{"n":1}`), calls("look", `{"n":2}`),
		calls("look", `{"n":3}`))
	c.MaxSteps = 2
	want(t, run(t, c), loop.Stopped, loop.CodeMaxSteps)
	if b.did(`look {"n":3}`) != 0 {
		t.Error("a third step was made")
	}
}

func TestToolsThatHangOrCrash(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		hang := loop.Tool{Tool: llm.Tool{Name: "hang"}, Timeout: time.Minute,
			Call: func(ctx context.Context, _ json.RawMessage, say func(string)) (loop.Result, error) {
				<-ctx.Done()
				<-free // it does not care
				say("too late")
				return loop.Result{}, nil
			}}
		crash := loop.Tool{Tool: llm.Tool{Name: "crash"},
			Call: func(context.Context, json.RawMessage, func(string)) (loop.Result, error) { panic("oh") }}
		fail := loop.Tool{Tool: llm.Tool{Name: "fail"},
			Call: func(context.Context, json.RawMessage, func(string)) (loop.Result, error) {
				return loop.Result{Text: "half of it"}, errors.New("no route")
			}}
		d := &disk{}
		c, _ := config(d, []loop.Tool{hang, crash, fail}, calls("hang", `{}`), calls("crash", `{}`), calls("fail", `{}`),
			says("So be it."))
		c.Emit = func(e loop.Event) {
			if e.Type == loop.EventProgress {
				t.Error("a tool that was left behind was heard")
			}
		}
		want(t, run(t, c), loop.Completed, "")
		var ends []loop.CallStatus
		for _, e := range d.of(loop.ToolResult) {
			ends = append(ends, decode[loop.Returned](e.Body).Status)
		}
		if !slices.Equal(ends, []loop.CallStatus{loop.CallTimeout, loop.CallFailed, loop.CallFailed}) ||
			!slices.Contains(d.remarks(), loop.CodeAbandoned) {
			t.Errorf("%v, %v", ends, d.remarks())
		}
		if last := decode[loop.Returned](d.of(loop.ToolResult)[2].Body); last.Result.Text != "half of it" ||
			last.Error != "no route" {
			t.Errorf("%+v", last)
		}
		close(free)
	})
}

// TestAbortEndsWithinFiveSeconds, even when a tool does not, and the run can go on.
func TestAbortEndsWithinFiveSeconds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		free := make(chan struct{})
		begun := make(chan struct{}, 2)
		stubborn := loop.Tool{Tool: llm.Tool{Name: "stubborn"},
			Call: func(context.Context, json.RawMessage, func(string)) (loop.Result, error) {
				begun <- struct{}{}
				<-free
				return loop.Result{}, nil
			}}
		d := &disk{}
		c, s := config(d, []loop.Tool{stubborn}, calls("delegate", `{"tasks":[{"instruction":"a"},{"instruction":"b"}]}`),
			says("Done."))
		s.answers["a"] = []llm.Response{calls("stubborn", `{}`), says("a")}
		s.answers["b"] = []llm.Response{calls("stubborn", `{}`), says("b")}
		ctx, cancel := context.WithCancel(t.Context())
		var at time.Time
		go func() {
			<-begun
			<-begun
			at = time.Now()
			cancel()
		}()
		out, err := loop.Run(ctx, c)
		if err != nil {
			t.Fatal(err)
		}
		want(t, out, loop.Aborted, "")
		if took := time.Since(at); took >= 5*time.Second {
			t.Errorf("it took %s", took)
		}
		close(free)
		if len(d.of(loop.ToolResult)) != 0 || len(d.of(loop.BranchEnd)) != 0 {
			t.Error("an abort from outside is in the journal")
		}
		out = run(t, c) // both calls were under way, and must not be made twice
		want(t, out, loop.Completed, "")
		for _, e := range d.of(loop.ToolResult)[:2] {
			if ret := decode[loop.Returned](e.Body); ret.Status != loop.CallUnknown {
				t.Errorf("%+v", ret)
			}
		}
	})
}

func TestControlAbortsOneCall(t *testing.T) {
	var control loop.Control
	var b bench
	d := &disk{}
	wait := loop.Tool{Tool: llm.Tool{Name: "wait"},
		Call: func(ctx context.Context, _ json.RawMessage, _ func(string)) (loop.Result, error) {
			<-ctx.Done()
			return loop.Result{Text: "so far"}, ctx.Err()
		}}
	c, s := config(d, []loop.Tool{wait, b.tool("look", nil)},
		calls("wait", `{}`), calls("delegate", `{"tasks":[{"instruction":"lost"},{"instruction":"kept"}]}`), says("Done."))
	s.answers["lost"] = []llm.Response{calls("wait", `{}`), says("no")}
	s.answers["kept"] = []llm.Response{calls("look", `{}`), says("I have it")}
	c.Control = &control
	missing := 0
	c.Emit = func(e loop.Event) {
		switch {
		case e.Type == loop.EventInput && e.Tool == "wait" && e.Subagent == "":
			go func() {
				for !control.Abort(e.ID) { // the event comes just before the call
					missing++
				}
			}()
		case e.Type == loop.EventInput && e.Tool == "wait":
			if !control.Abort(e.Subagent) {
				t.Error("there is no sub-agent", e.Subagent)
			}
		}
	}
	out := run(t, c)
	want(t, out, loop.Completed, "")
	if control.Abort("0/main/1.1") {
		t.Error("what has ended was found")
	}
	for _, e := range d.of(loop.ToolResult) {
		ret := decode[loop.Returned](e.Body)
		switch e.Key {
		case "0/main/1.1":
			if ret.Status != loop.CallAborted || ret.Result.Text != "so far" {
				t.Errorf("%+v", ret)
			}
		case "0/main/2.1":
			if !strings.Contains(ret.Result.Text, "untitled (aborted aborted)") ||
				!strings.Contains(ret.Result.Text, "I have it") {
				t.Errorf("%+v", ret)
			}
		}
	}
}
