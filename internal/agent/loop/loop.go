// Package loop runs a language model with tools until it has an answer. Each step is written to a journal before its
// side effect and after its result, so that a run continues after a crash and pays for no answer twice.
//
// The main agent and each sub-agent that it starts have a conversation with the model of their own, called a branch.
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
	ModePlan  Mode = "plan"  // plan, wait for approval unless AutoExecute, then work
	ModeChat  Mode = "chat"  // passive tools only
)

// Tool is something that the model may call.
type Tool struct {
	llm.Tool
	Agent      string // the ID of the only agent that has it; empty: all have
	Passive    bool   // changes nothing and reaches no target: allowed in ModeChat and while planning
	Repeatable bool   // a repeated call does no harm
	Secrets    bool   // {{$NAME}} in its arguments becomes the secret's value
	// Timeout ends a call; 0: five minutes.
	Timeout time.Duration
	// Requests is the most that a call with these arguments sends to targets; nil: none. At most this many are reserved
	// for the call, which reads the number from Allowance.
	Requests func(args json.RawMessage) int
	// Approval says why a person must approve the call; nil, or a nil result: no need.
	Approval func(args json.RawMessage) *Approval
	// Call must return soon after ctx ends.
	Call func(ctx context.Context, args json.RawMessage, progress func(progress string)) (Result, error)
}

// Approval is what a person is asked before an intrusive call.
type Approval struct {
	Action string `json:"action"`
	Reason string `json:"reason"`
	Risk   string `json:"risk"`
}

// Result is what a tool returns. The loop shortens, redacts and encloses Text for the model.
type Result struct {
	Text      string          `json:"text"`
	Evidence  []string        `json:"evidence,omitempty"` // keys; a branch that finds no new ones is stopped
	Candidate json.RawMessage `json:"finding,omitempty"`  // a candidate, to be verified
	Requests  int             `json:"requests,omitempty"` // to targets
}

// EntryKind is the kind of a journal entry.
type EntryKind string

// The kinds of entry. Side effects have two under one Key: the intent and the result.
const (
	ModelCall   EntryKind = "model_call"
	ModelAnswer EntryKind = "model_answer"
	ToolCall    EntryKind = "tool_call"
	ToolResult  EntryKind = "tool_result"
	Question    EntryKind = "question" // suspends the run until its Answer
	Answer      EntryKind = "answer"
	Verified    EntryKind = "verdict" // a Verification
	BranchStart EntryKind = "branch_start"
	BranchEnd   EntryKind = "branch_end"
	Note        EntryKind = "note" // of the loop: a guard, a budget, a shortened conversation
)

// Entry is one line of the journal.
type Entry struct {
	Seq    int64           `json:"seq"`    // from 1
	Stream int             `json:"turn"`   // 0 for the first instruction, then one for each continuation
	Branch string          `json:"branch"` // main, or a sub-agent's: main.1, main.1.2
	Kind   EntryKind       `json:"kind"`
	Key    string          `json:"key"` // the same for intent and result, and in every replay
	Body   json.RawMessage `json:"body"`
	Cost   int64           `json:"cost,omitempty"` // of an answer, in millionths of a US dollar
	At     time.Time       `json:"at"`
}

// Journal stores the entries of a run. Entries are in the order of Seq. Append returns the Seq when the entry is
// durable; it is called from several goroutines, and an error from it ends the run.
type Journal interface {
	Entries(ctx context.Context) ([]Entry, error)
	Append(ctx context.Context, e Entry) (int64, error)
}

// Caps bound a run; 0: no bound.
type Caps struct {
	Micros   int64         `json:"micros,omitempty"` // millionths of a US dollar
	Tokens   int64         `json:"tokens,omitempty"` // of all kinds
	Requests int64         `json:"requests,omitempty"`
	Wall     time.Duration `json:"wall,omitempty"`
}

// Reservations reserves money under the caps of a member, a team and a task. Reserve fails with an *errs.Error whose
// code goes into the outcome; Settle replaces a reservation by what was spent.
type Reservations interface {
	Reserve(ctx context.Context, key string, micros int64) error
	Settle(ctx context.Context, key string, micros int64) error
}

// Status is how a run ended.
type Status string

// The ends of a run.
const (
	Completed Status = "completed"
	Suspended Status = "suspended" // run again when the journal has an Answer
	Stopped   Status = "stopped"   // by a guard or a budget; Code says which
	Aborted   Status = "aborted"   // ctx ended
	Failed    Status = "failed"    // the model could not be reached or refused; Code says which
)

// Outcome is the result of a run.
type Outcome struct {
	Status   Status          `json:"status"`
	Code     string          `json:"code,omitempty"`
	Summary  string          `json:"summary"`           // for people
	Pending  json.RawMessage `json:"pending,omitempty"` // of Suspended: a list of Waiting
	Usage    llm.Usage       `json:"usage"`
	Micros   int64           `json:"micros"`
	Steps    int             `json:"steps"`    // model calls
	Calls    int             `json:"calls"`    // tool calls
	Requests int             `json:"requests"` // to targets, with those of verification
	// Candidates are those of all tools, verified or not, whatever the Status.
	Candidates []Candidate `json:"findings,omitempty"`
}

// NeedsPlanner reports whether the built-in planner should work instead: the model failed, or got lost before it sent
// anything to a target.
func (o Outcome) NeedsPlanner(mode Mode) bool {
	lost := []string{CodeTruncated, CodeMalformed, CodeSameCall, CodeAlternating, CodeNoEvidence}
	return o.Status == Failed || mode != ModeChat && o.Requests == 0 && len(o.Candidates) == 0 &&
		slices.Contains(lost, o.Code)
}
