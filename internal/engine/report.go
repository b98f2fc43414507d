package engine

import (
	"errors"
	"iter"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/errs"
)

// State is how the testing of one target with one template ended.
type State string

// The states. A cell whose requests ended differently has the one that comes last here.
const (
	NotApplicable State = "not_applicable" // the template has nothing to say about such a target
	Tested        State = "tested"         // every request it needed was answered and judged
	Skipped       State = "skipped"        // not tried, for the reason that is given
	Denied        State = "denied"         // out of scope: the dialler refused
	Failed        State = "failed"         // some request had no answer, or the target could not be read
)

var stateOrder = []State{NotApplicable, Tested, Skipped, Denied, Failed}

// Interrupted is the reason of cells that a cancelled context left.
const Interrupted = "interrupted"

// Cell is one target × template.
type Cell struct {
	Target   string `json:"target"` // as it was given
	Template string `json:"template"`
	State    State  `json:"state"`
	Reason   string `json:"reason,omitempty"`
}

// Report says what a scan did: for each target and template, how it ended.
type Report struct {
	Started, Ended time.Time
	Templates      []string // ids, in the order of Scan.Programs
	Targets        []*TargetReport
	Requests       int // sent, with redirects, retries and canaries
	Events         int
}

// TargetReport is what is known of one target after a scan.
type TargetReport struct {
	Target string // as it was given
	URL    string // what it was taken for; "" when it could not be reached or read
	Alive  bool   // something answered
	Reason string // why not, when not
	Canary Canary

	states  []uint8        // index into stateOrder, by template
	reasons map[int]string // by template, where there is one
}

// Cell is the state of a template, by its index in Report.Templates.
func (t *TargetReport) Cell(template int) (State, string) {
	return stateOrder[t.states[template]], t.reasons[template]
}

// settle sets a cell that is not worse already. The first reason of the worst state
// stays.
func (t *TargetReport) settle(template int, state uint8, reason string) {
	if state < t.states[template] || state == t.states[template] && t.reasons[template] != "" {
		return
	}
	t.states[template] = state
	if reason != "" {
		t.reasons[template] = reason
	}
}

const (
	notApplicable uint8 = iota
	tested
	skipped
	denied
	failed
)

// Cells gives every target × template, in order.
func (r *Report) Cells() iter.Seq[Cell] {
	return func(yield func(Cell) bool) {
		for _, t := range r.Targets {
			for i, id := range r.Templates {
				state, reason := t.Cell(i)
				if !yield(Cell{Target: t.Target, Template: id, State: state, Reason: reason}) {
					return
				}
			}
		}
	}
}

// Counts is the number of cells in each state that occurs.
func (r *Report) Counts() map[State]int {
	counts := map[State]int{}
	for _, t := range r.Targets {
		for _, s := range t.states {
			counts[stateOrder[s]]++
		}
	}
	return counts
}

// Partial says whether something was left untested: a cell failed, was skipped or
// denied.
func (r *Report) Partial() bool {
	for _, t := range r.Targets {
		for _, s := range t.states {
			if s >= skipped {
				return true
			}
		}
	}
	return false
}

// outcome is the state and the reason that an error of a request means.
func outcome(err error) (uint8, string) {
	if refused, ok := errors.AsType[*errs.Error](err); ok && refused.Kind == errs.Forbidden {
		return denied, refused.Message
	}
	return failed, web.Reason(err)
}

// Progress is how far a scan is.
type Progress struct {
	Targets, TargetsDone int
	Total, Done          int // steps: a request that several templates share is one
	Requests             int // sent
	Matched              int // events
	Errors               int // requests without an answer
	Elapsed              time.Duration
	Final                bool // the last of this scan
}
