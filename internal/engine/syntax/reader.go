package syntax

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The bounds of a template. The largest public one has 1.3 MB and 60,000 nodes.
const (
	MaxBytes = 4 << 20
	maxNodes = 1 << 20 // counted as visited, so that aliases cannot multiply the work
	maxDepth = 64
)

// The codes of the errors of this package.
const (
	CodeInvalid     = "template_invalid"     // not a template: the form is broken
	CodeUnsupported = "template_unsupported" // a feature that no engine runs yet
)

// Fault is the error for a fault in a template: Param is the key path, such as "http[0].matchers[1].type", Extra has
// "file" and "line".
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

// Unsupported is the error for a feature that no engine runs yet; Param is the feature, such as "dns".
func Unsupported(file string, line int, key string) *errs.Error {
	return &errs.Error{
		Kind: errs.Invalid, Code: CodeUnsupported, Param: key,
		Message: fmt.Sprintf("%s:%d: not supported yet: %s", file, line, key),
		Extra:   map[string]string{"file": file, "line": strconv.Itoa(line)},
	}
}

// fewKeys is more than most mappings have.
const fewKeys = 64

// reader walks the nodes of one document.
type reader struct {
	file    string
	lenient bool // see Options
	visited int
	path    []pathStep      // where the walk is
	seen    map[string]bool // keys of the mapping that keys reads
}

// pathStep is a key, or an index where the key is "".
type pathStep struct {
	key   string
	index int
}

// at is the current key path, such as "http[0].path".
func (r *reader) at(more ...string) string {
	var b strings.Builder
	word := func(key string) {
		if b.Len() > 0 {
			b.WriteByte('.')
		}
		b.WriteString(key)
	}
	for _, p := range r.path {
		if p.key == "" {
			b.WriteString("[" + strconv.Itoa(p.index) + "]")
			continue
		}
		word(p.key)
	}
	for _, key := range more {
		word(key)
	}
	return b.String()
}

func (r *reader) fault(n *yaml.Node, format string, args ...any) error {
	return Fault(r.file, n.Line, n.Column, r.at(), format, args...)
}

// faultIn is the fault of a key of the mapping n, at the key or, without one, at the mapping.
func (r *reader) faultIn(n *yaml.Node, key, format string, args ...any) error {
	if found := child(n, key); found != nil {
		n = found
	}
	return Fault(r.file, n.Line, n.Column, r.at(key), format, args...)
}

// child is the node of a key in a mapping; nil without one.
func child(n *yaml.Node, key string) *yaml.Node {
	for i := 0; i+1 < len(n.Content); i += 2 {
		if n.Content[i].Value == key {
			return n.Content[i]
		}
	}
	return nil
}

// unknown handles a key that is not in the language.
func (r *reader) unknown(key *yaml.Node, s *shape) error {
	if r.lenient {
		return nil
	}
	near := nearest(key.Value, s.fields)
	if near == "" {
		return r.fault(key, "there is no such key in the template language")
	}
	return r.fault(key, "there is no such key in the template language; did you mean %s?", near)
}

// open follows aliases and counts the visit.
func (r *reader) open(n *yaml.Node) (*yaml.Node, error) {
	for hops := 0; n.Kind == yaml.AliasNode && n.Alias != nil; hops++ {
		if hops == maxDepth {
			return nil, r.fault(n, "aliases lead too far")
		}
		n = n.Alias
	}
	if r.visited++; r.visited > maxNodes {
		return nil, r.fault(n, "the template has more than %d values", maxNodes)
	}
	return n, nil
}

// push takes a step; up takes it back. After an error reading stops.
func (r *reader) push(n *yaml.Node, p pathStep) error {
	if len(r.path) == maxDepth {
		return r.fault(n, "nested too deep")
	}
	r.path = append(r.path, p)
	return nil
}

func (r *reader) pop() { r.path = r.path[:len(r.path)-1] }

// entries calls each for every key of a mapping. Null is an empty mapping.
func (r *reader) entries(n *yaml.Node, each func(key, value *yaml.Node) error) error {
	n, err := r.open(n)
	if err != nil || isNull(n) {
		return err
	}
	if n.Kind != yaml.MappingNode {
		return r.fault(n, "must be a mapping")
	}
	written, err := r.keys(n)
	if err != nil {
		return err
	}
	for i := 0; i+1 < len(written); i += 2 {
		if err := r.push(written[i], pathStep{key: written[i].Value}); err != nil {
			return err
		}
		if err := each(written[i], written[i+1]); err != nil {
			return err
		}
		r.pop()
	}
	return nil
}

// keys returns the keys and values of a mapping, each key once: those of merged mappings (<<) come last and only
// where the mapping lacks them.
func (r *reader) keys(n *yaml.Node) ([]*yaml.Node, error) {
	plain := true
	if len(r.seen) > fewKeys {
		r.seen = nil // clearing a large map takes long
	}
	if r.seen == nil {
		r.seen = make(map[string]bool, fewKeys)
	}
	clear(r.seen)
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, err := r.open(n.Content[i])
		if err != nil {
			return nil, err
		}
		if key.Kind != yaml.ScalarNode {
			return nil, r.fault(key, "a key must be a word")
		}
		if key != n.Content[i] || key.Tag == "!!merge" {
			plain = false
		}
		if r.seen[key.Value] {
			if !r.lenient {
				return nil, Fault(r.file, key.Line, key.Column, r.at(key.Value), "the key is written twice")
			}
			plain = false
		}
		r.seen[key.Value] = true
	}
	if plain {
		return n.Content, nil
	}
	return r.merged(n)
}

// merged is keys for a mapping with aliases, merges or duplicates.
func (r *reader) merged(n *yaml.Node) (out []*yaml.Node, err error) {
	var others []*yaml.Node
	at := map[string]int{}
	put := func(key, value *yaml.Node, again bool) {
		if i, have := at[key.Value]; !have {
			at[key.Value] = len(out)
			out = append(out, key, value)
		} else if again {
			out[i], out[i+1] = key, value
		}
	}
	for i := 0; i+1 < len(n.Content); i += 2 {
		key, err := r.open(n.Content[i])
		switch {
		case err != nil:
			return nil, err
		case key.Tag == "!!merge":
			others = append(others, n.Content[i+1])
		default:
			put(key, n.Content[i+1], true)
		}
	}
	for _, other := range others {
		err := r.elements(other, func(one *yaml.Node) error {
			return r.entries(one, func(key, value *yaml.Node) error {
				put(key, value, false)
				return nil
			})
		})
		if err != nil {
			return nil, err
		}
	}
	return out, nil
}

// elements calls each for every element of a sequence; a single value counts as one element, null as none.
func (r *reader) elements(n *yaml.Node, each func(n *yaml.Node) error) error {
	n, err := r.open(n)
	if err != nil || isNull(n) {
		return err
	}
	if n.Kind != yaml.SequenceNode {
		return each(n)
	}
	for i, inner := range n.Content {
		if err := r.push(inner, pathStep{index: i}); err != nil {
			return err
		}
		if err := each(inner); err != nil {
			return err
		}
		r.pop()
	}
	return nil
}

// nearest is the key that was most likely meant; "" when none is near.
func nearest(wrong string, fields map[string]*field) string {
	best, least := "", 3
	for key := range fields {
		if d := distance(strings.ToLower(wrong), key); d < least && d < len(key)/2+1 || d == least && key < best {
			best, least = key, d
		}
	}
	return best
}

// distance is how many letters must be inserted, deleted, changed or swapped with their neighbour, if the lengths
// differ by at most two.
func distance(a, b string) int {
	if len(a)-len(b) > 2 || len(b)-len(a) > 2 {
		return len(a) + len(b)
	}
	rows := [3][]int{make([]int, len(b)+1), make([]int, len(b)+1), make([]int, len(b)+1)}
	for j := range rows[1] {
		rows[1][j] = j
	}
	for i := range len(a) {
		rows[2][0] = i + 1
		for j := range len(b) {
			cost := 1
			if a[i] == b[j] {
				cost = 0
			}
			rows[2][j+1] = min(rows[1][j]+cost, rows[1][j+1]+1, rows[2][j]+1)
			if i > 0 && j > 0 && a[i] == b[j-1] && a[i-1] == b[j] {
				rows[2][j+1] = min(rows[2][j+1], rows[0][j-1]+1)
			}
		}
		rows[0], rows[1], rows[2] = rows[1], rows[2], rows[0]
	}
	return rows[1][len(b)]
}

func isNull(n *yaml.Node) bool { return n.Kind == yaml.ScalarNode && n.Tag == "!!null" }

// inList is the spelling of a text in a closed list, ignoring case and surrounding blanks.
func inList(text string, allowed []string) (string, bool) {
	i := slices.IndexFunc(allowed, func(w string) bool { return strings.EqualFold(strings.TrimSpace(text), w) })
	if i < 0 {
		return text, false
	}
	return allowed[i], true
}
