package engine

import (
	"context"
	"errors"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/program"
)

// turn is what came of an entry, or of all entries of a payload tuple.
type turn struct {
	gate    bool // what a flow is told
	matched bool
	over    bool // the rest of the block is not to be made
	unmade  bool // because a request cannot be
	events  []Event
	learned []match.Values
	found   []match.Outcome // for session.found
	state   uint8
	reason  string
	fault   error // why there was no answer
	err     error // of the context, or of the budget: the session is over
}

// unmade is what comes of a request that cannot be made. Where a value was to come out
// of an answer that was there and did not have it, the template has had its say: there
// is nothing to be found here. A payload that has no value leaves the others be.
func (s *session) unmade(err error) turn {
	got := turn{over: true, unmade: true, fault: err}
	if wrong := (*program.PayloadError)(nil); errors.As(err, &wrong) {
		got.over = false
	}
	got.state, got.reason = unmade(err)
	if got.state == skipped && s.requests.Load() > 0 && s.bound.Carries(placeholder(err)) {
		got.state, got.reason = tested, ""
	}
	return got
}

// unmade is the state and the reason of a request that cannot be made. One that asks for
// a domain where the target is an address says nothing about such targets.
func unmade(err error) (state uint8, reason string) {
	if program.NamesDomain(placeholder(err)) {
		return notApplicable, ""
	}
	return skipped, err.Error()
}

// placeholder is the text between the braces that has no value.
func placeholder(err error) string {
	if open := (*dsl.Unresolved)(nil); errors.As(err, &open) {
		return open.Name
	}
	if missing := (*dsl.Missing)(nil); errors.As(err, &missing) {
		return missing.Name
	}
	return ""
}

// unanswered is what comes of a request that had no answer.
func unanswered(ctx context.Context, err error) turn {
	if ctx.Err() != nil {
		return turn{err: ctx.Err()}
	}
	state, reason := outcome(err)
	got := turn{state: state, reason: reason, fault: err}
	if state == overBudget {
		got.err = err
	}
	return got
}
