package prober

import (
	"errors"

	"github.com/vedette-sec/vedette/internal/engine/coverage"
	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/program"
	"github.com/vedette-sec/vedette/internal/engine/proto"
)

// states are those of probes that end without a reply.
var states = map[proto.Kind]coverage.State{
	proto.KindInapplicable: coverage.NotApplicable, proto.KindUnusable: coverage.Skipped,
	proto.KindRefused: coverage.Tested,
}

// EndOf is what the error of a probe means, if that is no failure.
func EndOf(err error) (end coverage.End, ok bool) {
	ended, ok := errors.AsType[*proto.End](err)
	if !ok {
		return end, false
	}
	return coverage.End{State: states[ended.Kind], Reason: ended.Why}, true
}

// IsRendering reports whether an error is one of a text that could not be rendered.
func IsRendering(err error) bool {
	_, missing := errors.AsType[*dsl.Missing](err)
	return missing || program.Placeholder(err) != "" || functions.Limited(err)
}
