package templates

import (
	"crypto/sha256"
	"encoding/binary"
	"errors"
	"fmt"
	"maps"
	"math"
	"reflect"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/syntax"
)

// The binary form of a struct is its fields that are not zero, each as its number from 1 and its value, and a zero;
// texts and lists begin with their length. Reflection makes sure that no field of the language is forgotten.

type coder struct {
	write func(b []byte, v reflect.Value) []byte
	read  func(d *decoder, v reflect.Value)
}

// templates is the coder of whole templates.
var templates = coders{}.of(reflect.TypeFor[syntax.Template]())

// layout changes with the structs of the language, their tags included.
var layout = sha256.Sum256([]byte(describe(reflect.TypeFor[syntax.Template](), map[reflect.Type]bool{})))

// encode appends the binary form of a template without its path.
func encode(b []byte, t *syntax.Template) []byte {
	bare := *t
	bare.Path = ""
	return templates.write(b, reflect.ValueOf(bare))
}

var errDamaged = errors.New("the index is damaged")

func decode(data []byte) (*syntax.Template, error) {
	t, d := new(syntax.Template), &decoder{data: data}
	templates.read(d, reflect.ValueOf(t).Elem())
	if d.damaged || len(d.data) > 0 {
		return nil, errDamaged
	}
	return t, nil
}

// decoder is what is left to read. After damage it reads zeros.
type decoder struct {
	data    []byte
	damaged bool
}

func (d *decoder) number() uint64 {
	n, size := binary.Uvarint(d.data)
	if size <= 0 {
		d.fail()
		return 0
	}
	d.data = d.data[size:]
	return n
}

// length reads how many elements of at least one byte follow.
func (d *decoder) length() int {
	n := d.number()
	if n > uint64(len(d.data)) {
		d.fail()
		return 0
	}
	return int(n)
}

func (d *decoder) fail() { d.data, d.damaged = nil, true }

func (d *decoder) text() string {
	n := d.length()
	if n == 0 {
		return ""
	}
	s := string(d.data[:n])
	d.data = d.data[n:]
	return s
}

func appendText(b []byte, s string) []byte {
	return append(binary.AppendUvarint(b, uint64(len(s))), s...)
}

// coders are those made so far; types may contain themselves.
type coders map[reflect.Type]*coder

func (all coders) of(t reflect.Type) *coder {
	if c, ok := all[t]; ok {
		return c
	}
	c := new(coder)
	all[t] = c
	switch t.Kind() {
	case reflect.String:
		c.write = func(b []byte, v reflect.Value) []byte { return appendText(b, v.String()) }
		c.read = func(d *decoder, v reflect.Value) { v.SetString(d.text()) }
	case reflect.Bool:
		c.write = func(b []byte, v reflect.Value) []byte { return append(b, byte(toInt(v.Bool()))) }
		c.read = func(d *decoder, v reflect.Value) { v.SetBool(d.number() == 1) }
	case reflect.Int:
		c.write = func(b []byte, v reflect.Value) []byte { return binary.AppendVarint(b, v.Int()) }
		c.read = func(d *decoder, v reflect.Value) { v.SetInt(unzigzag(d.number())) }
	case reflect.Float64:
		c.write = func(b []byte, v reflect.Value) []byte { return binary.AppendUvarint(b, math.Float64bits(v.Float())) }
		c.read = func(d *decoder, v reflect.Value) { v.SetFloat(math.Float64frombits(d.number())) }
	case reflect.Pointer:
		inner := all.of(t.Elem())
		c.write = func(b []byte, v reflect.Value) []byte { return inner.write(b, v.Elem()) }
		c.read = func(d *decoder, v reflect.Value) {
			v.Set(reflect.New(t.Elem()))
			inner.read(d, v.Elem())
		}
	case reflect.Slice:
		*c = listCoder(t, all.of(t.Elem()))
	case reflect.Struct:
		*c = structCoder(all, t)
	case reflect.Interface, reflect.Map:
		c.write = func(b []byte, v reflect.Value) []byte { return appendFree(b, v.Interface()) }
		c.read = func(d *decoder, v reflect.Value) {
			if free := reflect.ValueOf(d.free(0)); free.IsValid() && free.Type().AssignableTo(t) {
				v.Set(free)
			} else if t.Kind() == reflect.Map {
				d.fail()
			}
		}
	default:
		panic("load: a template has a " + t.String()) // found by any test
	}
	return c
}

func structCoder(all coders, t reflect.Type) coder {
	fields := make([]*coder, t.NumField())
	for i := range fields {
		if t.Field(i).Type.Kind() != reflect.Func { // those are not kept
			fields[i] = all.of(t.Field(i).Type)
		}
	}
	return coder{
		write: func(b []byte, v reflect.Value) []byte {
			for i, field := range fields {
				if f := v.Field(i); field != nil && !f.IsZero() {
					b = field.write(binary.AppendUvarint(b, uint64(i+1)), f)
				}
			}
			return append(b, 0)
		},
		read: func(d *decoder, v reflect.Value) {
			for i := d.number(); i != 0 && !d.damaged; i = d.number() {
				if i > uint64(len(fields)) || fields[i-1] == nil {
					d.fail()
					return
				}
				fields[i-1].read(d, v.Field(int(i-1)))
			}
		},
	}
}

func listCoder(t reflect.Type, element *coder) coder {
	none := reflect.MakeSlice(t, 0, 0)
	return coder{
		write: func(b []byte, v reflect.Value) []byte {
			b = binary.AppendUvarint(b, uint64(v.Len()))
			for i := range v.Len() {
				b = element.write(b, v.Index(i))
			}
			return b
		},
		read: func(d *decoder, v reflect.Value) {
			n := d.length()
			v.Set(none)
			for i := 0; i < n && !d.damaged; i++ {
				if i == v.Len() {
					more := min(n-i, maxTrust)
					v.Grow(more)
					v.SetLen(i + more)
				}
				element.read(d, v.Index(i))
			}
		},
	}
}

// The kinds of free values, by their first byte.
const (
	freeNil = iota
	freeFalse
	freeTrue
	freeInt
	freeFloat
	freeText
	freeList
	freeMap
)

func appendFree(b []byte, v any) []byte {
	switch v := v.(type) {
	case bool:
		return append(b, byte(freeFalse+toInt(v)))
	case int:
		return binary.AppendVarint(append(b, freeInt), int64(v))
	case float64:
		return binary.AppendUvarint(append(b, freeFloat), math.Float64bits(v))
	case string:
		return appendText(append(b, freeText), v)
	case []any:
		b = binary.AppendUvarint(append(b, freeList), uint64(len(v)))
		for _, one := range v {
			b = appendFree(b, one)
		}
		return b
	case map[string]any:
		b = binary.AppendUvarint(append(b, freeMap), uint64(len(v)))
		for _, key := range slices.Sorted(maps.Keys(v)) {
			b = appendFree(appendText(b, key), v[key])
		}
		return b
	default:
		return append(b, freeNil)
	}
}

const (
	maxDepth = 100  // of free values; the language has fewer
	maxTrust = 1024 // elements to allocate before they have been read
)

func (d *decoder) free(depth int) any {
	if depth > maxDepth || d.damaged {
		d.fail()
		return nil
	}
	switch kind := d.number(); kind {
	case freeNil:
		return nil
	case freeFalse, freeTrue:
		return kind == freeTrue
	case freeInt:
		return int(unzigzag(d.number()))
	case freeFloat:
		return math.Float64frombits(d.number())
	case freeText:
		return d.text()
	case freeList:
		n := d.length()
		list := make([]any, 0, min(n, maxTrust))
		for range n {
			list = append(list, d.free(depth+1))
		}
		return list
	case freeMap:
		n := d.length()
		m := make(map[string]any, min(n, maxTrust))
		for range n {
			key := d.text()
			m[key] = d.free(depth + 1)
		}
		return m
	default:
		d.fail()
		return nil
	}
}

func toInt(b bool) int {
	if b {
		return 1
	}
	return 0
}

// unzigzag decodes the sign of AppendVarint.
func unzigzag(n uint64) int64 { return int64(n>>1) ^ -int64(n&1) }

// describe is the full definition of a type.
func describe(t reflect.Type, known map[reflect.Type]bool) string {
	switch t.Kind() {
	case reflect.Pointer, reflect.Slice:
		return t.String() + " " + describe(t.Elem(), known)
	case reflect.Struct:
		if known[t] {
			break
		}
		known[t] = true
		var b strings.Builder
		for f := range t.Fields() {
			fmt.Fprintf(&b, "{%s %s %s}", f.Name, f.Tag, describe(f.Type, known))
		}
		return t.String() + b.String()
	}
	return t.String()
}
