// Package check has the checks of web applications: All of them, and the types of package kit under the names that
// who runs them uses.
//
// A check is a folder or a payload set. Where a class can be said as data (technique/sets/*.yaml) adding a payload is a
// line and adding a set is a file; what needs code of its own (script in pages, redirects, access control, files) is in
// a package of its own. Every check sends nothing harmful at level safe, has a control that must fail, and confirms
// what it has found in a second way; what is only likely is reported as Probable, which counts as no finding.
package check

import (
	"github.com/vedette-sec/vedette/internal/webtest/check/access"
	"github.com/vedette-sec/vedette/internal/webtest/check/carried"
	"github.com/vedette-sec/vedette/internal/webtest/check/cookie"
	"github.com/vedette-sec/vedette/internal/webtest/check/digest"
	"github.com/vedette-sec/vedette/internal/webtest/check/enrol"
	"github.com/vedette-sec/vedette/internal/webtest/check/exposure"
	"github.com/vedette-sec/vedette/internal/webtest/check/forgery"
	"github.com/vedette-sec/vedette/internal/webtest/check/front"
	"github.com/vedette-sec/vedette/internal/webtest/check/guess"
	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/logic"
	"github.com/vedette-sec/vedette/internal/webtest/check/menu"
	"github.com/vedette-sec/vedette/internal/webtest/check/object"
	"github.com/vedette-sec/vedette/internal/webtest/check/owned"
	"github.com/vedette-sec/vedette/internal/webtest/check/password"
	"github.com/vedette-sec/vedette/internal/webtest/check/posted"
	"github.com/vedette-sec/vedette/internal/webtest/check/redirect"
	"github.com/vedette-sec/vedette/internal/webtest/check/refusal"
	"github.com/vedette-sec/vedette/internal/webtest/check/remote"
	"github.com/vedette-sec/vedette/internal/webtest/check/reset"
	"github.com/vedette-sec/vedette/internal/webtest/check/serial"
	"github.com/vedette-sec/vedette/internal/webtest/check/state"
	"github.com/vedette-sec/vedette/internal/webtest/check/steps"
	"github.com/vedette-sec/vedette/internal/webtest/check/technique"
	"github.com/vedette-sec/vedette/internal/webtest/check/token"
	"github.com/vedette-sec/vedette/internal/webtest/check/twostep"
	"github.com/vedette-sec/vedette/internal/webtest/check/xss"
)

// The types of checks.
type (
	// Check is kit.Check.
	Check = kit.Check
	// World is kit.World.
	World = kit.World
	// Target is kit.Target.
	Target = kit.Target
	// Finding is kit.Finding.
	Finding = kit.Finding
	// Evidence is kit.Evidence.
	Evidence = kit.Evidence
	// Severity is kit.Severity.
	Severity = kit.Severity
	// Confidence is kit.Confidence.
	Confidence = kit.Confidence
	// OOB is kit.OOB.
	OOB = kit.OOB
)

// Confidences of findings: only Proved counts.
const (
	Proved   = kit.Proved
	Probable = kit.Probable
)

// All are the checks, in the order in which they are best run.
func All() []Check {
	var all []Check
	for _, some := range [][]Check{
		xss.Checks(), technique.Checks(), redirect.Checks(), remote.Checks(), exposure.Checks(), access.Checks(),
		forgery.Checks(), owned.Checks(), enrol.Checks(), digest.Checks(), logic.Checks(),
		token.Checks(), object.Checks(), front.Checks(), refusal.Checks(), state.Checks(), reset.Checks(), menu.Checks(),
		password.Checks(), carried.Checks(), steps.Checks(), posted.Checks(), serial.Checks(), guess.Checks(),
		cookie.Checks(),
		twostep.Checks(),
	} {
		all = append(all, some...)
	}
	return all
}
