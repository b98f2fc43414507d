package program

import (
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/dsl"
)

// The ways to combine payload sets (template language 2.5).
const (
	batteringram = "batteringram" // one set, value by value
	pitchfork    = "pitchfork"    // all sets side by side, as far as the shortest goes
	clusterbomb  = "clusterbomb"  // every combination; the set written first changes fastest
)

// payloadSet is the values of one name, in written order.
type payloadSet struct {
	name   string
	values []string
}

// payloads are the sets of a block. The zero value has one empty tuple.
type payloads struct {
	sets   []payloadSet
	attack string
}

// count is the number of tuples, at most math.MaxInt32.
func (p *payloads) count() int {
	if len(p.sets) == 0 {
		return 1
	}
	n := len(p.sets[0].values)
	for _, s := range p.sets[1:] {
		if p.attack == clusterbomb {
			n = product(n, len(s.values))
		} else {
			n = min(n, len(s.values))
		}
	}
	return n
}

// product multiplies two counts, up to math.MaxInt32.
func product(a, b int) int {
	if a > 0 && b > math.MaxInt32/a {
		return math.MaxInt32
	}
	return a * b
}

// tuple is the value of each set in tuple i.
func (p *payloads) tuple(i int) []string {
	out := make([]string, len(p.sets))
	for k, s := range p.sets {
		at := i
		if p.attack == clusterbomb {
			at, i = i%len(s.values), i/len(s.values)
		}
		out[k] = s.values[at]
	}
	return out
}

// render renders the placeholders in the values of tuple i.
func (p *payloads) render(i int, env *dsl.Env, tolerates func(err error) bool) (Payload, error) {
	if len(p.sets) == 0 {
		return nil, nil
	}
	values := p.tuple(i)
	out := make(Payload, len(values))
	for k, v := range values {
		if strings.Contains(v, "{{") || strings.Contains(v, "§") {
			text, err := dsl.Parse(v).Render(env)
			if err != nil && !tolerates(err) {
				return nil, err
			}
			v = text
		}
		out[k] = Value{p.sets[k].name, v}
	}
	return out, nil
}

// PayloadError is why a request cannot be made with one tuple of payload values; others may work.
type PayloadError struct{ Err error }

// Error implements error.
func (e *PayloadError) Error() string { return e.Err.Error() }

// Unwrap returns the error of rendering.
func (e *PayloadError) Unwrap() error { return e.Err }

// NamesDomain reports whether a placeholder is a part of the target's domain, which IP addresses do not have
// (template language 1.5).
func NamesDomain(placeholder string) bool {
	return slices.ContainsFunc(strings.FieldsFunc(placeholder, notInName), func(name string) bool {
		return name == "RDN" || name == "DN" || name == "TLD" || name == "SD"
	})
}

// Value is a payload value.
type Value struct{ Name, Text string }

// Payload is one tuple of payload values, in written order.
type Payload []Value

// Lookup finds a value by its name.
func (p Payload) Lookup(name string) (any, bool) {
	for _, v := range p {
		if v.Name == name {
			return v.Text, true
		}
	}
	return nil, false
}

func (p *payloads) has(name string) bool {
	return slices.ContainsFunc(p.sets, func(s payloadSet) bool { return s.name == name })
}

// with adds or replaces a set.
func (p payloads) with(name string, values []string) payloads {
	p.sets = slices.Clone(p.sets)
	if i := slices.IndexFunc(p.sets, func(s payloadSet) bool { return s.name == name }); i >= 0 {
		p.sets[i].values = values
	} else {
		p.sets = append(p.sets, payloadSet{name, values})
	}
	return p
}

// problem says why the sets cannot be combined.
func (p *payloads) problem() string {
	if p.attack == batteringram && len(p.sets) > 1 {
		return "batteringram takes one payload set; pitchfork and clusterbomb take several"
	}
	if n := p.count(); n > maxTuples {
		return fmt.Sprintf("%d combinations of payloads are more than %d", n, maxTuples)
	}
	return ""
}

// WithPayloads is b with other values in the payload sets of a block that has some. The error says why they cannot be
// combined.
func (b *Bound) WithPayloads(block int, values map[string][]string) (*Bound, error) {
	with := *b
	with.Blocks = slices.Clone(b.Blocks)
	p := &with.Blocks[block].payloads
	if len(p.sets) == 0 {
		return nil, errors.New("there are no payloads to replace")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		*p = p.with(name, values[name])
	}
	if why := p.problem(); why != "" {
		return nil, errors.New(why)
	}
	return &with, nil
}
