package flow

import (
	"context"
	"slices"
	"strings"
	"unicode/utf8"
)

// expression is a protocol call, or an operation on expressions.
type expression struct {
	operator byte // '&', '|', '!', or 0 for a call
	operands []expression
	call     Call
}

// eval has the meaning of JavaScript: what does not decide is not called.
func (e *expression) eval(ctx context.Context, host *Host) (bool, error) {
	switch e.operator {
	case '!':
		v, err := e.operands[0].eval(ctx, host)
		return !v, err
	case '&', '|':
		decided := e.operator == '|'
		for i := range e.operands {
			if v, err := e.operands[i].eval(ctx, host); err != nil || v == decided {
				return v, err
			}
		}
		return !decided, nil
	}
	if err := ctx.Err(); err != nil {
		return false, err
	}
	return host.Call(ctx, e.call)
}

// first is the call that is always made.
func (e *expression) first() *Call {
	for e.operator != 0 {
		e = &e.operands[0]
	}
	return &e.call
}

// parse reads statements of calls, !, &&, || and parentheses. It is not ok when there is
// anything else in the source, or nothing: JavaScript shall judge it then.
func parse(source string, protocols []string) (statements []expression, ok bool) {
	if !utf8.ValidString(source) {
		return nil, false
	}
	p := reader{source: source, protocols: protocols}
	p.next()
	for p.token != end {
		if p.token == ";" {
			p.next()
			continue
		}
		e, ok := p.or()
		// A statement ends with a semicolon, or where a new one begins on a new line.
		if !ok || p.token != ";" && p.token != end && (!p.newline || p.token == "(") {
			return nil, false
		}
		statements = append(statements, e)
	}
	return statements, len(statements) > 0
}

const end = "" // the token after the last

// reader holds one token of look-ahead.
type reader struct {
	source    string
	protocols []string
	depth     int

	token   string // a mark, a word, a number, or a string with its quotes; end; "?" for all else
	newline bool   // a line ended before the token
}

func (p *reader) or() (expression, bool)  { return p.chain("||", p.and) }
func (p *reader) and() (expression, bool) { return p.chain("&&", p.unary) }

// chain reads one operand, or several with an operator between them.
func (p *reader) chain(operator string, operand func() (expression, bool)) (expression, bool) {
	e, ok := operand()
	if !ok || p.token != operator {
		return e, ok
	}
	e = expression{operator: operator[0], operands: []expression{e}}
	for p.token == operator {
		p.next()
		next, ok := operand()
		if !ok {
			return e, false
		}
		e.operands = append(e.operands, next)
	}
	return e, true
}

func (p *reader) unary() (expression, bool) {
	if p.depth++; p.depth > maxNesting {
		return expression{}, false
	}
	defer func() { p.depth-- }()
	switch {
	case p.token == "!":
		p.next()
		e, ok := p.unary()
		return expression{operator: '!', operands: []expression{e}}, ok
	case p.token == "(":
		p.next()
		e, ok := p.or()
		return e, ok && p.take(")")
	case slices.Contains(p.protocols, p.token):
		call := Call{Protocol: p.token}
		p.next()
		ok := p.take("(")
		for ok && p.token != ")" {
			ok = p.argument(&call) && (p.token == ")" || p.take(","))
		}
		return expression{call: call}, ok && p.take(")")
	}
	return expression{}, false
}

// argument reads a number or a string without escapes.
func (p *reader) argument(call *Call) bool {
	t := p.token
	switch {
	case t == end:
		return false
	case t[0] == '"' || t[0] == '\'':
		call.IDs = append(call.IDs, t[1:len(t)-1])
	case t[0] != '0' && len(t) < 10 && strings.Trim(t, "0123456789") == "":
		call.IDs = append(call.IDs, t)
	default:
		return false
	}
	p.next()
	return true
}

// take goes past a token that has to be there.
func (p *reader) take(token string) bool {
	if p.token != token {
		return false
	}
	p.next()
	return true
}

// next reads the next token.
func (p *reader) next() {
	p.blank()
	p.token = end
	if p.source == "" {
		return
	}
	n := 1
	switch c := p.source[0]; {
	case strings.HasPrefix(p.source, "&&"), strings.HasPrefix(p.source, "||"):
		n = 2
	case c == '"' || c == '\'':
		n = strings.IndexByte(p.source[1:], c) + 2
		if n < 2 || strings.ContainsAny(p.source[:n], "\\\r\n\u2028\u2029") {
			p.token = "?"
			return
		}
	case wordly(c):
		for n < len(p.source) && wordly(p.source[n]) {
			n++
		}
	case !strings.ContainsRune("!(),;", rune(c)):
		p.token = "?"
		return
	}
	p.token, p.source = p.source[:n], p.source[n:]
}

func wordly(c byte) bool {
	return c >= 'a' && c <= 'z' || c >= 'A' && c <= 'Z' || c >= '0' && c <= '9' || c == '_' || c == '$' || c == '.'
}

// blank goes past white space and comments.
func (p *reader) blank() {
	p.newline = false
	for {
		rest := strings.TrimLeft(p.source, " \t\r\n")
		skipped := p.source[:len(p.source)-len(rest)]
		p.source = rest
		p.newline = p.newline || strings.ContainsAny(skipped, "\r\n")
		var stop string
		switch {
		case strings.HasPrefix(rest, "//"):
			stop = "\n"
		case strings.HasPrefix(rest, "/*"):
			stop = "*/"
		default:
			return
		}
		comment, after, found := strings.Cut(rest[2:], stop)
		if !found && stop == "*/" || strings.ContainsAny(comment, "\r\u2028\u2029") {
			p.source = "?" // not worth telling apart
			return
		}
		p.newline = p.newline || strings.Contains(comment+stop, "\n")
		p.source = after
	}
}

// leading is the call at the very beginning of a script: whatever comes after, it is made
// first. It is nil when the script begins with anything else.
func leading(source string, protocols []string) *Call {
	p := reader{source: source, protocols: protocols}
	p.next()
	if p.take("if") && !p.take("(") {
		return nil
	}
	for range maxNesting {
		if !p.take("(") && !p.take("!") {
			break
		}
	}
	if !slices.Contains(protocols, p.token) {
		return nil
	}
	e, ok := p.unary()
	if !ok {
		return nil
	}
	return &e.call
}
