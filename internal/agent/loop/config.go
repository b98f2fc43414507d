package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
)

// Config is what a run works with. Model, ModelName, Journal and Instruction are needed, all
// else has a default. A run that is taken up again is given the same Config; what it was
// asked, its caps and what it has set aside are then taken from the journal.
type Config struct {
	Model     llm.Model
	ModelName string
	Price     llm.Price
	MaxTokens int // of one answer; 0 is 8,192, or a quarter of Window when that is less
	Window    int // tokens of prompt and answer together; 0 is 128,000

	Tools   []Tool
	Journal Journal

	// Turn counts the instructions of a task from 0; each has its own entries, caps and outcome.
	Turn        int
	Instruction string       // of the person: the only text that asks for anything
	Earlier     []Exchange   // the turns before this one
	Attachments []Attachment // shown to the model as data
	Context     string       // what the server adds to the system's words: scope, memory, the agent's own instructions

	Agents []Agent // whom a part of the work may be given to by name

	Mode        Mode // empty is ModeAgent
	AutoExecute bool // in ModePlan: the plan needs no approval
	AskQuestion bool // the model may ask the person, and a call of unknown end is the person's to decide
	MaxSteps    int  // model calls of a branch when it executes; 0 is 45. A sub-agent has half
	// MaxIterations are the cycles of work and verification; with 0 no finding is verified.
	MaxIterations int

	Caps   Caps
	Ledger Ledger // nil: the caps are all there is

	// Verify starts from "false positive" and reproduces a finding from its own evidence. nil leaves findings Unverified.
	Verify func(ctx context.Context, finding json.RawMessage) (Judgement, error)

	Secrets map[string]string // by name; the model sees {{$NAME}} and never a value
	Hidden  []string          // values that tools work with and the model cannot name; they are taken out of all texts

	// Emit is told of the run while it goes on, one call at a time, and returns soon; nil drops
	// it. What is replayed is not told again.
	Emit    func(Event)
	Control *Control // nil: no single call or sub-agent can be aborted

	StaleSteps int // steps without new evidence that end a branch; 0 is 15

	Now    func() time.Time // nil is time.Now
	Logger *slog.Logger     // nil is silent
}

// Exchange is an earlier turn: what was asked, and what came of it.
type Exchange struct {
	Instruction string `json:"instruction"`
	Answer      string `json:"answer"`
}

// Agent is somebody that a person described, for parts of the work.
type Agent struct {
	Name      string
	WhenToUse string
	Context   string   // joins the system's words, behind the rules that hold for all
	Tools     []string // names; nil is all
}

// Attachment is a file that came with the instruction, as text.
type Attachment struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Judgement is what verifying a finding came to.
type Judgement struct {
	Verdict   string          `json:"verdict"`   // Confirmed, FalsePositive, Inconclusive or Unverified
	Confirmed int             `json:"confirmed"` // reproductions that showed it again
	Tried     int             `json:"tried"`
	Reason    string          `json:"reason,omitempty"`
	Evidence  json.RawMessage `json:"evidence,omitempty"` // what the reproductions saw
	Requests  int             `json:"requests,omitempty"` // sent to targets
}

// The verdicts.
const (
	Confirmed     = "confirmed"
	FalsePositive = "false_positive"
	Inconclusive  = "inconclusive"
	Unverified    = "unverified" // nobody looked: MaxIterations is 0, or a budget was used up
)

// Finding is a candidate that a tool brought, and its judgement.
type Finding struct {
	Key       string          `json:"key"` // of the tool's call
	Branch    string          `json:"branch"`
	Finding   json.RawMessage `json:"finding"`
	Judgement Judgement       `json:"judgement"`
}

// EventType is what an event of the live stream tells. The words are those that users of
// the public service know, where it has one.
type EventType string

// The types of event.
const (
	EventText     EventType = "text-delta"            // Text is a piece of the model's answer
	EventInput    EventType = "tool-input-available"  // Data is Called
	EventProgress EventType = "tool-progress"         // Text is the tool's
	EventOutput   EventType = "tool-output-available" // Data is Returned
	EventSubagent EventType = "data-subagent-stream"  // Data is Started, then Ended
	EventPlan     EventType = "plan"                  // Data is Waiting; with AutoExecute nobody needs to answer
	EventQuestion EventType = "question"              // Data is Waiting
	EventApproval EventType = "approval"              // Data is Waiting, of an intrusive or a half-done call
	EventVerdict  EventType = "verdict"               // Data is Finding
	EventNote     EventType = "note"                  // Data is Remark
	EventFinish   EventType = "finish"                // Data is Outcome
)

// Event is one sign of life of a run. Nothing in it needs redaction.
type Event struct {
	Type   EventType `json:"type"`
	Branch string    `json:"branch"`
	// Subagent is the id of the sub-agent that speaks; Control.Abort takes it. Empty for main.
	Subagent string          `json:"subagent_run_id,omitempty"`
	ID       string          `json:"id,omitempty"` // of the tool's call, for Control.Abort; else the entry's key
	Tool     string          `json:"tool,omitempty"`
	Text     string          `json:"text,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
}

// withDefaults fills in what was left out.
func (c Config) withDefaults() Config {
	c.Mode = cmp.Or(c.Mode, ModeAgent)
	c.Window = cmp.Or(c.Window, 128_000)
	c.MaxTokens = cmp.Or(c.MaxTokens, min(8192, c.Window/4))
	c.MaxSteps = cmp.Or(c.MaxSteps, 45)
	c.StaleSteps = cmp.Or(c.StaleSteps, 15)
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Logger == nil {
		c.Logger = slog.New(slog.DiscardHandler)
	}
	return c
}
