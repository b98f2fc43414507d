package program

import (
	"cmp"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// Bound is a program with the variables of one scan in it. It is not changed after
// Bind and is safe for any number of goroutines.
type Bound struct {
	*Program
	Blocks []Block

	known map[string]dsl.Text // constants, scan variables, template variables
}

// Block is one block of a bound program.
type Block struct {
	Steps            []Step
	Operators        *match.Operators
	StopAtFirstMatch bool
	NeedsTLS         bool
}

// Step is one request of a bound program, open only for the target.
type Step struct{ step }

// Bind fixes what the template's constants and variables and the scan's own variables
// say. A constant wins over a scan variable, a scan variable over a template variable
// of the same name, and a scan variable over what the target's URL would give.
func (p *Program) Bind(vars map[string]string) *Bound {
	b := &Bound{Program: p, known: make(map[string]dsl.Text, len(vars)+len(p.constants)+len(p.variables))}
	for name, value := range vars {
		b.known[name] = dsl.Literal(value)
	}
	maps.Copy(b.known, p.constants)
	find := func(name string) (any, bool) { t, ok := b.known[name]; return t, ok }
	for _, v := range p.variables {
		if _, given := b.known[v.name]; !given {
			b.known[v.name] = v.text.Bind(find)
		}
	}
	for _, from := range p.blocks {
		to := Block{Operators: from.operators, StopAtFirstMatch: from.stopAtFirstMatch, NeedsTLS: from.needsTLS}
		for _, s := range from.steps {
			s.path, s.body = s.path.Bind(find), s.body.Bind(find)
			headers := make([]header, len(s.headers))
			for i, h := range s.headers {
				headers[i] = header{h.name, h.value.Bind(find)}
			}
			s.headers = headers
			to.Steps = append(to.Steps, Step{s})
		}
		b.Blocks = append(b.Blocks, to)
	}
	return b
}

// Vars are the variables that words of matchers may name on a target.
func (b *Bound) Vars(target web.Address) dsl.Lookup {
	var url map[string]string // made when the first name is asked for: most words have none
	ofTarget := func(name string) (any, bool) {
		if url == nil {
			url = target.Variables(false)
		}
		v, ok := url[name]
		return v, ok
	}
	return func(name string) (any, bool) {
		if t, ok := b.known[name]; ok {
			s, err := t.Render(&dsl.Env{Vars: ofTarget})
			return s, err == nil
		}
		return ofTarget(name)
	}
}

// Key is equal for two steps exactly when they make the same request on a target. For
// targets without a path (rootTarget), {{BaseURL}} and {{RootURL}} are the same.
func (s Step) Key(rootTarget bool) string {
	path := s.path
	if rootTarget {
		path = path.Bind(func(name string) (any, bool) {
			return rootURL, name == "BaseURL" || name == "Input"
		})
		if path.Key() == rootURL.Key() {
			path = rootSlash
		}
	}
	var b strings.Builder
	field := func(s string) { b.WriteString(strconv.Itoa(len(s)) + ":" + s) }
	field(s.method)
	field(path.Key())
	field(s.body.Key())
	field(fmt.Sprint(s.redirects, s.hops, s.maxBody, s.trim && !rootTarget))
	for _, h := range s.headers {
		field(h.name)
		field(h.value.Key())
	}
	return b.String()
}

var (
	rootURL   = dsl.Parse("{{RootURL}}")
	rootSlash = dsl.Parse("{{RootURL}}/")
)

// Request is the request that a step makes on a target. The error says which variable
// has no value, or why the text is no URL; such a step cannot be tried on this target.
func (s Step) Request(target web.Address) (web.Request, error) {
	env := &dsl.Env{Vars: dsl.Map(target.Variables(s.trim))}
	var failed error
	render := func(t dsl.Text) string {
		out, err := t.Render(env)
		failed = cmp.Or(failed, err)
		return out
	}
	req := web.Request{
		Method: s.method, Body: []byte(render(s.body)),
		Redirects: s.redirects, MaxRedirects: s.hops, MaxBody: s.maxBody,
	}
	for _, h := range s.headers {
		req.Headers = append(req.Headers, web.Header{Name: h.name, Value: render(h.value)})
	}
	path := render(s.path)
	if failed != nil {
		return req, failed
	}
	address, err := web.ParseAddress(path)
	if err != nil {
		return req, err
	}
	if target.Query != "" {
		// What the target was given with comes first.
		address.Query = strings.TrimSuffix(target.Query+"&"+address.Query, "&")
	}
	req.Address = address
	return req, nil
}
