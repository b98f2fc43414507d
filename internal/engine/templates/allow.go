package templates

import (
	"slices"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Allow says which special kinds of templates a scan runs (template language 1.10). Others are skipped and counted.
type Allow struct {
	Headless       bool // templates that drive a browser
	Code           bool // signed templates that run programs on this machine; allows SelfContained, too
	DAST           bool // fuzzing templates, and then nothing but these and global matchers
	Mixed          bool // fuzzing templates beside all others: to check and to list them, no scan runs both
	SelfContained  bool // templates that do not ask the target
	GlobalMatchers bool // templates that judge the answers to all others; else they are plain ones
	File           bool // templates that read files of this machine
	Passive        bool // only what HTTP templates say of the page that a target names; see makePassive
	VerifiedOnly   bool // only templates whose signature is verified; code and request signing need that anyway
}

// Reason is why a template was skipped.
type Reason string

// The reasons.
const (
	SkippedByFilter      Reason = "filtered"
	SkippedIgnored       Reason = "left out by " + ignoreFile // and by no filter
	SkippedDuplicate     Reason = "duplicate-id"              // a template earlier in the order of paths has the id
	SkippedHeadless      Reason = "headless"
	SkippedCode          Reason = "code"
	SkippedFuzzing       Reason = "dast"
	SkippedNotFuzzing    Reason = "not-dast" // only fuzzing was asked for
	SkippedSelfContained Reason = "self-contained"
	SkippedFile          Reason = "file"
	SkippedGlobal        Reason = "global-matchers" // they only see the answers to other templates
	SkippedUnsigned      Reason = "unsigned"
	SkippedActive        Reason = "not-passive" // it asks for more than the page that a target names
)

// AllowAll allows every kind of template.
func AllowAll() Allow {
	return Allow{Mixed: true, Headless: true, Code: true, SelfContained: true, GlobalMatchers: true, File: true}
}

// idOf is the id that no two templates of a scan may share. Fuzzing templates may share theirs with others: no scan
// runs both.
func (a Allow) idOf(t *syntax.Template) string {
	if a.Mixed && isFuzzing(t) {
		return "dast " + t.ID // no id has a space
	}
	return t.ID
}

func isFuzzing(t *syntax.Template) bool {
	return slices.ContainsFunc(t.HTTP, func(b syntax.HTTP) bool { return len(b.Fuzzing) > 0 }) ||
		slices.ContainsFunc(t.Headless, func(b syntax.Headless) bool { return len(b.Fuzzing) > 0 })
}

// excludes is why a template does not run; "" when it runs.
func (a Allow) excludes(t *syntax.Template) Reason {
	has := func(protocol string) bool { return slices.Contains(t.Protocols, protocol) }
	http := func(is func(syntax.HTTP) bool) bool { return slices.ContainsFunc(t.HTTP, is) }
	fuzzing := isFuzzing(t)
	switch {
	case fuzzing && !a.DAST && !a.Mixed:
		return SkippedFuzzing
	case a.DAST && !fuzzing && !http(func(b syntax.HTTP) bool { return b.GlobalMatchers }):
		return SkippedNotFuzzing
	case !a.GlobalMatchers && http(func(b syntax.HTTP) bool { return b.GlobalMatchers && len(b.Path)+len(b.Raw) == 0 }):
		return SkippedGlobal
	case has("headless") && !a.Headless:
		return SkippedHeadless
	case has("code") && !a.Code:
		return SkippedCode
	case has("file") && !a.File:
		return SkippedFile
	case (t.SelfContained || http(func(b syntax.HTTP) bool { return b.SelfContained })) && !a.SelfContained && !a.Code:
		return SkippedSelfContained
	case t.Signature.Verified:
		return ""
	case a.VerifiedOnly, has("code"), http(func(b syntax.HTTP) bool { return b.Signature != "" }):
		return SkippedUnsigned
	}
	return ""
}
