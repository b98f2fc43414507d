package match

import (
	"encoding/hex"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// matcher is one compiled matcher.
type matcher struct {
	kind     kind
	part     partRef
	name     string
	order    int // where it was written, from 0
	and      bool
	negative bool
	internal bool
	fold     bool

	numbers  []int // status or size
	words    []word
	patterns []pattern
}

// word is a text to look for; open is set while it has placeholders.
type word struct {
	text string
	open *dsl.Text
}

// kind is what a matcher looks at; the order is that of cost.
type kind int

const (
	kindStatus kind = iota
	kindSize
	kindWord // binary, too: words of bytes
	kindRegex
)

// cost orders matchers: status and size, then header words, body words, regexes.
func (m *matcher) cost() int {
	c := int(m.kind) * 16
	if m.part.index != viewHeader && m.part.index != viewNamed {
		c += 4
	}
	if m.part.index == viewAll || m.part.index == viewResponse {
		c += 4 // a copy of the whole response, when nobody asked before
	}
	if m.fold {
		c += 2
	}
	return c
}

// compileMatcher makes a matcher of what was written. file is for messages.
func compileMatcher(file string, order int, s syntax.Matcher) (matcher, error) {
	m := matcher{
		part: refOf(s.Part), name: s.Name, order: order,
		and: s.Condition == "and", negative: s.Negative, internal: s.Internal, fold: s.CaseInsensitive,
	}
	fault := func(key, format string, args ...any) error {
		return syntax.Fault(file, s.Line, 0, "matchers."+key, format, args...)
	}
	switch s.Type {
	case "status":
		m.kind, m.numbers = kindStatus, s.Status
	case "size":
		m.kind, m.numbers = kindSize, s.Size
	case "word":
		m.kind = kindWord
		for _, text := range s.Words {
			m.words = append(m.words, compileWord(text, s.Encoding, s.CaseInsensitive))
		}
	case "binary":
		m.kind = kindWord
		for _, text := range s.Binary {
			data, err := hex.DecodeString(strings.TrimSpace(text))
			if err != nil {
				return m, fault("binary", "%q is not hexadecimal", text)
			}
			m.words = append(m.words, word{text: string(data)})
		}
	case "regex":
		m.kind = kindRegex
		// match-all with or means: all patterns must match, as with and.
		m.and = m.and || s.MatchAll
		for _, source := range s.Regex {
			p, err := compilePattern(source)
			if err != nil {
				return m, fault("regex", "%v", err)
			}
			m.patterns = append(m.patterns, p)
		}
	default:
		return m, syntax.Unsupported(file, s.Line, "http.matchers of type "+s.Type)
	}
	return m, nil
}

func compileWord(text, encoding string, fold bool) word {
	if encoding == "hex" {
		if data, err := hex.DecodeString(text); err == nil {
			return word{text: string(data)}
		}
	}
	t := dsl.Parse(text)
	if s, ok := t.Const(); ok {
		if fold {
			s = strings.ToLower(s)
		}
		return word{text: s}
	}
	return word{open: &t}
}

// match answers for one response. A part that the response does not have is a no, even
// for a negative matcher: there is nothing to be judged.
func (m *matcher) match(r *Response) bool {
	v, ok := r.part(m.part)
	if !ok {
		return false
	}
	return m.judge(r, v) != m.negative
}

func (m *matcher) judge(r *Response, v *view) bool {
	switch m.kind {
	case kindStatus:
		return slices.Contains(m.numbers, r.Status)
	case kindSize:
		return slices.Contains(m.numbers, len(v.data))
	case kindWord:
		return every(m.words, m.and, func(w *word) bool {
			text := w.text
			if w.open != nil {
				text, _ = w.open.Render(&dsl.Env{Vars: r.scope})
				if m.fold {
					text = strings.ToLower(text)
				}
			}
			return v.holds(text, m.fold)
		})
	default:
		return every(m.patterns, m.and, func(p *pattern) bool { return p.match(v) })
	}
}

// every asks items until the answer is known: with and until the first no, else until
// the first yes. No items are a no.
func every[T any](items []T, and bool, test func(*T) bool) bool {
	for i := range items {
		if test(&items[i]) != and {
			return !and
		}
	}
	return and && len(items) > 0
}
