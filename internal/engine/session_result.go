package engine

import (
	"context"
	"errors"
	"fmt"

	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/sender"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// entryResult is the result of an entry, or of all entries of a payload tuple.
type entryResult struct {
	coverage.End
	flowMatched bool // matched as a flow sees it
	matched     bool
	over        bool // the rest of the block is not sent
	notMade     bool // because a request could not be made
	unsent      bool // one of several payloads cannot be sent; End says why
	events      []Event
	extracted   []match.Values
	outcomes    []match.Outcome // for session.onOutcome
	pending     []awaited       // for session.onPending
	fault       error           // why there was no response
	err         error           // of the context, or of the budget: the session is over
}

// notMade is the result of a request that could not be made. If it lacks a value that an earlier response did not
// contain, the template was tested. A payload without a value does not affect the others.
func (s *session) notMade(err error) entryResult {
	_, payload := errors.AsType[*program.PayloadError](err)
	got := entryResult{End: program.NotMade(err), over: !payload, notMade: true, fault: err}
	if got.State == Skipped && s.requests.Load() > 0 && s.bound.MayComeFromResponse(program.Placeholder(err)) {
		got.End = coverage.End{State: Tested}
	}
	return got
}

// unanswered is the result of a request without a response.
func unanswered(ctx context.Context, err error) entryResult {
	if ctx.Err() != nil {
		return entryResult{err: ctx.Err()}
	}
	got := entryResult{End: endOf(err), fault: err}
	if got.State == Budget {
		got.err = err
	}
	return got
}

// ofPayload is the result of a request that was not sent; with one of several payloads in it that says nothing about
// the others.
func ofPayload(several bool, got entryResult) entryResult {
	invalid, ok := errors.AsType[*web.Error](got.fault)
	if several && (ok && invalid.Kind == web.KindRequest || got.notMade && program.Placeholder(got.fault) == "") {
		got.unsent, got.over = true, false
	}
	return got
}

// endUnsent counts payloads that could not be sent into the end of the session: it was tested with the others, if they
// were answered.
func (s *session) endUnsent() {
	switch {
	case s.unsent == 0:
	case s.requests.Load() > 0:
		s.addEnd(coverage.End{State: Tested, Reason: fmt.Sprintf("%d of its payloads cannot be sent: %s",
			s.unsent, s.unsentEnd.Reason)})
	default:
		s.addEnd(s.unsentEnd)
	}
}

// endOf is the end of a cell whose request failed with an error.
func endOf(err error) coverage.End {
	if errors.Is(err, sender.ErrBudget) {
		return coverage.End{State: Budget, Reason: err.Error()}
	}
	if refused, ok := errors.AsType[*errs.Error](err); ok && refused.Kind == errs.Forbidden {
		return coverage.End{State: Denied, Reason: refused.Message}
	}
	return coverage.End{State: Failed, Reason: web.Reason(err)}
}
