// Package yamltext reads YAML that users send. Aliases, which could make a small text large, deep nesting and bytes that are not
// text are refused; values come out as plain Go values.
package yamltext

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// maxDepth bounds how deep a text nests.
const maxDepth = 32

// Check refuses a text that is no mapping and no list, or that is not safe to read. The error says why, in words.
func Check(text []byte) error {
	_, err := root(text)
	return err
}

// Value is what a text says: map[string]any, []any, string, int, float64, bool, nil and time.Time.
func Value(text []byte) (value any, err error) {
	node, err := root(text)
	if err == nil {
		err = plainError(node.Load(&value))
	}
	return value, err
}

// Mapping is what a text says that must be a mapping.
func Mapping(text []byte) (map[string]any, error) {
	value, err := Value(text)
	if err != nil {
		return nil, err
	}
	m, ok := value.(map[string]any)
	if !ok {
		return nil, errors.New("it is not a mapping of names to values")
	}
	return m, nil
}

// Words are the words of a value: one, or those of a list. Null is none.
func Words(value any) (words []string, err error) {
	switch v := value.(type) {
	case nil:
		return nil, nil
	case []any:
		for _, item := range v {
			if _, nested := item.([]any); nested {
				return nil, errors.New("a list within its list")
			}
			more, err := Words(item)
			if err != nil {
				return nil, err
			}
			words = append(words, more...)
		}
		return words, nil
	case map[string]any, map[any]any:
		return nil, errors.New("a mapping where words should be")
	}
	return []string{fmt.Sprint(value)}, nil
}

func root(text []byte) (*yaml.Node, error) {
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, errors.New("it is not text")
	}
	var top yaml.Node
	if err := yaml.Unmarshal(text, &top); err != nil {
		return nil, plainError(err)
	}
	if len(top.Content) != 1 || top.Content[0].Kind == yaml.ScalarNode {
		return nil, errors.New("it is neither a mapping nor a list")
	}
	return top.Content[0], check(top.Content[0], 0)
}

func plainError(err error) error {
	if err == nil {
		return nil
	}
	return errors.New(strings.TrimPrefix(err.Error(), "yaml: "))
}

func check(n *yaml.Node, depth int) error {
	if n.Kind == yaml.AliasNode {
		return errors.New("aliases are not allowed")
	}
	if depth > maxDepth {
		return errors.New("it nests too deep")
	}
	for _, child := range n.Content {
		if err := check(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}
