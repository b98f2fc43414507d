package dsl

import (
	"errors"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
)

// Render inserts all values (template language 6.4). A placeholder without value stays as written. The error is
// *Unresolved if the text must not be sent for that reason (6.5), or that of the first expression that failed; the
// text is then rendered as far as possible.
func (t Text) Render(env *Env) (string, error) {
	if len(t.parts) == 1 && t.parts[0].placeholder == nil && !t.unresolved {
		return t.parts[0].text, nil
	}
	if env == nil {
		env = &Env{}
	}
	env.begin()
	defer env.end()
	r := renderer{env: env, spans: t.unresolved}
	s, err := r.run(t.parts)
	switch {
	case err != nil:
		return s, err
	case r.failed != nil:
		return s, r.failed
	case r.unresolved != "":
		return s, &Unresolved{r.unresolved}
	case t.unresolved:
		if name, found := firstUnresolved(s, r.data); found {
			return s, &Unresolved{name}
		}
	}
	return s, nil
}

// fill renders a string of an expression; placeholders without value stay in it.
func (t Text) fill(env *Env) (string, error) {
	r := renderer{env: env}
	s, err := r.run(t.parts)
	if err == nil {
		err = r.failed
	}
	env.unfilled = env.unfilled || r.unfilled
	return s, err
}

type renderer struct {
	env        *Env
	text       strings.Builder
	spans      bool   // data is wanted
	data       []span // the parts of text that are values
	unfilled   bool   // a placeholder has no value
	failed     error  // the first expression that failed
	unresolved string // the first name without a value
}

type span struct{ from, to int }

func (r *renderer) run(parts []part) (string, error) {
	size := 0
	for i := range parts {
		size += len(parts[i].text)
	}
	r.text.Grow(size + 32)
	for i := range parts {
		p := &parts[i]
		if p.placeholder == nil {
			r.literal(p.text, p.data)
		} else {
			r.placeholder(p)
		}
		if r.text.Len() > functions.MaxResult {
			return r.text.String()[:functions.MaxResult], functions.ErrTooLarge
		}
		if r.failed != nil && (functions.Limited(r.failed) || r.env.context().Err() != nil) {
			break // the caller reports r.failed
		}
	}
	return r.text.String(), nil //nolint:nilerr // see above
}

func (r *renderer) literal(s string, data bool) {
	if data && r.spans {
		r.data = append(r.data, span{r.text.Len(), r.text.Len() + len(s)})
	}
	r.text.WriteString(s)
}

func (r *renderer) placeholder(p *part) {
	if name := p.placeholder.name; name != "" {
		if v, ok := r.env.value(name); ok {
			r.value(v)
			return
		}
	}
	v, done, err := p.placeholder.eval(r.env)
	switch {
	case err != nil:
		r.text.WriteString(p.text)
		r.fail(err)
	case done:
		r.value(v)
	default:
		r.text.WriteString(p.text)
		r.unfilled = true
		if name, found := firstUnresolved(p.text, nil); found {
			r.miss(name)
		}
	}
}

func (r *renderer) value(v any) {
	switch v := v.(type) {
	case string:
		r.literal(v, true)
	case Text:
		s, err := r.env.nested(v)
		if err != nil {
			r.fail(err)
		}
		r.literal(s, true)
	case Raw:
		if name, found := firstUnresolved(string(v), nil); found {
			r.miss(name)
		}
		r.literal(string(v), true)
	default:
		r.literal(functions.String(v), true)
	}
}

func (r *renderer) fail(err error) {
	if missing, ok := errors.AsType[*Unresolved](err); ok {
		r.miss(missing.Name)
	} else if r.failed == nil {
		r.failed = err
	}
}

func (r *renderer) miss(name string) {
	if r.unresolved == "" {
		r.unresolved = name
	}
}
