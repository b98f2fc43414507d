// Package program compiles templates into programs: immutable and shared by all scans.
//
// Bind gives a Program the variables of a scan. A bound program is plain when all its requests are known as soon as
// the target is; a Plan then sends equal requests of different templates once. All others run as sessions, request by
// request: Bound.Request makes one from what the session has learned so far.
package program

import (
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/flow"
	"github.com/vedette-sec/vedette/internal/engine/fuzz"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/proto"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Program is a compiled template.
type Program struct {
	ID     string
	Path   string // where the template came from
	Digest string // of the template's bytes
	Info   syntax.Info

	// SelfContained programs name their own hosts and are run once, not once a target.
	SelfContained bool
	// Flow says which blocks are run, and in which order; nil runs them all as written.
	Flow *flow.Program

	blocks        []Block
	constants     map[string]string
	variables     []variable
	fromResponses map[string]bool // names that responses may define
	linked        bool            // blocks read responses to earlier blocks
}

// Block is one block of requests that share operators.
type Block struct {
	ID        string // as written, or "http_1" …; "http" for the only block of a template
	Entries   []Entry
	Operators *match.Operators
	Protocol  string      // as in templates: "http", "tcp", …
	Probe     proto.Probe // what is asked instead of Entries; nil for HTTP
	Fuzz      *fuzz.Plan  // mutates the request of the only entry; nil for none

	StopAtFirstMatch bool
	IterateAll       bool // an entry runs once for every extracted value
	Numbered         bool // operators read responses to earlier entries ("body_1")
	NeedsTLS         bool // nothing can be found on plain http
	GlobalMatchers   bool // operators are for the responses to all templates
	Race             int  // how many times the first entry is sent at once; 0: no race
	AllAtOnce        bool // all entries are sent at once
	Pipeline         *Pipeline
	Threads          int  // payloads at the same time; 0: the engine's own limit
	Chained          bool // an entry may need the response to an earlier one

	payloads           payloads
	skipsVariableCheck bool // sent even with open placeholders
	digest             *credentials
	signed             bool // with the signature of AWS
	selfContained      bool
}

// Pipeline is how requests are sent without waiting for responses.
type Pipeline struct{ Connections, Requests int }

type credentials struct{ user, password dsl.Text }

// Entry is one request, made for every tuple of payloads.
type Entry struct {
	Once bool // made for the first tuple only

	method    string
	path      dsl.Text // of a path request
	port      string   // replaces the target's; "" for none
	trimSlash bool     // one slash at the end of the target's path is left out
	raw       dsl.Text // of a raw request
	isRaw     bool
	headers   []header
	body      dsl.Text
	sending   sending

	names    []string // open in its texts
	volatile bool     // some text is different each time
}

// sending is how the requests of a block are sent.
type sending struct {
	redirects     web.RedirectMode
	sameScheme    bool
	maxRedirects  int
	maxBody       int64
	readAll       bool
	unsafe        bool
	automerge     bool
	newConnection bool
}

type header struct {
	name  string
	value dsl.Text
}

// Tuples is the number of payload tuples; 1 without payloads.
func (b *Block) Tuples() int { return b.payloads.count() }

// HasPayloads reports whether the requests of a block differ by payload.
func (b *Block) HasPayloads() bool { return len(b.payloads.sets) > 0 }

// Stops reports whether the match of an entry ends the block.
func (b *Block) Stops() bool { return b.StopAtFirstMatch && len(b.Entries) > 1 }

// Requests is how many requests a block makes on a target, without redirects and iteration; at most math.MaxInt32.
func (b *Block) Requests() int {
	if b.GlobalMatchers && len(b.Entries) == 0 {
		return 0
	}
	if b.Race > 0 {
		return b.Race
	}
	if b.Probe != nil {
		return product(b.Probe.Requests(), b.Tuples())
	}
	once := 0
	for i := range b.Entries {
		if b.Entries[i].Once {
			once++
		}
	}
	return once + product(len(b.Entries)-once, b.Tuples())
}

// PathSpecific reports whether a finding depends on the path: some request is for a path other than the root, and its
// operators read the status or the body. Missing headers, cookies and TLS concern the whole host.
func (p *Program) PathSpecific() bool {
	for i := range p.blocks {
		b := &p.blocks[i]
		for k := range b.Entries {
			if b.Operators.ReadsPage() && !b.Entries[k].requestsRoot() {
				return true
			}
		}
	}
	return false
}

// Requests is how many requests the program makes on a target; see Block.Requests.
func (p *Program) Requests() int {
	n := 0
	for i := range p.blocks {
		n += p.blocks[i].Requests()
	}
	return n
}

// speaksHTTP reports whether a block asks the target over HTTP, as browsers do, too.
func (b *Block) speaksHTTP() bool { return b.Probe == nil || b.Protocol == "headless" }

// UsesHTTP reports whether some block sends HTTP requests to the target.
func (p *Program) UsesHTTP() bool {
	return len(p.blocks) == 0 || slices.ContainsFunc(p.blocks, func(b Block) bool { return b.speaksHTTP() })
}

// UsesBrowser reports whether some block visits the target with a browser.
func (p *Program) UsesBrowser() bool {
	return slices.ContainsFunc(p.blocks, func(b Block) bool { return b.Protocol == "headless" })
}

// UsesProbes reports whether some block speaks another protocol than HTTP.
func (p *Program) UsesProbes() bool {
	return slices.ContainsFunc(p.blocks, func(b Block) bool { return !b.speaksHTTP() })
}

// NeedsTLS reports whether the program does not apply to plain http.
func (p *Program) NeedsTLS() bool {
	for i := range p.blocks {
		if !p.blocks[i].NeedsTLS {
			return false
		}
	}
	return true
}

var baseForm = regexp.MustCompile(`^(?:\{\{\s*(?:BaseURL|RootURL)\s*\}\}|https?://[^/?#]*)`)

// requestsRoot reports whether an entry requests the target itself.
func (e *Entry) requestsRoot() bool {
	text := e.path.String()
	if e.isRaw {
		m, err := readMessage(e.raw.String(), true)
		if err != nil {
			return false
		}
		text = relative(m.target, "")
	}
	rest, _, _ := strings.Cut(baseForm.ReplaceAllString(text, ""), "?")
	return rest == "" || rest == "/"
}
