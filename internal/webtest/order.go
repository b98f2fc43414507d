package webtest

import (
	"regexp"
	"slices"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// readers are classes of what reads a value as a language or a path. A value that one of them reads is hardly read by
// another, and each asks for a dozen requests.
var readers = []string{"sql-injection", "path-traversal", "command-injection", "code-injection", "template-injection",
	"nosql-injection", "ldap-injection", "xpath-injection"}

// readReason is why the other readers of a value are not looked for.
const readReason = "it would be the second that reads the value"

var (
	pathName = regexp.MustCompile(`(?i)file|path|page|doc|templ|incl|dir|folder|load|layout|module|resource|target|content`)
	pathLike = regexp.MustCompile(`[/\\]|^[^ ]+\.[A-Za-z][A-Za-z0-9]{1,4}$`)
)

// ordered are the checks in the order in which they are best run at a place: what its name and value speak for comes
// before the other readers.
func ordered(checks []kit.Check, p message.Place) []*kit.Check {
	likely := "sql-injection"
	if pathLike.MatchString(kit.Value(p)) || pathName.MatchString(p.Name) {
		likely = "path-traversal"
	}
	out := make([]*kit.Check, len(checks))
	for i := range checks {
		out[i] = &checks[i]
	}
	first := slices.IndexFunc(out, func(c *kit.Check) bool { return slices.Contains(readers, c.Class) })
	wanted := slices.IndexFunc(out, func(c *kit.Check) bool { return c.Class == likely })
	if first >= 0 && wanted > first {
		c := out[wanted]
		copy(out[first+1:wanted+1], out[first:wanted])
		out[first] = c
	}
	return out
}
