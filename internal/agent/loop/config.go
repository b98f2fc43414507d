package loop

import (
	"cmp"
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/vedette-sec/vedette/internal/agent/llm"
)

// Config configures a run. Model, ModelName, Journal and Instruction are required. A resumed run gets the same Config;
// its prompt, caps and reservations come from the journal.
type Config struct {
	Model     llm.Model
	ModelName string
	Price     llm.Price
	MaxTokens int // of one answer; 0: 8,192, or a quarter of Window if that is less
	Window    int // tokens of prompt and answer; 0: 128,000

	Tools   []Tool
	Journal Journal

	// Stream counts the instructions of a task from 0; each has its own entries, caps and outcome.
	Stream      int
	Instruction string       // of the person; no other text is an instruction
	Earlier     []Exchange   // streams
	Attachments []Attachment // data for the model
	Context     string       // added to the system prompt: scope, memory, the agent's description

	Lead   string  // the ID of the agent that does the work; may be empty
	Agents []Agent // for sub-agents

	Mode        Mode // default ModeAgent
	AutoExecute bool // ModePlan needs no approval
	AskQuestion bool // the model may ask the person, who also decides about interrupted calls
	MaxSteps    int  // model calls of a branch; 0: 45. A sub-agent gets half
	// MaxIterations are the cycles of work and verification; 0: findings are not verified.
	MaxIterations int

	Caps         Caps
	Reservations Reservations // nil: only Caps

	// Verify tries to reproduce a candidate's finding from its evidence; nil leaves candidates Unverified.
	Verify func(ctx context.Context, finding json.RawMessage) (Verification, error)

	Secrets map[string]string // by name; the model sees {{$NAME}}
	Hidden  []string          // values without a name, removed from all texts

	// Emit gets each event once, one at a time, and must return soon; may be nil.
	Emit    func(Event)
	Control *Control // nil: nothing can be aborted

	StaleSteps int // steps without new evidence that end a branch; 0: 15

	Now    func() time.Time // nil: time.Now
	Logger *slog.Logger     // nil: silent
}

// Exchange is an earlier stream: its instruction and its summary.
type Exchange struct {
	Instruction string `json:"instruction"`
	Answer      string `json:"answer"`
}

// Agent is a custom agent for parts of the work.
type Agent struct {
	ID        string
	Name      string
	WhenToUse string
	Context   string   // added to the system prompt, after the general rules
	Tools     []string // names; nil: all
}

// Attachment is a file that came with the instruction, as text.
type Attachment struct {
	Name string `json:"name"`
	Text string `json:"text"`
}

// Verification is the result of verifying a candidate.
type Verification struct {
	Result    string          `json:"verdict"`   // Confirmed, FalsePositive, Inconclusive or Unverified
	Confirmed int             `json:"confirmed"` // reproductions that succeeded
	Tried     int             `json:"tried"`
	Reason    string          `json:"reason,omitempty"`
	Evidence  json.RawMessage `json:"evidence,omitempty"` // from the reproductions
	Requests  int             `json:"requests,omitempty"` // to targets
}

// The results of a verification.
const (
	Confirmed     = "confirmed"
	FalsePositive = "false_positive"
	Inconclusive  = "inconclusive"
	Unverified    = "unverified" // MaxIterations is 0, or a budget was used up
)

// Candidate is a finding that a tool reported, and its verification.
type Candidate struct {
	Key          string          `json:"key"` // of the tool call
	Branch       string          `json:"branch"`
	Candidate    json.RawMessage `json:"finding"`
	Verification Verification    `json:"judgement"`
}

// EventType is the type of an event in the live stream, as users of the public service know it.
type EventType string

// The types of event.
const (
	EventText         EventType = "text-delta"            // Text: a piece of the model's answer
	EventInput        EventType = "tool-input-available"  // Data: Called
	EventProgress     EventType = "tool-progress"         // Text: from the tool
	EventOutput       EventType = "tool-output-available" // Data: Returned
	EventSubagent     EventType = "data-subagent-stream"  // Data: Started, then Ended
	EventPlan         EventType = "plan"                  // Data: Waiting; with AutoExecute it needs no answer
	EventQuestion     EventType = "question"              // Data: Waiting
	EventApproval     EventType = "approval"              // Data: Waiting, about an intrusive or interrupted call
	EventVerification EventType = "verdict"               // Data: Finding
	EventNote         EventType = "note"                  // Data: Remark
)

// Event is one event of a run. It is redacted.
type Event struct {
	Type   EventType `json:"type"`
	Branch string    `json:"branch"`
	// Subagent is the id for Control.Abort; empty for main.
	Subagent string          `json:"subagent_run_id,omitempty"`
	ID       string          `json:"id,omitempty"` // of the tool call, for Control.Abort; else the entry's key
	Tool     string          `json:"tool,omitempty"`
	Text     string          `json:"text,omitempty"`
	Data     json.RawMessage `json:"data,omitempty"`
}

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
