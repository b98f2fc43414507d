package asset

import (
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Condition is a custom_filter, read: comparisons joined by && (and), || (or), ! (not)
// and parentheses. A comparison is FIELD OPERATOR VALUE; a value with spaces or signs
// stands in double quotes. docs/assets.md has the fields.
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

// ParseCondition reads a condition; an empty text is none. Clients of the platform encode
// it twice: one layer that is left is taken off.
func ParseCondition(text string) (*Condition, error) {
	if decoded, err := url.PathUnescape(text); err == nil && strings.Contains(text, "%") && !strings.ContainsAny(text, " =<>~") {
		text = decoded
	}
	if strings.TrimSpace(text) == "" {
		return nil, nil
	}
	if len(text) > maxCondition {
		return nil, errs.Field("custom_filter", "custom_filter must have at most %d bytes.", maxCondition)
	}
	p := conditionParser{rest: text}
	c, err := p.either(0)
	if err == nil && p.peek() != "" {
		err = p.wrong("&& or ||")
	}
	if err != nil {
		return nil, err
	}
	c.text = text
	return c, nil
}

// MarshalText implements encoding.TextMarshaler: a condition is what was read.
func (c *Condition) MarshalText() ([]byte, error) { return []byte(c.text), nil }

type conditionParser struct {
	rest   string
	quoted bool // the last token was
}

func (p *conditionParser) wrong(want string) error {
	found := p.peek()
	if found == "" {
		found = "the end"
	}
	return errs.Field("custom_filter", "custom_filter: %s is expected and not %.40q.", want, found)
}

// signs are the tokens that are no words, the longest first.
var signs = []string{"&&", "||", "!=", "!~", "<=", ">=", "==", "(", ")", "!", "=", "~", "<", ">"}

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
	for _, sign := range signs {
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

func (p *conditionParser) either(depth int) (*Condition, error) { return p.joined("||", depth, p.both) }

func (p *conditionParser) both(depth int) (*Condition, error) { return p.joined("&&", depth, p.one) }

func (p *conditionParser) joined(sign string, depth int, part func(int) (*Condition, error)) (*Condition, error) {
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

func (p *conditionParser) one(depth int) (*Condition, error) {
	if depth > maxDepth {
		return nil, errs.Field("custom_filter", "custom_filter: parentheses and negations may stand in each other at most %d deep.", maxDepth)
	}
	switch p.peek() {
	case "!":
		p.next()
		c, err := p.one(depth + 1)
		return &Condition{join: "!", parts: []*Condition{c}}, err
	case "(":
		p.next()
		c, err := p.either(depth + 1)
		if err == nil && p.peek() != ")" {
			err = p.wrong(")")
		}
		p.next()
		return c, err
	}
	return p.comparison()
}

func (p *conditionParser) comparison() (*Condition, error) {
	kind, known := conditionField(p.peek())
	if !known {
		return nil, p.wrong("a field, such as host or status_code,")
	}
	c := &Condition{field: p.next()}
	ops := strings.Fields(kind)
	if c.op = p.peek(); c.op == "==" {
		c.op = "="
	}
	if !slices.Contains(ops, c.op) {
		return nil, p.wrong("one of " + strings.Join(ops, " ") + " behind " + c.field)
	}
	p.next()
	c.value = strings.ToLower(p.next())
	if !p.quoted && (c.value == "" || c.value[0] == '"' || slices.Contains(signs, c.value)) {
		return nil, errs.Field("custom_filter", "custom_filter: a value is expected behind %s %s.", c.field, c.op)
	}
	return c, c.check(kind)
}

// check refuses a value that its field cannot have.
func (c *Condition) check(kind string) error {
	var err error
	switch {
	case kind == numberField:
		_, err = strconv.ParseInt(c.value, 10, 63)
	case kind == timeField:
		_, err = Moment("custom_filter", strings.ToUpper(c.value), false)
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

// holding is the assets for which a condition holds. The caller only reads it.
func (x *index) holding(c *Condition) set {
	switch c.join {
	case "!":
		return x.except(x.holding(c.parts[0]))
	case "&&":
		s := slices.Clone(x.holding(c.parts[0]))
		for _, part := range c.parts[1:] {
			s.and(x.holding(part))
		}
		return s
	case "||":
		s := slices.Clone(x.holding(c.parts[0]))
		for _, part := range c.parts[1:] {
			s.or(x.holding(part))
		}
		return s
	}
	if op, negated := strings.CutPrefix(c.op, "!"); negated {
		return x.except(x.comparing(c.field, op, c.value))
	}
	return x.comparing(c.field, c.op, c.value)
}

// except is all but a set.
func (x *index) except(s set) set {
	rest := newSet(x.size)
	rest.or(x.live)
	rest.not(s)
	return rest
}

// comparing is the assets for which a comparison holds. The caller only reads it.
func (x *index) comparing(field, op, value string) set {
	texts := map[string]*facet{
		"host": x.host, "title": x.title, "webserver": x.webserver, "service": x.service, "technologies": x.technology, "cname": x.cname,
		"labels": x.label, "favicon": x.favicon, "tls": x.tls, "misconfiguration": x.fault,
	}
	ordered := map[string]*facet{"port": x.port, "status_code": x.status, "content_length": x.length, "created_at": x.created, "updated_at": x.since, "last_seen": x.seen}
	flags := map[string]func() set{"is_new": x.fresh, "is_internal": func() set { return x.internal }, "is_missing": func() set { return x.missing }, "is_screenshot": func() set { return x.pictured }}
	switch {
	case texts[field] != nil && op == "~":
		return x.among(field+" ~", texts[field], []string{value}, (*facet).containing)
	case texts[field] != nil:
		return x.among(field+" =", texts[field], []string{value}, (*facet).like)
	case ordered[field] != nil:
		n, err := strconv.ParseInt(value, 10, 63)
		if err != nil { // then it is a time: check has read it
			t, _ := Moment("", strings.ToUpper(value), false)
			n = t.UnixMicro()
		}
		low, high := bounds(op, n)
		return x.ranging(field, ordered[field], number(low), number(high))
	case flags[field] != nil:
		is := newSet(x.size)
		is.or(flags[field]())
		is.and(x.live)
		if want, _ := strconv.ParseBool(value); !want {
			return x.except(is)
		}
		return is
	case field == "domain":
		return x.among(field, x.host, []string{strings.Trim(value, ".*")}, x.under)
	case field == "ip":
		return x.among(field, x.ip, []string{value}, x.inside)
	default:
		return x.among("enumeration", x.enumeration, []string{value}, (*facet).exactly)
	}
}

// bounds is the range [low, high) of the numbers that compare so to n.
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
