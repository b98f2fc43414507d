package loop

import (
	"errors"
	"strconv"
	"strings"
)

// maxUnfolded bounds the parts of a schema, each counted as often as references lead to
// it: so often a validator visits them for one value.
const maxUnfolded = 20_000

var (
	errEndless  = errors.New("the schema refers to itself, or unfolds to too much")
	errFarRefer = errors.New("the schema refers to something that is not in it by its place, #/…")
)

// bounded refuses a schema whose references would let few bytes keep a validator busy
// for ever: schemas come from other people's servers.
func bounded(doc any) error {
	u := unfolding{root: doc, known: map[string]int{}}
	if root, ok := doc.(map[string]any); ok {
		draft, _ := root["$schema"].(string)
		u.old = strings.Contains(draft, "draft-04")
	}
	_, err := u.weigh(doc, true)
	return err
}

type unfolding struct {
	root  any
	old   bool           // "id" makes places of its own, and may be the name of anything
	known map[string]int // parts behind a reference; -1 while they are counted
}

// weigh counts the parts of a schema with all that it refers to.
func (u unfolding) weigh(v any, top bool) (n int, err error) {
	n = 1
	var parts []any
	switch v := v.(type) {
	case []any:
		parts = v
	case map[string]any:
		for key, value := range v {
			text, isText := value.(string)
			switch {
			case isText && (key == "$dynamicRef" || key == "$recursiveRef" || key == "$id" && !top):
				return 0, errFarRefer
			case isText && key == "$ref":
				behind, err := u.follow(text)
				if n += behind; err != nil {
					return 0, err
				}
			}
			parts = append(parts, value)
		}
	}
	for _, part := range parts {
		more, err := u.weigh(part, false)
		if n += more; err != nil {
			return 0, err
		}
		if n > maxUnfolded {
			return 0, errEndless
		}
	}
	return n, nil
}

// follow counts what is behind a reference.
func (u unfolding) follow(ref string) (int, error) {
	if n, ok := u.known[ref]; ok {
		if n < 0 {
			return 0, errEndless
		}
		return n, nil
	}
	at := u.root
	place, local := strings.CutPrefix(ref, "#")
	if !local || u.old || place != "" && place[0] != '/' || strings.Contains(place, "%") {
		return 0, errFarRefer
	}
	for _, name := range strings.Split(place, "/")[1:] {
		name = strings.NewReplacer("~1", "/", "~0", "~").Replace(name)
		object, _ := at.(map[string]any)
		next, found := object[name]
		if list, ok := at.([]any); ok {
			i, err := strconv.Atoi(name)
			if found = err == nil && i >= 0 && i < len(list); found {
				next = list[i]
			}
		}
		if !found {
			return 0, errFarRefer
		}
		at = next
	}
	u.known[ref] = -1
	n, err := u.weigh(at, false)
	u.known[ref] = n
	return n, err
}
