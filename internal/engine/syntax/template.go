// Package syntax reads templates: YAML or JSON becomes a *Template, or an error that names file, line, column and
// key.
//
// It checks the form of the whole language and refuses keys that are not in it. Package program decides what can run:
// features that the engine does not run yet are listed in Template.Later.
//
// The structs of this package are the language: a field's key tag is its key in a template (with a comma, its old
// spelling too), an of tag the closed list of its values (a known tag: an open one), a list tag how one text is
// split. The reader uses only these tags.
package syntax

import (
	"slices"
	"strings"
)

// Template is one template as written. It is not changed after Parse.
type Template struct {
	Path      string    // where it came from, for error messages and events
	Digest    string    // sha256 of the bytes it was read from, lower-case hex
	Signature Signature // the digest line at its end

	ID               string `key:"id"`
	Info             Info   `key:"info"`
	Flow             string `key:"flow"` // JavaScript, or the name of a .js file
	SelfContained    bool   `key:"self-contained"`
	StopAtFirstMatch bool   `key:"stop-at-first-match"`
	RequestSigning   string `key:"signature" of:"AWS"` // copied to each HTTP block

	Variables []Variable `key:"variables"` // in written order
	Constants []Variable `key:"constants"` // and the values of {{randstr}} markers, whose names keep their braces

	// Protocols are the kinds of requests by their keys ("http", "tcp" …), in written order, in which
	// they run.
	Protocols  []string
	HTTP       []HTTP       `key:"http,requests"`
	DNS        []DNS        `key:"dns"`
	File       []File       `key:"file"`
	Headless   []Headless   `key:"headless"`
	TCP        []TCP        `key:"tcp,network"`
	SSL        []SSL        `key:"ssl"`
	Websocket  []Websocket  `key:"websocket"`
	Whois      []Whois      `key:"whois"`
	Code       []Code       `key:"code"`
	JavaScript []JavaScript `key:"javascript"`
	Workflows  []Step       `key:"workflows"`
}

// Signature is the digest line that ends a signed template.
type Signature struct {
	Present  bool
	Digest   string // hexadecimal, as written
	Fragment string // md5 of the signer's public key, hexadecimal
	Verified bool   // set by package templates
}

// Pair is a name and its text.
type Pair struct {
	Name, Value string
	Line        int
}

// Variable is a name and its value.
type Variable struct {
	Name  string
	Value string // as text: numbers and booleans in their plain form, "" for null, lists and mappings
	Data  any    // as written: string, int, float64, bool, nil, []any or map[string]any
	Line  int
}

// Operators are the matchers and extractors of one block.
type Operators struct {
	MatchersCondition string      `key:"matchers-condition" known:"and or"` // "and", "or" or "", which is or; any other text is neither
	Matchers          []Matcher   `key:"matchers"`
	Extractors        []Extractor `key:"extractors"`
}

// Mentions reports whether a name occurs in the operators.
func (o *Operators) Mentions(name string) bool {
	in := func(texts ...string) bool {
		return slices.ContainsFunc(texts, func(t string) bool { return strings.Contains(t, name) })
	}
	for _, m := range o.Matchers {
		if in(m.Part) || in(m.Words...) || in(m.Regex...) || in(m.DSL...) || in(m.XPath...) || in(m.Binary...) {
			return true
		}
	}
	for _, x := range o.Extractors {
		if in(x.Part, x.Name) || in(x.Regex...) || in(x.KVal...) || in(x.DSL...) || in(x.JSON...) || in(x.XPath...) {
			return true
		}
	}
	return false
}

// Matcher is one test of a response.
type Matcher struct {
	Line int

	Type            string `key:"type" of:"status size word regex binary dsl xpath"`
	Name            string `key:"name"`
	Part            string `key:"part"`                  // "" means the protocol's default
	Condition       string `key:"condition" of:"and or"` // "" means or
	Encoding        string `key:"encoding" of:"hex"`
	Negative        bool   `key:"negative"`
	Internal        bool   `key:"internal"`
	MatchAll        bool   `key:"match-all"`
	CaseInsensitive bool   `key:"case-insensitive"`

	Status []int    `key:"status"`
	Size   []int    `key:"size"`
	Words  []string `key:"words"`
	Regex  []string `key:"regex"`
	Binary []string `key:"binary"`
	DSL    []string `key:"dsl"`
	XPath  []string `key:"xpath"`
}

// Extractor extracts values from a response.
type Extractor struct {
	Line int

	Type            string `key:"type" of:"regex kval json xpath dsl"`
	Name            string `key:"name"`
	Part            string `key:"part"` // "" means the protocol's default
	Group           int    `key:"group"`
	Internal        bool   `key:"internal"`
	CaseInsensitive bool   `key:"case-insensitive"`
	Attribute       string `key:"attribute"`

	Regex []string `key:"regex"`
	KVal  []string `key:"kval"`
	JSON  []string `key:"json"`
	XPath []string `key:"xpath"`
	DSL   []string `key:"dsl"`
}

// PayloadSets are the payloads of a block and how they are combined.
type PayloadSets struct {
	Payloads []Payload `key:"payloads"`                                       // in written order
	Attack   string    `key:"attack" of:"batteringram pitchfork clusterbomb"` // "" means batteringram
}

// Payload is one set: a list, the lines of a file, or lists by aggression.
type Payload struct {
	Name string
	Line int

	Values []string // as written, or low levels; package templates fills in files and other levels
	File   string   // the file as named, "" for a list
	Levels *Levels  // nil for a list or a file
}

// Levels are payloads by aggression; a level includes lower ones.
type Levels struct {
	Low    []string `key:"low"`
	Medium []string `key:"medium"`
	High   []string `key:"high"`
}

// UpTo returns the payloads of a level and those below it.
func (l *Levels) UpTo(level string) []string {
	switch level {
	case "medium":
		return slices.Concat(l.Low, l.Medium)
	case "high":
		return slices.Concat(l.Low, l.Medium, l.High)
	}
	return l.Low
}

// types are the keys of requests in the order that decides a template's type.
var types = []string{"dns", "file", "http", "headless", "tcp", "ssl", "websocket", "whois", "code", "javascript"}

// Type is the key of a protocol, or "workflow".
func (t *Template) Type() string {
	for _, kind := range types {
		if slices.Contains(t.Protocols, kind) {
			return kind
		}
	}
	return "workflow"
}
