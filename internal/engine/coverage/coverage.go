// Package coverage records how the testing of each target with each template ended, as bitmaps per target. A
// Checkpoint carries the states from an interrupted scan to the run that resumes it.
package coverage

import (
	"iter"
	"slices"

	"github.com/RoaringBitmap/roaring/v2"
)

// State is how the testing of one target with one template (a cell) ended.
type State string

// The states. A cell whose requests ended differently has the state that comes last here.
const (
	NotApplicable State = "not_applicable" // the template does not concern such a target
	Tested        State = "tested"         // every response was evaluated
	Skipped       State = "skipped"        // not tried, for a reason
	Budget        State = "budget"         // not tried: the budget was spent
	Denied        State = "denied"         // out of scope
	Failed        State = "failed"         // a request had no response, or the target is invalid
)

// States are all states; of several in a cell the last here counts.
var States = [...]State{NotApplicable, Tested, Skipped, Budget, Denied, Failed}

// rank is the index in States; unknown texts count as NotApplicable.
func (s State) rank() uint8 { return uint8(max(0, slices.Index(States[:], s))) }

// WorseThan reports whether s comes after other in States.
func (s State) WorseThan(other State) bool { return s != other && s.rank() > other.rank() }

// Interrupted is the reason of cells that a cancelled context left.
const Interrupted = "interrupted"

// End is how a cell ended.
type End struct {
	State  State
	Reason string
}

// final reports whether the cell need not be tested again.
func (e End) final() bool {
	return e.State != Failed && e.State != Budget && (e.State != Skipped || e.Reason != Interrupted)
}

// Cells are the states of all templates on one target: an array until Seal packs them into a bitmap per state.
type Cells struct {
	states  []uint8 // by template, as ranks
	why     map[int]string
	packed  [len(States)]*roaring.Bitmap // nil for a state that does not occur
	reasons []Reason
}

// Reason is a text and its templates.
type Reason struct {
	Text      string
	templates *roaring.Bitmap
}

// Count is the number of templates.
func (r Reason) Count() int { return int(r.templates.GetCardinality()) }

// NewCells makes cells that are all NotApplicable.
func NewCells(templates int) Cells {
	return Cells{states: make([]uint8, templates), why: map[int]string{}}
}

// Set sets a cell unless its state is worse already. The first reason of the worst state stays.
func (c *Cells) Set(template int, state State, reason string) {
	rank := state.rank()
	if rank < c.states[template] || rank == c.states[template] && c.why[template] != "" {
		return
	}
	c.states[template] = rank
	if reason != "" {
		c.why[template] = reason
	} else {
		delete(c.why, template)
	}
}

// Doubt makes those of some cells that are tested failed, with a reason: what they were tested with proves nothing.
func (c *Cells) Doubt(reason string, of func(template int) bool) {
	for i, rank := range c.states {
		if States[rank] == Tested && of(i) {
			c.Set(i, Failed, reason)
		}
	}
}

// Seal packs the states; Set must not be called again.
func (c *Cells) Seal() {
	byText := map[string]*roaring.Bitmap{}
	for i, s := range c.states {
		if c.packed[s] == nil {
			c.packed[s] = roaring.New()
		}
		c.packed[s].Add(uint32(i))
		text := c.why[i]
		if text == "" {
			continue
		}
		if byText[text] == nil {
			byText[text] = roaring.New()
			c.reasons = append(c.reasons, Reason{text, byText[text]})
		}
		byText[text].Add(uint32(i))
	}
	for _, b := range c.packed {
		if b != nil {
			b.RunOptimize()
		}
	}
	for _, r := range c.reasons {
		r.templates.RunOptimize()
	}
	c.states, c.why = nil, nil
}

// Cell is how one template ended.
func (c *Cells) Cell(template int) End {
	if c.states != nil {
		return End{States[c.states[template]], c.why[template]}
	}
	at, end := uint32(template), End{State: NotApplicable}
	for s, b := range c.packed {
		if b != nil && b.Contains(at) {
			end.State = States[s]
			break
		}
	}
	for _, r := range c.reasons {
		if r.templates.Contains(at) {
			end.Reason = r.Text
			break
		}
	}
	return end
}

// Counts is the number of templates in each state that occurs. The cells must be sealed, here and below.
func (c *Cells) Counts() map[State]int {
	counts := map[State]int{}
	for s, b := range c.packed {
		if b != nil {
			counts[States[s]] = int(b.GetCardinality())
		}
	}
	return counts
}

// In are the templates in a state, in order.
func (c *Cells) In(state State) iter.Seq[int] {
	return func(yield func(int) bool) {
		for s, b := range c.packed {
			if b != nil && States[s] == state {
				b.Iterate(func(i uint32) bool { return yield(int(i)) })
			}
		}
	}
}

// Reasons are the distinct reasons.
func (c *Cells) Reasons() []Reason { return c.reasons }
