// Package fuzz puts payloads into the parameters of a request (template language 2.10): of a base request it makes
// those of a template's rules, one by one.
//
// Parameters are places in the bytes of the request. A mutation changes these places only; order and spelling of
// everything else stay.
package fuzz

import (
	"iter"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/engine/match"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// Plan is the fuzzing of one block. It is immutable and serves any number of requests at once.
type Plan struct {
	rules     []rule
	condition *match.Operators // nil: every request is fit
	analyzer  *Analyzer
}

// Compile compiles a block with fuzzing rules. Errors are *errs.Error as of package syntax.
func Compile(file string, b *syntax.HTTP) (*Plan, error) {
	p, err := CompileRules(file, b.Fuzzing)
	if err != nil {
		return nil, err
	}
	if b.Analyzer != nil {
		if p.analyzer, err = newAnalyzer(file, b.Analyzer); err != nil {
			return nil, err
		}
	}
	if len(b.PreCondition) > 0 {
		p.condition, err = match.Compile(file, match.Spec{Condition: b.PreConditionOperator, Matchers: b.PreCondition})
	}
	return p, err
}

// CompileRules compiles rules alone.
func CompileRules(file string, rules []syntax.FuzzRule) (*Plan, error) {
	p := &Plan{}
	for _, r := range rules {
		compiled, err := newRule(file, r)
		if err != nil {
			return nil, err
		}
		p.rules = append(p.rules, compiled)
	}
	return p, nil
}

// Analyzer confirms mutations beyond matchers; nil when the block has none.
func (p *Plan) Analyzer() *Analyzer { return p.analyzer }

// Fits reports whether the block's pre-condition holds for a base request; input is of Input.
func (p *Plan) Fits(input dsl.Lookup, env *dsl.Env) bool {
	return p.condition == nil || p.condition.Eval(&match.Response{Named: input, Ctx: env.Ctx, Host: env.Host}, nil).Matched
}

// Input is what pre-conditions and payloads know of a base request: path, query, method, body, header (its lines),
// cookie, user_agent, content_type, and the variables of its URL in lower case.
func Input(base *web.Request) dsl.Lookup {
	values := map[string]string{"method": base.Method, "body": string(base.Body), "header": "", "cookie": "",
		"user_agent": "", "content_type": ""}
	for name, value := range base.Address.Variables(false) {
		values[strings.ToLower(name)] = value
	}
	values["path"], values["query"] = base.Address.Path, base.Address.Query
	if base.Method == "" {
		values["method"] = "GET"
	}
	var lines strings.Builder
	for _, h := range base.Headers {
		name := strings.ReplaceAll(strings.ToLower(h.Name), "-", "_")
		switch name {
		case "cookie", "user_agent", "content_type":
			values[name] = h.Value
		}
		lines.WriteString(h.Name + ": " + h.Value + "\r\n")
	}
	values["header"] = lines.String()
	return dsl.Map(values)
}

// Render renders a payload for a parameter with this value, its {{value}}. An error ends the iteration.
type Render func(text dsl.Text, value string) (string, error)

// Source is what mutations are made of.
type Source struct {
	Base *web.Request // its Target is empty: it asks for its Address

	// Payloads returns a Render per combination of the block's payloads, anew for each component; one without
	// payloads.
	Payloads iter.Seq[Render]

	// Skip excludes parameters by name; nil for none.
	Skip func(position, parameter string) bool
}

// Mutation is a base request with payloads in it.
type Mutation struct {
	Request   web.Request
	Position  string // what the parameters are part of: query, path, header, cookie or body
	Parameter string // the name, or the segment of the path; several with commas

	component *component
	rule      *rule
	settings  []setting
	sent      string // what went into the first parameter, tokens filled in
}

// Key identifies a mutation of a base request, whatever an analyzer fills in.
func (m *Mutation) Key() string {
	parts := []string{m.Position, m.Parameter, m.rule.kind}
	for _, s := range m.settings {
		parts = append(parts, s.name, s.payload)
	}
	return strings.Join(parts, "\x00")
}

// setting is a parameter with its payload.
type setting struct {
	parameter int    // in the component's places; -1 for a new one
	name      string // of the new one
	value     string // before
	payload   string // rendered; tokens of an analyzer still open
}

// All returns the mutations of a base request: by rule, component, payload and parameter. An error of Render comes
// last.
func (p *Plan) All(s Source) iter.Seq2[*Mutation, error] {
	return func(yield func(*Mutation, error) bool) {
		components := discover(s.Base)
		for i := range p.rules {
			r := &p.rules[i]
			for j := range components {
				c := &components[j]
				if !r.appliesTo(c) {
					continue
				}
				w := application{plan: p, source: &s, rule: r, component: c, yield: yield}
				for render := range s.Payloads {
					if !w.payload(render) {
						return
					}
				}
			}
		}
	}
}

// application is one rule applied to one component.
type application struct {
	plan      *Plan
	source    *Source
	rule      *rule
	component *component
	yield     func(*Mutation, error) bool
}

// payload yields the mutations of one combination of payloads; false means enough.
func (w *application) payload(render Render) bool {
	for _, text := range w.rule.values {
		if !w.intoParameters(text, render) {
			return false
		}
	}
	return len(w.rule.pairs) == 0 || w.intoKeys(render)
}

// intoParameters puts one payload into the matching parameters, one by one or all at once.
func (w *application) intoParameters(text dsl.Text, render Render) bool {
	var all []setting
	for i, place := range w.component.parameters {
		if !w.rule.selects(place.name, place.value) || w.skip(w.component.parameterName(place.name, place.value)) {
			continue
		}
		payload, err := render(text, place.value)
		if err != nil {
			return w.yield(nil, err) && false
		}
		set := setting{parameter: i, name: place.name, value: place.value, payload: payload}
		if !w.rule.single {
			all = append(all, set)
		} else if !w.mutate(set) {
			return false
		}
	}
	return len(all) == 0 || w.mutate(all...)
}

// intoKeys sets the keys of the rule one by one, and in multiple mode also all at once.
func (w *application) intoKeys(render Render) bool {
	var all []setting
	keys := 0
	for _, pair := range w.rule.pairs {
		payload, err := render(pair.text, "")
		if err != nil {
			return w.yield(nil, err) && false
		}
		set, ok := w.component.settings(pair.key, payload)
		if !ok || w.skip(pair.key) {
			continue
		}
		keys, all = keys+1, append(all, set...)
		if !w.mutate(set...) {
			return false
		}
	}
	return w.rule.single || keys < 2 || w.mutate(all...)
}

func (w *application) skip(parameter string) bool {
	return w.source.Skip != nil && w.source.Skip(w.component.position, parameter)
}

func (w *application) mutate(settings ...setting) bool {
	for _, s := range settings {
		if w.rule.explodes(s.value, s.payload) {
			return w.yield(nil, functions.ErrTooLarge) && false
		}
	}
	m := &Mutation{
		Position: w.component.position, component: w.component, rule: w.rule, settings: settings,
	}
	var names []string
	for _, s := range settings {
		name := w.component.parameterName(s.name, s.value)
		if !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	m.Parameter = strings.Join(names, ",")
	fill := func(payload string) string { return payload }
	if a := w.plan.analyzer; a != nil {
		fill = a.tokens(a.sleep)
	}
	m.sent = fill(settings[0].payload)
	m.Request = m.with(fill)
	return w.yield(m, nil)
}

// with is the request with all tokens of its payloads filled in.
func (m *Mutation) with(fill func(payload string) string) web.Request {
	edits := make([]edit, len(m.settings))
	for i, s := range m.settings {
		edits[i] = m.component.edit(s, m.rule.combine(s.value, fill(s.payload)))
	}
	return m.component.apply(edits)
}
