package syntax

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vedette-sec/vedette/internal/errs"
)

// The bounds of a template. The largest public one has 1.3 MB and 60,000 nodes.
const (
	MaxBytes = 4 << 20
	maxNodes = 1 << 20 // counted as visited, so that aliases cannot multiply the work
	maxDepth = 64
)

// The codes of this room's errors.
const (
	CodeInvalid     = "template_invalid"     // not a template: the form is broken
	CodeUnsupported = "template_unsupported" // a template that asks for what no engine runs yet
)

// Fault is the error for something wrong in a template: Param is the key path, such as
// "http[0].matchers[1].type", Extra has "file" and "line".
func Fault(file string, line, column int, key, format string, args ...any) *errs.Error {
	where := file + ":" + strconv.Itoa(line)
	if column > 0 {
		where += ":" + strconv.Itoa(column)
	}
	if key != "" {
		where += ": " + key
	}
	return &errs.Error{
		Kind: errs.Invalid, Code: CodeInvalid, Param: key,
		Message: where + ": " + fmt.Sprintf(format, args...),
		Extra:   map[string]string{"file": file, "line": strconv.Itoa(line)},
	}
}

// Unsupported is the error for a part of the language that no engine runs yet; Param
// is that part, such as "http.raw".
func Unsupported(file string, line int, key string) *errs.Error {
	return &errs.Error{
		Kind: errs.Invalid, Code: CodeUnsupported, Param: key,
		Message: fmt.Sprintf("%s:%d: not supported yet: %s", file, line, key),
		Extra:   map[string]string{"file": file, "line": strconv.Itoa(line)},
	}
}

// reader walks the nodes of one document and remembers what it may not forget.
type reader struct {
	file    string
	visited int
	later   []Later
}

// field reads one value into where its closure says; at is its key path.
type field func(n *yaml.Node, at string) error

// fields is the closed list of keys that a mapping may have.
type fields map[string]field

func (r *reader) fault(n *yaml.Node, at, format string, args ...any) error {
	return Fault(r.file, n.Line, n.Column, at, format, args...)
}

// open follows aliases and counts the visit.
func (r *reader) open(n *yaml.Node, at string) (*yaml.Node, error) {
	for hops := 0; n.Kind == yaml.AliasNode && n.Alias != nil; hops++ {
		if hops == maxDepth {
			return nil, r.fault(n, at, "aliases lead too far")
		}
		n = n.Alias
	}
	if r.visited++; r.visited > maxNodes {
		return nil, r.fault(n, at, "the template has more than %d values", maxNodes)
	}
	return n, nil
}

// mapping reads a mapping whose keys are all in want, each at most once. Null is an
// empty mapping.
func (r *reader) mapping(n *yaml.Node, at string, want fields) error {
	return r.entries(n, at, func(key, value *yaml.Node, at string) error {
		read, ok := want[key.Value]
		if !ok {
			return r.fault(key, at, "there is no such key in the template language")
		}
		return read(value, at)
	})
}

func (r *reader) entries(n *yaml.Node, at string, each func(key, value *yaml.Node, at string) error) error {
	n, err := r.open(n, at)
	if err != nil || isNull(n) {
		return err
	}
	if n.Kind != yaml.MappingNode {
		return r.fault(n, at, "must be a mapping")
	}
	seen := make(map[string]bool, len(n.Content)/2)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, err := r.open(n.Content[i], at)
		if err != nil {
			return err
		}
		if key.Kind != yaml.ScalarNode {
			return r.fault(key, at, "a key must be a word")
		}
		inner := key.Value
		if at != "" {
			inner = at + "." + inner
		}
		if seen[key.Value] {
			return r.fault(key, inner, "the key is written twice")
		}
		seen[key.Value] = true
		if err := each(key, n.Content[i+1], inner); err != nil {
			return err
		}
	}
	return nil
}

// list reads a sequence, one call an element; a single value counts as a list of one.
func (r *reader) list(n *yaml.Node, at string, each field) error {
	n, err := r.open(n, at)
	if err != nil || isNull(n) {
		return err
	}
	if n.Kind != yaml.SequenceNode {
		return each(n, at)
	}
	for i, inner := range n.Content {
		if err := each(inner, at+"["+strconv.Itoa(i)+"]"); err != nil {
			return err
		}
	}
	return nil
}

// text reads any scalar as the text that was written; null is "".
func (r *reader) text(into *string) field {
	return func(n *yaml.Node, at string) error {
		n, err := r.open(n, at)
		if err != nil {
			return err
		}
		if n.Kind != yaml.ScalarNode {
			return r.fault(n, at, "must be a text")
		}
		*into = n.Value
		if isNull(n) {
			*into = ""
		}
		return nil
	}
}

// word reads a text that is one of a closed list, in any case and with blanks around.
func (r *reader) word(into *string, allowed ...string) field {
	return func(n *yaml.Node, at string) error {
		if err := r.text(into)(n, at); err != nil {
			return err
		}
		for _, w := range allowed {
			if strings.EqualFold(strings.TrimSpace(*into), w) {
				*into = w
				return nil
			}
		}
		return r.fault(n, at, "%q is none of %s", *into, strings.Join(allowed, ", "))
	}
}

// texts reads a text or a list of texts.
func (r *reader) texts(into *[]string) field {
	return func(n *yaml.Node, at string) error {
		return r.list(n, at, func(n *yaml.Node, at string) error {
			var s string
			err := r.text(&s)(n, at)
			*into = append(*into, s)
			return err
		})
	}
}

// words reads a list of texts, or one text with commas; blanks around each are cut,
// empties dropped, and with lower each is lower-cased.
func (r *reader) words(into *[]string, lower bool) field {
	return func(n *yaml.Node, at string) error {
		var written []string
		if err := r.texts(&written)(n, at); err != nil {
			return err
		}
		if n, err := r.open(n, at); err == nil && n.Kind == yaml.ScalarNode {
			written = strings.Split(n.Value, ",")
		}
		for _, w := range written {
			if w = strings.TrimSpace(w); w == "" || w == "null" {
				continue
			}
			if lower {
				w = strings.ToLower(w)
			}
			*into = append(*into, w)
		}
		return nil
	}
}

func (r *reader) integer(into *int) field {
	return func(n *yaml.Node, at string) error {
		n, err := r.open(n, at)
		if err != nil {
			return err
		}
		if n.Kind != yaml.ScalarNode || n.Decode(into) != nil {
			return r.fault(n, at, "must be a whole number")
		}
		return nil
	}
}

func (r *reader) integers(into *[]int) field {
	return func(n *yaml.Node, at string) error {
		return r.list(n, at, func(n *yaml.Node, at string) error {
			var i int
			err := r.integer(&i)(n, at)
			*into = append(*into, i)
			return err
		})
	}
}

// count reads a whole number that is not negative.
func (r *reader) count(into *int) field {
	return func(n *yaml.Node, at string) error {
		if err := r.integer(into)(n, at); err != nil {
			return err
		}
		if *into < 0 {
			return r.fault(n, at, "must not be negative")
		}
		return nil
	}
}

func (r *reader) float(into *float64) field {
	return func(n *yaml.Node, at string) error {
		n, err := r.open(n, at)
		if err != nil || isNull(n) {
			return err
		}
		if n.Kind != yaml.ScalarNode || n.Decode(into) != nil || math.IsNaN(*into) || math.IsInf(*into, 0) {
			return r.fault(n, at, "must be a number")
		}
		return nil
	}
}

func (r *reader) boolean(into *bool) field {
	return func(n *yaml.Node, at string) error {
		n, err := r.open(n, at)
		if err != nil {
			return err
		}
		if n.Kind != yaml.ScalarNode || n.Decode(into) != nil {
			return r.fault(n, at, "must be true or false")
		}
		return nil
	}
}

// pairs reads a mapping of names to scalars, in written order. A value that is a list
// or a mapping is kept for later under the name of the key.
func (r *reader) pairs(into *[]Pair, laterKey string) field {
	return func(n *yaml.Node, at string) error {
		return r.entries(n, at, func(key, value *yaml.Node, at string) error {
			value, err := r.open(value, at)
			if err != nil {
				return err
			}
			p := Pair{Name: key.Value, Line: key.Line}
			if value.Kind != yaml.ScalarNode {
				r.later = append(r.later, Later{Key: laterKey, Line: key.Line})
				return nil
			}
			err = r.text(&p.Value)(value, at)
			*into = append(*into, p)
			return err
		})
	}
}

// ignored accepts a key that has no effect in today's language.
func (r *reader) ignored(*yaml.Node, string) error { return nil }

// unrun notes a key of the language that no engine runs yet. A switch that is off asks
// for nothing.
func (r *reader) unrun(key string) field {
	return func(n *yaml.Node, at string) error {
		n, err := r.open(n, at)
		if err != nil {
			return err
		}
		off := false
		if n.Kind == yaml.ScalarNode && n.Tag == "!!bool" && n.Decode(&off) == nil && !off || isNull(n) {
			return nil
		}
		r.later = append(r.later, Later{Key: key, Line: n.Line})
		return nil
	}
}

// any reads a free value: text, number, boolean, nil, list or mapping with text keys.
func (r *reader) any(n *yaml.Node, at string, depth int) (any, error) {
	n, err := r.open(n, at)
	if err != nil {
		return nil, err
	}
	if depth > maxDepth {
		return nil, r.fault(n, at, "nested too deep")
	}
	switch n.Kind {
	case yaml.MappingNode:
		m := make(map[string]any, len(n.Content)/2)
		return m, r.entries(n, at, func(key, value *yaml.Node, at string) error {
			v, err := r.any(value, at, depth+1)
			m[key.Value] = v
			return err
		})
	case yaml.SequenceNode:
		list := make([]any, 0, len(n.Content))
		return list, r.list(n, at, func(n *yaml.Node, at string) error {
			v, err := r.any(n, at, depth+1)
			list = append(list, v)
			return err
		})
	default:
		return scalar(n), nil
	}
}

// scalar is the JSON-able value of a scalar node; what YAML would make of it but JSON
// cannot carry (dates, infinities) stays the text that was written.
func scalar(n *yaml.Node) any {
	if !slices.Contains([]string{"!!null", "!!bool", "!!int", "!!float"}, n.Tag) {
		return n.Value
	}
	var v any
	if n.Decode(&v) != nil {
		return n.Value
	}
	switch f, isFloat := v.(float64); {
	case isFloat && (math.IsNaN(f) || math.IsInf(f, 0)):
		return n.Value
	default:
		return v
	}
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }
