package dsl

import (
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
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
	if t.open() {
		return "", false
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

// Pure reports whether the rendered text depends on the variables alone: nothing in it is
// random, or asks for the time or the network.
func (t Text) Pure() bool {
	return !slices.ContainsFunc(t.parts, func(p part) bool { return p.hole != nil && p.hole.expr != nil && !p.hole.expr.pure })
}

// Err is why an expression in the text cannot be evaluated, whatever the variables are:
// an *Unsupported, or a *SyntaxError. nil when there is none such.
func (t Text) Err() error {
	for _, p := range t.parts {
		if p.hole != nil && p.hole.wrong != nil {
			return p.hole.wrong
		}
	}
	return nil
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
func (t Text) Key() string { return string(t.AppendKey(nil)) }

// AppendKey appends the Key to b.
func (t Text) AppendKey(b []byte) []byte {
	field := func(kind byte, s string) {
		b = strconv.AppendInt(append(b, kind), int64(len(s)), 10)
		b = append(append(b, ':'), s...)
	}
	for i := 0; i < len(t.parts); i++ {
		p := t.parts[i]
		switch {
		case p.hole != nil:
			field('v', p.hole.key())
		case t.unresolved && !p.data:
			field('t', p.text)
		default:
			// Neighbours are one literal, however they came to be.
			begin := i
			for i+1 < len(t.parts) && t.parts[i+1].hole == nil && (t.parts[i+1].data || !t.unresolved) {
				i++
			}
			field('l', Text{parts: t.parts[begin : i+1]}.String())
		}
	}
	return b
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
		if p.hole.name != "" {
			if v, ok := known(p.hole.name); ok {
				out.appendValue(v)
				continue
			}
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

// Opening is the text with another one in place of the placeholder that it begins with,
// when that is the one of this name.
func (t Text) Opening(name string, with Text) Text {
	if len(t.parts) == 0 || t.parts[0].hole == nil || t.parts[0].hole.name != name {
		return t
	}
	return Text{parts: slices.Concat(with.parts, t.parts[1:]), unresolved: t.unresolved || with.unresolved}
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
		if s := functions.String(v); s != "" {
			t.append(part{text: s, data: true})
		}
	}
}

// open reports whether there are placeholders.
func (t Text) open() bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.hole != nil })
}
