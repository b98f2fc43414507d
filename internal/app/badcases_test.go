package app

import (
	"bytes"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"

	"pgregory.net/rapid"
)

// raw are JSON texts that are bad somewhere or everywhere.
var raw = map[string]string{
	"null":             `null`,
	"true":             `true`,
	"a number":         `7`,
	"a fraction":       `0.5`,
	"negative":         `-1`,
	"a huge integer":   `99999999999999999999999999`,
	"a huge exponent":  `1e400`,
	"a tiny exponent":  `1e-400`,
	"2^63":             `9223372036854775808`,
	"below -2^63":      `-9223372036854775809`,
	"a string":         `"zzz"`,
	"an empty string":  `""`,
	"a long string":    `"` + strings.Repeat("x", 70_000) + `"`,
	"NUL":              `"a\u0000b"`,
	"half a surrogate": `"\ud800"`,
	"invalid UTF-8":    "\"\xff\xfe\"",
	"an object":        `{}`,
	"an array":         `[]`,
	"nested arrays":    `[[[]]]`,
	"an object of NUL": `{"\u0000": "\u0000"}`,
	"many items":       `[` + strings.Repeat(`"x",`, 999) + `"x"]`,
	"a long key":       `{"` + strings.Repeat("k", 3000) + `": "` + strings.Repeat("w", 3000) + `"}`,
	"a long number":    strings.Repeat("9", 3000),
	"a long item":      `["` + strings.Repeat("w", 3000) + `"]`,
}

// kindOf is the JSON type that a text of raw has.
func kindOf(text string) string {
	switch text[0] {
	case 'n':
		return "null"
	case 't':
		return "boolean"
	case '"':
		return "string"
	case '{':
		return "object"
	case '[':
		return "array"
	}
	return "number"
}

// wrongType reports whether a schema cannot allow this text, whatever its bounds.
func wrongType(s *schema, text string) bool {
	if s.Type == nil {
		return false
	}
	kind := kindOf(text)
	return !s.is(kind) && !(kind == "number" && (s.is("integer") && !strings.ContainsAny(text, ".e")))
}

// isNumber reports whether a schema allows numbers.
func (a *attacker) isNumber(s *schema) bool {
	s = a.doc.deref(s)
	return s.is("integer") || s.is("number")
}

// outOfRange reports whether a text is a number that a field of this schema cannot have. No field takes one
// that no float64 holds.
func outOfRange(s *schema, text string) bool {
	if kindOf(text) != "number" || s.Type == nil {
		return false
	}
	number, err := strconv.ParseFloat(text, 64)
	return err != nil || s.is("integer") && (number >= 1<<63 || number < -1<<63 || strings.HasPrefix(text, "-922")) ||
		s.Minimum != nil && number < *s.Minimum || s.Maximum != nil && number > *s.Maximum
}

// textsFor are the names of the texts of raw that are tried as a value of a schema: all of the kinds that it allows, and one
// of each other kind, in turn. Those are refused before any code of ours reads them, alike in all fields.
func (a *attacker) textsFor(s *schema) (names []string) {
	others := map[string][]string{}
	for _, name := range slices.Sorted(maps.Keys(raw)) {
		if wrongType(s, raw[name]) {
			kind := kindOf(raw[name])
			others[kind] = append(others[kind], name)
			continue
		}
		names = append(names, name)
	}
	for _, of := range others {
		names = append(names, of[a.turn%len(of)])
	}
	a.turn++
	return names
}

// fieldCases are the bad values of each field of the body, and of the fields within.
func (a *attacker) fieldCases(t rapid.TB, op *operation) (out []bad) {
	root := bodySchema(op)
	if root == nil {
		return nil
	}
	paths := casePaths{a: a, op: op}
	var walk func(s *schema, put func(value any) map[string]any)
	walk = func(s *schema, put func(value any) map[string]any) {
		s = a.doc.deref(s)
		again := a.seen[s]
		a.seen[s] = true
		whole := func() map[string]any {
			if s == a.doc.deref(root) {
				return a.body(op)
			}
			return a.example(s, "").(map[string]any)
		}
		if s.AdditionalProperties == false {
			doc := whole()
			doc["more"] = 1
			out = append(out, bad{name: "an unknown field", op: op, path: paths.of(true), body: encode(t, put(doc)), refuse: true,
				names: "more"})
		}
		for _, field := range slices.Sorted(maps.Keys(s.Properties)) {
			property := a.doc.deref(s.Properties[field])
			with := func(value any) map[string]any {
				inner := whole()
				inner[field] = value
				if field == "message" {
					delete(inner, "task")
				}
				return put(inner)
			}
			for i, what := range a.textsFor(property) {
				if again && (i+a.turn)%4 != 0 { // another operation has the same type, and was sent the others
					continue
				}
				text := raw[what]
				// null in the place of an optional field is as good as its absence.
				clear := wrongType(property, text) && (text != "null" || slices.Contains(s.Required, field)) ||
					len(property.Enum) > 0 && text == `"zzz"`
				clear = clear || strings.Contains(text, `\u0000`) || strings.Contains(text, "\xff")
				b := bad{name: field + " is " + what, op: op, refuse: clear}
				b.body = bytes.ReplaceAll(encode(t, with("@@")), []byte(`"@@"`), []byte(text))
				b.refuse = b.refuse || outOfRange(property, text)
				b.path = paths.of(b.refuse)
				if b.refuse && !strings.Contains(text, "\xff") && !strings.Contains(text, `"\u0000": `) {
					b.names = field
				}
				out = append(out, b)
			}
			if property.Items != nil && a.isNumber(property.Items) {
				for what, text := range raw {
					if items := a.doc.deref(property.Items); outOfRange(items, text) {
						b := bad{name: field + " holds " + what, op: op, path: paths.of(true), refuse: true, names: field}
						b.body = bytes.ReplaceAll(encode(t, with([]any{"@@"})), []byte(`"@@"`), []byte(text))
						out = append(out, b)
					}
				}
			}
			if slices.Contains(s.Required, field) {
				doc := a.example(s, "").(map[string]any)
				delete(doc, field)
				out = append(out, bad{name: field + " is missing", op: op, path: paths.of(true), body: encode(t, put(doc)),
					refuse: true, names: field})
			}
			if property.is("object") {
				walk(property, with)
			}
			if items := property.Items; items != nil && a.doc.deref(items).is("object") {
				walk(items, func(item any) map[string]any { return with([]any{item}) })
			}
		}
	}
	walk(root, func(doc any) map[string]any { return doc.(map[string]any) })
	return out
}

// badBody is a body that is bad as a whole, or whose beginning is.
type badBody struct {
	body   []byte
	status int
}

// badBodies are alike for all operations. They are made once: some are large.
var badBodies = sync.OnceValue(func() map[string]badBody {
	out := map[string]badBody{}
	for name, body := range map[string]string{
		"empty":               "",
		"10,000 arrays deep":  strings.Repeat("[", 10_000) + strings.Repeat("]", 10_000),
		"10,000 objects deep": strings.Repeat(`{"task":`, 10_000) + "1" + strings.Repeat("}", 10_000),
		"10,000 open":         `{"task": ` + strings.Repeat("[", 10_000),
		"not JSON":            "task=x",
		"UTF-16":              "{\x00\"\x00t\x00\"\x00}\x00",
		"bare NUL":            "\x00",
		"random bytes":        "\x93\xff\x00\x10\x80{\"",
		"NaN":                 `{"spending_cap_usd": NaN}`,
		"NUL in a key":        `{"a\u0000b": 1}`,
		"a key of 500 KB":     `{"` + strings.Repeat("k", 500_000) + `": [1,]}`,
	} {
		out[name] = badBody{[]byte(body), 400}
	}
	out["a string of 10 MB"] = badBody{[]byte(`{"task": "` + strings.Repeat("x", 10<<20) + `"}`), 413}
	return out
})

var spaces = sync.OnceValue(func() []byte { return bytes.Repeat([]byte(" "), 10<<20) })

// bodyCases are bodies that are bad as a whole.
func (a *attacker) bodyCases(t rapid.TB, op *operation) (out []bad) {
	good := encode(t, a.body(op))
	paths := casePaths{a: a, op: op}
	bodies := maps.Clone(badBodies())
	for name, c := range map[string]struct {
		body   string
		status int
	}{
		"truncated":         {string(good[:len(good)-1]), 400},
		"twice":             {string(good) + string(good), 400},
		"10 MB of spaces":   {string(good), 413}, // before it
		"a byte-order mark": {"\ufeff" + string(good), 400},
		"a comment":         {string(good) + "// so", 400},
		"duplicate keys":    {`{"email": 1, "task": 1,` + string(good[1:]), 0},
	} {
		bodies[name] = badBody{[]byte(c.body), c.status}
	}
	for name, c := range bodies {
		var before []byte
		if name == "10 MB of spaces" {
			before = spaces()
		}
		if name == "empty" && op.RequestBody != nil && !op.RequestBody.Required {
			c.status = 0
		}
		if good == nil || string(good) == "null" { // the operation has no body: what comes is not looked at
			out = append(out, bad{name: name, op: op, path: a.path(op), before: before, body: c.body})
			continue
		}
		out = append(out, bad{name: name, op: op, path: paths.of(c.status != 0), before: before, body: c.body,
			status: c.status, refuse: c.status != 0})
	}
	for what, text := range raw {
		if kindOf(text) != "object" && bodySchema(op) != nil {
			out = append(out, bad{name: "the body is " + what, op: op, path: paths.of(true), body: []byte(text), refuse: true})
		}
	}
	for _, media := range []string{"text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x",
		"application/xml", "a/b/c", ";", "\xff", "application/cbor", "application/json; charset=\""} {
		b := bad{name: "content type " + media, op: op, path: a.path(op), body: good,
			header: http.Header{"Content-Type": {media}}}
		if bodySchema(op) != nil {
			b.refuse, b.status, b.names = true, 415, "Content-Type"
		}
		out = append(out, b)
	}
	return out
}

// casePaths are the paths of an operation for its cases. Those that are refused delete nothing, and share what they
// name: some things take long to make.
type casePaths struct {
	a      *attacker
	op     *operation
	shared string
}

func (p *casePaths) of(refused bool) string {
	if !refused {
		return p.a.path(p.op)
	}
	if p.shared == "" {
		p.shared = p.a.path(p.op)
	}
	return p.shared
}

// parameterCases are bad values in the path, the query and the headers.
func (a *attacker) parameterCases(t rapid.TB, op *operation) (out []bad) {
	body := func() []byte { return encode(t, a.body(op)) }
	paths := casePaths{a: a, op: op}
	texts := []string{"", "zzz", "-1", "1e999", "0.5", "NaN", "Infinity", "9223372036854775808", "-9223372036854775809", "99999999999999999999", "true", "null", "[]", "a\x00b", "\x00",
		"\xff\xfe", "%", "'", `"`, "{}", "a,b", "\u202e", strings.Repeat("9", 5000), "../..", "urn:uuid:" + a.taskID,
		"{" + a.taskID + "}"}
	for _, p := range op.Parameters {
		key := fmt.Sprint(p.In, p.Name, p.Schema.Type, p.Schema.Format)
		again := a.tried[key] && p.In != "path"
		a.tried[key] = true
		a.turn++
		for i, text := range texts {
			if again && (i+a.turn)%4 != 0 { // another operation has the same parameter, and was sent the others
				continue
			}
			b := bad{name: fmt.Sprintf("%s %s is %.40q", p.In, p.Name, text), op: op, body: body()}
			untextual := strings.Contains(text, "\x00") || strings.Contains(text, "\xff")
			switch p.In {
			case "query":
				b.refuse = untextual || text == "zzz" &&
					(len(p.Schema.Enum) > 0 || !p.Schema.is("string") && !p.Schema.is("array") || p.Schema.Format == "uuid") ||
					text != "" && (p.Schema.is("integer") || p.Schema.is("boolean")) && !strings.Contains("-1 true", text) ||
					text != "" && a.isNumber(p.Schema) && (text == "NaN" || text == "Infinity" || outOfRange(p.Schema, text))
				if b.refuse {
					b.names = p.Name
				}
				base, _, _ := strings.Cut(paths.of(b.refuse), "?")
				b.path = base + "?" + p.Name + "=" + url.QueryEscape(text)
			case "path":
				if text == "" {
					continue
				}
				b.path = strings.ReplaceAll(op.path, "{"+p.Name+"}", url.PathEscape(text))
				b.refuse = true // what is no id of anything is not found
			case "header":
				if strings.Contains(text, "\x00") {
					continue // net/http refuses the request before anybody sees it
				}
				b.header = http.Header{http.CanonicalHeaderKey(p.Name): {text}}
				b.refuse = text != "" && p.Name == "X-Team-Id"
			}
			if b.path == "" {
				b.path = paths.of(b.refuse)
			}
			out = append(out, b)
		}
	}
	for _, query := range []string{"limit=1;offset=2", "limit=%zz", "page=%"} {
		name, _, _ := strings.Cut(query, "=")
		out = append(out, bad{name: "query " + query, op: op, path: strings.SplitN(paths.of(true), "?", 2)[0] + "?" + query,
			body: body(), refuse: true, names: name})
	}
	for _, query := range []string{"%", "a=%zz", "=", "&&&", ";", "%00=1", "\xff", "%ff=%ff",
		strings.Repeat("a=1&", 5000)} {
		if !strings.ContainsAny(query, "\xff ") {
			out = append(out, bad{name: "query " + query, op: op, path: strings.SplitN(a.path(op), "?", 2)[0] + "?" + query,
				body: body()})
		}
	}
	return out
}

// headerCases are bad values of headers that no operation declares.
func (a *attacker) headerCases(t rapid.TB, op *operation) (out []bad) {
	for _, header := range []string{"Authorization", "X-Api-Key", "X-Team-Id", "Accept", "Accept-Encoding",
		"Content-Encoding", "Cookie", "If-None-Match", "Range", "X-Request-Id", "X-Http-Method-Override"} {
		for _, value := range []string{"\xff", strings.Repeat("x", 20_000), "Bearer", "Bearer  ", "*/*;q=nan",
			"application/cbor", "+json", "DELETE", "text/html"} {
			out = append(out, bad{name: header + " " + value, op: op, path: a.path(op), body: encode(t, a.body(op)),
				header: http.Header{http.CanonicalHeaderKey(header): {value}}})
		}
	}
	return out
}
