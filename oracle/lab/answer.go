package lab

import (
	"cmp"
	"encoding/json"
	"fmt"
	"net/textproto"
	"slices"
	"strings"
	"time"
)

// Answer is the answer to one request of a template. Placeholders in its texts are replaced when it is sent.
type Answer struct {
	Status  int // 0: not said
	Headers []pair
	Exact   *string // the whole body
	Prefix  string
	Pieces  []string // of the body, a line each
	Suffix  string
	JSON    any // the body is this document, into which the pieces are worked
	Length  int // of the body; 0: not said
	Delay   time.Duration
	avoid   []string
}

func (a *Answer) clone() Answer {
	c := *a
	c.Headers, c.Pieces, c.avoid = slices.Clone(a.Headers), slices.Clone(a.Pieces), slices.Clone(a.avoid)
	c.JSON = cloneJSON(a.JSON)
	return c
}

func cloneJSON(v any) any {
	switch v := v.(type) {
	case map[string]any:
		c := map[string]any{}
		for k, x := range v {
			c[k] = cloneJSON(x)
		}
		return c
	case []any:
		c := make([]any, len(v))
		for i, x := range v {
			c[i] = cloneJSON(x)
		}
		return c
	}
	return v
}

func (a *Answer) header(name string) (string, bool) {
	for _, h := range a.Headers {
		if strings.EqualFold(h.Name, name) {
			return h.Value, true
		}
	}
	return "", false
}

// setHeader adds text to a header. It returns false for headers that frame the message.
func (a *Answer) setHeader(name, text string) bool {
	switch strings.ToLower(name) {
	case "content-length", "transfer-encoding", "connection", "content-encoding":
		return false
	}
	for i, h := range a.Headers {
		if strings.EqualFold(h.Name, name) && !strings.EqualFold(name, "set-cookie") {
			if !strings.Contains(h.Value, text) {
				a.Headers[i].Value = joinHeader(h.Value, text)
			}
			return true
		}
	}
	a.Headers = append(a.Headers, pair{name, text})
	return true
}

func joinHeader(old, text string) string {
	if strings.Contains(text, old) {
		return text
	}
	return old + "; " + text
}

// addHead makes the header part contain text, which may be a piece of a line.
func (a *Answer) addHead(text string) bool {
	if strings.HasPrefix(text, "HTTP/") {
		return true
	}
	for i, line := range strings.Split(strings.ReplaceAll(text, "\r\n", "\n"), "\n") {
		if line == "" {
			continue
		}
		name, value, ok := strings.Cut(line, ":")
		if (!ok || !isToken(name)) && i > 0 {
			return false
		}
		switch {
		case ok && isToken(name) && textproto.CanonicalMIMEHeaderKey(name) == name:
			if !a.setHeader(name, strings.TrimLeft(value, " ")) {
				return false
			}
		case strings.Count(line, "/") == 1 && isToken(strings.ReplaceAll(strings.Split(line, ";")[0], "/", "")):
			a.setHeader("Content-Type", line)
		default:
			a.setHeader("X-Lab", line)
		}
	}
	return true
}

func isToken(s string) bool {
	return s != "" && !strings.ContainsFunc(s, func(r rune) bool {
		return !(r == '-' || r == '_' || r >= '0' && r <= '9' || r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z')
	})
}

// contains reports whether the body certainly contains text.
func (a *Answer) contains(text string) bool {
	if a.Exact != nil {
		return strings.Contains(*a.Exact, text)
	}
	return strings.Contains(a.Prefix, text) || strings.Contains(a.Suffix, text) ||
		slices.ContainsFunc(a.Pieces, func(p string) bool { return strings.Contains(p, text) })
}

func (a *Answer) addBody(text string) bool {
	if a.contains(text) {
		return true
	}
	if a.Exact != nil {
		return false
	}
	a.Pieces = append(a.Pieces, text)
	return true
}

func (a *Answer) body() string {
	if a.Exact != nil {
		return *a.Exact
	}
	var text string
	if a.JSON != nil {
		text = a.document()
	} else {
		text = a.Prefix + strings.Join(a.Pieces, "\n") + a.Suffix
	}
	if n := a.Length; n > 0 && len(text) < n {
		text += strings.Repeat(" ", n-len(text))
	}
	return text
}

// document is the JSON document with the pieces as further members or, where that is impossible, after it.
func (a *Answer) document() string {
	text, err := json.Marshal(a.JSON)
	if err != nil {
		return ""
	}
	object, isObject := strings.CutSuffix(string(text), "}")
	var rest []string
	for i, piece := range a.Pieces {
		if strings.Contains(string(text), piece) {
			continue
		}
		member, ok := asMember(piece, i)
		if !isObject || !ok {
			rest = append(rest, piece)
			continue
		}
		if object != "{" {
			object += ","
		}
		object += member
	}
	if !isObject {
		return strings.Join(append([]string{string(text)}, rest...), "\n")
	}
	return strings.Join(append([]string{object + "}"}, rest...), "\n")
}

// asMember is piece as members of a JSON object.
func asMember(piece string, i int) (string, bool) {
	name := fmt.Sprintf(`"lab%d":`, i)
	for _, form := range []string{"%s", `%s""`, `%s"`, `%s0`, `"%s":""`, `"%s`, `"%s""`, `"%s"`, `%s:""`, `%s]`, `%s""]`,
		`%s}`, `%s""}`, "%s0}", name + `"%s"`, name + "%s"} {
		if member := fmt.Sprintf(form, piece); json.Valid([]byte("{" + member + "}")) {
			return member, true
		}
	}
	return "", false
}

func merge(answers []Answer) Answer {
	m := answers[0].clone()
	for _, a := range answers[1:] {
		m.Status = cmp.Or(m.Status, a.Status)
		for _, h := range a.Headers {
			m.setHeader(h.Name, h.Value)
		}
		m.Exact = cmp.Or(m.Exact, a.Exact)
		if m.JSON == nil {
			m.JSON = a.JSON
		} else if x, ok := m.JSON.(map[string]any); ok {
			if y, ok := a.JSON.(map[string]any); ok {
				for k, v := range y {
					if _, taken := x[k]; !taken {
						x[k] = v
					}
				}
			}
		}
		m.Prefix, m.Suffix = cmp.Or(m.Prefix, a.Prefix), cmp.Or(m.Suffix, a.Suffix)
		for _, p := range a.Pieces {
			m.addBody(p)
		}
		m.avoid = append(m.avoid, a.avoid...)
		m.Length, m.Delay = max(m.Length, a.Length), max(m.Delay, a.Delay)
	}
	return m
}
