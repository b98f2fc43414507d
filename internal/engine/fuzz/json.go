package fuzz

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"slices"
	"strconv"
	"strings"
)

// separator separates the names of nested values.
const separator = "~"

// level is an object or a list that is being read.
type level struct {
	path  []string // of names to here
	list  bool
	count int    // of values so far, in a list
	key   string // of the next value, in an object that is keyed
	keyed bool
}

// take is the name of the next value.
func (l *level) take() string {
	l.count++
	l.keyed = false
	if l.list {
		return strconv.Itoa(l.count - 1)
	}
	return l.key
}

// json finds the scalars of a JSON document, named by keys and numbers from 0.
func (c *component) json(text string) bool {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	stack := []level{{list: true}} // around the document
	for {
		before := decoder.InputOffset()
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return len(stack) == 1 && len(c.parameters) > 0
		}
		if err != nil || len(stack) > maxDepth {
			return false
		}
		after := int(decoder.InputOffset())
		written := strings.TrimLeft(text[before:after], " \t\r\n,:")
		top := &stack[len(stack)-1]
		if len(stack) == 1 && top.count > 0 {
			return false // a second document
		}
		if key, ok := token.(string); ok && !top.list && !top.keyed {
			top.key, top.keyed = key, true
			continue
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			stack = stack[:len(stack)-1]
			continue
		}
		name := append(slices.Clone(top.path), top.take())
		if len(stack) == 1 {
			name = nil
		}
		if token == json.Delim('{') || token == json.Delim('[') {
			if len(stack) == 1 && token == json.Delim('{') {
				c.create = jsonMember(text, after)
			}
			stack = append(stack, level{path: name, list: token == json.Delim('[')})
			continue
		}
		c.parameters = append(c.parameters, scalar(strings.Join(name, separator), token, written, after))
	}
}

// scalar is the place of a JSON value. Numbers and booleans stay such when the new value is one; everything else
// becomes a string.
func scalar(name string, token json.Token, written string, to int) parameter {
	p := parameter{name: name, from: to - len(written), to: to, write: jsonString}
	switch v := token.(type) {
	case string:
		p.value = v
		if !strings.Contains(written, `\`) {
			p.value = written[1 : len(written)-1] // with bytes that are not UTF-8 as they are
		}
	case json.Number:
		p.value = v.String()
		p.write = func(value string) string {
			if number.MatchString(value) {
				return value
			}
			return jsonString(value)
		}
	case bool:
		p.value = strconv.FormatBool(v)
		p.write = func(value string) string {
			if value == "true" || value == "false" {
				return value
			}
			return jsonString(value)
		}
	}
	return p
}

var number = regexp.MustCompile(`^-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][+-]?[0-9]+)?$`)

// jsonString writes a JSON string and escapes only what JSON demands; other bytes need not be UTF-8.
func jsonString(s string) string {
	b := []byte{'"'}
	for _, c := range []byte(s) {
		switch {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c < ' ':
			b = fmt.Appendf(b, `\u%04x`, c)
		default:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}

// jsonMember makes the edit that adds a member to the object that opens before at.
func jsonMember(text string, at int) func(name, value string) edit {
	comma := ","
	if strings.HasPrefix(strings.TrimLeft(text[at:], " \t\r\n"), "}") {
		comma = ""
	}
	return func(name, value string) edit {
		return edit{from: at, to: at, text: jsonString(name) + ":" + jsonString(value) + comma}
	}
}
