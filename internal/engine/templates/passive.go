package templates

import (
	"slices"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// basePaths are the paths of a request for the page that a target names.
var basePaths = []string{"{{BaseURL}}", "{{BaseURL}}/", "{{RootURL}}", "{{RootURL}}/", "/"}

// makePassive cuts a template down to what it says of the page that a target names, for responses that were stored: the
// HTTP blocks before the first that asks for anything else, each as one plain request. It reports whether something is
// left.
func makePassive(t *syntax.Template) bool {
	if t.Flow != "" || t.SelfContained {
		return false
	}
	var blocks []syntax.HTTP
	for _, b := range t.HTTP {
		other := func(path string) bool { return !slices.Contains(basePaths, path) }
		if len(b.Path) == 0 || len(b.Fuzzing) > 0 || slices.ContainsFunc(b.Path, other) {
			break
		}
		blocks = append(blocks, syntax.HTTP{
			Line: b.Line, ID: b.ID, Name: b.Name, Path: []string{"{{BaseURL}}"}, StopAtFirstMatch: b.StopAtFirstMatch,
			IterateAll: b.IterateAll, Operators: b.Operators, Sealed: b.Sealed,
		})
	}
	passive := syntax.Template{
		Path: t.Path, Digest: t.Digest, Signature: t.Signature, ID: t.ID, Info: t.Info,
		StopAtFirstMatch: t.StopAtFirstMatch, Variables: t.Variables, Constants: t.Constants, Protocols: []string{"http"},
		HTTP: blocks,
	}
	*t = passive
	return len(blocks) > 0
}
