package engine

import (
	"context"
	"errors"

	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
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
	events      []Event
	extracted   []match.Values
	outcomes    []match.Outcome // for session.onOutcome
	fault       error           // why there was no response
	err         error           // of the context, or of the budget: the session is over
}

// notMade is the result of a request that could not be made. If it lacks a value that an earlier response did not
// contain, the template was tested. A payload without a value does not affect the others.
func (s *session) notMade(err error) entryResult {
	_, payload := errors.AsType[*program.PayloadError](err)
	got := entryResult{End: notMade(err), over: !payload, notMade: true, fault: err}
	if got.State == Skipped && s.requests.Load() > 0 && s.bound.MayComeFromResponse(placeholder(err)) {
		got.End = coverage.End{State: Tested}
	}
	return got
}

// notMade is the end of a cell whose request could not be made; one that needs a domain name does not apply to an IP
// address.
func notMade(err error) coverage.End {
	if program.NamesDomain(placeholder(err)) {
		return coverage.End{State: NotApplicable}
	}
	if functions.Limited(err) {
		return limited(err)
	}
	return coverage.End{State: Skipped, Reason: err.Error()}
}

// limited is the end of a cell whose template reached a limit of its evaluation.
func limited(err error) coverage.End {
	return coverage.End{State: Failed, Reason: "the template was stopped: " + errs.Clip(err.Error(), maxLimited)}
}

const maxLimited = 300 // bytes of the reason

// placeholder is the name of the variable without a value.
func placeholder(err error) string {
	if open, ok := errors.AsType[*dsl.Unresolved](err); ok {
		return open.Name
	}
	if missing, ok := errors.AsType[*dsl.Missing](err); ok {
		return missing.Name
	}
	return ""
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
