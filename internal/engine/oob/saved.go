package oob

import (
	"context"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/oast"
)

// Saved is what operators can read of a response, kept until an interaction comes. It can be written as JSON; numbers
// are float64 after it was read.
type Saved struct {
	HTTP    bool // Status, Head, Body and Request are set as in a match.Response with a Head
	Status  int
	Head    []byte
	Body    []byte
	Request []byte
	Values  map[string]any // the other parts and variables that the operators name
}

// maxSaved bounds each text of a Saved, in bytes.
const maxSaved = 1 << 20

// Save keeps what operators can read of a response, and of variables.
func Save(o *match.Operators, r *match.Response, vars dsl.Lookup) Saved {
	s := Saved{HTTP: r.Head != nil, Status: r.Status, Values: map[string]any{}}
	for _, name := range o.Names() {
		if s.HTTP && s.keep(name, r) {
			continue
		}
		value, ok := dsl.First(r.Named, vars)(name)
		if !ok || strings.HasPrefix(name, "interactsh_") {
			continue
		}
		switch v := value.(type) {
		case nil, bool, float64:
		case int:
			value = float64(v)
		case int64:
			value = float64(v)
		case []string:
		case []any:
			value = texts(v)
		default:
			text := functions.String(v)
			value = text[:min(len(text), maxSaved)]
		}
		s.Values[name] = value
	}
	return s
}

// keep keeps a part of every HTTP response.
func (s *Saved) keep(name string, r *match.Response) bool {
	head := func() { s.Head = clip(r.Head()) }
	body := func() { s.Body = clip(r.Body) }
	switch name {
	case match.PartBody:
		body()
	case match.PartHeader, "all_headers":
		head()
	case match.PartAll, match.PartResponse:
		head()
		body()
	case match.PartRequest:
		if r.Raw != nil {
			s.Request = clip(r.Raw())
		}
	case "status_code":
	default:
		return false
	}
	return true
}

func clip(b []byte) []byte { return slices.Clone(b[:min(len(b), maxSaved)]) }

// Size is about how many bytes it holds.
func (s *Saved) Size() int {
	n := len(s.Head) + len(s.Body) + len(s.Request)
	for name, v := range s.Values {
		n += len(name) + 64
		switch v := v.(type) {
		case string:
			n += len(v)
		case []string:
			for _, one := range v {
				n += len(one) + 16
			}
		}
	}
	return n
}

// Eval evaluates operators on the response together with an interaction (template language 1.5).
func (s *Saved) Eval(
	ctx context.Context, o *match.Operators, one oast.Interaction, host *functions.Host,
) match.Outcome {
	request := one.RawRequest
	if one.Protocol == "dns" {
		request = strings.ToLower(request)
	}
	r := &match.Response{Status: s.Status, Body: s.Body, Ctx: ctx, Host: host, Named: dsl.First(dsl.Map(map[string]string{
		"interactsh_protocol": one.Protocol, "interactsh_request": request, "interactsh_response": one.RawResponse,
		"interactsh_ip": one.RemoteAddress,
	}), s.value)}
	if s.HTTP {
		r.Head, r.Raw = func() []byte { return s.Head }, func() []byte { return s.Request }
	}
	return o.Eval(r, nil)
}

// value is one of Values, whose lists JSON has made []any.
func (s *Saved) value(name string) (any, bool) {
	v, ok := s.Values[name]
	if list, is := v.([]any); is {
		v = texts(list)
	}
	return v, ok
}

func texts(list []any) []string {
	all := make([]string, len(list))
	for i, v := range list {
		all[i] = functions.String(v)
	}
	return all
}
