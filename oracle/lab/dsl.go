package lab

import (
	"strings"
	"time"

	"github.com/hashicorp/go-version"
)

func (s *solver) expression(n *node, want bool) bool {
	switch n.kind {
	case "bool":
		return (n.text == "true") == want
	case "not":
		return s.expression(n.args[0], !want)
	case "call":
		return s.call(n, want)
	case "op":
		switch n.text {
		case "&&", "||":
			if (n.text == "&&") == want {
				left := s.expression(n.args[0], want)
				return s.expression(n.args[1], want) && left
			}
			first, second := n.args[s.variant%2], n.args[1-s.variant%2]
			return s.try(func() bool { return s.expression(first, want) }) ||
				s.try(func() bool { return s.expression(second, want) })
		}
		return s.compare(n, want)
	}
	return false
}

// source is the part of an answer that an expression reads, if it does not alter the text.
func source(n *node) (part string, number int, ok bool) {
	switch {
	case n.kind == "name":
		part, number = splitPart(n.text)
		return part, number, true
	case n.kind == "call" && len(n.args) > 0:
		switch n.text {
		case "tolower", "toupper", "trimspace", "trim", "tostring", "concat", "replace", "replaceregex", "htmlunescape",
			"urldecode", "trimsuffix", "trimprefix", "tonumber":
			return source(n.args[0])
		}
	case n.kind == "op" && n.text == "+":
		return source(n.args[0])
	}
	return "", 0, false
}

func (s *solver) call(n *node, want bool) bool {
	if len(n.args) == 0 {
		return false
	}
	texts := func(from int) (all list) {
		for _, a := range n.args[from:] {
			if a.kind == "text" || a.kind == "number" {
				all = append(all, a.text)
			} else {
				all = append(all, "{{"+a.String()+"}}")
			}
		}
		return all
	}
	if n.text == "regex" && len(n.args) == 2 && n.args[0].kind == "text" {
		part, number, ok := source(n.args[1])
		return ok && s.regex(part, number, n.args[0].text, want)
	}
	if n.text == "compareversions" {
		return s.versions(n.args[0], texts(1), want)
	}
	part, number, ok := source(n.args[0])
	words := texts(1)
	if !ok || len(words) == 0 {
		return false
	}
	all := n.text == "containsall"
	switch n.text {
	case "startswith":
		return want && s.place(part, number, "^", words[0])
	case "endswith":
		return want && s.place(part, number, "$", words[0])
	case "contains", "containsall", "containsany", "equalsany", "linestartswith", "lineendswith":
	default:
		return false
	}
	if all == want {
		good := true
		for _, w := range words {
			good = s.hold(part, number, w, want) && good
		}
		return good
	}
	for i := range words {
		if w := words[(i+s.variant)%len(words)]; s.try(func() bool { return s.hold(part, number, w, want) }) {
			if want {
				return true
			}
		}
	}
	return !want
}

// versions makes a variable's text a version within the constraints.
func (s *solver) versions(n *node, constraints list, want bool) bool {
	part, _, ok := source(n)
	limits, err := version.NewConstraint(strings.Join(constraints, ","))
	if !ok || err != nil {
		return false
	}
	var candidates []string
	for _, c := range strings.Split(strings.Join(constraints, ","), ",") {
		bare := strings.TrimLeft(strings.TrimSpace(c), "<>=!~ v")
		v, err := version.NewVersion(bare)
		if err != nil {
			continue
		}
		candidates = append(candidates, bare)
		segments := v.Segments()
		for i := len(segments) - 1; i >= 0; i-- {
			for _, step := range []int{-1, 1} {
				if segments[i]+step >= 0 {
					segments[i] += step
					candidates = append(candidates, dotted(segments))
					segments[i] -= step
				}
			}
		}
	}
	for i := range candidates {
		text := candidates[(i+s.variant)%len(candidates)]
		if v, err := version.NewVersion(text); err == nil && limits.Check(v) == want {
			s.values[part] = text
			return true
		}
	}
	return false
}

func dotted(segments []int) string {
	parts := make([]string, len(segments))
	for i, n := range segments {
		parts[i] = itoa(n)
	}
	return strings.Join(parts, ".")
}

// opposite and mirrored are the operators for a negated comparison and for swapped sides.
var opposite = map[string]string{"==": "!=", "!=": "==", ">": "<=", "<": ">=", ">=": "<", "<=": ">", "=~": "!~",
	"!~": "=~", "in": "notin"}
var mirrored = map[string]string{"==": "==", "!=": "!=", ">": "<", "<": ">", ">=": "<=", "<=": ">="}

func (s *solver) compare(n *node, want bool) bool {
	op, left, right := n.text, n.args[0], n.args[1]
	if left.kind == "text" || left.kind == "number" || left.kind == "bool" {
		if mirrored[op] == "" {
			return false
		}
		op, left, right = mirrored[op], right, left
	}
	if right.kind == "bool" && (op == "==" || op == "!=") {
		return s.expression(left, (right.text == "true") == (op == "==") == want)
	}
	if !want {
		op = opposite[op]
	}
	if right.kind == "number" {
		return s.number(left, op, right.num)
	}
	if left.kind == "name" && op == "in" && right.kind == "list" {
		for i := range right.args {
			item := right.args[(i+s.variant)%len(right.args)]
			if s.try(func() bool { return s.compare(&node{kind: "op", text: "==", args: []*node{left, item}}, true) }) {
				return true
			}
		}
		return false
	}
	return right.kind == "text" && s.text(left, op, right.text)
}

func (s *solver) number(left *node, op string, value float64) bool {
	n := int(value)
	switch op {
	case ">":
		n++
	case "<":
		n--
	case "!=":
		n += 100
	}
	if left.kind == "call" && left.text == "len" && len(left.args) == 1 {
		part, number, ok := source(left.args[0])
		if !ok {
			return false
		}
		if part != "body" && !s.known[part] {
			name := headerOf(part)
			return n <= 0 || s.on(number, func(a *Answer) bool { return s.need() || a.setHeader(name, strings.Repeat("x", n)) })
		}
		return part == "body" && s.length(number, op, n)
	}
	part, num, ok := source(left)
	if !ok {
		return false
	}
	switch part {
	case "status_code":
		codes := []int{n}
		if op == "!=" {
			return s.status(num, []int{int(value)}, false)
		}
		return s.status(num, codes, true)
	case "content_length":
		return s.length(num, op, n)
	case "duration":
		if op == "<" || op == "<=" {
			return true
		}
		return s.on(num, func(a *Answer) bool {
			if !s.need() {
				a.Delay = min(time.Duration(value*float64(time.Second))+delay, maxDelay)
			}
			return value < maxDelay.Seconds()
		})
	}
	s.values[part] = itoa(n)
	return true
}

const maxDelay = 12 * time.Second

func (s *solver) length(number int, op string, n int) bool {
	if op == "<" || op == "<=" || op == "!=" {
		return true
	}
	return s.on(number, func(a *Answer) bool { return s.need() || a.fit(n) })
}

func (s *solver) text(left *node, op, value string) bool {
	if left.kind == "call" && left.text == "mmh3" && op == "==" && len(left.args) == 1 && left.args[0].kind == "call" &&
		left.args[0].text == "base64py" {
		_, number, ok := source(left.args[0].args[0])
		icon, found := favicon(value)
		body := string(icon)
		return ok && found && s.on(number, func(a *Answer) bool {
			if !s.need() {
				a.Exact = &body
			}
			return true
		})
	}
	part, number, ok := source(left)
	if !ok {
		return false
	}
	switch op {
	case "=~":
		return s.regex(part, number, value, true)
	case "!~", "!=":
		return value != "" || s.hold(part, number, "lab", true)
	case "==":
		if part == "body" {
			return s.on(number, func(a *Answer) bool {
				if !s.need() {
					a.Exact = &value
				}
				return true
			})
		}
		return value == "" || s.hold(part, number, value, true)
	}
	return false
}
