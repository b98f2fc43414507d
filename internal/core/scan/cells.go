package scan

import (
	"encoding/json"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Cells is the coverage of a chunk: a state for each target × template, in bitmaps target by target.
type Cells struct {
	targets   []string
	templates []string
	states    map[engine.State]*roaring.Bitmap
	matched   *roaring.Bitmap
	reasons   map[uint32]string
	first     int    // the number of its first template in the run
	of        [2]int // targets and templates of the run
}

// NewCells makes cells without a state.
func NewCells(targets, templates []string) *Cells {
	return &Cells{targets: targets, templates: templates, states: map[engine.State]*roaring.Bitmap{},
		matched: roaring.New(),
		reasons: map[uint32]string{}}
}

// maxReason bounds the bytes of a reason, which may quote a server.
const maxReason = 300

// Set sets the state of a cell, by the indices of its target and its template.
func (l *Cells) Set(target, template int, state engine.State, reason string) {
	cell := l.cell(target, template)
	if l.states[state] == nil {
		l.states[state] = roaring.New()
	}
	l.states[state].Add(cell)
	if reason != "" {
		l.reasons[cell] = errs.Clip(engine.Clean(reason), maxReason)
	}
}

// Match marks a cell that has a finding.
func (l *Cells) Match(target, template int) { l.matched.Add(l.cell(target, template)) }

func (l *Cells) cell(target, template int) uint32 {
	return uint32(target*len(l.templates) + template)
}

// Targets are the targets of the chunk, and the templates that it tests them with.
func (l *Cells) Targets() []string { return l.targets }

// Counts is the number of cells in each state that occurs.
func (l *Cells) Counts() map[engine.State]int {
	out := map[engine.State]int{}
	for state, cells := range l.states {
		if n := cells.GetCardinality(); n > 0 {
			out[state] = int(n)
		}
	}
	return out
}

// Cell is one target × template.
type Cell struct {
	Target   string
	Template string
	State    engine.State
	Reason   string
	Matched  bool
}

// Each calls do with every cell, in order, until it returns false.
func (l *Cells) Each(do func(Cell) bool) bool {
	for i, target := range l.targets {
		for j, template := range l.templates {
			n := l.cell(i, j)
			c := Cell{Target: target, Template: template, Reason: l.reasons[n], Matched: l.matched.Contains(n)}
			for state, cells := range l.states {
				if cells.Contains(n) {
					c.State = state
				}
			}
			if !do(c) {
				return false
			}
		}
	}
	return true
}

// stored is Cells in the database; the targets and templates are the chunk's.
type stored struct {
	States  map[engine.State][]byte `json:"states"` // portable bitmaps
	Matched []byte                  `json:"matched"`
	Reasons map[uint32]string       `json:"reasons,omitempty"`
}

func (l *Cells) encode() ([]byte, error) {
	s := stored{States: map[engine.State][]byte{}, Reasons: l.reasons}
	var err error
	for state, cells := range l.states {
		cells.RunOptimize()
		if s.States[state], err = cells.ToBytes(); err != nil {
			return nil, err
		}
	}
	if s.Matched, err = l.matched.ToBytes(); err != nil {
		return nil, err
	}
	return json.Marshal(s)
}

func decodeCells(doc []byte, targets, templates []string) (*Cells, error) {
	var s stored
	if err := json.Unmarshal(doc, &s); err != nil {
		return nil, err
	}
	l := NewCells(targets, templates)
	l.reasons = s.Reasons
	for state, text := range s.States {
		l.states[state] = roaring.New()
		if err := l.states[state].UnmarshalBinary(text); err != nil {
			return nil, err
		}
	}
	return l, l.matched.UnmarshalBinary(s.Matched)
}
