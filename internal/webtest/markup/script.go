package markup

import (
	"slices"
	"strings"
)

// State is what a script is in the middle of at some place.
type State string

// States of scripts.
const (
	Code         State = "code"
	SingleQuoted State = "single-quoted string"
	DoubleQuoted State = "double-quoted string"
	Template     State = "template"
	LineComment  State = "line comment"
	BlockComment State = "block comment"
	Pattern      State = "regular expression"
)

// token is a part of a script: an identifier, a number or a character of code (Code), or one of the other states.
type token struct {
	state      State
	start, end int
	broken     bool // it does not end as it must
}

// lexScript is the tokens of JavaScript, without white space.
func lexScript(code string) []token {
	l := lexer{code: code}
	for l.at < len(l.code) {
		l.next()
	}
	return l.tokens
}

type lexer struct {
	code   string
	at     int
	tokens []token
	braces []bool // of the braces that are open: whether it is that of ${ in a template
}

func (l *lexer) next() {
	c := l.code[l.at]
	rest := l.code[l.at:]
	switch {
	case c == ' ', c == '\t', c == '\r', c == '\n':
		l.at++
	case strings.HasPrefix(rest, "//"), strings.HasPrefix(rest, "<!--"):
		end := strings.IndexAny(rest, "\r\n")
		if end < 0 {
			end = len(rest)
		}
		l.add(LineComment, end, false)
	case strings.HasPrefix(rest, "/*"):
		end := strings.Index(rest[2:], "*/")
		if end < 0 {
			l.add(BlockComment, len(rest), true)
			return
		}
		l.add(BlockComment, end+4, false)
	case c == '\'':
		l.quoted(SingleQuoted, '\'')
	case c == '"':
		l.quoted(DoubleQuoted, '"')
	case c == '`':
		l.template(1)
	case c == '/' && l.startsPattern():
		l.pattern()
	case isWord(c):
		end := 1
		for end < len(rest) && isWord(rest[end]) {
			end++
		}
		l.add(Code, end, false)
	case c == '{':
		l.braces = append(l.braces, false)
		l.add(Code, 1, false)
	case c == '}' && len(l.braces) > 0:
		inTemplate := l.braces[len(l.braces)-1]
		l.braces = l.braces[:len(l.braces)-1]
		if inTemplate {
			l.template(1)
			return
		}
		l.add(Code, 1, false)
	default:
		l.add(Code, 1, false)
	}
}

func (l *lexer) add(s State, length int, broken bool) {
	l.tokens = append(l.tokens, token{s, l.at, l.at + length, broken})
	l.at += length
}

func (l *lexer) quoted(s State, quote byte) {
	rest := l.code[l.at:]
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case quote:
			l.add(s, i+1, false)
			return
		case '\n', '\r':
			l.add(s, i, true)
			return
		}
	}
	l.add(s, len(rest), true)
}

// template reads on in a template until it ends or has code; from is where its text starts.
func (l *lexer) template(from int) {
	rest := l.code[l.at:]
	for i := from; i < len(rest); i++ {
		switch {
		case rest[i] == '\\':
			i++
		case rest[i] == '`':
			l.add(Template, i+1, false)
			return
		case rest[i] == '$' && i+1 < len(rest) && rest[i+1] == '{':
			l.add(Template, i+2, false)
			l.braces = append(l.braces, true)
			return
		}
	}
	l.add(Template, len(rest), true)
}

func (l *lexer) pattern() {
	rest := l.code[l.at:]
	class := false
	for i := 1; i < len(rest); i++ {
		switch rest[i] {
		case '\\':
			i++
		case '[':
			class = true
		case ']':
			class = false
		case '\n', '\r':
			l.add(Pattern, i, true)
			return
		case '/':
			if !class {
				l.add(Pattern, i+1, false)
				return
			}
		}
	}
	l.add(Pattern, len(rest), true)
}

// startsPattern says whether a slash begins a regular expression and is no division.
func (l *lexer) startsPattern() bool {
	for _, t := range slices.Backward(l.tokens) {
		text := l.code[t.start:t.end]
		switch {
		case t.state == LineComment, t.state == BlockComment:
			continue
		case t.state != Code:
			return false
		case isWord(text[0]):
			return text == "return" || text == "typeof" || text == "case" || text == "in" || text == "of" ||
				text == "delete" || text == "void" || text == "throw" || text == "new" || text == "else" || text == "do"
		}
		return text != ")" && text != "]" && text != "}"
	}
	return true
}

func isWord(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c >= 0x80
}

// lexBasic is the tokens of VBScript: strings in double quotes, comments from a quote on.
func lexBasic(code string) (all []token) {
	for at := 0; at < len(code); {
		rest := code[at:]
		end, state, broken := 1, Code, false
		switch c := code[at]; {
		case c == ' ', c == '\t', c == '\r', c == '\n':
			at++
			continue
		case c == '\'':
			end, state = len(rest), LineComment
			if newline := strings.IndexAny(rest, "\r\n"); newline >= 0 {
				end = newline
			}
		case c == '"':
			state = DoubleQuoted
			for end < len(rest) && rest[end] != '"' && rest[end] != '\n' {
				end++
			}
			broken = end == len(rest) || rest[end] == '\n'
			if !broken {
				end++
			}
		case isWord(c):
			for end < len(rest) && isWord(rest[end]) {
				end++
			}
		}
		all = append(all, token{state, at, at + end, broken})
		at += end
	}
	return all
}

func lex(code string, basic bool) []token {
	if basic {
		return lexBasic(code)
	}
	return lexScript(code)
}

// StateAt is what a script is in the middle of at an offset.
func StateAt(code string, offset int) State { return stateAt(code, false, offset) }

// stateAt is what a script is in the middle of at an offset.
func stateAt(code string, basic bool, offset int) State {
	for _, t := range lex(code, basic) {
		if t.start <= offset && offset < t.end {
			return t.state
		}
	}
	return Code
}

// runs says whether a script runs a function of that name: the name stands in code, before a parenthesis or a template,
// and the script is whole: its strings and comments end, its brackets are pairs.
func runs(code string, basic bool, name string) bool {
	if !strings.Contains(code, name) {
		return false
	}
	var open []byte
	found := false
	tokens := lex(code, basic)
	for i, t := range tokens {
		if t.broken {
			return false
		}
		if t.state != Code {
			continue
		}
		switch text := code[t.start:t.end]; text {
		case "(", "[", "{":
			open = append(open, text[0])
		case ")", "]", "}":
			pair := map[byte]byte{')': '(', ']': '[', '}': '{'}[text[0]]
			if len(open) == 0 || open[len(open)-1] != pair {
				return false
			}
			open = open[:len(open)-1]
		case name:
			if i+1 < len(tokens) && (code[tokens[i+1].start] == '(' || code[tokens[i+1].start] == '`') {
				found = true
			}
		}
	}
	return found && len(open) == 0
}
