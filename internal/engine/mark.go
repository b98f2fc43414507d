package engine

// Mark is a reason to doubt findings on a target. They are reported nevertheless.
type Mark string

// The marks.
const (
	// AnswersAlike marks findings at paths of a target that answers missing paths with success.
	AnswersAlike Mark = "answers_alike"
	// MatchDensity marks findings on a target that matches so many templates that it may be a honeypot.
	MatchDensity Mark = "match_density"
)

// Description is the mark as a sentence.
func (m Mark) Description() string {
	switch m {
	case AnswersAlike:
		return "answers with success to every path: findings at paths need a second look"
	case MatchDensity:
		return "matches so many templates that it may be a trap: all findings need a second look"
	}
	return string(m)
}

// denseMatches is how many templates above severity info match on a target before it is in doubt. Ordinary targets
// have a handful.
const denseMatches = 15

// marks are the reasons to doubt findings on the target, as far as they are known now. The caller holds mu.
func (t *targetScan) marks(pathSpecific bool) (all []Mark) {
	if t.report.Canary.AnswersAlike && pathSpecific {
		all = append(all, AnswersAlike)
	}
	if t.severe >= denseMatches {
		all = append(all, MatchDensity)
	}
	return all
}

// markEvents marks events before they are reported. The caller holds mu.
func (t *targetScan) markEvents(events []Event) {
	for i := range events {
		events[i].Marks = t.marks(events[i].origin != nil && events[i].origin.bound.PathSpecific())
	}
}
