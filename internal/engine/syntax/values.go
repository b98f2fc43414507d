package syntax

import (
	"fmt"
	"math"
	"reflect"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// text returns a scalar as written; null is "".
func (r *reader) text(n *yaml.Node) (string, error) {
	n, err := r.open(n)
	switch {
	case err != nil:
		return "", err
	case n.Kind != yaml.ScalarNode:
		return "", r.fault(n, "must be a text")
	case isNull(n):
		return "", nil
	}
	return n.Value, nil
}

func readText(r *reader, n *yaml.Node, into reflect.Value) error {
	s, err := r.text(n)
	into.SetString(s)
	return err
}

// readWord reads one of a closed list of words, or nothing.
func readWord(allowed []string) read {
	return func(r *reader, n *yaml.Node, into reflect.Value) error {
		s, err := r.text(n)
		if err != nil || s == "" {
			return err
		}
		s, ok := inList(s, allowed)
		if !ok {
			return r.fault(n, "%q is none of %s", s, strings.Join(allowed, ", "))
		}
		into.SetString(s)
		return nil
	}
}

// readKnown reads a text, in the spelling of a known word if it is one.
func readKnown(words []string) read {
	return func(r *reader, n *yaml.Node, into reflect.Value) error {
		s, err := r.text(n)
		s, _ = inList(s, words)
		into.SetString(s)
		return err
	}
}

// readSplit reads a list of texts, or one text with commas. Words are trimmed, in lower case and not empty.
func readSplit(words bool) read {
	return func(r *reader, n *yaml.Node, into reflect.Value) error {
		n, err := r.open(n)
		if err != nil {
			return err
		}
		var list []string
		if n.Kind == yaml.ScalarNode && !isNull(n) && strings.TrimSpace(n.Value) != "" {
			list = strings.Split(n.Value, ",")
		} else if n.Kind != yaml.ScalarNode {
			if list, err = r.texts(n); err != nil {
				return err
			}
		}
		if words {
			kept := list[:0]
			for _, w := range list {
				if w = strings.ToLower(strings.TrimSpace(w)); w != "" {
					kept = append(kept, w)
				}
			}
			list = kept
		}
		into.Set(reflect.ValueOf(list))
		return nil
	}
}

// readList reads a list by the reader of its elements.
func readList(element read) read {
	return func(r *reader, n *yaml.Node, into reflect.Value) error {
		n, err := r.open(n)
		if err != nil || isNull(n) {
			return err
		}
		size := 1
		if n.Kind == yaml.SequenceNode {
			size = len(n.Content)
		}
		list, i := reflect.MakeSlice(into.Type(), size, size), 0
		err = r.elements(n, func(n *yaml.Node) error {
			i++
			return element(r, n, list.Index(i-1))
		})
		into.Set(list)
		return err
	}
}

func readPointer(element read) read {
	return func(r *reader, n *yaml.Node, into reflect.Value) error {
		if n, err := r.open(n); err != nil || isNull(n) {
			return err
		}
		into.Set(reflect.New(into.Type().Elem()))
		return element(r, n, into.Elem())
	}
}

func (r *reader) texts(n *yaml.Node) ([]string, error) {
	var list []string
	err := r.elements(n, func(n *yaml.Node) error {
		s, err := r.text(n)
		list = append(list, s)
		return err
	})
	return list, err
}

func readInt(r *reader, n *yaml.Node, into reflect.Value) error {
	n, err := r.open(n)
	if err != nil {
		return err
	}
	if n.Kind == yaml.ScalarNode && n.Tag == "!!int" {
		if i, err := strconv.Atoi(n.Value); err == nil && n.Value[0] != '0' {
			into.SetInt(int64(i))
			return nil
		}
	}
	var i int
	if n.Kind != yaml.ScalarNode || n.Decode(&i) != nil {
		return r.fault(n, "must be a whole number")
	}
	into.SetInt(int64(i))
	return nil
}

// readCount reads a whole number that is not negative; null is 0.
func readCount(r *reader, n *yaml.Node, into reflect.Value) error {
	if n, err := r.open(n); err != nil || isNull(n) {
		return err
	}
	if err := readInt(r, n, into); err != nil {
		return err
	}
	if into.Int() < 0 {
		return r.fault(n, "must not be negative")
	}
	return nil
}

func readFloat(r *reader, n *yaml.Node, into reflect.Value) error {
	n, err := r.open(n)
	if err != nil || isNull(n) {
		return err
	}
	var f float64
	if n.Kind != yaml.ScalarNode || n.Decode(&f) != nil || math.IsNaN(f) || math.IsInf(f, 0) {
		return r.fault(n, "must be a number")
	}
	into.SetFloat(f)
	return nil
}

// readBool also reads the unquoted words of YAML 1.1; null is false.
func readBool(r *reader, n *yaml.Node, into reflect.Value) error {
	n, err := r.open(n)
	if err != nil {
		return err
	}
	if n.Kind == yaml.ScalarNode && n.Style&(yaml.SingleQuotedStyle|yaml.DoubleQuotedStyle) == 0 {
		switch strings.ToLower(n.Value) {
		case "true", "yes", "on", "y":
			into.SetBool(true)
			return nil
		case "false", "no", "off", "n":
			return nil
		}
	}
	if isNull(n) {
		return nil
	}
	return r.fault(n, "must be true or false")
}

// readPairs reads a mapping of names to texts, in written order.
func readPairs(r *reader, n *yaml.Node, into reflect.Value) error {
	var list []Pair
	err := r.entries(n, func(key, value *yaml.Node) error {
		s, err := r.text(value)
		list = append(list, Pair{Name: key.Value, Value: s, Line: key.Line})
		return err
	})
	into.Set(reflect.ValueOf(list))
	return err
}

// readVariables reads a mapping of names to free values, in written order.
func readVariables(r *reader, n *yaml.Node, into reflect.Value) error {
	var list []Variable
	err := r.entries(n, func(key, value *yaml.Node) error {
		data, err := r.free(value)
		list = append(list, Variable{Name: key.Value, Value: plain(data), Data: data, Line: key.Line})
		return err
	})
	into.Set(reflect.ValueOf(list))
	return err
}

// readPayloads reads payload sets: lists, texts of several lines, names of files, or lists by aggression.
func readPayloads(levels *shape) read {
	return func(r *reader, n *yaml.Node, into reflect.Value) error {
		var list []Payload
		err := r.entries(n, func(key, value *yaml.Node) error {
			p := Payload{Name: key.Value, Line: key.Line}
			value, err := r.open(value)
			if err != nil {
				return err
			}
			switch {
			case value.Kind == yaml.SequenceNode:
				err = r.elements(value, func(n *yaml.Node) error {
					data, err := r.scalar(n)
					p.Values = append(p.Values, plain(data))
					return err
				})
			case value.Kind == yaml.MappingNode:
				p.Levels = new(Levels)
				err = readStruct(levels)(r, value, reflect.ValueOf(p.Levels).Elem())
				p.Values = p.Levels.UpTo("low")
			case value.Tag != "!!str":
				return r.fault(value, "must be a list, the name of a file, a text of several lines, or lists by level")
			case strings.Contains(value.Value, "\n"):
				p.Values = strings.Split(value.Value, "\n")
			default:
				p.File = value.Value
			}
			if err == nil && p.File == "" && p.Levels == nil && len(p.Values) == 0 {
				return r.fault(value, "the payload has no values")
			}
			list = append(list, p)
			return err
		})
		into.Set(reflect.ValueOf(list))
		return err
	}
}

// readFuzz reads payloads as a list, or by key.
func readFuzz(r *reader, n *yaml.Node, into reflect.Value) error {
	n, err := r.open(n)
	if err != nil {
		return err
	}
	if n.Kind == yaml.MappingNode {
		return readPairs(r, n, into.FieldByName("Pairs"))
	}
	list, err := r.texts(n)
	into.FieldByName("Values").Set(reflect.ValueOf(list))
	return err
}

func readFree(r *reader, n *yaml.Node, into reflect.Value) error {
	v, err := r.free(n)
	if err != nil || v == nil {
		return err
	}
	m, ok := v.(map[string]any)
	if !ok {
		return r.fault(n, "must be a mapping")
	}
	into.Set(reflect.ValueOf(m))
	return nil
}

// free reads any value: string, int, float64, bool, nil, []any or map[string]any.
func (r *reader) free(n *yaml.Node) (any, error) {
	n, err := r.open(n)
	if err != nil {
		return nil, err
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		return m, r.entries(n, func(key, value *yaml.Node) error {
			v, err := r.free(value)
			m[key.Value] = v
			return err
		})
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		return list, r.elements(n, func(n *yaml.Node) error {
			v, err := r.free(n)
			list = append(list, v)
			return err
		})
	default:
		return r.scalar(n)
	}
}

func (r *reader) scalar(n *yaml.Node) (any, error) {
	n, err := r.open(n)
	if err != nil {
		return nil, err
	}
	if n.Kind != yaml.ScalarNode {
		return nil, r.fault(n, "must be a text")
	}
	return valueOf(n), nil
}

// valueOf is the value of a scalar; what JSON cannot carry (dates, infinities, huge numbers) stays text.
func valueOf(n *yaml.Node) any {
	switch n.Tag {
	case "!!null":
		return nil
	case "!!bool", "!!int", "!!float":
		var v any
		if n.Decode(&v) != nil {
			return n.Value
		}
		switch v := v.(type) {
		case bool, int:
			return v
		case float64:
			if !math.IsNaN(v) && !math.IsInf(v, 0) {
				return v
			}
		}
	}
	return n.Value
}

// plain is a free value as text.
func plain(v any) string {
	switch v := v.(type) {
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case bool, int:
		return fmt.Sprint(v)
	default:
		return ""
	}
}
