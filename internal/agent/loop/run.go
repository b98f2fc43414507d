package loop

import (
	"context"
	"errors"
)

// Run works on an instruction until it is done, suspended, stopped, aborted or failed. What
// the journal holds of this turn is taken from there: no answered model call is made again,
// no finished tool call either, and a turn that has ended returns its outcome. The error is
// only ever about the run itself: a Config that lacks something, a journal or a Ledger that
// cannot be written; the run can be taken up again then.
//
// When ctx ends, every tool's ctx ends, and Run returns Aborted within five seconds even if
// a tool does not: nothing of that is in the journal, so that the run can be taken up again.
// Who gives it up instead settles the keys that OpenReservations names.
func Run(ctx context.Context, c Config) (Outcome, error) {
	return Outcome{}, errors.ErrUnsupported
}
