package lab

import (
	"errors"
	"strconv"
	"strings"
	"unicode"
)

type node struct {
	kind string // "call" "op" "not" "minus" "name" "text" "number" "bool" "list"
	text string // name, operator or literal
	num  float64
	args []*node
}

// String is the expression as text again.
func (n *node) String() string {
	args := make([]string, len(n.args))
	for i, a := range n.args {
		args[i] = a.String()
	}
	switch n.kind {
	case "call":
		return n.text + "(" + strings.Join(args, ", ") + ")"
	case "op":
		return "(" + args[0] + " " + n.text + " " + args[1] + ")"
	case "not":
		return "!" + args[0]
	case "minus":
		return "-" + args[0]
	case "list":
		return "(" + strings.Join(args, ", ") + ")"
	case "text":
		return strconv.Quote(n.text)
	}
	return n.text
}

var errSyntax = errors.New("the lab does not read this expression")

type token struct {
	kind byte // 'n' number, 's' text, 'i' name, 'o' operator
	text string
}

func parseExpression(source string) (*node, error) {
	tokens, err := lex(source)
	if err != nil {
		return nil, err
	}
	p := &expressionParser{tokens: tokens}
	n, err := p.binary(0)
	if err != nil {
		return nil, err
	}
	if p.at != len(p.tokens) {
		return nil, errSyntax
	}
	return n, nil
}

func lex(s string) (tokens []token, err error) {
	for i := 0; i < len(s); {
		c := s[i]
		switch {
		case c == ' ' || c == '\t' || c == '\n' || c == '\r':
			i++
		case c == '"' || c == '\'':
			var text strings.Builder
			j := i + 1
			for ; j < len(s) && s[j] != c; j++ {
				if s[j] == '\\' && j+1 < len(s) {
					j++
				}
				text.WriteByte(s[j])
			}
			if j >= len(s) {
				return nil, errSyntax
			}
			tokens = append(tokens, token{'s', text.String()})
			i = j + 1
		case c >= '0' && c <= '9':
			j := i
			for j < len(s) && (s[j] >= '0' && s[j] <= '9' || s[j] == '.') {
				j++
			}
			tokens = append(tokens, token{'n', s[i:j]})
			i = j
		case c == '[':
			j := strings.IndexByte(s[i:], ']')
			if j < 0 {
				return nil, errSyntax
			}
			tokens = append(tokens, token{'i', s[i+1 : i+j]})
			i += j + 1
		case c == '_' || unicode.IsLetter(rune(c)):
			j := i
			for j < len(s) && (s[j] == '_' || s[j] == '.' || unicode.IsLetter(rune(s[j])) || unicode.IsDigit(rune(s[j]))) {
				j++
			}
			tokens = append(tokens, token{'i', s[i:j]})
			i = j
		default:
			op := string(c)
			if i+1 < len(s) && strings.Contains("== != >= <= && || =~ !~ ** ?? << >>", s[i:i+2]) && s[i+1] != ' ' {
				op = s[i : i+2]
			}
			tokens = append(tokens, token{'o', op})
			i += len(op)
		}
	}
	return tokens, nil
}

type expressionParser struct {
	tokens []token
	at     int
}

func (p *expressionParser) peek() token {
	if p.at < len(p.tokens) {
		return p.tokens[p.at]
	}
	return token{}
}

func (p *expressionParser) accept(op string) bool {
	if t := p.peek(); t.kind == 'o' && t.text == op {
		p.at++
		return true
	}
	return false
}

var binding = map[string]int{
	"||": 1, "&&": 2, "==": 3, "!=": 3, ">": 3, "<": 3, ">=": 3, "<=": 3, "=~": 3, "!~": 3, "in": 3,
	"+": 4, "-": 4, "*": 5, "/": 5, "%": 5,
}

func (p *expressionParser) binary(least int) (*node, error) {
	left, err := p.unary()
	if err != nil {
		return nil, err
	}
	for {
		t := p.peek()
		op := t.text
		if t.kind == 'i' {
			op = strings.ToLower(op)
		}
		power, ok := binding[op]
		if !ok || t.kind != 'o' && op != "in" || power <= least {
			return left, nil
		}
		p.at++
		right, err := p.binary(power)
		if err != nil {
			return nil, err
		}
		left = &node{kind: "op", text: op, args: []*node{left, right}}
	}
}

func (p *expressionParser) unary() (*node, error) {
	switch {
	case p.accept("!"):
		arg, err := p.unary()
		return &node{kind: "not", args: []*node{arg}}, err
	case p.accept("-"):
		arg, err := p.unary()
		if err == nil && arg.kind == "number" {
			return &node{kind: "number", num: -arg.num, text: "-" + arg.text}, nil
		}
		return &node{kind: "minus", args: []*node{arg}}, err
	case p.accept("("):
		args, err := p.list()
		if err == nil && len(args) == 1 {
			return args[0], nil
		}
		return &node{kind: "list", args: args}, err
	}
	t := p.peek()
	p.at++
	switch t.kind {
	case 's':
		return &node{kind: "text", text: t.text}, nil
	case 'n':
		num, err := strconv.ParseFloat(t.text, 64)
		return &node{kind: "number", num: num, text: t.text}, err
	case 'i':
		if t.text == "true" || t.text == "false" {
			return &node{kind: "bool", text: t.text}, nil
		}
		if p.accept("(") {
			args, err := p.list()
			return &node{kind: "call", text: strings.ReplaceAll(t.text, "_", ""), args: args}, err
		}
		return &node{kind: "name", text: t.text}, nil
	}
	return nil, errSyntax
}

func (p *expressionParser) list() (args []*node, err error) {
	for !p.accept(")") {
		arg, err := p.binary(0)
		if err != nil {
			return nil, err
		}
		args = append(args, arg)
		if !p.accept(",") && !(p.peek().kind == 'o' && p.peek().text == ")") {
			return nil, errSyntax
		}
	}
	return args, nil
}
