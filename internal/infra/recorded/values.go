package recorded

import (
	"encoding/json"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"github.com/getkin/kin-openapi/openapi3"
)

// maxLearned bounds the values that are kept of an application.
const maxLearned = 10_000

// Values are what was learned about an application from its answers: which values its names have, such as the id of a
// user that exists. The first value of a name stays. A nil *Values knows nothing. It may be used by many at once.
type Values struct {
	mu    sync.Mutex
	known map[string]string // by name, and by kind of thing and name: "username", "user.id"
}

// Set learns the value of a name.
func (v *Values) Set(name, value string) { v.set(plainName(name), value) }

func (v *Values) set(key, value string) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.known == nil {
		v.known = map[string]string{}
	}
	if _, ok := v.known[key]; !ok && key != "" && value != "" && len(value) <= maxText && len(v.known) < maxLearned {
		v.known[key] = value
	}
}

// Learn learns from the answer of a path: JSON of any shape. What is no JSON teaches nothing.
func (v *Values) Learn(path string, body []byte) {
	if len(body) > maxBody || shallow(body) != nil {
		return
	}
	decoder := json.NewDecoder(strings.NewReader(string(body)))
	decoder.UseNumber()
	var value any
	if decoder.Decode(&value) == nil {
		v.learn(thingOf(path), value)
	}
}

func (v *Values) learn(thing string, value any) {
	switch x := value.(type) {
	case []any:
		for _, item := range x {
			v.learn(thing, item)
		}
	case map[string]any:
		if named, ok := x["__typename"].(string); ok { // of GraphQL
			thing = singular(plainName(named))
		}
		for _, name := range slices.Sorted(maps.Keys(x)) {
			switch inner := x[name].(type) {
			case map[string]any, []any:
				whose := singular(plainName(name))
				if wrappers[whose] {
					whose = thing
				}
				v.learn(whose, inner)
			case string, json.Number:
				text, plain := textOf(inner), plainName(name)
				v.set(thing+"."+plain, text)
				if !commonNames[plain] {
					v.set(plain, text)
				}
			}
		}
	}
}

// wrappers are names around a thing that say nothing about it, in the singular.
var wrappers = map[string]bool{"data": true, "result": true, "item": true, "content": true, "response": true,
	"payload": true, "record": true, "row": true, "value": true, "list": true, "object": true, "embedded": true}

// commonNames are names that say little without the thing that has them.
var commonNames = map[string]bool{"id": true, "name": true, "type": true, "status": true, "title": true, "value": true,
	"key": true, "message": true, "description": true, "uuid": true, "slug": true}

// find is a value of a name for an operation at a path, if one is known that fits the schema.
func (v *Values) find(path, name string, s *openapi3.Schema) (string, bool) {
	if v == nil {
		return "", false
	}
	before, _, _ := strings.Cut(path, "{"+name+"}")
	thing, plain := thingOf(before), plainName(name)
	keys := []string{thing + "." + plain, plain}
	for _, suffix := range []string{"id", "uuid", "slug", "name"} {
		if whose := strings.TrimSuffix(plain, suffix); whose != plain && whose != "" {
			keys = append(keys, singular(whose)+"."+suffix)
		}
	}
	if isIdentifier(name) {
		keys = append(keys, thing+".id", thing+".uuid")
	}
	v.mu.Lock()
	defer v.mu.Unlock()
	for _, key := range keys {
		if value, ok := v.known[key]; ok && fits(value, s) {
			return value, true
		}
	}
	return "", false
}

// isIdentifier reports whether a name is one of what tells things apart.
func isIdentifier(name string) bool {
	lower := strings.ToLower(name)
	return strings.HasSuffix(name, "Id") || strings.HasSuffix(name, "ID") || strings.HasSuffix(lower, "_id") ||
		strings.HasSuffix(lower, "-id") || plainName(name) == "id" || plainName(name) == "uuid"
}

func fits(value string, s *openapi3.Schema) bool {
	switch {
	case s == nil || s.Type == nil:
		return true
	case s.Type.Is("integer"):
		_, err := strconv.ParseInt(value, 10, 64)
		return err == nil
	case s.Type.Is("number"):
		_, err := strconv.ParseFloat(value, 64)
		return err == nil
	}
	return s.Type.Is("string") && (s.MaxLength == nil || uint64(len(value)) <= *s.MaxLength)
}

// thingOf is the kind of thing that a path names: its last segment that is a word, in the singular.
func thingOf(path string) string {
	path, _, _ = strings.Cut(path, "?")
	segments := strings.Split(path, "/")
	for _, s := range slices.Backward(segments) {
		if plain := plainName(s); plain != "" && !strings.ContainsAny(s, "{}") && strings.Trim(plain, "v0123456789") != "" {
			return singular(plain)
		}
	}
	return ""
}

func plainName(name string) string {
	return strings.Map(func(c rune) rune {
		switch {
		case c >= 'A' && c <= 'Z':
			return c + 'a' - 'A'
		case c >= 'a' && c <= 'z', c >= '0' && c <= '9', c >= 0x80:
			return c
		}
		return -1
	}, name)
}

func singular(word string) string {
	switch {
	case strings.HasSuffix(word, "ies") && len(word) > 4:
		return strings.TrimSuffix(word, "ies") + "y"
	case strings.HasSuffix(word, "sses"), strings.HasSuffix(word, "xes"), strings.HasSuffix(word, "ches"):
		return strings.TrimSuffix(word, "es")
	case strings.HasSuffix(word, "s") && !strings.HasSuffix(word, "ss") && len(word) > 2:
		return strings.TrimSuffix(word, "s")
	}
	return word
}

// Find is the learned value of a name of a kind of thing, such as "user" and "id".
func (v *Values) Find(thing, name string) (string, bool) { return v.find("/"+thing, name, nil) }
