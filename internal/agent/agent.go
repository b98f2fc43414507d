// Package agent runs a plan: it calls the tools of a plan in order, writes down each
// step before and after it happens, and stops when told.
//
// It knows no database, no engine and no server. What a tool can do is behind Tool,
// what is remembered is behind Journal, and every step is a JSON document in and a
// JSON document out.
package agent

import (
	"context"
	"encoding/json"
	"time"
)

// Tool is one thing the agent may do, such as "probe" or "scan".
type Tool interface {
	// Name is the word a step calls the tool by, stable across releases.
	Name() string

	// Call does the work. input is an Input document. emit tells of progress and may
	// be called from any goroutine until Call returns. Call must return soon after
	// ctx ends, with what it has so far: a Result that comes with an error is kept as
	// partial. A step that was begun and not finished is called again after a restart
	// with the same input, so a second call must do no harm.
	Call(ctx context.Context, input json.RawMessage, emit func(Update)) (Result, error)
}

// Input is the document a step is given.
type Input struct {
	Plan Plan `json:"plan"`
	// Before holds the outputs of the earlier steps, whole or partial, by tool name.
	Before map[string]json.RawMessage `json:"before,omitempty"`
}

// Result is what a tool brings back.
type Result struct {
	Output json.RawMessage // the document for the steps after it; nil when there is none
	Words  string          // one or two sentences for people; goes into the summary
}

// Update is one sign of progress from inside a step.
type Update struct {
	Seq   int    `json:"seq"`  // the step's number; the loop fills it in
	Tool  string `json:"tool"` // the step's tool; the loop fills it in
	Text  string `json:"text,omitempty"`
	Done  int    `json:"done,omitempty"`  // units of work finished
	Total int    `json:"total,omitempty"` // units of work known; 0 while unknown
}

// Step is the intent to call a tool.
type Step struct {
	Seq   int             `json:"seq"` // from 1, without gaps
	Tool  string          `json:"tool"`
	Input json.RawMessage `json:"input"`
}

// Status is how a step, or a run, ended.
type Status string

// The ends of a step and of a run. A run is Completed when it came to its end, even if
// a step failed on the way; Failed when every step did.
const (
	Completed Status = "completed"
	Failed    Status = "failed"  // the tool returned an error
	Timeout   Status = "timeout" // the time limit was reached; Output may be partial
	Aborted   Status = "aborted" // the run was stopped; Output may be partial
	Skipped   Status = "skipped" // never begun, because the time limit was reached before it
)

// Done is the recorded end of a step.
type Done struct {
	Seq    int             `json:"seq"`
	Tool   string          `json:"tool"`
	Status Status          `json:"status"`
	Output json.RawMessage `json:"output,omitempty"`
	Words  string          `json:"words,omitempty"`
	Error  string          `json:"error,omitempty"` // why it is not Completed
	Took   time.Duration   `json:"took"`            // nanoseconds
}

// final reports whether the step must not be run again after a restart. An aborted step
// is not final: when the process was stopped under it, the next run takes it up again.
func (d Done) final() bool { return d.Status != Aborted }

// Journal is what the loop remembers. All three are called from the goroutine of Run,
// in order; an error from any of them ends the run, because a step that cannot be
// written down must not happen.
type Journal struct {
	// Finished gives the ends recorded by earlier runs of the same plan.
	Finished func(ctx context.Context) ([]Done, error)
	// Begin records the intent; when it returns nil the intent is durable.
	Begin func(ctx context.Context, step Step) error
	// End records the end of a begun (or skipped) step. Its ctx is not cancelled with the
	// run, so that what an aborted step found is kept. A second End for one Seq replaces
	// the first.
	End func(ctx context.Context, done Done) error
}

// Config is what a run works with.
type Config struct {
	Tools   []Tool
	Journal Journal
	Emit    func(Update)     // progress, one call at a time; nil drops it
	Budget  time.Duration    // the most time the steps may take together; 0 is no limit
	Now     func() time.Time // nil is time.Now
}

// Outcome is what a run came to.
type Outcome struct {
	Status Status
	Steps  []Done // in order; after an abort, only those that were begun
}
