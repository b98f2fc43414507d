package event

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
