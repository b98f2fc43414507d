// Package match evaluates responses: matchers decide whether they match, extractors take values
// out of them (sections 4 and 5 of the template language).
//
// It knows parts of a response by name and no protocol. [Operators] are the matchers and
// extractors of one block; they are compiled once and shared by all goroutines. A
// [Response] belongs to one goroutine and makes its views (header and body in one, lower
// case, parsed) when the first operator asks, once. A [Group] is all the operators that
// wait for one response: it looks for all their literals in one pass.
package match

import (
	"bytes"
	"context"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/infra/textsearch"
)

// Response is one response as matchers and extractors see it.
type Response struct {
	Status int    // 0 when the protocol has none
	Body   []byte // decoded; not changed by matching

	// Head returns the status line, header lines and the empty line. It is called at most
	// once. A response without it has no parts but those of Named.
	Head func() []byte
	Raw  func() []byte // the request that was sent, for the part "request"; called at most once; may be nil

	// Named returns every other part by name: a header ("content_type"), a cookie, a fact of
	// the exchange, the history of the block ("body_1"), the variables of the request.
	Named dsl.Lookup

	// Ctx bounds the evaluation: what has not been looked for when it ends is not found; nil is
	// context.Background.
	Ctx context.Context
	// Host is for functions of expressions, as in dsl.Env.
	Host *functions.Host

	views  [numViews]*view  // each made when it is asked for
	status any              // Status, as expressions have it
	named  map[string]*view // of what Named gave
	envs   *environments    // made when the first text or expression asks
	work   work
}

// The parts that every response with a Head has. The expressions' name of PartHeader is
// "all_headers", too; PartAll is body and header in one, PartResponse header and body.
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

// namer resolves part names for one block: what stands for the body in its protocol, and
// the names that its extractors take away from the response.
type namer struct {
	body  string
	taken map[string]bool
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

// varOf is what a name means in an expression, which has no name for all.
func (n namer) varOf(name string) partRef {
	if n.taken[name] {
		return partRef{viewNamed, name}
	}
	return partOf(name)
}

// partOf is what a name means in a response with a Head.
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

// view is one part, with what was worked out about it so far.
type view struct {
	text  *textsearch.Text // nil when the response has no such part
	value any              // the text as a string, for expressions; nil until asked for
	lower []byte           // in lower case by Unicode's rules; nil until asked for
	doc   *document

	index    int             // of Response.views
	tests    int             // how often a literal was looked for, one by one
	hits     textsearch.Bits // of the set of the group that passed over it
	passedBy *Group
}

func viewOf(data []byte) *view { return &view{text: textsearch.NewText(data)} }

// part finds a part; the second answer is false when the response has none such.
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

// head is the header's bytes.
func (r *Response) head() []byte {
	v, _ := r.part(partRef{index: viewHeader, name: PartHeader})
	return v.text.Bytes()
}

func join(a, b []byte) []byte { return append(append(make([]byte, 0, len(a)+len(b)), a...), b...) }

// namedPart is a value as a part. What the response itself gives is kept for all
// operators, what is the operators' own for them alone.
func (r *Response) namedPart(name string) (*view, bool) {
	if value, ok := r.work.extracted(r, name); ok {
		return r.work.view(name, value), true
	}
	v, known := r.named[name]
	if !known {
		if value, ok := r.own(name); ok {
			v = viewOf([]byte(functions.String(value)))
		}
		if r.named == nil {
			r.named = map[string]*view{}
		}
		r.named[name] = v // nil when the response has none such
	}
	if v != nil {
		return v, true
	}
	if value, ok := r.work.variable(name); ok {
		return r.work.view(name, value), true
	}
	return nil, false
}

// value is what a name means in an expression: what was extracted, the response, the
// variables, in this order.
func (r *Response) value(name string) (any, bool) {
	if value, ok := r.work.extracted(r, name); ok {
		return value, true
	}
	value, ok := r.own(name)
	if !ok {
		value, ok = r.work.variable(name)
	}
	if _, open := value.(dsl.Text); open {
		// It is about to be rendered, and its expressions number needles of their own.
		r.work.needles = noSite
	}
	return value, ok
}

// own is what the response itself says of a name.
func (r *Response) own(name string) (any, bool) {
	ref := partOf(name)
	switch {
	case r.Head != nil && name == "status_code":
		if r.status == nil {
			r.status = r.Status
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

// string is the view for expressions; the bytes are not copied.
func (v *view) string() any {
	if v.value == nil {
		v.value = alias(v.text.Bytes())
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
