// Package dsl is the small language inside template texts: what stands between {{ and
// }}, or between two § signs.
//
// Today it holds variables. A Text is parsed once, bound step by step as values become
// known (first the template's own, then the target's), and rendered at the end; an
// expression is one more kind of part in it.
package dsl

import (
	"fmt"
	"regexp"
	"strings"
)

// Text is text with placeholders. The zero value is the empty text; a Text is not
// changed after it is made.
type Text struct{ parts []part }

// part is a literal, or a variable with the way it was written.
type part struct {
	text     string // the literal, or the placeholder as written, markers included
	variable string // "" for a literal
}

var (
	nameForm   = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_.-]*$`)
	inertForm  = regexp.MustCompile(`^[\s{}"':,;.#/@!%^&*+=<>|~\\-]*$`)
	marginForm = regexp.MustCompile(`^§[A-Za-z_][A-Za-z0-9_-]*§`)
)

// Literal is a Text without placeholders.
func Literal(s string) Text {
	if s == "" {
		return Text{}
	}
	return Text{parts: []part{{text: s}}}
}

// Parse reads a text. {{name}} and §name§ are variables, with blanks allowed around
// the name; braces around nothing but punctuation, and braces that are not closed, are
// literal.
func Parse(s string) Text {
	var t Text
	literal := 0
	flush := func(end int) {
		if end > literal {
			t.parts = append(t.parts, part{text: s[literal:end]})
		}
	}
	for i := 0; i < len(s); {
		open := strings.IndexAny(s[i:], "{§")
		if open < 0 {
			break
		}
		i += open
		if strings.HasPrefix(s[i:], "§") {
			if m := marginForm.FindString(s[i:]); m != "" {
				flush(i)
				t.parts = append(t.parts, part{text: m, variable: strings.Trim(m, "§")})
				i += len(m)
				literal = i
				continue
			}
			i += len("§")
			continue
		}
		if !strings.HasPrefix(s[i:], "{{") {
			i++
			continue
		}
		end := strings.Index(s[i:], "}}")
		if end < 0 {
			break
		}
		inner := s[i+2 : i+end]
		switch name := strings.TrimSpace(inner); {
		case nameForm.MatchString(name):
			flush(i)
			t.parts = append(t.parts, part{text: s[i : i+end+2], variable: name})
			i += end + 2
			literal = i
		case inertForm.MatchString(inner) || inner[0] == '{':
			i++ // no placeholder begins here; one may begin a brace further
		default:
			i += end + 2
		}
	}
	flush(len(s))
	return t
}

// Bind puts in the texts that are known now; the rest stays open. Texts are inserted as
// they are: a literal in them that looks like a placeholder is never expanded.
func (t Text) Bind(known Lookup) Text {
	var out Text
	for _, p := range t.parts {
		value := Text{parts: []part{p}}
		if p.variable != "" {
			if v, ok := known(p.variable); ok {
				if bound, isText := v.(Text); isText {
					value = bound
				} else {
					value = Literal(String(v))
				}
			}
		}
		for _, p := range value.parts {
			if n := len(out.parts); p.variable == "" && n > 0 && out.parts[n-1].variable == "" {
				out.parts[n-1].text += p.text
			} else {
				out.parts = append(out.parts, p)
			}
		}
	}
	return out
}

// Render gives the text with all values in; a placeholder without a value stays as it
// was written, and the error is *Unresolved then.
func (t Text) Render(env *Env) (string, error) {
	if s, ok := t.Const(); ok {
		return s, nil
	}
	var b strings.Builder
	var missing error
	for _, p := range t.parts {
		s := p.text
		if p.variable != "" {
			v, ok := env.value(p.variable)
			if ok {
				s = String(v)
			} else if missing == nil {
				missing = &Unresolved{p.variable}
			}
		}
		b.WriteString(s)
	}
	return b.String(), missing
}

// String is a value as text, as every function and placeholder sees it.
func String(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case []byte:
		return string(v)
	}
	return fmt.Sprint(v)
}

// Const is the text when nothing in it is open.
func (t Text) Const() (string, bool) {
	switch {
	case len(t.parts) == 0:
		return "", true
	case len(t.parts) == 1 && t.parts[0].variable == "":
		return t.parts[0].text, true
	}
	return "", false
}

// Names are the open variables, in order of use, each once.
func (t Text) Names() []string {
	var names []string
	for i, p := range t.parts {
		seen := p.variable == ""
		for _, before := range t.parts[:i] {
			seen = seen || before.variable == p.variable
		}
		if !seen {
			names = append(names, p.variable)
		}
	}
	return names
}

// String is the text with its open placeholders as written.
func (t Text) String() string {
	s, _ := t.Render(nil)
	return s
}

// Key is a text that two Texts share exactly when they mean the same; it tells an open
// placeholder from a literal that looks like one.
func (t Text) Key() string {
	var b strings.Builder
	for _, p := range t.parts {
		if p.variable != "" {
			fmt.Fprintf(&b, "v%d:%s", len(p.variable), p.variable)
		} else {
			fmt.Fprintf(&b, "l%d:%s", len(p.text), p.text)
		}
	}
	return b.String()
}
