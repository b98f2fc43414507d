package dsl

import (
	"errors"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
)

// Limits of Parse for one text.
const (
	maxPlaceholders = 10_000  // placeholders; what follows is literal
	maxTried        = 1 << 20 // bytes that are tried as expressions
)

// Which text is an expression depends on the variables (template language 6.4). Here a text is split into what may be
// one and what is not.
var (
	sectionForm = regexp.MustCompile(`^§[^§\s{}]{1,100}§`)
	// A marker for an out-of-band address may have percent-encoded braces.
	encodedForm = regexp.MustCompile(`(?i)^%7B%7B(interactsh-url(?:_[0-9]+){0,3})%7D%7D`)
	markerForm  = regexp.MustCompile(`^interactsh-url(?:_[0-9]+){0,3}$`)

	unresolvedForm = regexp.MustCompile(`(?:%7[Bb]|\{){2}([^}]+)(?:%7[Dd]|\}){2}`)
	numericForm    = regexp.MustCompile(`^[0-9\W]+$`)
)

func isNameByte(c byte) bool {
	return c == '_' || c-'0' < 10 || c|0x20-'a' < 26
}

// isName reports whether a text can only be the name of a variable.
func isName(s string) bool {
	if s == "" || s[0]-'0' < 10 {
		return false
	}
	for i := range len(s) {
		if !isNameByte(s[i]) {
			return false
		}
	}
	return true
}

// maxKey bounds unusual names of variables.
const maxKey = 100

// isKey reports whether a text may be an unusual name of a variable.
func isKey(s string) bool {
	return s != "" && len(s) <= maxKey && !strings.ContainsAny(s, "{}'\"()\n\r") && !numericForm.MatchString(s)
}

// Parse parses a text. What depends on the variables is decided by Render.
func Parse(s string) Text { return parseText(s, false) }

// parseText parses a text, with expressions or plain names only.
func parseText(s string, plain bool) Text {
	if !hasMarker(s) {
		if s == "" {
			return Text{}
		}
		return Text{parts: []part{{text: s}}, unresolved: mayHaveUnresolved(s)}
	}
	p := scanner{src: s, plain: plain}
	p.text.parts = make([]part, 0, min(2*strings.Count(s, "{{")+1, 16))
	for p.at < len(s) && p.holes < maxPlaceholders {
		next := nextMark(s[p.at:])
		if next < 0 {
			break
		}
		p.at += next
		h, size := p.next()
		if h == nil {
			p.at++
			continue
		}
		p.flush(p.at)
		p.text.parts = append(p.text.parts, part{text: s[p.at : p.at+size], placeholder: h})
		p.at += size
		p.literal = p.at
		p.holes++
	}
	p.flush(len(s))
	p.text.unresolved = p.mayBeUnresolved()
	return p.text
}

// nextMark is the index of the next possible begin of a placeholder, or -1.
func nextMark(s string) int {
	for i := range len(s) {
		switch s[i] {
		case '{', '%', "§"[0]:
			return i
		}
	}
	return -1
}

func hasMarker(s string) bool {
	return strings.Contains(s, "{{") || strings.Contains(s, "§") ||
		strings.Contains(s, "%7B%7B") || strings.Contains(s, "%7b%7b")
}

type scanner struct {
	src     string
	plain   bool
	text    Text
	at      int
	literal int // where the literal begins that is being read
	holes   int
	tried   int // bytes
	close   int // offset of the first }} from at on, if it is known
}

func (p *scanner) flush(end int) {
	if end > p.literal {
		p.text.parts = append(p.text.parts, part{text: p.src[p.literal:end]})
	}
}

// mayBeUnresolved reports whether the rendered literals may look like a placeholder.
func (p *scanner) mayBeUnresolved() bool {
	var b strings.Builder
	for _, part := range p.text.parts {
		if part.placeholder == nil {
			b.WriteString(part.text)
		}
	}
	return mayHaveUnresolved(b.String())
}

// next is the placeholder that begins here, and its length; nil if none does.
func (p *scanner) next() (*placeholder, int) {
	rest := p.src[p.at:]
	switch {
	case strings.HasPrefix(rest, "§"):
		if m := sectionForm.FindString(rest); m != "" {
			return &placeholder{name: strings.Trim(m, "§"), nameOnly: true}, len(m)
		}
	case strings.HasPrefix(rest, "%7"):
		if m := encodedForm.FindStringSubmatch(rest); m != nil {
			return &placeholder{name: m[1], nameOnly: true}, len(m[0])
		}
	case strings.HasPrefix(rest, "{{"):
		return p.braces(rest)
	}
	return nil, 0
}

// braces reads from {{ to the first }} that completes a placeholder.
func (p *scanner) braces(rest string) (*placeholder, int) {
	first := p.closing()
	if first < 0 {
		return nil, 0
	}
	inner := rest[2 : 2+first]
	if name := strings.TrimSpace(inner); isName(name) {
		if h := common[name]; h != nil && !p.plain {
			return h, first + 4
		}
		return &placeholder{name: name, nameOnly: p.plain}, first + 4
	}
	if strings.HasPrefix(inner, "interactsh-url") && markerForm.MatchString(inner) {
		return &placeholder{name: inner, nameOnly: true}, first + 4
	}
	if !p.plain {
		if h, size := p.expression(rest, first); h != nil {
			return h, size
		}
	}
	if isKey(inner) {
		return &placeholder{name: inner, nameOnly: true}, first + 4
	}
	return nil, 0
}

// common are the placeholders with which most texts begin; sharing them saves memory.
var common = map[string]*placeholder{"BaseURL": {name: "BaseURL"}, "RootURL": {name: "RootURL"},
	"Hostname": {name: "Hostname"}}

// closing is the offset of the first }} behind the {{ that begins here, or -1.
func (p *scanner) closing() int {
	if p.close < p.at+2 {
		next := strings.Index(p.src[p.at+2:], "}}")
		if next < 0 {
			next = len(p.src)
		}
		p.close = p.at + 2 + next
	}
	if p.close >= len(p.src) {
		return -1
	}
	return p.close - p.at - 2
}

// expression tries each }} until the text before it is an expression.
func (p *scanner) expression(rest string, end int) (*placeholder, int) {
	for p.tried < maxTried {
		inner := rest[2 : 2+end]
		p.tried += len(inner) + 1
		e, err := compile(inner, true)
		if err == nil {
			return expressionPlaceholder(e), end + 4
		}
		var wrong *SyntaxError
		if !errors.As(err, &wrong) {
			return &placeholder{always: true, err: err}, end + 4 // a function that is not supported
		}
		if wrong.bareName && functions.Mentioned(inner) {
			return &placeholder{name: keyOf(inner), always: true, err: err}, end + 4
		}
		// A later }} can only help if a string is open.
		if wrong.unclosed == 0 {
			return nil, 0
		}
		begin := 2 + wrong.unclosed - 1
		quote := rest[begin]
		if quote == '[' {
			quote = ']'
		}
		closed := closingQuote(rest, 2+end, quote)
		if closed < 0 {
			p.tried += len(rest)
			return nil, 0
		}
		next := strings.Index(rest[closed:], "}}")
		if next < 0 {
			return nil, 0
		}
		end = closed + next - 2
	}
	return nil, 0
}

// closingQuote finds the end of a string that is open at from.
func closingQuote(s string, from int, quote byte) int {
	for i := from; i < len(s); i++ {
		switch s[i] {
		case '\\':
			i++
		case quote:
			return i
		}
	}
	return -1
}

// expressionPlaceholder makes the placeholder of an expression; nil if it has neither variables nor functions, such as
// {{7*7}}, which is text.
func expressionPlaceholder(e *Expr) *placeholder {
	always := e.calls || functions.Mentioned(e.src)
	if !always && !e.open && !e.members {
		return nil
	}
	return &placeholder{name: keyOf(e.src), expr: e, always: always}
}

// keyOf is the text if it may be a variable's name, else "".
func keyOf(s string) string {
	if isKey(s) {
		return s
	}
	return ""
}

// mayHaveUnresolved reports whether a text may contain an unresolved placeholder.
func mayHaveUnresolved(s string) bool {
	return (strings.Contains(s, "{{") || containsFold(s, "%7b")) && (strings.Contains(s, "}}") || containsFold(s, "%7d"))
}

func containsFold(s, lower string) bool {
	return strings.Contains(s, lower) || strings.Contains(s, strings.ToUpper(lower))
}

// firstUnresolved is the first unresolved placeholder in a rendered text (template language 6.5). Braces in values do
// not count.
func firstUnresolved(s string, values []span) (name string, found bool) {
	masked := s
	if len(values) > 0 {
		b := []byte(s)
		for _, v := range values {
			for i := v.from; i < v.to; i++ {
				if b[i] == '{' || b[i] == '}' || b[i] == '%' {
					b[i] = '_'
				}
			}
		}
		masked = string(b)
	}
	for _, m := range unresolvedForm.FindAllStringSubmatchIndex(masked, maxPlaceholders) {
		inner := s[m[2]:m[3]]
		if numericForm.MatchString(inner) {
			continue
		}
		if e, err := compile(inner, true); err == nil && !e.open {
			continue
		}
		return inner, true
	}
	return "", false
}
