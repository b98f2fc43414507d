package scan

import (
	"cmp"
	"context"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine"
)

// Gap is tests of a run that came to no result, for one reason.
type Gap struct {
	State  engine.State
	Reason string // empty: none was given
	N      int    // cells
	Target string // one of the targets
}

// maxReasons bounds how many different reasons are told apart: they may quote what targets sent.
const maxReasons = 5000

// FindGaps are what the last run of a scan of the caller's team did not test, and why: at most most reasons, those
// with most tests first. rest is the tests of all other reasons.
func (ss *Scans) FindGaps(ctx context.Context, id string, most int) (found []Gap, rest int, err error) {
	type key struct {
		state  engine.State
		reason string
	}
	at := map[key]int{}
	add := func(state engine.State, reason, target string, n int) {
		k := key{state, reason}
		i, known := at[k]
		if !known {
			if len(found) >= maxReasons {
				rest += n
				return
			}
			i = len(found)
			at[k] = i
			found = append(found, Gap{State: state, Reason: reason, Target: target})
		}
		found[i].N += n
	}
	_, err = ss.eachChunk(ctx, id, 0, func(l *Cells, _ time.Time) bool {
		for state, cells := range l.states {
			if state == engine.Tested || state == engine.NotApplicable || cells.IsEmpty() {
				continue
			}
			without := int(cells.GetCardinality())
			for cell, reason := range l.reasons {
				if cells.Contains(cell) {
					add(state, reason, l.targets[int(cell)/len(l.templates)], 1)
					without--
				}
			}
			if without > 0 {
				add(state, "", l.targets[int(cells.Minimum())/len(l.templates)], without)
			}
		}
		return true
	})
	slices.SortFunc(found, func(a, b Gap) int {
		return cmp.Or(b.N-a.N, strings.Compare(string(a.State), string(b.State)), strings.Compare(a.Reason, b.Reason))
	})
	for _, g := range found[min(len(found), most):] {
		rest += g.N
	}
	return found[:min(len(found), most)], rest, err
}
