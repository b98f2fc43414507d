package httptool

import (
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"
)

type text []part

type part struct {
	literal string
	param   string // {{name}}
	secret  string // {{$NAME}}
}

const maxParts = 200

// parse reads a template. Two braces always begin a placeholder.
func parse(s string) (out text, err error) {
	for rest := s; rest != ""; {
		before, after, found := strings.Cut(rest, "{{")
		if before != "" {
			out = append(out, part{literal: before})
		}
		if !found {
			break
		}
		name, behind, closed := strings.Cut(after, "}}")
		name = strings.TrimSpace(name)
		secret, isSecret := strings.CutPrefix(name, "$")
		switch {
		case !closed || !isName(secret):
			return nil, fmt.Errorf("%.40q is no placeholder: write {{name}} for an argument and {{$NAME}} for a secret",
				"{{"+after)
		case isSecret:
			out = append(out, part{secret: secret})
		default:
			out = append(out, part{param: name})
		}
		if len(out) > maxParts {
			return nil, fmt.Errorf("there are more than %d placeholders", maxParts/2)
		}
		rest = behind
	}
	return out, nil
}

func isName(s string) bool {
	for i, c := range []byte(s) {
		letter := c == '_' || 'a' <= c && c <= 'z' || 'A' <= c && c <= 'Z'
		if !letter && (i == 0 || (c < '0' || '9' < c) && c != '-') {
			return false
		}
	}
	return s != "" && len(s) <= 128
}

type values struct {
	args    map[string]any
	secrets map[string]string
}

// onlyParam is the argument of a text without anything else, or empty.
func (t text) onlyParam() string {
	if len(t) == 1 {
		return t[0].param
	}
	return ""
}

// absent reports whether a text is only an argument that was not given: its field is omitted.
func (v values) absent(t text) bool {
	name := t.onlyParam()
	return name != "" && v.args[name] == nil
}

// escape encodes a value for its place, or says why it is not allowed there.
type escape func(string) (string, error)

// fill puts the values in. An absent argument beside other text is an error.
func (v values) fill(t text, esc escape) (string, error) {
	var b strings.Builder
	for _, p := range t {
		var value, what string
		switch {
		case p.secret != "":
			known, ok := v.secrets[p.secret]
			if !ok {
				return "", fmt.Errorf("there is no secret named %s", p.secret)
			}
			value, what = known, "the secret "+p.secret
		case p.param != "":
			var err error
			if value, err = scalar(v.args[p.param]); err != nil {
				return "", fmt.Errorf("the argument %s %w", p.param, err)
			}
			what = "the argument " + p.param
		default:
			b.WriteString(p.literal)
			continue
		}
		escaped, err := esc(value)
		if err != nil {
			return "", fmt.Errorf("%s %w", what, err)
		}
		b.WriteString(escaped)
	}
	return b.String(), nil
}

func scalar(v any) (string, error) {
	switch v := v.(type) {
	case string:
		if !utf8.ValidString(v) {
			return "", errors.New("is not valid UTF-8")
		}
		return v, nil
	case json.Number:
		return v.String(), nil
	case bool:
		return strconv.FormatBool(v), nil
	case nil:
		return "", errors.New("is needed here")
	}
	return "", errors.New("must be a text, a number or a boolean to stand here")
}

func asIs(s string) (string, error) { return s, nil }

// inPath keeps a value within its segment.
func inPath(s string) (string, error) {
	switch {
	case s == "":
		return "", errors.New("must not be empty in a path")
	case strings.ContainsAny(s, `/\`) || strings.ContainsFunc(s, isControl):
		return "", errors.New(`must have no "/", "\" or control character in a path`)
	}
	return url.PathEscape(s), nil
}

func inQuery(s string) (string, error) { return url.QueryEscape(s), nil }

// inHeader keeps a value within its line (RFC 9110, 5.5).
func inHeader(s string) (string, error) {
	if strings.ContainsFunc(s, func(r rune) bool { return isControl(r) && r != '\t' }) {
		return "", errors.New("must have no line end or other control character in a header")
	}
	return s, nil
}

func inJSON(s string) (string, error) {
	quoted, err := json.Marshal(s)
	if err != nil {
		return "", err
	}
	return string(quoted[1 : len(quoted)-1]), nil
}

func inXML(s string) (string, error) {
	var b strings.Builder
	err := xml.EscapeText(&b, []byte(s))
	return b.String(), err
}

func isControl(r rune) bool { return r < ' ' || 0x7f <= r && r < 0xa0 }
