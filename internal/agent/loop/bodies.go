package loop

import (
	"encoding/json"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
)

// The bodies of entries, by EntryKind. All text in them is redacted.

// Started is the body of BranchStart: what a branch was told, so that a later release, or
// another Config, does not change a run that has begun.
type Started struct {
	Task     string        `json:"task"`     // of a sub-agent: what it is to do
	Messages []llm.Message `json:"messages"` // the conversation's beginning
	System   string        `json:"system"`
	Caps     Caps          `json:"caps"`            // of main: the run's; of a sub-agent: its share
	Fence    string        `json:"fence,omitempty"` // of main: the boundary of what is data, secret from targets
	ID       string        `json:"id,omitempty"`    // of a sub-agent, for Control.Abort
	Tools    []string      `json:"tools,omitempty"` // of a sub-agent that has not all of them
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
	Tokens   int64  `json:"tokens"` // set aside, the answer's included
	Micros   int64  `json:"micros"` // set aside
}

// Answered is the body of ModelAnswer: an answer, or why there is none.
type Answered struct {
	Response llm.Response  `json:"response"`
	Fault    *Fault        `json:"fault,omitempty"`
	Took     time.Duration `json:"took"` // nanoseconds
}

// Fault is an error with its code, as an *errs.Error has them.
type Fault struct {
	Code    string `json:"code"`
	Message string `json:"message"`
}

// Called is the body of ToolCall. Args have {{$NAME}} where a secret goes.
type Called struct {
	Tool     string          `json:"tool"`
	Args     json.RawMessage `json:"args"`
	CallID   string          `json:"call_id,omitempty"` // the model's own name for the call
	Requests int             `json:"requests,omitempty"`
}

// CallStatus is how a call of a tool ended, in the words of the audit log.
type CallStatus string

// The ends of a call.
const (
	CallCompleted CallStatus = "completed"
	CallFailed    CallStatus = "failed"
	CallTimeout   CallStatus = "timeout"
	CallAborted   CallStatus = "aborted"  // by Control.Abort
	CallDeclined  CallStatus = "declined" // by the person who was asked
	CallUnknown   CallStatus = "unknown"  // the process died under it, and it must not be called twice
	CallRefused   CallStatus = "refused"  // no such tool, or arguments that do not fit it
)

// Returned is the body of ToolResult. Result may be partial when Status is not completed.
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
	AskUser     AskKind = "question" // the model asks; the Reply's Text, or its Metadata, is the answer
	AskApproval AskKind = "approval" // approve: the call is made; decline: it is not, and the model is told why
	AskPlan     AskKind = "plan"     // approve: carried out; decline with Text: planned anew; decline without: the end
	AskUnknown  AskKind = "unknown"  // a call whose end nobody knows. approve: called again; decline: not
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

// Plan is what a run means to do.
type Plan struct {
	Summary string     `json:"summary"`
	Steps   []PlanStep `json:"steps,omitempty"`
}

// PlanStep is one step of a plan.
type PlanStep struct {
	Title  string `json:"title"`
	Detail string `json:"detail,omitempty"`
}

// Reply is the body of Answer. It comes from a person, never from a model or a target.
type Reply struct {
	Approve  bool            `json:"approve"`
	Text     string          `json:"text,omitempty"`
	Metadata json.RawMessage `json:"metadata,omitempty"`
}

// Waiting is one question of a Suspended run; Outcome.Pending is a list of them.
type Waiting struct {
	Turn   int    `json:"turn"`
	Branch string `json:"branch"`
	Key    string `json:"key"`
	Ask    Ask    `json:"ask"`
}

// Answer is the entry that answers the question; append it to the journal and run again.
// Of several answers to one question the first counts.
func (w Waiting) Answer(r Reply, at time.Time) (Entry, error) {
	body, err := json.Marshal(r)
	return Entry{Turn: w.Turn, Branch: w.Branch, Kind: Answer, Key: w.Key, Body: body, At: at}, err
}

// Remark is the body of Note.
type Remark struct {
	Code string `json:"code"` // one of the Code constants
	Text string `json:"text"`
}

// The codes of notes and of outcomes. An outcome may also have a Ledger's code or one of
// llm's.
const (
	CodeSameCall     = "loop_same_call"   // the same call for the third time
	CodeAlternating  = "loop_alternating" // A-B-A-B
	CodeNoEvidence   = "loop_no_evidence" // nothing new in StaleSteps steps
	CodeMalformed    = "loop_malformed"   // call after call that cannot be made
	CodeMaxSteps     = "max_steps"
	CodeMoney        = "budget_money"
	CodeTokens       = "budget_tokens"
	CodeRequests     = "budget_requests"
	CodeTime         = "budget_time"
	CodeRefused      = "model_refused"
	CodeTruncated    = "model_truncated" // cut at MaxTokens, and cut again when it went on
	CodeEmpty        = "model_empty"     // neither words nor calls, twice
	CodeWindow       = "context_full"    // the conversation does not fit, however short it is made
	CodePlanDeclined = "plan_declined"
	CodeResumed      = "resumed"   // a process took the run up again
	CodeCompacted    = "compacted" // the conversation was shortened for the model
	CodeAbandoned    = "abandoned" // a tool did not end when told and was left behind
	CodeOverrun      = "overrun"   // a call used more than was set aside for it
	CodeAborted      = "aborted"   // a sub-agent, by Control.Abort
)
