// Package domflow says what the scripts of a page write into it out of the address that it was opened with, without a
// browser and without running them.
//
// The scripts are parsed, and evaluated with that address: texts and numbers that follow from it are known, and all
// that a page, a server or a user would add is unknown. Of a condition that is known one branch is taken; of another
// both, and what is written there is not Sure. Where it is unknown because the marked text of the address went into it,
// such as through a function that may check it, nothing behind it is said. Functions are entered when they are called
// or handed to something that calls them by itself. What reaches innerHTML, document.write, eval, location and their
// like is noted as it would be written, with nothing for its unknown parts.
//
// Scripts are those of strangers: their length, their nesting, the steps that are taken and the texts that they make
// are bounded, and no code of theirs runs.
//
// Where what the server answers is known, what scripts write out of that is said in the same way (fetch.go).
package domflow

import (
	"html"
	"net/url"
	"regexp"
	"strings"

	"github.com/dop251/goja/ast"
	"github.com/dop251/goja/parser"

	"github.com/vedette-sec/vedette/internal/webtest/markup"
)

// Limits of what is read and done.
const (
	maxScript  = 256 << 10 // letters of one script
	maxScripts = 30
	maxNesting = 100     // brackets within one another, and calls
	maxArrows  = 2000    // the parser takes time by the square of arrow functions within one another
	maxChoices = 20_000  // and of choices by ? within one another
	maxSteps   = 200_000 // nodes that are evaluated for one address
	maxText    = 64 << 10
	maxLoop    = 50
	maxWrites  = 100
)

// Kind is how a browser reads what is written.
type Kind string

// Kinds of what is written.
const (
	Markup   Kind = "markup of an element" // a script element in it does not run
	Document Kind = "markup of the document"
	Code     Kind = "code"
	Address  Kind = "address that is gone to"
)

// Write is a text that a script writes.
type Write struct {
	Sink string // such as innerHTML
	Kind Kind
	Text string
	Sure bool // no condition decides about it that is not known
}

// Runs says whether the browser runs a function of that name when the text is written.
func (w Write) Runs(name string) bool {
	text := w.Text
	switch w.Kind {
	case Code:
		text = "<script>" + text + "</script>"
	case Address:
		text = `<iframe src="` + html.EscapeString(text) + `">`
	case Markup, Document:
	}
	run, ok := markup.Runs(text, name)
	return ok && !run.Click && !run.Basic && (w.Kind != Markup || run.Where != "script")
}

// Page is the scripts of a page, parsed.
type Page struct {
	// Ask is what the server answers to a request of a script for an address of its host; nil: that is not known.
	Ask func(at *url.URL) (body string, ok bool)

	document string
	external bool // it has scripts that stand elsewhere
	programs []*ast.Program
	elements map[string]presence // by their ids
}

// presence says whether a page has an element.
type presence int

const (
	absent presence = iota
	made            // a script may make it
	present
)

var (
	inline = regexp.MustCompile(`(?is)<script\b([^>]*)>(.*?)(?:</script\s*>|$)`)
	source = regexp.MustCompile(`(?i)\bsrc\s*=\s*["']?([^"'\s>]+)`)
	typed  = regexp.MustCompile(`(?i)\btype\s*=\s*["']?([^"'\s>]+)`)
)

// Read reads the scripts of a document, in their order. load gives the text of one that is elsewhere, by the address
// that the document names, and "" if it cannot be had; nil has none of those. What cannot be parsed is left out.
func Read(document string, load func(src string) string) *Page {
	p := &Page{document: document}
	for _, m := range inline.FindAllStringSubmatch(document, maxScripts) {
		if t := typed.FindStringSubmatch(m[1]); t != nil && !strings.Contains(strings.ToLower(t[1]), "javascript") &&
			!strings.EqualFold(t[1], "module") {
			continue
		}
		text := m[2]
		if src := source.FindStringSubmatch(m[1]); src != nil {
			p.external = true
			if load == nil {
				continue
			}
			text = load(html.UnescapeString(src[1]))
		}
		if isTooMuch(text) {
			continue
		}
		// Without the option, a comment of the script names a file that the parser opens.
		if program, err := parser.ParseFile(nil, "", text, 0, parser.WithDisableSourceMaps); err == nil {
			p.programs = append(p.programs, program)
		}
	}
	return p
}

// isTooMuch reports whether a script is longer or deeper than the parser, or who evaluates it, takes in good time.
func isTooMuch(text string) bool {
	return len(text) > maxScript || nesting(text) > maxNesting || strings.Count(text, "=>") > maxArrows ||
		strings.Count(text, "?") > maxChoices
}

// nesting is how deep brackets stand in one another, at most; brackets in texts count, too.
func nesting(text string) (deepest int) {
	depth := 0
	for i := range len(text) {
		switch text[i] {
		case '(', '[', '{':
			depth++
			deepest = max(deepest, depth)
		case ')', ']', '}':
			depth = max(depth-1, 0)
		}
	}
	return deepest
}

// Writes is what the scripts write when the page is opened with an address in which mark, a word, stands in what an
// attacker has chosen: that which has the word in it.
func (p *Page) Writes(at *url.URL, mark string) (all []Write) {
	e := &evaluation{page: p, at: at, mark: strings.ToLower(mark), global: &scope{names: map[string]value{}}}
	for _, program := range p.programs {
		e.halted = false
		e.hoist(program.Body, e.global)
		e.block(program.Body, e.global)
	}
	return e.writes
}

// Runs says whether a document, opened with an address that names a function, runs that function by scripts that stand
// in it.
func Runs(document string, at *url.URL, name string) bool {
	if at == nil || !strings.Contains(at.String(), name) || !strings.Contains(strings.ToLower(document), "<script") {
		return false
	}
	for _, w := range Read(document, nil).Writes(at, name) {
		if w.Sure && w.Runs(name) {
			return true
		}
	}
	return false
}

// has says whether the document has an element with an id.
func (p *Page) has(id string) presence {
	if known, ok := p.elements[id]; ok {
		return known
	}
	if p.elements == nil {
		p.elements = map[string]presence{}
	}
	is := absent
	switch {
	case regexp.MustCompile(`(?i)\bid\s*=\s*["']?` + regexp.QuoteMeta(id) + `(?:["'\s/>]|$)`).MatchString(p.document):
		is = present
	case strings.Count(p.document, id) > 1 || p.external:
		is = made
	}
	if len(p.elements) < maxWrites {
		p.elements[id] = is
	}
	return is
}
