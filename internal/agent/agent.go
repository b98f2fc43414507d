// Package agent runs the plan of the built-in planner: it calls the plan's tools in order and records each step before
// and after it happens. A Tool does the work, a Journal stores its steps.
package agent

import (
	"context"
	"encoding/json"
	"time"
)

// Tool is one step that a plan can have.
type Tool interface {
	// Name is stable across releases.
	Name() string

	// Call does the work. input is an Input document. emit reports progress, from any goroutine, until Call returns.
	// Call must return soon after ctx ends; a Result with an error is stored as partial. An interrupted step is
	// repeated after a restart, which must do no harm.
	Call(ctx context.Context, input json.RawMessage, emit func(Update)) (Result, error)
}

// Input is the input of a step.
type Input struct {
	Plan Plan `json:"plan"`
	// Before holds the outputs of the earlier steps, perhaps partial, by tool name.
	Before map[string]json.RawMessage `json:"before,omitempty"`
}

// Result is what a tool returns.
type Result struct {
	Output  json.RawMessage // for later steps; may be nil
	Summary string          // one or two sentences for the summary
}

// Update is the progress of a step.
type Update struct {
	Seq   int    `json:"seq"`  // of the step; set by Run
	Tool  string `json:"tool"` // of the step; set by Run
	Text  string `json:"text,omitempty"`
	Done  int    `json:"done,omitempty"`  // units of work
	Total int    `json:"total,omitempty"` // 0: not known yet
}

// Step is the intent to call a tool.
type Step struct {
	Seq   int             `json:"seq"` // from 1, without gaps
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

// Status is how a step or a run ended.
type Status string

// The ends of a step and of a run. A run is Completed even if a step failed, and Failed if all did.
const (
	Completed Status = "completed"
	Failed    Status = "failed"  // with an error
	Timeout   Status = "timeout" // Output may be partial
	Aborted   Status = "aborted" // Output may be partial
	Skipped   Status = "skipped" // not begun before the time limit
)

// Done is the recorded end of a step.
type Done struct {
	Seq     int             `json:"seq"`
	Tool    string          `json:"tool"`
	Status  Status          `json:"status"`
	Output  json.RawMessage `json:"output,omitempty"`
	Summary string          `json:"words,omitempty"`
	Error   string          `json:"error,omitempty"` // unless Completed
	Took    time.Duration   `json:"took"`            // nanoseconds
}

// final reports whether the step is not repeated after a restart. Aborted ones are: the process may have been stopped.
func (d Done) final() bool { return d.Status != Aborted }

// Journal records the steps. Its functions are called one at a time; an error from one ends the run, because a step
// that cannot be recorded must not happen.
type Journal struct {
	// Finished returns the ends recorded by earlier runs of the plan.
	Finished func(ctx context.Context) ([]Done, error)
	// Begin records the intent durably.
	Begin func(ctx context.Context, step Step) error
	// End records the end of a begun or skipped step, and replaces an earlier one. Its ctx outlives the run's, so that
	// the result of an aborted step is stored.
	End func(ctx context.Context, done Done) error
}

// Config configures a run.
type Config struct {
	Tools   []Tool
	Journal Journal
	Emit    func(Update)     // progress, one call at a time; may be nil
	Budget  time.Duration    // of all steps together; 0: no limit
	Now     func() time.Time // nil: time.Now
}

// Outcome is the result of a run.
type Outcome struct {
	Status Status
	Steps  []Done // after an abort, only those that were begun
}
