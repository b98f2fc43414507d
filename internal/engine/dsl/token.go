package dsl

import (
	"fmt"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

type kind uint8

const (
	begin kind = iota // before the first token
	prefix
	number
	boolean
	variable
	function
	accessor
	text
	dateText // a text that is a date, as seconds since 1970
	open
	closing
	comparator
	modifier
	logical
	ternary
	separator
	numKinds
)

type set uint32

func kinds(all ...kind) (s set) {
	for _, k := range all {
		s |= 1 << k
	}
	return s
}

func (s set) has(k kind) bool { return s>>k&1 != 0 }

// follows are the kinds that may follow each kind. Templates rely on a lax evaluator: an operand may follow a closing
// parenthesis, and is ignored.
var follows = func() (table [numKinds]set) {
	operands := kinds(number, boolean, variable, function, accessor, text, open)
	operators := kinds(modifier, comparator, logical, closing, separator)
	table[begin] = operands | kinds(prefix, dateText)
	table[open] = operands | kinds(prefix, dateText, closing)
	table[closing] = operators | kinds(ternary, number, boolean, variable, text, dateText, open)
	for _, k := range []kind{number, boolean, text, variable} {
		table[k] = operators | kinds(ternary)
	}
	table[dateText] = operators
	table[accessor] = operators | kinds(ternary, open)
	table[modifier] = operands | kinds(prefix, closing)
	table[comparator] = operands | kinds(prefix, dateText, closing)
	table[logical] = table[comparator]
	table[prefix] = operands&^kinds(text) | kinds(closing)
	table[ternary] = operands | kinds(prefix, dateText, separator)
	table[separator] = operands | kinds(prefix, dateText)
	table[function] = kinds(open)
	return table
}()

const canEnd = set(1<<closing | 1<<number | 1<<boolean | 1<<text | 1<<dateText | 1<<variable | 1<<accessor)

type token struct {
	kind  kind
	op    op
	text  string // the name, the operator, or what the text says
	value any    // of number, boolean and moment
	at    int    // byte offset
}

// SyntaxError says why a text is not an expression.
type SyntaxError struct {
	Source string
	At     int // byte offset in Source
	Reason string

	unclosed int  // offset of a string without end, plus one
	bareName bool // a function's name without parentheses
}

func (e *SyntaxError) Error() string {
	return fmt.Sprintf("%s, at byte %d of %q", e.Reason, e.At, errs.Clip(e.Source, 120))
}

// lexer reads tokens and checks that each may follow the one before.
type lexer struct {
	src    string
	at     int
	before token
}

func (l *lexer) fail(at int, format string, args ...any) error {
	return &SyntaxError{Source: l.src, At: at, Reason: fmt.Sprintf(format, args...)}
}

func tokens(src string) ([]token, error) {
	l := lexer{src: src}
	all := make([]token, 0, min(8+len(src)/8, 256))
	depth := 0
	for {
		t, ok, err := l.next()
		if err != nil {
			return nil, err
		}
		if !ok {
			break
		}
		if !follows[l.before.kind].has(t.kind) {
			return nil, l.misplaced(t)
		}
		switch t.kind {
		case open:
			depth++
		case closing:
			depth--
		}
		all = append(all, t)
		l.before = t
	}
	switch {
	case depth != 0:
		return nil, l.fail(len(src), "parentheses are not balanced")
	case !canEnd.has(l.before.kind):
		err := &SyntaxError{Source: src, At: len(src), Reason: "the expression ends too early"}
		err.bareName = l.before.kind == function
		return nil, err
	}
	return all, nil
}

func (l *lexer) misplaced(t token) error {
	err := &SyntaxError{Source: l.src, At: t.at, Reason: fmt.Sprintf("%q is not expected here", t.text)}
	switch {
	case l.before.kind == variable && t.kind == open:
		err.At, err.Reason = l.before.at, "there is no function "+l.before.text
	case l.before.kind == function:
		err.At, err.Reason, err.bareName = l.before.at,
			fmt.Sprintf("the function %s needs its arguments in parentheses", l.before.text), true
	}
	return err
}

// next reads one token; ok is false at the end.
func (l *lexer) next() (t token, ok bool, err error) {
	for l.at < len(l.src) {
		c, size := utf8.DecodeRuneInString(l.src[l.at:])
		if unicode.IsSpace(c) {
			l.at += size
			continue
		}
		t = token{at: l.at}
		switch {
		case isDigit(c):
			err = l.number(&t)
		case unicode.IsLetter(c):
			err = l.word(&t)
		case c == '\'' || c == '"':
			err = l.quoted(&t, byte(c))
		case c == '[':
			t.kind = variable
			t.text, err = l.until(']', "parameter bracket")
		case c == ',':
			l.at++
			t.kind, t.op, t.text = separator, opList, ","
		case c == '(':
			l.at++
			t.kind, t.text = open, "("
		case c == ')':
			l.at++
			t.kind, t.text = closing, ")"
		default:
			err = l.operator(&t)
		}
		return t, err == nil, err
	}
	return t, false, nil
}

func isDigit(c rune) bool { return unicode.IsDigit(c) || c == '.' }

func (l *lexer) run(holds func(rune) bool) string {
	start := l.at
	for l.at < len(l.src) {
		c, size := utf8.DecodeRuneInString(l.src[l.at:])
		if !holds(c) {
			break
		}
		l.at += size
	}
	return l.src[start:l.at]
}

func (l *lexer) number(t *token) error {
	t.kind = number
	if rest := l.src[l.at:]; len(rest) > 2 && rest[:2] == "0x" {
		l.at += 2
		t.text = l.run(func(c rune) bool { return c < 0x80 && strings.ContainsRune("0123456789abcdefABCDEF", c) })
		n, err := strconv.ParseUint(t.text, 16, 64)
		if err != nil {
			return l.fail(t.at, "0x%s is not a number", t.text)
		}
		t.value = float64(n)
		return nil
	}
	t.text = l.run(isDigit)
	n, err := strconv.ParseFloat(t.text, 64)
	if err != nil {
		return l.fail(t.at, "%s is not a number", t.text)
	}
	t.value = n
	return nil
}

// word reads the name of a variable, function or member. A backslash includes the next character.
func (l *lexer) word(t *token) error {
	inName := func(c rune) bool { return unicode.IsLetter(c) || isDigit(c) || c == '_' }
	t.text = l.run(inName)
	for l.at+1 < len(l.src) && l.src[l.at] == '\\' {
		_, size := utf8.DecodeRuneInString(l.src[l.at+1:])
		t.text += l.src[l.at+1 : l.at+1+size]
		l.at += 1 + size
		t.text += l.run(inName)
	}
	switch t.text {
	case "true", "false":
		t.kind, t.value = boolean, t.text == "true"
		return nil
	case "in", "IN":
		t.kind, t.op = comparator, opIn
		return nil
	}
	t.kind = variable
	if _, ok := functions.All[t.text]; ok {
		t.kind = function
	}
	first, rest, dotted := strings.Cut(t.text, ".")
	if !dotted || first == "" {
		return nil
	}
	t.kind = accessor
	for member := range strings.SplitSeq(rest, ".") {
		c, _ := utf8.DecodeRuneInString(member)
		if member != "" && unicode.ToUpper(c) != c {
			return l.fail(t.at, "%s of %s is private", member, t.text)
		}
	}
	if strings.HasSuffix(rest, ".") || rest == "" {
		return l.fail(t.at, "%s ends with a dot", t.text)
	}
	return nil
}

// until reads from an opening to a closing mark; a backslash keeps the next character and is dropped.
func (l *lexer) until(end byte, what string) (string, error) {
	start := l.at
	l.at++
	from := l.at
	var b []byte
	for ; l.at < len(l.src); l.at++ {
		switch l.src[l.at] {
		case '\\':
			b = append(b, l.src[from:l.at]...)
			l.at++ // the next byte stays, whatever it is
			from = l.at
		case end:
			s := l.src[from:l.at]
			l.at++
			if b != nil {
				s = string(append(b, s...))
			}
			return s, nil
		}
	}
	return "", &SyntaxError{Source: l.src, At: start, Reason: "a " + what + " is not closed", unclosed: start + 1}
}

func (l *lexer) quoted(t *token, quote byte) (err error) {
	t.kind = text
	if t.text, err = l.until(quote, "string"); err != nil {
		return err
	}
	if seconds, ok := date(t.text); ok {
		t.kind, t.value = dateText, seconds
	}
	return nil
}

// operator reads up to a blank, letter, digit, parenthesis, bracket or quote: "a&&!b" is an error, "a && !b" is not.
func (l *lexer) operator(t *token) error {
	t.text = l.run(func(c rune) bool {
		return !unicode.IsSpace(c) && !unicode.IsDigit(c) && !unicode.IsLetter(c) && !strings.ContainsRune(`()[]'"`, c)
	})
	if t.text == "" { // a lone closing bracket
		return l.fail(t.at, "%q is not expected here", l.src[l.at])
	}
	if follows[l.before.kind].has(prefix) {
		switch t.text {
		case "-":
			t.kind, t.op = prefix, opNegate
		case "!":
			t.kind, t.op = prefix, opNot
		case "~":
			t.kind, t.op = prefix, opInvert
		}
		if t.op != opNone {
			return nil
		}
	}
	for _, o := range operators {
		if o.text == t.text {
			t.kind, t.op = o.kind, o.op
			return nil
		}
	}
	return l.fail(t.at, "%q is no operator", t.text)
}
