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

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/loop"
)

// journey is a run of more than thirty steps with everything in it that has a side effect:
// calls that may be repeated and calls that may not, an approval, a question, sub-agents,
// findings, verifying and a review.
func journey(d *disk, b *bench) (loop.Config, *script, *ledger) {
	once := b.tool("once", func(t *loop.Tool) { t.Repeatable = false })
	find := loop.Tool{Tool: llm.Tool{Name: "find"}, Repeatable: true,
		Requests: func(json.RawMessage) int { return 5 },
		Call: func(_ context.Context, args json.RawMessage, _ func(string)) (loop.Result, error) {
			return loop.Result{Text: "found", Evidence: []string{"f" + string(args)},
				Candidate: json.RawMessage(`{"title":"weak","at":` + string(args) + `}`), Requests: 3}, nil
		}}
	login := b.tool("login", func(t *loop.Tool) { t.Secrets = true })
	c, s := config(d, []loop.Tool{login, b.tool("look", nil), once, b.tool("break", intrusive), find})
	var main []llm.Response
	for i := range 8 {
		main = append(main, calls("look", fmt.Sprintf(`{"n":%d}`, i), "once", fmt.Sprintf(`{"n":%d}`, i)))
	}
	s.answers["go"] = append(main, calls("find", `{"n":1}`), calls("break", `{}`), calls("break", `{"not":"this"}`),
		calls("login", `{"as":"{{$NOBODY}}"}`), calls("nmap", `{`), calls("ask_question", `{"question":"On?"}`),
		calls("delegate", `{"tasks":[{"instruction":"left"},{"instruction":"right"}]}`), calls("look", `{"last":1}`),
		says("All done."), says("Still."))
	s.answers["left"] = []llm.Response{calls("once", `{"l":1}`), calls("look", `{"l":2}`), calls("find", `{"l":3}`),
		says("left done")}
	s.answers["right"] = []llm.Response{calls("look", `{"r":1}`), calls("once", `{"r":2}`), calls("look", `{"r":3}`),
		calls("once", `{"r":4}`), says("right done")}
	s.extra = func(llm.Request) (llm.Response, error) {
		a := says(`{"verdict":"confirmed","reason":"it is"}`)
		a.Usage = llm.Usage{Input: 300, Output: 9}
		return a, nil
	}
	c.Mode, c.MaxIterations, c.AskQuestion = loop.ModeAgent, 2, true
	c.Verify = func(_ context.Context, f json.RawMessage) (loop.Verification, error) {
		const k = 3
		if strings.Contains(string(f), `"l":3`) {
			return loop.Verification{Result: loop.FalsePositive, Tried: k, Requests: k}, nil
		}
		return loop.Verification{Result: loop.Confirmed, Confirmed: k, Tried: k, Requests: k}, nil
	}
	c.Price = llm.Price{Input: 3_000_000, Output: 15_000_000, CacheRead: 300_000}
	c.Caps = loop.Caps{Micros: 20_000_000, Tokens: 4_000_000, Requests: 1000}
	l := &ledger{held: map[string]int64{}, spent: map[string]int64{}}
	c.Reservations = l
	return c, s, l
}

// ledger keeps money outside of the run, and outlives it.
type ledger struct {
	mu          sync.Mutex
	limit       int64
	held, spent map[string]int64
	most        int64 // that was held and spent together
}

func (l *ledger) Reserve(_ context.Context, key string, micros int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.held[key] = micros
	delete(l.spent, key)
	if l.limit > 0 && l.sum() > l.limit {
		delete(l.held, key)
		return capReached()
	}
	l.most = max(l.most, l.sum())
	return nil
}

func (l *ledger) Settle(_ context.Context, key string, micros int64) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	delete(l.held, key)
	l.spent[key] = micros
	return nil
}

func (l *ledger) sum() (n int64) {
	for _, m := range l.held {
		n += m
	}
	for _, m := range l.spent {
		n += m
	}
	return n
}

// through runs until the end, answers what is asked, and starts again after each death.
func through(t *testing.T, c loop.Config, d *disk) (loop.Outcome, *disk) {
	t.Helper()
	for range 40 {
		c.Journal = d
		out, err := loop.Run(t.Context(), c)
		switch {
		case errors.Is(err, errDied):
			d = d.alive()
			continue
		case err != nil:
			t.Fatal(err)
		case out.Status != loop.Suspended:
			return out, d
		}
		for _, w := range decode[[]loop.Waiting](out.Pending) {
			e, _ := w.Answer(loop.Reply{Approve: w.Ask.Kind != loop.AskUnknown && !strings.Contains(w.Ask.Text, "not"),
				Text: "go on"}, c.Now())
			if _, err := d.Append(t.Context(), e); err != nil {
				d = d.alive()
			}
		}
	}
	t.Fatal("it never ends")
	return loop.Outcome{}, d
}

// meaning is what a journal says, whatever the order in which sub-agents wrote it and
// however often a process was started.
func meaning(d *disk) []string {
	var lines []string
	for _, e := range d.entries {
		text := fmt.Sprintf("%s %s", e.Kind, e.Key)
		switch e.Kind {
		case loop.ToolResult:
			text += " " + string(decode[loop.Returned](e.Body).Status)
		case loop.ModelAnswer:
			text += fmt.Sprint(" ", e.Cost, decode[loop.Answered](e.Body).Response.Text)
		case loop.Verified:
			text += " " + decode[loop.Verification](e.Body).Result
		case loop.Note:
			if decode[loop.Remark](e.Body).Code == loop.CodeResumed {
				continue
			}
		}
		lines = append(lines, text)
	}
	slices.Sort(lines)
	return lines
}

// TestCrashAnywhere kills the process at every append, before and after it is durable, and
// starts it again from what is on the disk.
func TestCrashAnywhere(t *testing.T) {
	var still bench
	whole := &disk{}
	c, s, l := journey(whole, &still)
	wanted, whole := through(t, c, whole)
	want(t, wanted, loop.Completed, "")
	if steps := len(s.asked); steps < 25 || len(wanted.Candidates) != 2 || l.sum() != wanted.Micros {
		t.Fatalf("%d steps, %d findings, %d of %d", steps, len(wanted.Candidates), l.sum(), wanted.Micros)
	}
	if len(whole.entries) < 90 {
		t.Fatalf("only %d entries", len(whole.entries))
	}
	for at := 1; at <= len(whole.entries); at++ {
		for _, after := range []bool{false, true} {
			var b bench
			d := &disk{dieAt: at, after: after}
			c, s, l := journey(d, &b)
			out, d := through(t, c, d)
			where := fmt.Sprintf("append %d, durable %v", at, after)
			unknown := slices.ContainsFunc(meaning(d), func(line string) bool { return strings.HasSuffix(line, " unknown") })
			if a, b := outcomeOf(wanted), outcomeOf(out); a != b && !unknown {
				t.Fatalf("%s: %s\ninstead of\n%s", where, b, a)
			}
			if a, b := outcomeOf(loop.Outcome{Candidates: wanted.Candidates}),
				outcomeOf(loop.Outcome{Candidates: out.Candidates}); a != b {
				t.Fatalf("%s: findings %s\ninstead of\n%s", where, b, a)
			}
			if got := meaning(d); !unknown && !slices.Equal(got, meaning(whole)) {
				t.Fatalf("%s: the journal differs:\n%s", where, strings.Join(got, "\n"))
			}
			for call, n := range b.count {
				if n > 1 && !strings.HasPrefix(call, "look ") {
					t.Fatalf("%s: %s was called %d times", where, call, n)
				}
			}
			if len(s.asked) > len(d.of(loop.ModelAnswer))+2 { // those under way when it died, at most two
				t.Fatalf("%s: the model was asked %d times for %d answers", where, len(s.asked), len(d.of(loop.ModelAnswer)))
			}
			noAnswerTwice(t, where, d)
			if sum := l.sum(); sum != out.Micros || len(l.held) > 0 {
				t.Fatalf("%s: the ledger has %d, held %v, and the run %d", where, sum, l.held, out.Micros)
			}
		}
	}
}

func noAnswerTwice(t *testing.T, where string, d *disk) {
	t.Helper()
	seen := map[string]bool{}
	for _, e := range d.entries {
		if e.Kind == loop.Answer {
			continue // the person's
		}
		at := string(e.Kind) + e.Key
		if seen[at] {
			t.Fatalf("%s: %s is there twice", where, at)
		}
		seen[at] = true
	}
	if open := loop.OpenReservations(d.entries); len(open) > 0 {
		t.Fatalf("%s: no answer for %v", where, open)
	}
}

func outcomeOf(o loop.Outcome) string {
	doc, _ := json.Marshal(o)
	return string(doc)
}
