package asset

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/page"
)

// Condition is a parsed custom_filter: comparisons with && (and), || (or), ! (not) and parentheses. A
// comparison is FIELD OPERATOR VALUE; a value with spaces or signs is in double quotes.
// docs/use/assets.md lists the fields.
type Condition struct {
	text  string // of the whole
	join  string // "&&", "||", "!", or empty: a comparison
	parts []*Condition

	field, op, value string
}

// The bounds of a condition.
const (
	maxCondition = 2000 // bytes
	maxDepth     = 32
)

// The kinds of fields and the operators each has.
const (
	textField   = "= != ~ !~"
	numberField = "= != < <= > >="
	timeField   = "< <= > >="
	flagField   = "= !="
)

// conditionFields are what conditions may compare.
func conditionField(name string) (kind string, known bool) {
	switch name {
	case "host", "title", "webserver", "service", "technologies", "cname", "labels", "favicon", "tls", "misconfiguration":
		return textField, true
	case "port", "status_code", "content_length":
		return numberField, true
	case "created_at", "updated_at", "last_seen":
		return timeField, true
	case "domain", "ip", "enumeration_id", "is_new", "is_internal", "is_missing", "is_screenshot":
		return flagField, true
	}
	return "", false
}

// ParseCondition parses a condition; an empty text gives nil. Clients of the platform URL-encode it
// twice: a remaining encoding is decoded here.
func ParseCondition(text string) (*Condition, error) {
	if decoded, err := url.PathUnescape(text); err == nil && strings.Contains(text, "%") &&
		!strings.ContainsAny(text, " =<>~") {
		text = decoded
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if len(text) > maxCondition {
		return nil, errs.Field("custom_filter", "custom_filter must have at most %d bytes.", maxCondition)
	}
	p := conditionParser{rest: text}
	c, err := p.parseOr(0)
	if err == nil && p.peek() != "" {
		err = p.expected("&& or ||")
	}
	if err != nil {
		return nil, err
	}
	c.text = text
	return c, nil
}

// MarshalText returns the text that was parsed.
func (c *Condition) MarshalText() ([]byte, error) { return []byte(c.text), nil }

type conditionParser struct {
	rest   string
	quoted bool // the last token was
}

func (p *conditionParser) expected(want string) error {
	found := p.peek()
	if found == "" {
		found = "the end"
	}
	return errs.Field("custom_filter", "custom_filter: %s is expected and not %.40q.", want, found)
}

// tokenSigns are the tokens that are no words, the longest first.
var tokenSigns = []string{"&&", "||", "!=", "!~", "<=", ">=", "==", "(", ")", "!", "=", "~", "<", ">"}

// peek is the next token, or empty at the end.
func (p *conditionParser) peek() string {
	save := *p
	token := p.next()
	*p = save
	return token
}

func (p *conditionParser) next() string {
	p.rest, p.quoted = strings.TrimLeft(p.rest, " \t\r\n"), false
	if p.rest == "" {
		return ""
	}
	if p.rest[0] == '"' {
		if quoted, err := strconv.QuotedPrefix(p.rest); err == nil {
			p.rest, p.quoted = p.rest[len(quoted):], true
			text, _ := strconv.Unquote(quoted) // QuotedPrefix has read it
			return text
		}
	}
	for _, sign := range tokenSigns {
		if strings.HasPrefix(p.rest, sign) {
			p.rest = p.rest[len(sign):]
			return sign
		}
	}
	end := strings.IndexAny(p.rest, " \t\r\n()!=~<>&|")
	switch {
	case end < 0:
		end = len(p.rest)
	case end == 0: // a sign alone that is none
		end = 1
	}
	token := p.rest[:end]
	p.rest = p.rest[end:]
	return token
}

func (p *conditionParser) parseOr(depth int) (*Condition, error) {
	return p.parseJoined("||", depth, p.parseAnd)
}

func (p *conditionParser) parseAnd(depth int) (*Condition, error) {
	return p.parseJoined("&&", depth, p.parseUnary)
}

func (p *conditionParser) parseJoined(sign string, depth int, part func(int) (*Condition, error)) (*Condition, error) {
	first, err := part(depth)
	if err != nil || p.peek() != sign {
		return first, err
	}
	c := &Condition{join: sign, parts: []*Condition{first}}
	for p.peek() == sign {
		p.next()
		next, err := part(depth)
		if err != nil {
			return nil, err
		}
		c.parts = append(c.parts, next)
	}
	return c, nil
}

func (p *conditionParser) parseUnary(depth int) (*Condition, error) {
	if depth > maxDepth {
		return nil, errs.Field("custom_filter",
			"custom_filter: parentheses and negations may stand in each other at most %d deep.", maxDepth)
	}
	switch p.peek() {
	case "!":
		p.next()
		c, err := p.parseUnary(depth + 1)
		return &Condition{join: "!", parts: []*Condition{c}}, err
	case "(":
		p.next()
		c, err := p.parseOr(depth + 1)
		if err == nil && p.peek() != ")" {
			err = p.expected(")")
		}
		p.next()
		return c, err
	}
	return p.parseComparison()
}

func (p *conditionParser) parseComparison() (*Condition, error) {
	kind, known := conditionField(p.peek())
	if !known {
		return nil, p.expected("a field, such as host or status_code,")
	}
	c := &Condition{field: p.next()}
	ops := strings.Fields(kind)
	if c.op = p.peek(); c.op == "==" {
		c.op = "="
	}
	if !slices.Contains(ops, c.op) {
		return nil, p.expected("one of " + strings.Join(ops, " ") + " behind " + c.field)
	}
	p.next()
	c.value = strings.ToLower(p.next())
	if !p.quoted && (c.value == "" || c.value[0] == '"' || slices.Contains(tokenSigns, c.value)) {
		return nil, errs.Field("custom_filter", "custom_filter: a value is expected behind %s %s.", c.field, c.op)
	}
	return c, c.check(kind)
}

// check rejects a value that is not valid for its field.
func (c *Condition) check(kind string) error {
	var err error
	switch {
	case kind == numberField:
		_, err = strconv.ParseInt(c.value, 10, 63)
	case kind == timeField:
		_, err = page.Moment("custom_filter", strings.ToUpper(c.value), false)
	case c.field == "ip":
		_, err = network(c.value)
	case strings.HasPrefix(c.field, "is_"):
		_, err = strconv.ParseBool(c.value)
	}
	if err != nil {
		return errs.Field("custom_filter", "custom_filter: %.40q cannot be a value of %s.", c.value, c.field)
	}
	return nil
}

// bounds is the range [low, high) of the numbers for which "number op n" is true.
func bounds(op string, n int64) (low, high int64) {
	const all = 1<<63 - 1
	switch op {
	case "<":
		return 0, n
	case "<=":
		return 0, n + 1
	case ">":
		return n + 1, all
	case ">=":
		return n, all
	default:
		return n, n + 1
	}
}
