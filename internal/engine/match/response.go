// Package match evaluates responses of any protocol with matchers and extractors (template language, sections 4 and 5).
//
// [Operators] are the matchers and extractors of one block; they are compiled once and shared by all goroutines. A
// [Response] belongs to one goroutine; its views (header and body in one, lower case, parsed) are made when first
// needed. A [Group] is all operators for the same responses: it searches for all their literals in one pass.
package match

import (
	"bytes"
	"context"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// Response is one response to be evaluated.
type Response struct {
	Status int    // 0 when the protocol has none
	Body   []byte // decoded; not changed by matching

	// Head returns status line, header lines and empty line; it is called at most once. A response without it has only
	// the parts of Named.
	Head func() []byte
	Raw  func() []byte // the request, for the part "request"; called at most once; may be nil

	// Named returns every other part by name: headers ("content_type"), cookies, properties of the exchange, earlier
	// responses of the block ("body_1"), variables of the request.
	Named dsl.Lookup

	Ctx  context.Context // after its end nothing more is found; nil is context.Background
	Host *functions.Host // for functions of expressions, as in dsl.Env

	Before func(i int) // called before a group evaluates its i-th operators; may be nil

	views      [numViews]*view  // made when needed, like all below
	status     any              // Status as a number of expressions
	named      map[string]*view // values of Named
	envs       *environments
	evaluation evaluation
}

// The parts of every response with a Head. Expressions may call PartHeader "all_headers"; PartAll is body and header,
// PartResponse header and body.
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
	numViews
	viewNamed = -1
)

// partRef is a part name, resolved once.
type partRef struct {
	index int // of Response.views, or viewNamed
	name  string
}

// namer resolves the part names of one block.
type namer struct {
	body           string          // the default part of the protocol
	extractorNames map[string]bool // names of extractors, which hide parts of the response
}

func (n namer) refOf(name string) partRef {
	if n.body != PartBody && (name == "" || name == PartBody || name == PartAll) {
		return partRef{viewNamed, n.body}
	}
	switch name {
	case "":
		name = PartBody
	case PartAll:
		return partRef{viewAll, PartAll}
	}
	return n.varOf(name)
}

// varOf resolves a name in an expression; expressions have no name for PartAll.
func (n namer) varOf(name string) partRef {
	if n.extractorNames[name] {
		return partRef{viewNamed, name}
	}
	return partOf(name)
}

// partOf resolves a name in a response with a Head.
func partOf(name string) partRef {
	switch name {
	case PartBody:
		return partRef{viewBody, PartBody}
	case PartHeader, "all_headers":
		return partRef{viewHeader, PartHeader}
	case PartResponse:
		return partRef{viewResponse, PartResponse}
	case PartRequest:
		return partRef{viewRequest, PartRequest}
	}
	return partRef{viewNamed, name}
}

// view is one part with the forms that were needed so far.
type view struct {
	text  *textsearch.Text // nil when the response has no such part
	value any              // the text as a string, for expressions
	lower []byte           // in lower case by Unicode's rules
	doc   *document

	index   int    // of Response.views, or viewNamed
	tests   int    // searches for one literal
	found   []bool // literals, by the group foundBy
	foundBy *Group
}

func viewOf(data []byte) *view { return &view{text: textsearch.NewText(data), index: viewNamed} }

// part finds a part; false when the response has no such part.
func (r *Response) part(ref partRef) (*view, bool) {
	if ref.index == viewNamed || r.Head == nil {
		return r.namedPart(ref.name)
	}
	v := r.views[ref.index]
	if v != nil {
		return v, v.text != nil
	}
	v = &view{index: ref.index}
	r.views[ref.index] = v
	switch ref.index {
	case viewBody:
		v.text = textsearch.NewText(r.Body)
	case viewHeader:
		v.text = textsearch.NewText(r.Head())
	case viewAll:
		v.text = textsearch.NewText(join(r.Body, r.head()))
	case viewResponse:
		v.text = textsearch.NewText(join(r.head(), r.Body))
	case viewRequest:
		if r.Raw != nil {
			v.text = textsearch.NewText(r.Raw())
		}
	}
	return v, v.text != nil
}

func (r *Response) head() []byte {
	v, _ := r.part(partRef{index: viewHeader, name: PartHeader})
	return v.text.Bytes()
}

func join(a, b []byte) []byte { return append(append(make([]byte, 0, len(a)+len(b)), a...), b...) }

// namedPart is a value as a part. Values of the response are kept for all operators, extracted values and variables
// only for the current ones.
func (r *Response) namedPart(name string) (*view, bool) {
	if value, ok := r.evaluation.extracted(r, name); ok {
		return r.evaluation.view(name, value), true
	}
	v, known := r.named[name]
	if !known {
		if value, ok := r.ownValue(name); ok {
			v = viewOf([]byte(functions.String(value)))
		}
		if r.named == nil {
			r.named = map[string]*view{}
		}
		r.named[name] = v // nil when there is none
	}
	if v != nil {
		return v, true
	}
	if value, ok := r.evaluation.variable(name); ok {
		return r.evaluation.view(name, value), true
	}
	return nil, false
}

// value is the value of a name in an expression: an extracted value, else one of the response, else a variable.
func (r *Response) value(name string) (any, bool) {
	if value, ok := r.evaluation.extracted(r, name); ok {
		return value, true
	}
	if value, ok := r.ownValue(name); ok {
		return value, ok
	}
	return r.evaluation.variable(name)
}

// ownValue is the response's own value of a name.
func (r *Response) ownValue(name string) (any, bool) {
	ref := partOf(name)
	switch {
	case r.Head != nil && name == "status_code":
		if r.status == nil {
			r.status = float64(r.Status)
		}
		return r.status, true
	case r.Head != nil && ref.index != viewNamed:
		if v, ok := r.part(ref); ok {
			return v.string(), true
		}
		return nil, false
	case r.Named == nil:
		return nil, false
	}
	return r.Named(name)
}

// string is the view as a value of expressions; the bytes are not copied.
func (v *view) string() any {
	if v.value == nil {
		v.value = asString(v.text.Bytes())
	}
	return v.value
}

// folded is the view in lower case by Unicode's rules.
func (v *view) folded() []byte {
	if v.lower == nil {
		v.lower = bytes.ToLower(v.text.Bytes())
	}
	return v.lower
}
