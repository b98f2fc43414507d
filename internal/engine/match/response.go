// Package match judges responses: matchers say yes or no, extractors take values out.
//
// It knows parts of a response by name and no protocol. Operators are compiled once and
// shared by all goroutines; a Response belongs to one goroutine and makes its views
// (header and body in one, lower case) when the first matcher asks, once.
package match

import (
	"bytes"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
)

// Response is one answer as matchers see it.
type Response struct {
	Status int           // 0 when the protocol has none
	Body   []byte        // decoded; not changed by matching
	Head   func() []byte // status line, header lines and the empty line; called at most once
	Raw    func() []byte // the request that was sent, for the part "request"; called at most once

	// Named gives every other part by name, such as a header ("content_type").
	Named dsl.Lookup

	views [numParts]view
	// scope is Named with what the operators at work add to it, and named are its views:
	// both belong to one Eval.
	scope dsl.Lookup
	named map[string]*view
}

// Part names that every response has.
const (
	PartBody     = "body"
	PartHeader   = "header"
	PartAll      = "all"
	PartResponse = "response"
	PartRequest  = "request"
)

const (
	viewBody = iota
	viewHeader
	viewAll
	viewResponse
	viewRequest
	numParts
	viewNamed = -1
)

// partRef is a part name, resolved once.
type partRef struct {
	index int // of Response.views, or viewNamed
	name  string
}

func refOf(name string) partRef {
	switch name {
	case "", PartBody:
		return partRef{viewBody, PartBody}
	case PartHeader, "all_headers":
		return partRef{viewHeader, PartHeader}
	case PartAll:
		return partRef{viewAll, PartAll}
	case PartResponse, "raw":
		return partRef{viewResponse, PartResponse}
	case PartRequest:
		return partRef{viewRequest, PartRequest}
	}
	return partRef{viewNamed, name}
}

// view is one part's bytes, with what was worked out about them so far.
type view struct {
	made, exists bool
	data         []byte
	lower        []byte // data with A-Z as a-z, same length; nil until asked for
	odd          bool   // has characters that fold to ASCII letters; known once lower is
}

// part finds a part; the second answer is false when the response has none such.
func (r *Response) part(ref partRef) (*view, bool) {
	if ref.index == viewNamed {
		return r.namedPart(ref.name)
	}
	v := &r.views[ref.index]
	if v.made {
		return v, v.exists
	}
	v.made, v.exists = true, true
	switch ref.index {
	case viewBody:
		v.data = r.Body
	case viewHeader:
		v.data = r.Head()
	case viewAll:
		h, _ := r.part(partRef{index: viewHeader})
		v.data = join(r.Body, h.data)
	case viewResponse:
		h, _ := r.part(partRef{index: viewHeader})
		v.data = join(h.data, r.Body)
	case viewRequest:
		v.data = r.Raw()
	}
	return v, v.exists
}

func (r *Response) namedPart(name string) (*view, bool) {
	if v, ok := r.named[name]; ok {
		return v, v.exists
	}
	if r.named == nil {
		r.named = map[string]*view{}
	}
	v := &view{made: true}
	if value, ok := r.scope(name); ok {
		v.data, v.exists = []byte(dsl.String(value)), true
	}
	r.named[name] = v
	return v, v.exists
}

func join(a, b []byte) []byte { return append(append(make([]byte, 0, len(a)+len(b)), a...), b...) }

// folded is the data with ASCII letters in lower case.
func (v *view) folded() []byte {
	if v.lower == nil {
		v.lower = make([]byte, len(v.data))
		for i, c := range v.data {
			if c-'A' < 26 {
				c += 'a' - 'A'
			}
			v.lower[i] = c
		}
		// The only characters outside ASCII that case-fold into it.
		v.odd = bytes.Contains(v.data, []byte("ſ")) || bytes.Contains(v.data, []byte("\u212a"))
	}
	return v.lower
}

// holds says whether the data contains a text, in any case when fold is set; text is
// lower case then.
func (v *view) holds(text string, fold bool) bool {
	if !fold {
		return contains(v.data, text)
	}
	if isASCII(text) {
		return contains(v.folded(), text) || v.odd && contains(bytes.ToLower(v.data), text)
	}
	return contains(bytes.ToLower(v.data), text)
}

func isASCII(s string) bool {
	return strings.IndexFunc(s, func(c rune) bool { return c >= 0x80 }) < 0
}
