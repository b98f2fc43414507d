// Package program turns a template into something that runs: immutable, shared by all
// scans at once, with every text parsed and every matcher compiled.
//
// A Program is bound to the variables of a scan (Bind), which fixes all but what the
// target decides; a bound step has a Key, by which the runner sends equal requests of
// different templates once.
package program

import (
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Program is a compiled template.
type Program struct {
	ID     string
	Path   string // where the template came from
	Digest string // of the template's bytes
	Info   syntax.Info

	blocks    []block
	constants map[string]dsl.Text
	variables []variable // in written order
}

type variable struct {
	name string
	text dsl.Text
}

// block is a group of requests that share operators.
type block struct {
	steps            []step
	operators        *match.Operators
	stopAtFirstMatch bool
	needsTLS         bool
}

// step is one request to make.
type step struct {
	method    string
	path      dsl.Text
	headers   []header
	body      dsl.Text
	redirects web.RedirectMode
	hops      int
	maxBody   int64
	trim      bool // one slash at the end of the target's path is left out
}

type header struct {
	name  string
	value dsl.Text
}

// PathSpecific says whether the verdict depends on the path: some request asks for a
// path other than the root, and its operators read the status or the body. What holds
// for a whole host (a missing header, a cookie, TLS) is not path specific.
func (p *Program) PathSpecific() bool {
	for _, b := range p.blocks {
		for _, s := range b.steps {
			if b.operators.ReadsPage() && !rootPath(s.path.String()) {
				return true
			}
		}
	}
	return false
}

// Requests is the number of requests that the program makes on a target, redirects not
// counted.
func (p *Program) Requests() int {
	n := 0
	for _, b := range p.blocks {
		n += len(b.steps)
	}
	return n
}

// NeedsTLS says whether the program has nothing to say about a plain http target.
func (p *Program) NeedsTLS() bool {
	for _, b := range p.blocks {
		if !b.needsTLS {
			return false
		}
	}
	return true
}

var baseForm = regexp.MustCompile(`^(?:\{\{\s*(?:BaseURL|RootURL)\s*\}\}|https?://[^/?#]*)`)

// rootPath says whether a path text asks for the target itself.
func rootPath(text string) bool {
	rest, _, _ := strings.Cut(baseForm.ReplaceAllString(text, ""), "?")
	return rest == "" || rest == "/"
}
