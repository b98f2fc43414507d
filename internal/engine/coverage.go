package engine

import (
	"iter"

	"github.com/RoaringBitmap/roaring/v2"
)

// State is how the testing of one target with one template ended.
type State string

// The states. A cell whose requests ended differently has the one that comes last here.
const (
	NotApplicable State = "not_applicable" // the template has nothing to say about such a target
	Tested        State = "tested"         // every request it needed was answered and judged
	Skipped       State = "skipped"        // not tried, for the reason that is given
	Budget        State = "budget"         // not tried: the scan had used up what it may
	Denied        State = "denied"         // out of scope: the dialler refused
	Failed        State = "failed"         // some request had no answer, or the target could not be read
)

var stateOrder = [...]State{NotApplicable, Tested, Skipped, Budget, Denied, Failed}

// The states by their place in stateOrder.
const (
	notApplicable uint8 = iota
	tested
	skipped
	overBudget
	denied
	failed
	numStates
)

// Interrupted is the reason of cells that a cancelled context left.
const Interrupted = "interrupted"

// cells are the states of all templates on one target. While the target is visited they
// stand in draft; seal packs them into one bitmap a state.
type cells struct {
	draft   []uint8
	why     map[int]string
	states  [numStates]*roaring.Bitmap // nil for a state that does not occur
	reasons []reason
}

// reason is a text and the templates that it is about.
type reason struct {
	text  string
	cells *roaring.Bitmap
}

func newCells(templates int) cells {
	return cells{draft: make([]uint8, templates), why: map[int]string{}}
}

// settle sets a cell that is not worse already. The first reason of the worst state
// stays.
func (c *cells) settle(template int, state uint8, why string) {
	if state < c.draft[template] || state == c.draft[template] && c.why[template] != "" {
		return
	}
	c.draft[template] = state
	if why != "" {
		c.why[template] = why
	} else {
		delete(c.why, template)
	}
}

// seal packs the states; settle is not called again.
func (c *cells) seal() {
	byText := map[string]*roaring.Bitmap{}
	for i, s := range c.draft {
		if c.states[s] == nil {
			c.states[s] = roaring.New()
		}
		c.states[s].Add(uint32(i))
		text := c.why[i]
		if text == "" {
			continue
		}
		if byText[text] == nil {
			byText[text] = roaring.New()
			c.reasons = append(c.reasons, reason{text, byText[text]})
		}
		byText[text].Add(uint32(i))
	}
	for _, b := range c.states {
		if b != nil {
			b.RunOptimize()
		}
	}
	for _, r := range c.reasons {
		r.cells.RunOptimize()
	}
	c.draft, c.why = nil, nil
}

// cell is the state of one template, and why.
func (c *cells) cell(template int) (State, string) {
	if c.draft != nil {
		return stateOrder[c.draft[template]], c.why[template]
	}
	at, found := uint32(template), NotApplicable
	for s, b := range c.states {
		if b != nil && b.Contains(at) {
			found = stateOrder[s]
			break
		}
	}
	for _, r := range c.reasons {
		if r.cells.Contains(at) {
			return found, r.text
		}
	}
	return found, ""
}

// count is the number of templates in a state.
func (c *cells) count(state uint8) int {
	if c.states[state] == nil {
		return 0
	}
	return int(c.states[state].GetCardinality())
}

// Cell is the state of a template, by its index in Report.Templates, and the reason
// when there is one.
func (t *TargetReport) Cell(template int) (State, string) { return t.cells.cell(template) }

// Counts is the number of templates in each state that occurs on the target.
func (t *TargetReport) Counts() map[State]int {
	counts := map[State]int{}
	for s := range numStates {
		if n := t.cells.count(s); n > 0 {
			counts[stateOrder[s]] = n
		}
	}
	return counts
}

// In gives the templates that are in a state on the target, in order, by their index in
// Report.Templates.
func (t *TargetReport) In(state State) iter.Seq[int] {
	return func(yield func(int) bool) {
		for s, b := range t.cells.states {
			if stateOrder[s] != state || b == nil {
				continue
			}
			b.Iterate(func(i uint32) bool { return yield(int(i)) })
		}
	}
}

// Cell is one target × template.
type Cell struct {
	Target   string `json:"target"` // as it was given; "" for what is tested without a target
	Template string `json:"template"`
	State    State  `json:"state"`
	Reason   string `json:"reason,omitempty"`
}

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
		for s, n := range t.Counts() {
			counts[s] += n
		}
	}
	return counts
}

// Partial says whether something was left untested: a cell failed, was skipped or
// denied, or came after the budget's end.
func (r *Report) Partial() bool {
	counts := r.Counts()
	return counts[Skipped]+counts[Budget]+counts[Denied]+counts[Failed] > 0
}
