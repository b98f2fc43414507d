package message

import (
	"bytes"
	"encoding/json"
	"strconv"
	"strings"
)

// level is an object or a list around a value.
type level struct {
	path  string
	list  bool
	count int
	key   string
	keyed bool
}

func (l *level) name() string {
	if l.list {
		return l.path + "[" + strconv.Itoa(l.count-1) + "]"
	}
	key := l.key
	if strings.ContainsAny(key, ".[]\"") || key == "" {
		return l.path + "[" + strconv.Quote(key) + "]"
	}
	return strings.TrimPrefix(l.path+"."+key, ".")
}

// jsonSpans are the scalars of a JSON text, or those of a query of GraphQL; none if the text is not JSON.
func jsonSpans(text string) []span {
	decoder := json.NewDecoder(strings.NewReader(text))
	decoder.UseNumber()
	var out []span
	var stack []level
	for {
		before := decoder.InputOffset()
		token, err := decoder.Token()
		if err != nil {
			if len(stack) > 0 {
				return nil
			}
			return graphql(out)
		}
		end := int(decoder.InputOffset())
		if len(stack) > maxDepth || len(out) >= maxPlaces {
			return out
		}
		var top *level
		if len(stack) > 0 {
			top = &stack[len(stack)-1]
		}
		if token == json.Delim('}') || token == json.Delim(']') {
			stack = stack[:len(stack)-1]
			continue
		}
		if key, ok := token.(string); ok && top != nil && !top.list && !top.keyed {
			top.key, top.keyed = key, true
			continue
		}
		name := ""
		if top != nil {
			top.count, top.keyed = top.count+1, false
			name = top.name()
		}
		if token == json.Delim('{') || token == json.Delim('[') {
			stack = append(stack, level{path: name, list: token == json.Delim('[')})
			continue
		}
		written := strings.TrimLeft(text[before:end], " \t\r\n,:")
		out = append(out, jsonSpan(name, token, end-len(written), end))
	}
}

func jsonSpan(name string, token json.Token, start, end int) span {
	place := Place{Component: Body, Format: JSON, Name: name}
	s := span{start: start, end: end, write: jsonString}
	switch value := token.(type) {
	case string:
		place.Value = value
	case json.Number:
		place.Value = value.String()
		s.write = func(text string) string {
			if isNumber(text) {
				return text
			}
			return jsonString(text)
		}
	case bool:
		place.Value = strconv.FormatBool(value)
		s.write = func(text string) string {
			if text == "true" || text == "false" {
				return text
			}
			return jsonString(text)
		}
	}
	s.Place = place
	return s
}

func isNumber(text string) bool {
	var n json.Number
	return json.Unmarshal([]byte(text), &n) == nil && text != "null" && !strings.ContainsAny(text, "\" \n\t\r")
}

// jsonString is a text as a JSON string in which < > & are as they are.
func jsonString(text string) string {
	var b bytes.Buffer
	encoder := json.NewEncoder(&b)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(text) //nolint:errchkjson // strings and buffers do not fail
	return strings.TrimSuffix(b.String(), "\n")
}

// addMember adds a member at the front of an object; any other text stays as it is.
func addMember(text, name, value string) string {
	at := strings.IndexByte(text, '{')
	if at < 0 || strings.TrimSpace(text[:at]) != "" || !json.Valid([]byte(text)) {
		return text
	}
	rest := text[at+1:]
	if !strings.HasPrefix(strings.TrimSpace(rest), "}") {
		rest = "," + rest
	}
	return text[:at+1] + jsonString(name) + ":" + value + rest
}
