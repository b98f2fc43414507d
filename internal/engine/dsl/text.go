package dsl

import (
	"slices"
	"strconv"
	"strings"
)

// Text is text with placeholders: {{name}}, §name§, or an expression in double braces.
// The zero value is the empty text; a Text is not changed after it is made.
type Text struct {
	parts []part
	// unresolved says that braces outside the placeholders may count as a placeholder of
	// the template that stayed, which the rendered text tells.
	unresolved bool
}

// part is a literal or a placeholder.
type part struct {
	text string // the literal, or the placeholder as written, markers included
	hole *hole  // nil for a literal
	data bool   // a literal that is a value: braces in it mean nothing
}

// Literal is a Text that is a value: nothing in it is a placeholder, nor stays as one.
func Literal(s string) Text {
	if s == "" {
		return Text{}
	}
	return Text{parts: []part{{text: s, data: true}}}
}

// Const is the text when nothing in it is open and nothing stays unresolved.
func (t Text) Const() (string, bool) {
	if len(t.parts) == 0 {
		return "", true
	}
	for i := range t.parts {
		if t.parts[i].hole != nil {
			return "", false
		}
	}
	if t.unresolved {
		if _, err := t.Render(nil); err != nil {
			return "", false
		}
	}
	if len(t.parts) == 1 {
		return t.parts[0].text, true
	}
	return t.String(), true
}

// Names are the variables that rendering may ask for, in order of use, each once. A
// placeholder like {{a-b}} gives its whole name first, then those of the expression
// that it is when there is no such variable.
func (t Text) Names() []string {
	var names []string
	for _, p := range t.parts {
		if p.hole == nil {
			continue
		}
		for _, name := range p.hole.names() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Pure says whether the rendered text depends on the variables alone: nothing in it is
// random, or asks for the time or the network.
func (t Text) Pure() bool {
	return !slices.ContainsFunc(t.parts, func(p part) bool { return p.hole != nil && p.hole.expr != nil && !p.hole.expr.pure })
}

// String is the text with its open placeholders as written.
func (t Text) String() string {
	if len(t.parts) == 1 {
		return t.parts[0].text
	}
	var b strings.Builder
	for _, p := range t.parts {
		b.WriteString(p.text)
	}
	return b.String()
}

// Key is a text that two Texts share exactly when they mean the same; it tells an open
// placeholder from a literal that looks like one.
func (t Text) Key() string {
	var b strings.Builder
	field := func(kind byte, s string) {
		b.WriteByte(kind)
		b.WriteString(strconv.Itoa(len(s)))
		b.WriteByte(':')
		b.WriteString(s)
	}
	for i := 0; i < len(t.parts); i++ {
		p := t.parts[i]
		switch {
		case p.hole != nil:
			field('v', p.hole.key())
		case t.unresolved && !p.data:
			field('t', p.text)
		default:
			literal := p.text
			for ; i+1 < len(t.parts) && t.parts[i+1].hole == nil && (t.parts[i+1].data || !t.unresolved); i++ {
				literal += t.parts[i+1].text
			}
			field('l', literal)
		}
	}
	return b.String()
}

// Bind puts in the values that are known now; the rest stays open. Values are inserted
// as they are: what looks like a placeholder in one is none. A value that is a Text
// brings its own placeholders, with the values bound to it.
func (t Text) Bind(known Lookup) Text {
	out := Text{unresolved: t.unresolved}
	for _, p := range t.parts {
		if p.hole == nil {
			out.append(p)
			continue
		}
		if v, ok := p.hole.plain(known); ok {
			out.appendValue(v)
			continue
		}
		if p.hole.expr != nil {
			p.hole = p.hole.bind(known)
			if v, ok := p.hole.value(); ok {
				out.appendValue(v)
				continue
			}
		}
		out.append(p)
	}
	return out
}

func (t *Text) append(p part) {
	if n := len(t.parts); n > 0 && p.hole == nil && t.parts[n-1].hole == nil && t.parts[n-1].data == p.data {
		t.parts[n-1].text += p.text
		return
	}
	t.parts = append(t.parts, p)
}

func (t *Text) appendValue(v any) {
	switch v := v.(type) {
	case Text:
		for _, p := range v.parts {
			t.append(p)
		}
		t.unresolved = t.unresolved || v.unresolved
	case Raw:
		t.append(part{text: string(v)})
		t.unresolved = t.unresolved || hasLeftover(string(v))
	default:
		if s := String(v); s != "" {
			t.append(part{text: s, data: true})
		}
	}
}

// Render gives the text with all values in (template language 6.4). A placeholder
// without a value stays as it was written; the error is *Unresolved when that forbids
// the text to be sent (6.5), and says otherwise which expression failed, and why: the
// text is then rendered as far as it goes. Values are never looked at again.
func (t Text) Render(env *Env) (string, error) {
	if len(t.parts) == 1 && t.parts[0].hole == nil && !t.unresolved {
		return t.parts[0].text, nil
	}
	if env == nil {
		env = &Env{}
	}
	r := renderer{env: env}
	for i := range t.parts {
		p := &t.parts[i]
		if p.hole == nil {
			r.literal(p.text, p.data)
		} else {
			r.hole(p)
		}
		if len(r.text) > maxResult {
			return string(r.text[:maxResult]), errTooLarge
		}
	}
	s := string(r.text)
	switch {
	case r.failed != nil:
		return s, r.failed
	case r.unresolved != "":
		return s, &Unresolved{r.unresolved}
	case t.unresolved || r.markers:
		if name, found := leftover(s, r.data); found {
			return s, &Unresolved{name}
		}
	}
	return s, nil
}

// fill renders the text inside a string of an expression: what has no value stays, and
// is part of the string.
func (t Text) fill(env *Env) (string, error) {
	r := renderer{env: env}
	for i := range t.parts {
		p := &t.parts[i]
		if p.hole == nil {
			r.literal(p.text, p.data)
		} else {
			r.hole(p)
		}
		if len(r.text) > maxResult {
			return "", errTooLarge
		}
	}
	return string(r.text), r.failed
}

func (t Text) holes() (all []*hole) {
	for _, p := range t.parts {
		if p.hole != nil {
			all = append(all, p.hole)
		}
	}
	return all
}

// renderer puts a text together.
type renderer struct {
	env        *Env
	text       []byte
	data       []span // the parts of text that are values
	markers    bool   // a value that belongs to the template may hold markers
	failed     error  // the first expression that failed
	unresolved string // the first name without a value
}

type span struct{ from, to int }

func (r *renderer) literal(s string, data bool) {
	if data {
		r.data = append(r.data, span{len(r.text), len(r.text) + len(s)})
	}
	r.text = append(r.text, s...)
}

func (r *renderer) hole(p *part) {
	if v, ok := p.hole.plain(r.env.value); ok {
		r.value(v)
		return
	}
	v, done, err := p.hole.eval(r.env)
	switch {
	case err != nil:
		r.text = append(r.text, p.text...)
		r.fail(err)
	case done:
		r.value(v)
	default:
		r.text = append(r.text, p.text...)
		if name, found := leftover(p.text, nil); found {
			r.miss(name)
		}
	}
}

func (r *renderer) fail(err error) {
	if missing, ok := err.(*Unresolved); ok {
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

func (r *renderer) value(v any) {
	switch v := v.(type) {
	case Text:
		s, err := r.env.nested(v)
		if err != nil {
			r.fail(err)
		}
		r.literal(s, true)
	case Raw:
		r.text = append(r.text, v...)
		r.markers = r.markers || hasLeftover(string(v))
	default:
		r.literal(String(v), true)
	}
}
