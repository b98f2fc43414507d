package program

import (
	"context"
	"errors"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/oob"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// variable is one of a template's own variables. Frozen ones have a fixed value; the others are rendered for every
// request.
type variable struct {
	name  string
	text  dsl.Text
	list  any // a list as it was written; not rendered
	fixed any // a string or a dsl.Raw; nil for a variable that is not frozen
}

// urlWords make all variables depend on the target wherever they occur, even inside another word (template language
// 1.4).
var urlWords = []string{
	"BaseURL", "RootURL", "Hostname", "Host", "Port", "Path", "Query", "File", "Scheme", "Input",
	"FQDN", "RDN", "DN", "TLD", "SD", "interactsh-url",
}

// compileVariables reads a template's variables and fixes their values when they depend on each other alone (template
// language 1.4).
func compileVariables(written []syntax.Variable) []variable {
	all := make([]variable, len(written))
	declared := make(map[string]bool, len(written))
	for i, w := range written {
		all[i] = variable{name: w.Name, text: dsl.Parse(w.Value)}
		if list, ok := w.Data.([]any); ok {
			all[i].list = list
		}
		declared[w.Name] = true
	}
	for i, w := range written {
		for _, word := range urlWords {
			if strings.Contains(w.Value, word) {
				return all
			}
		}
		for _, name := range all[i].text.Names() {
			if !declared[name] {
				return all
			}
		}
	}
	values := make(map[string]any, len(all))
	for i := range all {
		v := all[i].render(&dsl.Env{Ctx: context.Background(), Vars: dsl.Map(values), Host: &functions.Host{}})
		if _, failed := v.(dsl.Raw); failed {
			return clearFixed(all) // it may work while a scan runs
		}
		all[i].fixed, values[all[i].name] = v, v
	}
	return all
}

func clearFixed(all []variable) []variable {
	for i := range all {
		all[i].fixed = nil
	}
	return all
}

// render is the value of a variable; one that cannot be rendered keeps its raw text.
func (v *variable) render(env *dsl.Env) any {
	if v.list != nil {
		return v.list
	}
	text, err := v.text.Render(env)
	if open, ok := errors.AsType[*dsl.Unresolved](err); ok && !strings.Contains(v.text.String(), "{{"+open.Name+"}}") {
		return dsl.Raw("{{" + open.Name + "}}") // the raw text has more braces around it
	}
	if err != nil {
		return dsl.Raw(v.text.String())
	}
	return text
}

// Variables is what names mean while one request is made and evaluated. The strongest first: payload values, the
// template's constants, variables of the scan, those of the target's URL, earlier responses, and the template's own
// variables (template language 1.4). For a self-contained request constants precede payload values, and earlier
// responses the scan (2.4). It belongs to one goroutine.
type Variables struct {
	bound     *Bound
	target    rawurl.URL // without a host while it is not known
	trimSlash bool
	payload   Payload
	earlier   dsl.Lookup
	env       dsl.Env

	rendered []any // values of the template's variables so far
	names    *oob.Names
}

// Lookup finds the meaning of a name.
func (s *Variables) Lookup(name string) (any, bool) {
	if s.bound.SelfContained {
		if v, ok := s.bound.constants[name]; ok {
			return v, true
		}
	}
	if v, ok := s.payload.Lookup(name); ok {
		return v, true
	}
	return s.withoutPayload(name, len(s.bound.variables))
}

// withoutPayload is Lookup without payload values and with the first n variables only, as payload values and
// variables see it.
func (s *Variables) withoutPayload(name string, n int) (any, bool) {
	if s.bound.SelfContained && s.earlier != nil {
		if v, ok := s.earlier(name); ok {
			return v, true
		}
	}
	if v, ok := s.bound.sharedValue(name); ok {
		return v, true
	}
	if v, ok := s.names.Lookup(name); ok {
		return v, true
	}
	if s.target.Host != "" {
		if v, ok := s.target.Variable(name, s.trimSlash); ok {
			return v, true
		}
	}
	if s.earlier != nil {
		if v, ok := s.earlier(name); ok {
			return v, true
		}
	}
	return s.variable(name, n)
}

// variable is the last of the template's first n variables with this name.
func (s *Variables) variable(name string, n int) (any, bool) {
	for i := n - 1; i >= 0; i-- {
		v := &s.bound.variables[i]
		if v.name != name {
			continue
		}
		if v.fixed != nil {
			return v.fixed, true
		}
		if s.rendered == nil {
			s.rendered = make([]any, len(s.bound.variables))
		}
		if s.rendered[i] == nil {
			s.rendered[i] = v.render(s.envForVariable(i))
		}
		return s.rendered[i], true
	}
	return nil, false
}

// Sent is what operators know of the request's out-of-band names, as oob.Names.Sent.
func (s *Variables) Sent(name string) (any, bool) { return s.names.Sent(name) }

// Names are the IDs of the out-of-band names that were rendered since the last call.
func (s *Variables) Names() []string { return s.names.Take() }

// envForVariable is the Env of variable i, or with i = len(variables) that of payload values.
func (s *Variables) envForVariable(i int) *dsl.Env {
	env := s.env
	env.Vars = func(name string) (any, bool) { return s.withoutPayload(name, i) }
	return &env
}

// Env is the Env of the request and its operators.
func (s *Variables) Env() *dsl.Env {
	env := s.env
	env.Vars = s.Lookup
	return &env
}
