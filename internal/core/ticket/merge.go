package ticket

import (
	"cmp"

	"github.com/vedette-sec/vedette/internal/notify/tracker"
)

// base is what both sides were when they were in step last, and what is being written since. They may differ: an issue
// that is done is only a claim that the finding is fixed.
type base struct {
	ours, theirs tracker.State
	intent       tracker.State // empty: nothing
}

// verdict is what has to be done.
type verdict int

const (
	rest     verdict = iota // nothing has changed
	agree                   // both are the same
	write                   // only we have changed
	take                    // only they have changed
	conflict                // both have changed, and differ
)

// merge compares both sides with the base. A remote state that is the one which was being written is our own: the
// answer to the write was lost. The base that it returns is the one to judge by from then on.
func merge(b base, ours, theirs tracker.State) (verdict, base) {
	b.ours, b.theirs = cmp.Or(b.ours, tracker.Open), cmp.Or(b.theirs, tracker.Open)
	if b.intent != "" && theirs != b.theirs && theirs == b.intent {
		b.ours, b.theirs = b.intent, b.intent
	}
	weChanged, theyChanged := ours != b.ours, theirs != b.theirs
	switch {
	case !weChanged && !theyChanged:
		return rest, b
	case ours == theirs:
		return agree, b
	case !theyChanged:
		return write, b
	case !weChanged:
		return take, b
	}
	return conflict, b
}
