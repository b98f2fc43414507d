package recorded

import (
	"fmt"
	"slices"
	"strings"
)

// plain rewrites a description to what the library reads: what OpenAPI 3.1 took from newer JSON Schema is written as
// version 3.0 does, and, where faults are left out, a reference that leads nowhere becomes a value of any kind. It
// reports whether it changed anything.
func (r *reader) plain(top map[string]any) bool {
	p := dialect{reader: r, top: top}
	p.walk(top, "", 0)
	return p.changed
}

type dialect struct {
	*reader

	top     map[string]any
	changed bool
}

func (p *dialect) walk(value any, at string, depth int) {
	if depth > maxDepth {
		return
	}
	switch x := value.(type) {
	case []any:
		for i, item := range x {
			p.walk(item, fmt.Sprintf("%s[%d]", at, i), depth+1)
		}
	case map[string]any:
		p.reference(x, at)
		p.schema(x)
		for name, inner := range x {
			if name != "example" && name != "default" && name != "enum" {
				p.walk(inner, at+"."+name, depth+1)
			}
		}
	}
}

// reference drops a reference that leads nowhere.
func (p *dialect) reference(x map[string]any, at string) {
	to, ok := x["$ref"].(string)
	if !ok || !p.opts.Lenient {
		return
	}
	path, local := strings.CutPrefix(to, "#/")
	if local && p.leads(path) {
		return
	}
	delete(x, "$ref")
	p.changed = true
	// Lenient: it is only listed.
	_ = p.fault(p.place(strings.TrimPrefix(at, ".")), fmt.Errorf("the reference %q is not followed", to))
}

// leads reports whether a JSON pointer names something.
func (p *dialect) leads(pointer string) bool {
	var at any = p.top
	for part := range strings.SplitSeq(pointer, "/") {
		object, ok := at.(map[string]any)
		if !ok {
			return false
		}
		if at, ok = object[strings.NewReplacer("~1", "/", "~0", "~", "%7B", "{", "%7D", "}").Replace(part)]; !ok {
			return false
		}
	}
	_, ok := at.(map[string]any)
	return ok
}

// schema rewrites the words of a schema that mean something else in version 3.0.
func (p *dialect) schema(x map[string]any) {
	set := func(name string, value any) { x[name], p.changed = value, true }
	for exclusive, bound := range map[string]string{"exclusiveMinimum": "minimum", "exclusiveMaximum": "maximum"} {
		if limit, ok := x[exclusive].(float64); ok {
			set(bound, limit)
			set(exclusive, true)
		}
	}
	if value, ok := x["const"]; ok && x["enum"] == nil && (x["type"] != nil || x["title"] != nil || len(x) == 1) {
		if _, nested := value.(map[string]any); !nested {
			set("enum", []any{value})
		}
	}
	if list, ok := x["type"].([]any); ok {
		kept := slices.DeleteFunc(slices.Clone(list), func(one any) bool { return one == "null" })
		if len(kept) == 0 {
			kept = list
		}
		set("type", kept[:min(1, len(kept))])
	}
	if list, ok := x["examples"].([]any); ok {
		if delete(x, "examples"); len(list) > 0 && x["example"] == nil {
			x["example"] = list[0]
		}
		p.changed = true
	}
	switch x["items"].(type) {
	case bool, []any:
		set("items", map[string]any{})
	}
	if properties, ok := x["properties"].(map[string]any); ok {
		for name, property := range properties {
			if _, isBool := property.(bool); isBool {
				properties[name], p.changed = map[string]any{}, true
			}
		}
	}
	if _, isBool := x["required"].(bool); isBool && x["in"] == nil && x["content"] == nil && x["schema"] == nil &&
		(x["type"] != nil || x["$ref"] != nil) {
		delete(x, "required") // of JSON Schema 3, on a property
		p.changed = true
	}
}
