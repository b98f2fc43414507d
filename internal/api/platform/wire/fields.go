package wire

import (
	"bytes"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Pick is the fields of T that a caller names in the parameter fields, separated by commas; none: all. what is a word
// for T, for errors.
func Pick[T any](what, names string) (fields []string, err error) {
	var known []string
	for _, field := range reflect.VisibleFields(reflect.TypeFor[T]()) {
		if name, _, _ := strings.Cut(field.Tag.Get("json"), ","); name != "" {
			known = append(known, name)
		}
	}
	for _, name := range Commas(names) {
		if !slices.Contains(known, name) {
			return nil, errs.Field("fields", "fields: %s has no field %.40q.", what, name)
		}
		fields = append(fields, name)
	}
	return fields, nil
}

// Picked is a value with only the named fields; all if none is named.
type Picked[T any] struct {
	Value  T
	Fields []string
}

// Schema implements huma.SchemaProvider.
func (Picked[T]) Schema(r huma.Registry) *huma.Schema {
	return r.Schema(reflect.TypeFor[T](), true, "")
}

// MarshalJSON implements json.Marshaler.
func (p Picked[T]) MarshalJSON() ([]byte, error) {
	whole, err := json.Marshal(p.Value)
	if err != nil || len(p.Fields) == 0 {
		return whole, err
	}
	var parts map[string]json.RawMessage
	if err := json.Unmarshal(whole, &parts); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteByte('{')
	for _, name := range p.Fields {
		part, ok := parts[name]
		if !ok {
			continue // omitempty
		}
		if b.Len() > 1 {
			b.WriteByte(',')
		}
		b.WriteString(`"` + name + `":`)
		b.Write(part)
		delete(parts, name) // a field named twice is written once
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}
