package engine

import "github.com/vedette-sec/vedette/internal/engine/event"

// denseMatches is how many templates above severity info match on a target before it is in doubt. Ordinary targets
// have a handful.
const denseMatches = 15

// marks are the reasons to doubt findings on the target, as far as they are known now. The caller holds mu.
func (t *targetScan) marks(pathSpecific bool) (all []event.Mark) {
	if t.report.Canary.AnswersAlike && pathSpecific {
		all = append(all, event.AnswersAlike)
	}
	if t.severe >= denseMatches {
		all = append(all, event.MatchDensity)
	}
	return all
}

// markEvents marks events before they are reported. The caller holds mu.
func (t *targetScan) markEvents(events []Event) {
	for i := range events {
		events[i].Marks = t.marks(events[i].Origin != nil && events[i].Origin.Bound.PathSpecific())
	}
}

// provesNothing reports whether a program asked nothing but a target that is down, and matched nothing.
func (t *targetScan) provesNothing(i int) bool {
	return t.pending[i] >= 0 && !t.matched[i] && !t.run.programs[i].UsesProbes()
}
