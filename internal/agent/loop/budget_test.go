package loop_test

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/vedette-sec/vedette/internal/agent/llm"
	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func capReached() error {
	return errs.New(errs.Forbidden, "user_spending_cap_reached", "The member's cap is reached.")
}

func TestBudgetsStopWithWhatWasFound(t *testing.T) {
	finding := func(n int) llm.Response { return calls("find", fmt.Sprintf(`{"n":%d}`, n)) }
	for code, change := range map[string]func(*loop.Config){
		loop.CodeMoney:    func(c *loop.Config) { c.Caps.Micros = 8_000 },
		loop.CodeTokens:   func(c *loop.Config) { c.Caps.Tokens = 8_000 },
		loop.CodeRequests: func(c *loop.Config) { c.Caps.Requests = 5 },
		"user_spending_cap_reached": func(c *loop.Config) {
			c.Reservations = &ledger{limit: 8_000, held: map[string]int64{}, spent: map[string]int64{}}
		},
	} {
		t.Run(code, func(t *testing.T) {
			var allowed []int
			find := loop.Tool{Tool: llm.Tool{Name: "find"}, Requests: func(json.RawMessage) int { return 4 },
				Call: func(ctx context.Context, args json.RawMessage, _ func(string)) (loop.Result, error) {
					n := loop.Allowance(ctx)
					allowed = append(allowed, n)
					return loop.Result{Evidence: []string{string(args)}, Candidate: args, Requests: min(n, 3)}, nil
				}}
			d := &disk{}
			c, s := config(d, []loop.Tool{find}, finding(1), finding(2), finding(3))
			s.extra = func(llm.Request) (llm.Response, error) {
				a := finding(len(s.asked))
				a.Usage = llm.Usage{Input: 700, Output: 100}
				return a, nil
			}
			c.Price = llm.Price{Input: 1_000_000, Output: 1_000_000}
			c.MaxTokens = 100
			change(&c)
			out := run(t, c)
			want(t, out, loop.Stopped, code)
			if len(out.Candidates) == 0 {
				t.Error("what was found is lost")
			}
			if code == loop.CodeRequests && (!slices.Equal(allowed, []int{4, 2}) || out.Requests != 5) {
				t.Errorf("allowed %v, sent %d", allowed, out.Requests)
			}
			want(t, run(t, c), loop.Stopped, code)
			// The process died just before the end, and the ledger has money again: what the
			// journal says has happened.
			d.entries = d.entries[:len(d.entries)-1]
			c.Reservations = nil
			if again := run(t, c); outcomeOf(again) != outcomeOf(out) {
				t.Errorf("%s\ninstead of\n%s", outcomeOf(again), outcomeOf(out))
			}
		})
	}
}

// TestCapOfNothing stops before the first call.
func TestCapOfNothing(t *testing.T) {
	c, s := config(&disk{}, nil, says("no"))
	c.Caps.Micros, c.Price = 1, llm.Price{Input: 1_000_000, Output: 1_000_000}
	want(t, run(t, c), loop.Stopped, loop.CodeMoney)
	if len(s.asked) != 0 {
		t.Error("the model was asked")
	}
}

// TestSpentWithinReservedWithinCap holds whatever a model does and costs.
func TestSpentWithinReservedWithinCap(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		d := &disk{}
		bytesPerToken := rapid.IntRange(1, 7).Draw(t, "bytes per token")
		fill := rapid.IntRange(0, 3000).Draw(t, "a tool's text")
		worst := rapid.IntRange(0, 20).Draw(t, "worst requests")
		find := loop.Tool{Tool: llm.Tool{Name: "find"},
			Requests: func(args json.RawMessage) int { return worst * len(args) % 21 },
			Call: func(ctx context.Context, args json.RawMessage, _ func(string)) (loop.Result, error) {
				text := make([]byte, fill)
				for i := range text {
					text[i] = 'x'
				}
				return loop.Result{Text: string(text), Evidence: []string{string(args)}, Requests: loop.Allowance(ctx) / 2}, nil
			}}
		c, s := config(d, []loop.Tool{find})
		c.MaxTokens = rapid.IntRange(1, 3000).Draw(t, "max tokens")
		c.Window = 100_000
		price := rapid.Int64Range(0, 30_000_000)
		c.Price = llm.Price{Input: price.Draw(t, "input"), Output: price.Draw(t, "output"), CacheRead: price.Draw(t, "read"),
			CacheWrite: price.Draw(t, "write")}
		c.Caps = loop.Caps{
			Micros: rapid.Int64Range(1, 3_000_000).Draw(t, "money"), Tokens: rapid.Int64Range(1, 300_000).Draw(t, "tokens"),
			Requests: rapid.Int64Range(1, 100).Draw(t, "requests"), Wall: time.Hour,
		}
		l := &ledger{held: map[string]int64{}, spent: map[string]int64{}}
		c.Reservations = l
		var kinds []int
		for range 30 {
			kinds = append(kinds, rapid.IntRange(0, 9).Draw(t, "answer"))
		}
		s.extra = func(r llm.Request) (llm.Response, error) { return improvise(r, kinds, bytesPerToken) }
		out, err := loop.Run(context.Background(), c)
		if err != nil {
			t.Fatal(err)
		}
		var spent, reserved int64
		for _, e := range d.of(loop.ModelAnswer) {
			spent += e.Cost
		}
		for _, e := range d.of(loop.ModelCall) {
			reserved += decode[loop.Asked](e.Body).Micros
		}
		used := int64(out.Usage.Input) + int64(out.Usage.Output) + int64(out.Usage.CacheRead) + int64(out.Usage.CacheWrite)
		switch {
		case spent != out.Micros || l.sum() != spent:
			t.Fatalf("the journal says %d, the outcome %d, the ledger %d", spent, out.Micros, l.sum())
		case spent > reserved:
			t.Fatalf("spent %d of %d that were set aside", spent, reserved)
		case l.most > c.Caps.Micros:
			t.Fatalf("%d were set aside or spent at one time, with a cap of %d", l.most, c.Caps.Micros)
		case used > c.Caps.Tokens || int64(out.Requests) > c.Caps.Requests:
			t.Fatalf("%d tokens, %d requests of %+v", used, out.Requests, c.Caps)
		case slices.Contains(d.remarks(), loop.CodeOverrun):
			t.Fatal("something cost more than its worst case")
		}
	})
}

// improvise answers by what the conversation's length says, as a model with a tokenizer of
// its own would count it.
func improvise(r llm.Request, kinds []int, bytesPerToken int) (llm.Response, error) {
	size := len(r.System)
	for _, m := range r.Messages {
		size += len(m.Text)
		for _, call := range m.Calls {
			size += len(call.Args)
		}
	}
	n := len(r.Messages)
	var a llm.Response
	switch kinds[n%len(kinds)] {
	case 0:
		a = says("enough")
	case 1:
		a = calls("delegate", fmt.Sprintf(`{"tasks":[{"instruction":"part %d"},{"instruction":"other %d"}]}`, n, n))
	case 2:
		a = llm.Response{Stop: llm.StopLength, Text: "cut"}
	default:
		a = calls("find", fmt.Sprintf(`{"n":%d}`, n), "find", fmt.Sprintf(`{"m":%d}`, n))
	}
	prompt := size / bytesPerToken
	a.Usage = llm.Usage{Input: prompt / 3, CacheRead: prompt / 3, CacheWrite: prompt - 2*(prompt/3),
		Output: r.MaxTokens - r.MaxTokens/3}
	return a, nil
}

// brittle is a ledger whose database is away at times.
type brittle struct {
	ledger
	reserve, settle error
}

func (b *brittle) Reserve(ctx context.Context, key string, micros int64) error {
	if b.reserve != nil {
		return b.reserve
	}
	return b.ledger.Reserve(ctx, key, micros)
}

func (b *brittle) Settle(ctx context.Context, key string, micros int64) error {
	if b.settle != nil {
		return b.settle
	}
	return b.ledger.Settle(ctx, key, micros)
}

// TestLedgerThatFails ends the run with an error, and costs nothing when it goes on.
func TestLedgerThatFails(t *testing.T) {
	l := &brittle{ledger: ledger{held: map[string]int64{}, spent: map[string]int64{}}, reserve: errors.New("no database")}
	d := &disk{}
	c, s := config(d, nil, says("Done."))
	c.Reservations, c.Price = l, llm.Price{Input: 1_000_000, Output: 1_000_000}
	if _, err := loop.Run(t.Context(), c); !errors.Is(err, l.reserve) || len(s.asked) != 0 {
		t.Fatalf("%v, asked %d times", err, len(s.asked))
	}
	l.reserve, l.settle = nil, errors.New("no database again")
	if _, err := loop.Run(t.Context(), c); !errors.Is(err, l.settle) || len(s.asked) != 1 {
		t.Fatalf("%v, asked %d times", err, len(s.asked))
	}
	l.settle = nil
	out := run(t, c)
	want(t, out, loop.Completed, "")
	if len(s.asked) != 1 || l.sum() != out.Micros || len(l.held) != 0 || out.Micros == 0 {
		t.Errorf("asked %d times, %d of %d", len(s.asked), l.sum(), out.Micros)
	}
}

func TestRunThatCannotBegin(t *testing.T) {
	c, s := config(&disk{}, []loop.Tool{gives("twice", loop.Result{}), gives("twice", loop.Result{})}, says("no"))
	if _, err := loop.Run(t.Context(), c); err == nil {
		t.Error("two tools of one name")
	}
	c.Tools = nil
	c.Instruction = " "
	if _, err := loop.Run(t.Context(), c); err == nil {
		t.Error("no instruction")
	}
	c.Instruction = "go"
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	out, err := loop.Run(ctx, c)
	if err != nil || out.Status != loop.Aborted || len(s.asked) != 0 {
		t.Errorf("%+v, %v", out, err)
	}
}

// BenchmarkReplay takes a run of 200 steps up again, whose last entry was lost.
func BenchmarkReplay(b *testing.B) {
	var tools bench
	d := &disk{}
	c, s := config(d, []loop.Tool{tools.tool("look", func(t *loop.Tool) {
		inner := t.Call
		t.Call = func(ctx context.Context, args json.RawMessage, say func(string)) (loop.Result, error) {
			r, err := inner(ctx, args, say)
			r.Text += strings.Repeat(" a line of what a server said\n", 50)
			return r, err
		}
	})})
	c.MaxSteps = 200
	n := 0
	s.extra = func(llm.Request) (llm.Response, error) { n++; return calls("look", fmt.Sprintf(`{"n":%d}`, n)), nil }
	if _, err := loop.Run(b.Context(), c); err != nil {
		b.Fatal(err)
	}
	d.entries = d.entries[:len(d.entries)-1]
	b.ReportAllocs()
	for b.Loop() {
		c.Journal = d.alive()
		if out, err := loop.Run(b.Context(), c); err != nil || out.Steps != 200 {
			b.Fatal(out, err)
		}
	}
}
