package engine

import "slices"

// Mark is a reason to doubt what was found on a target. Findings with marks are told of
// like all others.
type Mark string

// The marks.
const (
	// AnswersAlike marks findings at paths of a target that answers with success to
	// paths that cannot exist.
	AnswersAlike Mark = "answers_alike"
	// MatchDensity marks findings on a target that more different templates match than
	// on any honest one: it may be a trap.
	MatchDensity Mark = "match_density"
)

// Words are the mark for people.
func (m Mark) Words() string {
	switch m {
	case AnswersAlike:
		return "answers with success to every path: findings at paths need a second look"
	case MatchDensity:
		return "matches so many templates that it may be a trap: all findings need a second look"
	}
	return string(m)
}

// denseMatches is how many templates that are more than information (severity low or
// worse) match on one target before it is in doubt. Honest targets have a handful.
const denseMatches = 15

// markEvents marks events as far as it is known now what their target is worth. The
// caller holds mu.
func (v *visit) markEvents(events []Event) {
	for i := range events {
		ev := &events[i]
		if v.report.Canary.AnswersAlike && ev.origin != nil && ev.origin.bound.PathSpecific() {
			ev.Marks = append(ev.Marks, AnswersAlike)
		}
		if v.heavy >= denseMatches {
			ev.Marks = append(ev.Marks, MatchDensity)
		}
	}
}

// mark marks the target; events that were told of before have no mark of density, their
// target has.
func (v *visit) mark() {
	if v.report.Canary.AnswersAlike {
		v.report.Marks = append(v.report.Marks, AnswersAlike)
	}
	if v.heavy >= denseMatches {
		v.report.Marks = append(v.report.Marks, MatchDensity)
	}
}

// Marked says whether an event has a mark.
func (ev *Event) Marked(m Mark) bool { return slices.Contains(ev.Marks, m) }
