package loop

import (
	"cmp"
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/llm"
)

// branch is the conversation of the main agent, or of a sub-agent, with the model. It runs in one goroutine.
type branch struct {
	*run

	name     string
	subagent string // id; empty for the main agent
	started  Started
	planning bool
	halted   bool // stopped; only verification goes on

	messages []item
	meter    meter
	budget   budget
	guard    *guard

	answers  int // count, for keys
	steps    int // in this phase
	children int
	cuts     int    // answers in a row cut at MaxTokens
	blanks   int    // empty answers in a row
	partial  string // the beginning of a cut answer
	text     string // the last answer
	plan     *Plan  // proposed, not yet approved

	sum        Outcome         // counts and findings, with those of sub-agents
	candidates map[string]bool // findings of sum, as canonical JSON
	evidence   []string
}

// item is a message and, for a tool's, the result that it shows.
type item struct {
	llm.Message
	result *Returned
}

func (r *run) branch(name string) *branch {
	return &branch{run: r, name: name, guard: newGuard(r.StaleSteps), candidates: map[string]bool{}}
}

// key identifies an entry of this branch, the same in every replay.
func (b *branch) key(place string) string { return fmt.Sprintf("%d/%s/%s", b.Stream, b.name, place) }

// begin starts the branch with the journal's entry of its start, or else with s.
func (b *branch) begin(ctx context.Context, s Started) error {
	if old, ok, err := find[Started](b.run, BranchStart, b.key("start")); err != nil {
		return err
	} else if ok {
		s = old
	}
	if b.name == "main" {
		s.Boundary = cmp.Or(s.Boundary, rand.Text())
		b.setBoundary(s.Boundary)
		if n := len(b.history.entries); n > 0 {
			if err := b.note(ctx, b.key(fmt.Sprintf("resumed.%d", n)), CodeResumed, "A process resumed the run."); err != nil {
				return err
			}
		}
		if s.Messages == nil {
			s.Messages = b.opening()
		}
	}
	s.System = cmp.Or(s.System, b.system(b.name != "main"))
	s, fresh, err := record(ctx, b, BranchStart, b.key("start"), s, 0)
	if err != nil {
		return err
	}
	b.started, b.budget.caps, b.subagent = s, s.Caps, s.ID
	for _, m := range s.Messages {
		b.messages = append(b.messages, item{Message: m})
	}
	if b.subagent != "" && fresh {
		b.emit(EventSubagent, b.subagent, "", s.Task, Started{Task: s.Task, ID: s.ID, Caps: s.Caps})
	}
	return nil
}

func (b *branch) main(ctx context.Context) error {
	var err error
	if b.Mode == ModePlan {
		err = b.makePlan(ctx)
	}
	for cycle := 1; err == nil; cycle++ {
		if err = b.work(ctx, b.MaxSteps); err != nil || b.MaxIterations == 0 {
			break
		}
		var verified []Candidate
		verified, err = b.verify(ctx)
		again := slices.ContainsFunc(verified, func(f Candidate) bool { return f.Verification.Result != Confirmed })
		if err != nil || !again || cycle >= b.MaxIterations {
			break
		}
		b.addUserText(b.verificationText(verified))
	}
	var why *stop
	if !errors.As(err, &why) {
		return err
	}
	if failed := b.note(ctx, b.key("stop"), why.code, why.reason); failed != nil {
		return failed
	}
	b.halted = true
	if b.MaxIterations > 0 && why.code != CodeTime {
		if _, failed := b.verify(ctx); failed != nil && !errors.As(failed, new(*stop)) {
			return failed
		}
	}
	return err
}

func (b *branch) addUserText(text string) {
	b.messages = append(b.messages, item{Message: llm.Message{Role: llm.User, Text: text}})
}

// work asks the model and calls tools until an answer has no call.
func (b *branch) work(ctx context.Context, limit int) error {
	for {
		if b.steps >= limit {
			return &stop{Stopped, CodeMaxSteps, fmt.Sprintf("the limit of %d steps was reached", limit)}
		}
		if err := b.fitWindow(ctx); err != nil {
			return err
		}
		b.steps++
		b.answers++
		n := b.answers
		request := b.request()
		answer, err := b.ask(ctx, b.key(strconv.Itoa(n)), request)
		if err != nil {
			return err
		}
		b.meter.learn(request, answer.Usage)
		done, err := b.handleAnswer(ctx, n, answer)
		if done || err != nil {
			return err
		}
	}
}

// handleAnswer makes the calls of an answer; done reports that it has none.
func (b *branch) handleAnswer(ctx context.Context, n int, answer llm.Response) (done bool, err error) {
	switch {
	case answer.Stop == llm.StopRefusal:
		return false, &stop{Failed, CodeRefused, strings.TrimSpace("The model declined to go on. " + answer.Text)}
	case answer.Stop == llm.StopLength:
		return false, b.continueCut(answer.Text)
	case len(answer.Calls) == 0 && strings.TrimSpace(answer.Text+b.partial) == "":
		if b.blanks++; b.blanks > 1 {
			return false, &stop{Failed, CodeEmpty, "the model answered with nothing, twice"}
		}
		b.addUserText("Your answer was empty. Call a tool, or say what you did and found.")
		return false, nil
	}
	b.text, b.partial, b.cuts, b.blanks = b.partial+answer.Text, "", 0, 0
	if len(answer.Calls) == 0 {
		b.messages = append(b.messages, item{Message: llm.Message{Role: llm.Assistant,
			Text: cmp.Or(answer.Text, "(nothing to add)")}})
		return true, nil
	}
	calls := uniqueIDs(answer.Calls, n)
	b.messages = append(b.messages, item{Message: llm.Message{Role: llm.Assistant, Text: answer.Text, Calls: calls}})
	for i, call := range calls {
		returned, err := b.call(ctx, b.key(fmt.Sprintf("%d.%d", n, i+1)), call)
		if err != nil {
			return false, err
		}
		b.messages = append(b.messages, item{result: &returned, Message: llm.Message{
			Role: llm.ToolRole, CallID: call.ID, Failed: returned.Status != CallCompleted,
			Text: b.resultText(returned, b.resultBytes()),
		}})
	}
	return b.plan != nil, b.guard.endStep()
}

// continueCut lets the model finish a cut answer, once. Its calls are not made: arguments may be incomplete.
func (b *branch) continueCut(text string) error {
	b.partial += text
	if b.cuts++; b.cuts > 1 {
		b.text, b.partial = b.partial, ""
		return &stop{Stopped, CodeTruncated, "the model's answer was cut at its limit, and cut again when it went on"}
	}
	b.messages = append(b.messages, item{Message: llm.Message{Role: llm.Assistant, Text: cmp.Or(text, "(cut)")}})
	b.addUserText("Your answer was cut at its limit of length. Calls in it were not made. Go on from where it stopped, in fewer words.")
	return nil
}

const maxCalls = 32

// uniqueIDs gives ids to calls: some servers send none, or the same for all.
func uniqueIDs(calls []llm.ToolCall, n int) []llm.ToolCall {
	calls = slices.Clone(calls[:min(len(calls), maxCalls)])
	used := map[string]bool{"": true}
	for i := range calls {
		if used[calls[i].ID] {
			calls[i].ID = fmt.Sprintf("call_%d_%d", n, i+1)
		}
		used[calls[i].ID] = true
	}
	return calls
}

// outcome is the branch's result; a final one goes into the journal.
func (b *branch) outcome(ctx context.Context, err error) (Outcome, error) {
	out := b.sum
	out.Summary, out.Micros = strings.TrimSpace(b.text+b.partial), b.budget.spent.micros
	var why *stop
	switch {
	case err == nil:
		out.Status = Completed
	case errors.As(err, &why):
		out.Status, out.Code = why.status, why.code
		out.Summary = strings.TrimSpace(out.Summary + "\n\nThis was stopped: " + why.reason + ".")
	case errors.Is(err, errSuspended):
		out.Status = Suspended
		out.Pending, err = b.pending()
		return out, err
	case errors.Is(err, errInterrupted):
		out.Status = Aborted
		return out, nil
	default:
		return out, err
	}
	stored, fresh, err := record(ctx, b, BranchEnd, b.key("end"), Ended{Outcome: out, Evidence: b.evidence}, 0)
	if err == nil && fresh && b.subagent != "" {
		b.emit(EventSubagent, b.subagent, "", "", stored)
	}
	return stored.Outcome, err
}

func (b *branch) addEvidence(evidence []string) {
	b.evidence = append(b.evidence, b.guard.newEvidence(evidence)...)
}

func (b *branch) addCandidate(f Candidate) {
	key := canonical(string(f.Candidate))
	if !b.candidates[key] {
		b.candidates[key] = true
		b.sum.Candidates = append(b.sum.Candidates, f)
	}
}
