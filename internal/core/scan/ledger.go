package scan

import (
	"encoding/json"
	"strings"

	"github.com/RoaringBitmap/roaring/v2"
	"github.com/vedette-sec/vedette/internal/engine"
)

// Ledger says of each target × template of a chunk how it ended: bitmaps over the cells,
// which are counted target by target.
type Ledger struct {
	targets   []string
	templates []string
	states    map[engine.State]*roaring.Bitmap
	matched   *roaring.Bitmap
	reasons   map[uint32]string
}

// NewLedger makes a ledger in which nothing has ended.
func NewLedger(targets, templates []string) *Ledger {
	return &Ledger{targets: targets, templates: templates, states: map[engine.State]*roaring.Bitmap{}, matched: roaring.New(), reasons: map[uint32]string{}}
}

// maxReason bounds a reason, which may quote a server, in bytes.
const maxReason = 300

// Set notes how a cell ended, by the positions of its target and its template.
func (l *Ledger) Set(target, template int, state engine.State, reason string) {
	cell := l.cell(target, template)
	if l.states[state] == nil {
		l.states[state] = roaring.New()
	}
	l.states[state].Add(cell)
	if reason != "" {
		l.reasons[cell] = clip(engine.Clean(reason), maxReason)
	}
}

// Match notes that a cell had a finding.
func (l *Ledger) Match(target, template int) { l.matched.Add(l.cell(target, template)) }

func (l *Ledger) cell(target, template int) uint32 {
	return uint32(target*len(l.templates) + template)
}

// Counts is the number of cells in each state that occurs.
func (l *Ledger) Counts() map[engine.State]int {
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

// each calls do with every cell, in order, until do says stop.
func (l *Ledger) each(do func(Cell) bool) bool {
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

// stored is a ledger on disk; its targets and templates are the chunk's.
type stored struct {
	States  map[engine.State][]byte `json:"states"` // portable bitmaps
	Matched []byte                  `json:"matched"`
	Reasons map[uint32]string       `json:"reasons,omitempty"`
}

func (l *Ledger) encode() ([]byte, error) {
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

func decodeLedger(doc []byte, targets, templates []string) (*Ledger, error) {
	var s stored
	if err := json.Unmarshal(doc, &s); err != nil {
		return nil, err
	}
	l := NewLedger(targets, templates)
	l.reasons = s.Reasons
	for state, text := range s.States {
		l.states[state] = roaring.New()
		if err := l.states[state].UnmarshalBinary(text); err != nil {
			return nil, err
		}
	}
	return l, l.matched.UnmarshalBinary(s.Matched)
}

func clip(s string, n int) string {
	if len(s) <= n {
		return s
	}
	return strings.ToValidUTF8(s[:n], "") + "…"
}

// all is the set of all cells.
func (l *Ledger) all() *roaring.Bitmap {
	all := roaring.New()
	all.AddRange(0, uint64(len(l.targets)*len(l.templates)))
	return all
}
