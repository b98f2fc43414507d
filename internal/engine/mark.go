package engine

import "slices"

// Mark is a reason to doubt what was found on a target. Findings with marks are reported like all
// others.
type Mark string

// The marks.
const (
	// AnswersAlike marks findings at paths of a target that answers with success to
	// paths that cannot exist.
	AnswersAlike Mark = "answers_alike"
	// MatchDensity marks findings on a target that so many different templates match that it
	// may be a honeypot.
	MatchDensity Mark = "match_density"
)

// Words is the mark as a sentence.
func (m Mark) Words() string {
	switch m {
	case AnswersAlike:
		return "answers with success to every path: findings at paths need a second look"
	case MatchDensity:
		return "matches so many templates that it may be a trap: all findings need a second look"
	}
	return string(m)
}

// denseMatches is how many templates of severity low or worse match on one target before it is in
// doubt. Ordinary targets have a handful.
const denseMatches = 15

// markEvents marks events with what is known about their target now. The caller holds mu.
func (t *targetScan) markEvents(events []Event) {
	for i := range events {
		ev := &events[i]
		if t.report.Canary.AnswersAlike && ev.origin != nil && ev.origin.bound.PathSpecific() {
			ev.Marks = append(ev.Marks, AnswersAlike)
		}
		if t.severe >= denseMatches {
			ev.Marks = append(ev.Marks, MatchDensity)
		}
	}
}

// mark marks the target. Events that were reported before it became dense lack the mark that their
// target has.
func (t *targetScan) mark() {
	if t.report.Canary.AnswersAlike {
		t.report.Marks = append(t.report.Marks, AnswersAlike)
	}
	if t.severe >= denseMatches {
		t.report.Marks = append(t.report.Marks, MatchDensity)
	}
}

// Marked reports whether an event has a mark.
func (ev *Event) Marked(m Mark) bool { return slices.Contains(ev.Marks, m) }
