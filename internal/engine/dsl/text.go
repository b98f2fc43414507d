package dsl

import (
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
)

// Text is text with placeholders: {{name}}, §name§, or an expression in double braces. The zero value is "". It is
// immutable.
type Text struct {
	parts []part
	// unresolved says that braces in literals may be an unresolved placeholder once the text is rendered.
	unresolved bool
}

type part struct {
	text        string       // literal, or placeholder with its marks
	placeholder *placeholder // nil for a literal
	data        bool         // a literal that is a value: its braces mean nothing
}

// Const is the text if it has no open or unresolved placeholder.
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

// Names are the variables that rendering may use, in order of use, without repetition. {{a-b}} has its whole name
// first, then those of the expression that it is if there is no such variable.
func (t Text) Names() []string {
	var names []string
	for _, p := range t.parts {
		if p.placeholder == nil {
			continue
		}
		for _, name := range p.placeholder.names() {
			if !slices.Contains(names, name) {
				names = append(names, name)
			}
		}
	}
	return names
}

// Pure reports whether the rendered text depends on the variables alone, not on chance, time or the network.
func (t Text) Pure() bool {
	return !slices.ContainsFunc(t.parts, func(p part) bool {
		return p.placeholder != nil && p.placeholder.expr != nil && !p.placeholder.expr.pure
	})
}

// Err is the *Unsupported or *SyntaxError of an expression that can never be evaluated; nil if there is none.
func (t Text) Err() error {
	for _, p := range t.parts {
		if p.placeholder != nil && p.placeholder.err != nil {
			return p.placeholder.err
		}
	}
	return nil
}

// String is the text with its placeholders as written.
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

// Key is equal for two Texts if and only if they mean the same.
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
		case p.placeholder != nil:
			field('v', p.placeholder.key())
		case t.unresolved && !p.data:
			field('t', p.text)
		default:
			// Adjacent literals are one.
			begin := i
			for i+1 < len(t.parts) && t.parts[i+1].placeholder == nil && (t.parts[i+1].data || !t.unresolved) {
				i++
			}
			field('l', Text{parts: t.parts[begin : i+1]}.String())
		}
	}
	return b
}

// Bind inserts the values that are known; the rest stays open. Values are data, except that a Text brings its own
// placeholders.
func (t Text) Bind(known Lookup) Text {
	out := Text{unresolved: t.unresolved}
	for _, p := range t.parts {
		if p.placeholder == nil {
			out.append(p)
			continue
		}
		if p.placeholder.name != "" {
			if v, ok := known(p.placeholder.name); ok {
				out.appendValue(v)
				continue
			}
		}
		if p.placeholder.expr != nil {
			p.placeholder = p.placeholder.bind(known)
			if v, ok := p.placeholder.value(); ok {
				out.appendValue(v)
				continue
			}
		}
		out.append(p)
	}
	return out
}

// ReplaceFirst replaces the placeholder that the text begins with, if it has this name.
func (t Text) ReplaceFirst(name string, with Text) Text {
	if len(t.parts) == 0 || t.parts[0].placeholder == nil || t.parts[0].placeholder.name != name {
		return t
	}
	return Text{parts: slices.Concat(with.parts, t.parts[1:]), unresolved: t.unresolved || with.unresolved}
}

func (t *Text) append(p part) {
	if n := len(t.parts); n > 0 && p.placeholder == nil && t.parts[n-1].placeholder == nil && t.parts[n-1].data == p.data {
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
		t.unresolved = t.unresolved || mayHaveUnresolved(string(v))
	default:
		if s := functions.String(v); s != "" {
			t.append(part{text: s, data: true})
		}
	}
}

func (t Text) open() bool {
	return slices.ContainsFunc(t.parts, func(p part) bool { return p.placeholder != nil })
}
