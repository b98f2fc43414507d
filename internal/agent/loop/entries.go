package loop

import (
	"encoding/json"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
)

// The bodies of entries, by EntryKind. Their text is redacted.

// Started is the body of BranchStart. A later release, or another Config, does not change a run that has begun.
type Started struct {
	Task     string        `json:"task"`     // of a sub-agent
	Messages []llm.Message `json:"messages"` // the beginning of the conversation
	System   string        `json:"system"`
	Caps     Caps          `json:"caps"`            // of the run, or a sub-agent's share
	Boundary string        `json:"fence,omitempty"` // of the main agent: encloses data, secret from targets
	ID       string        `json:"id,omitempty"`    // of a sub-agent, for Control.Abort
	Tools    []string      `json:"tools,omitempty"` // of a sub-agent that may not use all
	Agent    string        `json:"agent,omitempty"` // the ID of a sub-agent's agent
}

// Ended is the body of BranchEnd.
type Ended struct {
	Outcome
	Evidence []string `json:"evidence,omitempty"`
}

// Asked is the body of ModelCall.
type Asked struct {
	Model    string `json:"model"`
	Messages int    `json:"messages"`
	Tokens   int64  `json:"tokens"` // reserved, with the answer's
	Micros   int64  `json:"micros"` // reserved
}

// Answered is the body of ModelAnswer: an answer or a fault.
type Answered struct {
	Response llm.Response  `json:"response"`
	Fault    *Fault        `json:"fault,omitempty"`
	Took     time.Duration `json:"took"` // nanoseconds
}

// Fault is the code and message of an *errs.Error.
type Fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Called is the body of ToolCall. Args name secrets as {{$NAME}}.
type Called struct {
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args"`
	CallID   string          `json:"call_id,omitempty"` // the model's id
	Requests int             `json:"requests,omitempty"`
}

// CallStatus is how a tool call ended.
type CallStatus string

// The ends of a tool call.
const (
	CallCompleted CallStatus = "completed"
	CallFailed    CallStatus = "failed"
	CallTimeout   CallStatus = "timeout"
	CallAborted   CallStatus = "aborted"  // by Control.Abort
	CallDeclined  CallStatus = "declined" // by a person
	CallUnknown   CallStatus = "unknown"  // the process died during it, and it must not be repeated
	CallRefused   CallStatus = "refused"  // no such tool, or invalid arguments
)

// Returned is the body of ToolResult. Result may be partial unless Status is completed.
type Returned struct {
	Tool   string        `json:"tool"`
	CallID string        `json:"call_id,omitempty"`
	Status CallStatus    `json:"status"`
	Error  string        `json:"error,omitempty"`
	Result Result        `json:"result"`
	Took   time.Duration `json:"took"` // nanoseconds
}

// AskKind is what a Question is about.
type AskKind string

// The kinds of question.
const (
	AskUser     AskKind = "question" // from the model; Text or Metadata of the Reply is the answer
	AskApproval AskKind = "approval" // declined: the model gets the reason
	AskPlan     AskKind = "plan"     // declined with Text: plan again; declined without: stop
	AskUnknown  AskKind = "unknown"  // a call that a crash interrupted: approve to repeat it
)

// Ask is the body of Question.
type Ask struct {
	Kind     AskKind         `json:"kind"`
	Text     string          `json:"text"`
	Options  []string        `json:"options,omitempty"`
	Approval *Approval       `json:"approval,omitempty"`
	Plan     *Plan           `json:"plan,omitempty"`
	Tool     string          `json:"tool,omitempty"`
	Args     json.RawMessage `json:"args,omitempty"`
}

// Plan is what a run intends to do.
type Plan struct {
	Summary string     `json:"summary"`
	Steps   []PlanStep `json:"steps,omitempty"`
}

// PlanStep is one step of a plan.
type PlanStep struct {
	Title  string `json:"title"`
	Detail string `json:"detail,omitempty"`
}

// Reply is the body of Answer. It comes from a person.
type Reply struct {
	Approve  bool            `json:"approve"`
	Text     string          `json:"text,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// Waiting is a question of a Suspended run; Outcome.Pending is a list of them.
type Waiting struct {
	Stream int    `json:"turn"`
	Branch string `json:"branch"`
	Key    string `json:"key"`
	Ask    Ask    `json:"ask"`
}

// Answer is the entry that answers the question: append it to the journal and run again. The first answer counts.
func (w Waiting) Answer(r Reply, at time.Time) (Entry, error) {
	body, err := json.Marshal(r)
	return Entry{Stream: w.Stream, Branch: w.Branch, Kind: Answer, Key: w.Key, Body: body, At: at}, err
}

// Remark is the body of Note.
type Remark struct {
	Code string `json:"code"` // a Code constant
	Text string `json:"text"`
}

// The codes of notes and outcomes. An outcome may also have a code of Reservations or of llm.
const (
	CodeSameCall     = "loop_same_call"   // for the third time
	CodeAlternating  = "loop_alternating" // A, B, A, B
	CodeNoEvidence   = "loop_no_evidence" // nothing new in StaleSteps steps
	CodeMalformed    = "loop_malformed"   // calls in a row that cannot be made
	CodeMaxSteps     = "max_steps"
	CodeMoney        = "budget_money"
	CodeTokens       = "budget_tokens"
	CodeRequests     = "budget_requests"
	CodeTime         = "budget_time"
	CodeRefused      = "model_refused"
	CodeTruncated    = "model_truncated" // cut at MaxTokens, twice
	CodeEmpty        = "model_empty"     // neither text nor calls, twice
	CodeWindow       = "context_full"    // the conversation does not fit, even shortened
	CodePlanDeclined = "plan_declined"
	CodeResumed      = "resumed"   // by another process
	CodeCompacted    = "compacted" // the conversation was shortened
	CodeAbandoned    = "abandoned" // a tool did not end and was left running
	CodeOverrun      = "overrun"   // a call used more than was reserved
	CodeAborted      = "aborted"   // a sub-agent, by Control.Abort
)
