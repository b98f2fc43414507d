package syntax

import (
	"reflect"
	"strings"

	"go.yaml.in/yaml/v4"
)

// shape is how a struct of the language is read.
type shape struct {
	fields map[string]*field // by their keys, old spellings too
	line   []int             // where the struct keeps its line, nil for nowhere
	parts  [][]int           // embedded structs that have
}

// field is one key of a struct.
type field struct {
	keys []string // today's spelling first
	at   []int    // reflect's index
	read read
}

// read reads a node into a value.
type read func(r *reader, n *yaml.Node, into reflect.Value) error

// checker is a struct with rules beyond those of its fields; check may also fill in fields.
type checker interface {
	check(r *reader, n *yaml.Node) error
}

// partChecker is a checker that others embed; n is the node of the whole.
type partChecker interface {
	checkPart(r *reader, n *yaml.Node) error
}

// language is the shape of a template.
var language = shapes{}.of(reflect.TypeFor[Template]())

// shapes are those made so far; types may contain themselves.
type shapes map[reflect.Type]*shape

func (all shapes) of(t reflect.Type) *shape {
	if s, ok := all[t]; ok {
		return s
	}
	s := &shape{fields: map[string]*field{}}
	all[t] = s
	for _, f := range reflect.VisibleFields(t) {
		keys := f.Tag.Get("key")
		switch {
		case f.Anonymous && reflect.PointerTo(f.Type).Implements(reflect.TypeFor[partChecker]()):
			s.parts = append(s.parts, f.Index)
		case f.Name == "Line":
			s.line = f.Index
		case keys != "":
			one := &field{keys: strings.Split(keys, ","), at: f.Index, read: all.reader(f.Type, f.Tag)}
			for _, key := range one.keys {
				s.fields[key] = one
			}
		}
	}
	return s
}

// reader is how values of a type are read; the tag says more about texts.
func (all shapes) reader(t reflect.Type, tag reflect.StructTag) read {
	switch t {
	case reflect.TypeFor[[]Pair]():
		return readPairs
	case reflect.TypeFor[[]Variable]():
		return readVariables
	case reflect.TypeFor[[]Payload]():
		return readPayloads(all.of(reflect.TypeFor[Levels]()))
	case reflect.TypeFor[Fuzz]():
		return readFuzz
	case reflect.TypeFor[map[string]any]():
		return readFree
	}
	switch t.Kind() {
	case reflect.String:
		if words, ok := tag.Lookup("of"); ok {
			return readWord(strings.Fields(words))
		}
		if words, ok := tag.Lookup("known"); ok {
			return readKnown(strings.Fields(words))
		}
		return readText
	case reflect.Bool:
		return readBool
	case reflect.Int:
		return readCount
	case reflect.Float64:
		return readFloat
	case reflect.Struct:
		return readStruct(all.of(t))
	case reflect.Pointer:
		return readPointer(all.reader(t.Elem(), tag))
	case reflect.Slice:
		switch how := tag.Get("list"); {
		case how != "":
			return readSplit(how == "words")
		case t.Elem().Kind() == reflect.Int:
			return readList(readInt)
		}
		return readList(all.reader(t.Elem(), tag))
	default:
		panic("syntax: a field of kind " + t.Kind().String()) // found by any test
	}
}

func readStruct(s *shape) read {
	return func(r *reader, n *yaml.Node, into reflect.Value) error {
		n, err := r.open(n)
		if err != nil {
			return err
		}
		if s.line != nil {
			into.FieldByIndex(s.line).SetInt(int64(n.Line))
		}
		err = r.entries(n, func(key, value *yaml.Node) error {
			f, ok := s.fields[key.Value]
			if !ok {
				return r.unknown(key, s)
			}
			target := into.FieldByIndex(f.at)
			if len(f.keys) > 1 && !target.IsZero() {
				return r.fault(key, "%s are one key under two names: use one of them", strings.Join(f.keys, " and "))
			}
			return f.read(r, value, target)
		})
		for _, part := range s.parts {
			if c, ok := reflect.TypeAssert[partChecker](into.FieldByIndex(part).Addr()); ok && err == nil {
				err = c.checkPart(r, n)
			}
		}
		if c, ok := reflect.TypeAssert[checker](into.Addr()); ok && err == nil {
			err = c.check(r, n)
		}
		return err
	}
}
