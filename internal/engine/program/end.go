package program

import (
	"errors"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// NotMade is the end of a cell whose request could not be made; one that needs a domain name does not apply to an IP
// address.
func NotMade(err error) coverage.End {
	if NamesDomain(Placeholder(err)) {
		return coverage.End{State: coverage.NotApplicable}
	}
	if functions.Limited(err) {
		return Limited(err)
	}
	if strings.HasPrefix(Placeholder(err), oob.Marker) {
		return coverage.End{State: coverage.Skipped, Reason: err.Error() + ": no out-of-band server was named (--oast)"}
	}
	return coverage.End{State: coverage.Skipped, Reason: err.Error()}
}

// Limited is the end of a cell whose template reached a limit of its evaluation.
func Limited(err error) coverage.End {
	return coverage.End{
		State: coverage.Failed, Reason: "the template was stopped: " + errs.Clip(err.Error(), maxLimited),
	}
}

const maxLimited = 300 // bytes of the reason

// Placeholder is the name of the variable without a value; "" for another error.
func Placeholder(err error) string {
	if open, ok := errors.AsType[*dsl.Unresolved](err); ok {
		return open.Name
	}
	if missing, ok := errors.AsType[*dsl.Missing](err); ok {
		return missing.Name
	}
	return ""
}
