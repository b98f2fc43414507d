// Package loop lets a language model work: it thinks, calls a tool, reads what came back,
// and stops. Every step is in a journal before its side effect and after its result, so
// that a run whose process died goes on where it was, and pays for no answer twice.
package loop

import (
	"context"
	"encoding/json"
	"slices"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
)

// Mode is how a run works (agent API, POST /tasks).
type Mode string

// The modes.
const (
	ModeAgent Mode = "agent" // all tools
	ModePlan  Mode = "plan"  // gather and plan, wait for approval unless AutoExecute, then work
	ModeChat  Mode = "chat"  // only tools that change nothing and ask no target
)

// Tool is one thing the model may do.
type Tool struct {
	llm.Tool
	Passive    bool // touches no target and changes nothing: offered in ModeChat and while planning
	Repeatable bool // a second call after a crash does no harm
	Secrets    bool // {{$NAME}} in its arguments becomes the secret's value when it is called
	// Timeout ends a call; zero is Config's.
	Timeout time.Duration
	// Requests is the most that a call with these arguments sends to targets. So many, or what
	// is left of the budget when that is less, are set aside before the call, which learns of
	// it from Allowance. nil is none.
	Requests func(args json.RawMessage) int
	// Approval says why this call needs a person's word first; nil, or nil from it: none.
	Approval func(args json.RawMessage) *Approval
	// Call does the work; it returns soon after ctx ends.
	Call func(ctx context.Context, args json.RawMessage, say func(progress string)) (Result, error)
}

// Approval is what a person is asked before an intrusive call.
type Approval struct {
	Action string `json:"action"`
	Reason string `json:"reason"`
	Risk   string `json:"risk"`
}

// Result is what a tool brings back. Text is whole, for the person; the loop truncates,
// redacts and fences what the model is shown of it.
type Result struct {
	Text     string          `json:"text"`
	Evidence []string        `json:"evidence,omitempty"` // keys of what is new: a loop that brings none is stopped
	Finding  json.RawMessage `json:"finding,omitempty"`  // a candidate, for the verifier
	Requests int             `json:"requests,omitempty"` // sent to targets
}

// EntryKind is what an entry of the journal tells.
type EntryKind string

// The kinds of entry. Those with a side effect come in pairs: what will be done, and what
// came of it, under one Key.
const (
	ModelCall   EntryKind = "model_call"
	ModelAnswer EntryKind = "model_answer"
	ToolCall    EntryKind = "tool_call"
	ToolResult  EntryKind = "tool_result"
	Question    EntryKind = "question" // the run is suspended until its Answer
	Answer      EntryKind = "answer"
	Verdict     EntryKind = "verdict" // of the verifier
	BranchStart EntryKind = "branch_start"
	BranchEnd   EntryKind = "branch_end"
	Note        EntryKind = "note" // of the loop itself: a guard, a budget, a compaction
)

// Entry is one line of the journal.
type Entry struct {
	Seq    int64           `json:"seq"`    // from 1, in the order of writing
	Turn   int             `json:"turn"`   // the stream: 0 for the first instruction, then one for each continuation
	Branch string          `json:"branch"` // "main", or a sub-agent's: main.1, main.1.2
	Kind   EntryKind       `json:"kind"`
	Key    string          `json:"key"` // the same for the two of a pair, and the same again when a run is replayed
	Body   json.RawMessage `json:"body"`
	Cost   int64           `json:"cost,omitempty"` // of an answer, in millionths of a US dollar
	At     time.Time       `json:"at"`
}

// Journal is where a run is written down. Append returns when the entry is durable, with
// its Seq; it is called from several goroutines. An error from it ends the run.
type Journal interface {
	Entries(ctx context.Context) ([]Entry, error)
	Append(ctx context.Context, e Entry) (int64, error)
}

// Caps bound a run; zero is no bound.
type Caps struct {
	Micros   int64         `json:"micros,omitempty"` // money, in millionths of a US dollar
	Tokens   int64         `json:"tokens,omitempty"` // of models, all kinds
	Requests int64         `json:"requests,omitempty"`
	Wall     time.Duration `json:"wall,omitempty"`
}

// Ledger is where money is set aside outside of the run: the caps of a member, a team, a
// project. Reserve fails with an *errs.Error whose code goes into the outcome; Settle
// turns a reservation into what was spent (0: nothing).
type Ledger interface {
	Reserve(ctx context.Context, key string, micros int64) error
	Settle(ctx context.Context, key string, micros int64) error
}

// Status is how a run ended.
type Status string

// The ends of a run.
const (
	Completed Status = "completed"
	Suspended Status = "suspended" // waits for an Answer in the journal; run it again then
	Stopped   Status = "stopped"   // by a guard or a budget, with what was found; Code says which
	Aborted   Status = "aborted"   // ctx ended
	Failed    Status = "failed"    // the model could not be reached, or refused; Code says which
)

// Outcome is what a run came to.
type Outcome struct {
	Status  Status          `json:"status"`
	Code    string          `json:"code,omitempty"`
	Summary string          `json:"summary"`           // for people
	Pending json.RawMessage `json:"pending,omitempty"` // of Suspended: a list of Waiting
	Usage   llm.Usage       `json:"usage"`
	Micros  int64           `json:"micros"`
	Steps   int             `json:"steps"` // calls of models
	Calls   int             `json:"calls"` // of tools
	// Requests were sent to targets, verifying included.
	Requests int `json:"requests"`
	// Findings are what the tools brought, judged or not, whatever the Status.
	Findings []Finding `json:"findings,omitempty"`
}

// NeedsPlanner reports whether something else should do the work: the model failed, or it did not find its way before
// anything was sent to a target.
func (o Outcome) NeedsPlanner(mode Mode) bool {
	lost := []string{CodeTruncated, CodeMalformed, CodeSameCall, CodeAlternating, CodeNoEvidence}
	return o.Status == Failed || mode != ModeChat && o.Requests == 0 && len(o.Findings) == 0 && slices.Contains(lost, o.Code)
}
