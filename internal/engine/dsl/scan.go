package dsl

import (
	"errors"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
)

// What Parse does at most for one text.
const (
	maxHoles = 10_000  // placeholders; what follows is literal
	maxTried = 1 << 20 // bytes that are read as an expression, to see whether they are one
)

// The rules are few, but which text is an expression depends on the variables that there
// are (template language 6.4). A text is cut here into what may be one, and what is not.
var (
	quietForm = regexp.MustCompile(`^§[^§\s{}]{1,100}§`)
	// An out-of-band marker is recognised with its braces percent-encoded, too.
	encodedForm = regexp.MustCompile(`(?i)^%7B%7B(interactsh-url(?:_[0-9]+){0,3})%7D%7D`)
	markerForm  = regexp.MustCompile(`^interactsh-url(?:_[0-9]+){0,3}$`)

	leftoverForm = regexp.MustCompile(`(?:%7[Bb]|\{){2}([^}]+)(?:%7[Dd]|\}){2}`)
	numericForm  = regexp.MustCompile(`^[0-9\W]+$`)
)

func isNameByte(c byte) bool {
	return c == '_' || c-'0' < 10 || c|0x20-'a' < 26
}

// isName reports whether a text is the name of a variable and nothing else.
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

// maxKey is how long a variable's name may be that is more than letters and digits.
const maxKey = 100

// isKey reports whether a text may be a variable's name, if there is one so odd.
func isKey(s string) bool {
	return s != "" && len(s) <= maxKey && !strings.ContainsAny(s, "{}'\"()\n\r") && !numericForm.MatchString(s)
}

// Parse reads a text. What cannot be known before the variables are is decided when it
// is rendered.
func Parse(s string) Text { return parseText(s, false) }

// parseText reads a text, with expressions or with plain keys only.
func parseText(s string, plain bool) Text {
	if !hasMarker(s) {
		if s == "" {
			return Text{}
		}
		return Text{parts: []part{{text: s}}, unresolved: hasLeftover(s)}
	}
	p := scanner{src: s, plain: plain}
	p.text.parts = make([]part, 0, min(2*strings.Count(s, "{{")+1, 16))
	for p.at < len(s) && p.holes < maxHoles {
		next := nextMark(s[p.at:])
		if next < 0 {
			break
		}
		p.at += next
		h, size := p.place()
		if h == nil {
			p.at++
			continue
		}
		p.flush(p.at)
		p.text.parts = append(p.text.parts, part{text: s[p.at : p.at+size], hole: h})
		p.at += size
		p.literal = p.at
		p.holes++
	}
	p.flush(len(s))
	p.text.unresolved = p.leftover()
	return p.text
}

// nextMark is where the next byte is that a placeholder may begin with; -1 for nowhere.
func nextMark(s string) int {
	for i := range len(s) {
		switch s[i] {
		case '{', '%', "§"[0]:
			return i
		}
	}
	return -1
}

// hasMarker reports whether a text may have placeholders.
func hasMarker(s string) bool {
	return strings.Contains(s, "{{") || strings.Contains(s, "§") ||
		strings.Contains(s, "%7B%7B") || strings.Contains(s, "%7b%7b")
}

// scanner cuts a text into parts.
type scanner struct {
	src     string
	plain   bool
	text    Text
	at      int
	literal int // where the literal begins that is being read
	holes   int
	tried   int // bytes
	close   int // the first }} from at on, as far as it was looked for
}

func (p *scanner) flush(end int) {
	if end > p.literal {
		p.text.parts = append(p.text.parts, part{text: p.src[p.literal:end]})
	}
}

// leftover reports whether what is literal may look like a placeholder once it is
// rendered.
func (p *scanner) leftover() bool {
	var b strings.Builder
	for _, part := range p.text.parts {
		if part.hole == nil {
			b.WriteString(part.text)
		}
	}
	return hasLeftover(b.String())
}

// place is the placeholder that begins here, and its length; nil when none does.
func (p *scanner) place() (*hole, int) {
	rest := p.src[p.at:]
	switch {
	case strings.HasPrefix(rest, "§"):
		if m := quietForm.FindString(rest); m != "" {
			return &hole{name: strings.Trim(m, "§"), only: true}, len(m)
		}
	case strings.HasPrefix(rest, "%7"):
		if m := encodedForm.FindStringSubmatch(rest); m != nil {
			return &hole{name: m[1], only: true}, len(m[0])
		}
	case strings.HasPrefix(rest, "{{"):
		return p.braces(rest)
	}
	return nil, 0
}

// braces reads what stands between {{ and the first }} with which it is something.
func (p *scanner) braces(rest string) (*hole, int) {
	first := p.closing()
	if first < 0 {
		return nil, 0
	}
	inner := rest[2 : 2+first]
	if name := strings.TrimSpace(inner); isName(name) {
		if h := common[name]; h != nil && !p.plain {
			return h, first + 4
		}
		return &hole{name: name, only: p.plain}, first + 4
	}
	if strings.HasPrefix(inner, "interactsh-url") && markerForm.MatchString(inner) {
		return &hole{name: inner, only: true}, first + 4
	}
	if !p.plain {
		if h, size := p.expression(rest, first); h != nil {
			return h, size
		}
	}
	if isKey(inner) {
		return &hole{name: inner, only: true}, first + 4
	}
	return nil, 0
}

// common are the placeholders that nearly all texts begin with, shared by them.
var common = map[string]*hole{"BaseURL": {name: "BaseURL"}, "RootURL": {name: "RootURL"}, "Hostname": {name: "Hostname"}}

// closing is where the first }} stands after the {{ that begins here; -1 when there is
// none.
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

// expression tries one }} after the other until what stands before it is an expression.
func (p *scanner) expression(rest string, end int) (*hole, int) {
	for p.tried < maxTried {
		inner := rest[2 : 2+end]
		p.tried += len(inner) + 1
		e, err := compile(inner, true)
		if err == nil {
			return expressionHole(e), end + 4
		}
		var wrong *SyntaxError
		if !errors.As(err, &wrong) {
			return &hole{always: true, wrong: err}, end + 4 // a function that is not supported
		}
		if wrong.bareName && functions.Mentioned(inner) {
			return &hole{name: keyOf(inner), always: true, wrong: err}, end + 4
		}
		// Only a string that is not closed may be closed further on.
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

// closingQuote finds where a string ends that is still open at from.
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

// expressionHole makes the place of a compiled expression; nil when it is none: without
// variables and functions it is text that happens to look like one, such as {{7*7}}.
func expressionHole(e *Expr) *hole {
	always := e.calls || functions.Mentioned(e.src)
	if !always && !e.open && !e.members {
		return nil
	}
	return &hole{name: keyOf(e.src), expr: e, always: always}
}

// keyOf is the text as a variable's name, "" when none is like that.
func keyOf(s string) string {
	if isKey(s) {
		return s
	}
	return ""
}

// hasLeftover reports whether a text may hold something that counts as an unresolved
// placeholder.
func hasLeftover(s string) bool {
	return (strings.Contains(s, "{{") || containsFold(s, "%7b")) && (strings.Contains(s, "}}") || containsFold(s, "%7d"))
}

func containsFold(s, lower string) bool {
	return strings.Contains(s, lower) || strings.Contains(s, strings.ToUpper(lower))
}

// leftover is the first thing in a rendered text that counts as an unresolved
// placeholder (template language 6.5). Braces inside values count for nothing.
func leftover(s string, values []span) (name string, found bool) {
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
	for _, m := range leftoverForm.FindAllStringSubmatchIndex(masked, -1) {
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
