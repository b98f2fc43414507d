package loop

import (
	"errors"
	"strconv"
	"strings"
)

// maxParts bounds the parts of a schema, each counted once for each reference to it, as a validator visits it.
const maxParts = 20_000

var (
	errTooLarge   = errors.New("the schema refers to itself, or unfolds to too much")
	errForeignRef = errors.New("the schema has a reference other than #/… to a part of itself")
)

// checkSize refuses a schema on which a validator might never end: schemas come from foreign servers.
func checkSize(doc any) error {
	u := expansion{root: doc, known: map[string]int{}}
	if root, ok := doc.(map[string]any); ok {
		draft, _ := root["$schema"].(string)
		u.old = strings.Contains(draft, "draft-04")
	}
	_, err := u.countParts(doc, true)
	return err
}

type expansion struct {
	root  any
	old   bool           // draft-04, where "id" changes what references mean
	known map[string]int // parts behind a reference; -1 while counting
}

// countParts counts the parts of a schema with all it refers to.
func (u expansion) countParts(v any, top bool) (n int, err error) {
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
				return 0, errForeignRef
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
		more, err := u.countParts(part, false)
		if n += more; err != nil {
			return 0, err
		}
		if n > maxParts {
			return 0, errTooLarge
		}
	}
	return n, nil
}

func (u expansion) follow(ref string) (int, error) {
	if n, ok := u.known[ref]; ok {
		if n < 0 {
			return 0, errTooLarge
		}
		return n, nil
	}
	at := u.root
	place, local := strings.CutPrefix(ref, "#")
	if !local || u.old || place != "" && place[0] != '/' || strings.Contains(place, "%") {
		return 0, errForeignRef
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
			return 0, errForeignRef
		}
		at = next
	}
	u.known[ref] = -1
	n, err := u.countParts(at, false)
	u.known[ref] = n
	return n, err
}
