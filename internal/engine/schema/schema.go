// Package schema describes the template language as a JSON Schema, for editors. It is made of the structs of package
// syntax and of the tags by which the reader itself reads, so that it has the keys and words that templates may have.
// It describes the form of a template as it is loaded by default; rules across keys are checked by 'vedette templates
// validate' alone.
package schema

import (
	"encoding/json"
	"reflect"
	"slices"
	"strings"
	"unicode"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// object is a JSON object.
type object = map[string]any

// maker collects the definitions of structs by their names.
type maker struct{ definitions object }

// JSON is the schema, as draft 7, which editors know best.
func JSON() ([]byte, error) {
	m := maker{definitions: object{}}
	root := m.structure(reflect.TypeFor[syntax.Template]())
	root["$schema"] = "http://json-schema.org/draft-07/schema#"
	root["title"] = "Detection template"
	root["description"] = "A template in nuclei's language, as Vedette reads it."
	root["required"] = []string{"id", "info"}
	var one []object
	for _, key := range protocols() {
		one = append(one, object{"required": []string{key}})
	}
	root["anyOf"] = one
	info, ok := m.definitions["Info"].(object)
	if ok {
		info["required"] = []string{"name", "author"}
	}
	root["definitions"] = m.definitions
	return json.MarshalIndent(root, "", "  ")
}

// protocols are the keys of requests and of workflows, with their old spellings.
func protocols() (keys []string) {
	for _, f := range reflect.VisibleFields(reflect.TypeFor[syntax.Template]()) {
		if f.Type.Kind() == reflect.Slice && f.Type.Elem().Kind() == reflect.Struct && isBlock(f.Type.Elem()) {
			keys = append(keys, strings.Split(f.Tag.Get("key"), ",")...)
		}
	}
	slices.Sort(keys)
	return keys
}

// isBlock reports whether a struct is read by its tags; names and values in free mappings are not.
func isBlock(t reflect.Type) bool {
	return slices.ContainsFunc(reflect.VisibleFields(t),
		func(f reflect.StructField) bool { return f.Tag.Get("key") != "" })
}

// structure is the schema of a mapping with the keys of a struct, and of nothing, which is an empty one.
func (m maker) structure(t reflect.Type) object {
	properties := object{}
	for _, f := range reflect.VisibleFields(t) {
		keys := f.Tag.Get("key")
		if keys == "" {
			continue
		}
		value := m.value(f.Type, f.Tag)
		for i, key := range strings.Split(keys, ",") {
			if i == 0 {
				properties[key] = value
				continue
			}
			properties[key] = object{"allOf": []any{value}, "deprecated": true,
				"description": "The old name of " + strings.Split(keys, ",")[0] + "."}
		}
	}
	return object{"type": []string{"object", "null"}, "properties": properties, "additionalProperties": false}
}

// reference is a struct's schema by its name.
func (m maker) reference(t reflect.Type) object {
	if m.definitions[t.Name()] == nil {
		m.definitions[t.Name()] = object{} // structs may contain themselves
		m.definitions[t.Name()] = m.structure(t)
	}
	return object{"$ref": "#/definitions/" + t.Name()}
}

// The values that are read as texts: every scalar is one.
func text() object { return object{"type": []string{"string", "number", "boolean", "null"}} }

// mapping is a mapping of free names to values, or nothing.
func mapping(value any) object {
	return object{"type": []string{"object", "null"}, "additionalProperties": value}
}

// list is a list of values, or one value, which is a list of it.
func list(value any) object {
	return object{"anyOf": []any{value, object{"type": []string{"array", "null"}, "items": value}}}
}

// value is the schema of a field; it mirrors how package syntax chooses a reader.
func (m maker) value(t reflect.Type, tag reflect.StructTag) object {
	switch t {
	case reflect.TypeFor[[]syntax.Pair]():
		return mapping(text())
	case reflect.TypeFor[[]syntax.Variable](), reflect.TypeFor[map[string]any]():
		return mapping(true)
	case reflect.TypeFor[[]syntax.Payload]():
		return mapping(object{"anyOf": []any{
			object{"type": "string"}, object{"type": "array", "items": text()}, m.reference(reflect.TypeFor[syntax.Levels]())}})
	case reflect.TypeFor[syntax.Fuzz]():
		return object{"anyOf": []any{list(text()), mapping(text())}}
	}
	switch t.Kind() {
	case reflect.String:
		if closed, ok := tag.Lookup("of"); ok {
			return words(strings.Fields(closed))
		}
		if known, ok := tag.Lookup("known"); ok {
			return object{"anyOf": []any{object{"enum": strings.Fields(known)}, text()}}
		}
		return text()
	case reflect.Bool:
		// Editors may read the words of YAML 1.1 as texts.
		return object{"anyOf": []any{object{"type": []string{"boolean", "null"}},
			object{"type": "string", "pattern": "^(" + anyCase("yes") + "|" + anyCase("no") + "|" + anyCase("on") + "|" +
				anyCase("off") + "|[yYnN])$"}}}
	case reflect.Int:
		return object{"type": []string{"integer", "null"}, "minimum": 0}
	case reflect.Float64:
		return object{"type": []string{"number", "null"}}
	case reflect.Struct:
		return m.reference(t)
	case reflect.Pointer:
		return m.value(t.Elem(), tag)
	case reflect.Slice:
		switch {
		case tag.Get("list") != "":
			return list(text())
		case t.Elem().Kind() == reflect.Int:
			return list(object{"type": "integer"})
		}
		return list(m.value(t.Elem(), tag))
	}
	panic("schema: a field of kind " + t.Kind().String()) // found by any test
}

// words are a closed list: offered as they are, and taken in any case and with blanks around them.
func words(closed []string) object {
	spellings := make([]string, len(closed))
	for i, word := range closed {
		spellings[i] = anyCase(word)
	}
	return object{"anyOf": []any{
		object{"enum": closed}, object{"type": "null"},
		object{"type": "string", "pattern": "^(\\s*(" + strings.Join(spellings, "|") + ")\\s*)?$"},
	}}
}

// anyCase is a regular expression of a word in any case.
func anyCase(word string) string {
	var b strings.Builder
	for _, c := range word {
		if lower, upper := unicode.ToLower(c), unicode.ToUpper(c); lower != upper {
			b.WriteString("[" + string(lower) + string(upper) + "]")
			continue
		}
		b.WriteRune(c)
	}
	return b.String()
}
