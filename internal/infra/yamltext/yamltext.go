// Package yamltext reads YAML that users send into plain Go values. It refuses aliases, which could make a
// small text large, deep nesting, and bytes that are not text.
package yamltext

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/turn"
	"go.yaml.in/yaml/v4"
)

const (
	maxDepth    = 32 // of nesting
	maxShownKey = 80 // bytes of a key in an error
)

// Check refuses a text that is neither a mapping nor a list, or is not safe to read. The error is for people.
func Check(text []byte) error {
	_, err := root(text)
	return err
}

// Value is the value of a text: map[string]any, []any, string, int, float64, bool, nil or time.Time.
func Value(text []byte) (value any, err error) {
	node, err := root(text)
	if err == nil {
		defer turn.Take(len(text))()
		// check has seen that keys are unique; the library compares each with all others.
		err = plainError(node.Load(&value, yaml.WithUniqueKeys(false)))
	}
	return value, err
}

// Mapping is the value of a text that must be a mapping.
func Mapping(text []byte) (map[string]any, error) {
	value, err := Value(text)
	if err != nil {
		return nil, err
	}
	if m, ok := value.(map[string]any); ok {
		return m, nil
	}
	return nil, errors.New("it is not a mapping of names to values")
}

// Words are the words of a value: one, those of a list, or none for null.
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
	defer turn.Take(len(text))()
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
	keys := map[string]bool{}
	for i, child := range n.Content {
		if n.Kind == yaml.MappingNode && i%2 == 0 && child.Kind == yaml.ScalarNode {
			key := child.ShortTag() + " " + child.Value
			if keys[key] {
				return fmt.Errorf("line %d: the key %q is there twice", child.Line, errs.Clip(child.Value, maxShownKey))
			}
			keys[key] = true
		}
		if err := check(child, depth+1); err != nil {
			return err
		}
	}
	return nil
}

// Document is one of several in a text.
type Document struct {
	Line  int // where it begins
	Value map[string]any
}

// Documents are the documents of a text, each of which must be a mapping and safe to read; empty ones are left out.
func Documents(text []byte) (all []Document, err error) {
	if !utf8.Valid(text) || bytes.IndexByte(text, 0) >= 0 {
		return nil, errors.New("it is not text")
	}
	defer turn.Take(len(text))()
	decoder := yaml.NewDecoder(bytes.NewReader(text))
	for {
		var top yaml.Node
		if err := decoder.Decode(&top); errors.Is(err, io.EOF) {
			return all, nil
		} else if err != nil {
			return nil, plainError(err)
		}
		if len(top.Content) != 1 || top.Content[0].Kind == yaml.ScalarNode && top.Content[0].ShortTag() == "!!null" {
			continue
		}
		node := top.Content[0]
		if node.Kind != yaml.MappingNode {
			return nil, fmt.Errorf("line %d: it is not a mapping of names to values", node.Line)
		}
		if err := check(node, 0); err != nil {
			return nil, err
		}
		d := Document{Line: node.Line}
		if err := plainError(node.Load(&d.Value, yaml.WithUniqueKeys(false))); err != nil {
			return nil, fmt.Errorf("line %d: %w", node.Line, err)
		}
		all = append(all, d)
	}
}
