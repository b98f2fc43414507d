package recorded

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"maps"
	"math"
	"mime/multipart"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/getkin/kin-openapi/openapi3"
)

// Bounds of a made-up value, whatever its schema asks for.
const (
	maxValueDepth = 16
	maxValues     = 2000 // in all
	maxText       = 4096
	maxItems      = 20
)

var (
	errRecursive = errors.New("the schema contains itself")
	errTooLarge  = errors.New("the schema asks for too large a value")
)

// maker makes values that fit schemas: the one that a schema suggests, else one that was learned or is made up. A
// schema that contains itself is left out where that is allowed.
type maker struct {
	requiredOnly bool
	values       *Values // of identifiers; may be nil
	path         string  // of the operation
	within       map[*openapi3.Schema]bool
	made         int
}

// make makes the value of a name.
func (m *maker) make(name string, s *openapi3.Schema) (any, error) {
	if m.within == nil {
		m.within = map[*openapi3.Schema]bool{}
	}
	return m.value(name, s)
}

func (m *maker) value(name string, s *openapi3.Schema) (any, error) {
	switch {
	case s == nil:
		return "", nil
	case s.Example != nil:
		return s.Example, nil
	case s.Default != nil:
		return s.Default, nil
	case len(s.Enum) > 0:
		return s.Enum[0], nil
	case m.within[s] || len(m.within) > maxValueDepth:
		return nil, errRecursive
	}
	if isIdentifier(name) {
		if value, ok := m.values.find(m.path, name, s); ok {
			return value, nil
		}
	}
	if m.made++; m.made > maxValues {
		return nil, errTooLarge
	}
	m.within[s] = true
	defer delete(m.within, s)
	for _, candidates := range []openapi3.SchemaRefs{s.OneOf, s.AnyOf} {
		for i, c := range candidates {
			value, err := m.value(name, c.Value)
			if err == nil || i == len(candidates)-1 {
				return value, err
			}
		}
	}
	switch {
	case len(s.AllOf) > 0:
		return m.allOf(name, s)
	case s.Type.Is("object"), len(s.Properties) > 0:
		return m.object(s)
	case s.Type.Is("array"), s.Items != nil:
		return m.array(name, s)
	case s.Type.Is("boolean"):
		return true, nil
	case s.Type.Is("integer"), s.Type.Is("number"):
		return numberFor(s), nil
	}
	return textFor(name, s), nil
}

func (m *maker) allOf(name string, s *openapi3.Schema) (any, error) {
	all := map[string]any{}
	var last any
	for _, part := range s.AllOf {
		value, err := m.value(name, part.Value)
		if err != nil {
			return nil, err
		}
		if last = value; value != nil {
			if fields, ok := value.(map[string]any); ok {
				maps.Copy(all, fields)
			}
		}
	}
	own, err := m.object(s)
	if err != nil {
		return nil, err
	}
	maps.Copy(all, own)
	if len(all) == 0 && last != nil {
		return last, nil
	}
	return all, nil
}

func (m *maker) object(s *openapi3.Schema) (map[string]any, error) {
	all := map[string]any{}
	for _, name := range slices.Sorted(maps.Keys(s.Properties)) {
		required := slices.Contains(s.Required, name)
		property := s.Properties[name].Value
		if property == nil || property.ReadOnly || m.requiredOnly && !required {
			continue
		}
		value, err := m.value(name, property)
		if errors.Is(err, errRecursive) && !required {
			continue
		}
		if err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		all[name] = value
	}
	return all, nil
}

func (m *maker) array(name string, s *openapi3.Schema) (any, error) {
	if s.Items == nil {
		return []any{}, nil
	}
	value, err := m.value(name, s.Items.Value)
	if errors.Is(err, errRecursive) && s.MinItems == 0 {
		return []any{}, nil
	}
	if err != nil {
		return nil, err
	}
	return slices.Repeat([]any{value}, int(min(max(s.MinItems, 1), maxItems))), nil
}

func numberFor(s *openapi3.Schema) any {
	value := 1.0
	if s.Min != nil && *s.Min >= value {
		if value = *s.Min; s.ExclusiveMin {
			value++
		}
	}
	if s.Max != nil && *s.Max <= value {
		if value = *s.Max; s.ExclusiveMax {
			value--
		}
	}
	if s.MultipleOf != nil && *s.MultipleOf > 0 {
		value = math.Ceil(value / *s.MultipleOf) * *s.MultipleOf
	}
	if s.Type.Is("integer") && math.Abs(value) < 1<<53 {
		return int64(value)
	}
	return value
}

// formats of texts and an example of each.
var formatExamples = map[string]string{
	"date": "2024-01-31", "date-time": "2024-01-31T12:00:00Z", "time": "12:00:00Z", "email": "user@example.com",
	"hostname": "example.com", "ipv4": "192.0.2.1", "ipv6": "2001:db8::1", "uri": "https://example.com/",
	"uuid": "6ba7b810-9dad-41d1-80b4-00c04fd430c8", "password": "Vedette-1x", "byte": "dGV4dA==", "binary": "text",
}

// nameFormats are the formats that parts of names suggest where a schema says none.
var nameFormats = [][2]string{{"email", "email"}, {"password", "password"}, {"uuid", "uuid"}, {"url", "uri"},
	{"date", "date"}}

func textFor(name string, s *openapi3.Schema) string {
	format := s.Format
	for _, hint := range nameFormats {
		if format == "" && strings.Contains(strings.ToLower(name), hint[0]) && !strings.HasSuffix(name, "dated") {
			format = hint[1]
		}
	}
	if text, ok := formatExamples[format]; ok && (s.MaxLength == nil || uint64(len(text)) <= *s.MaxLength) &&
		uint64(len(text)) >= s.MinLength {
		return text
	}
	text := "string"
	if least := int(min(s.MinLength, maxText)); least > len(text) {
		text = strings.Repeat("a", least)
	}
	if s.MaxLength != nil && *s.MaxLength < uint64(len(text)) {
		text = text[:*s.MaxLength]
	}
	return text
}

// textOf is a value as the text of a parameter: objects and lists as JSON.
func textOf(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case map[string]any, []any:
		text, err := json.Marshal(v)
		if err != nil {
			return ""
		}
		return string(text)
	}
	return fmt.Sprint(value)
}

// boundary is between the parts of the forms that are made; it is always the same, so that equal requests are equal.
const boundary = "vedette-6ba7b8109dad41d1"

// bodyFor makes a body of a type of content, and the header that tells it.
func bodyFor(kind string, media *openapi3.MediaType, m *maker) (body []byte, contentType string, err error) {
	var schema *openapi3.Schema
	if media != nil && media.Schema != nil {
		schema = media.Schema.Value
	}
	var value any
	switch {
	case media != nil && exampleOf(media) != nil:
		value = exampleOf(media)
	case schema != nil:
		if value, err = m.make("", schema); err != nil {
			return nil, "", err
		}
	default:
		value = map[string]any{}
	}
	fields, isObject := value.(map[string]any)
	text, isText := value.(string)
	base, _, _ := strings.Cut(kind, ";")
	switch base = strings.ToLower(strings.TrimSpace(base)); {
	case base == "application/json", strings.HasSuffix(base, "+json"), base == "*/*":
		body, err = json.Marshal(value)
		if base == "*/*" {
			kind = "application/json"
		}
	case base == "application/xml", base == "text/xml", strings.HasSuffix(base, "+xml"):
		body, err = xmlOf(schema, value)
	case base == "application/x-www-form-urlencoded" && isObject:
		form := url.Values{}
		for name, v := range fields {
			form.Set(name, textOf(v))
		}
		body = []byte(form.Encode())
	case base == "multipart/form-data" && isObject:
		body, err = formOf(schema, fields)
		kind = "multipart/form-data; boundary=" + boundary
	case base == "application/x-www-form-urlencoded", base == "multipart/form-data":
		return nil, "", errors.New("the value of a form is an object")
	case isText:
		body = []byte(text)
	default:
		return nil, "", errors.New("bodies of this type are not made")
	}
	if len(body) > maxBody {
		return nil, "", errTooLarge
	}
	return body, kind, err
}

// exampleOf is the example of a body; nil for none.
func exampleOf(media *openapi3.MediaType) any {
	if media.Example != nil {
		return media.Example
	}
	for _, name := range slices.Sorted(maps.Keys(media.Examples)) {
		if e := media.Examples[name]; e != nil && e.Value != nil && e.Value.Value != nil {
			return e.Value.Value
		}
	}
	return nil
}

func formOf(schema *openapi3.Schema, fields map[string]any) ([]byte, error) {
	var out bytes.Buffer
	w := multipart.NewWriter(&out)
	if err := w.SetBoundary(boundary); err != nil {
		return nil, err
	}
	for _, name := range slices.Sorted(maps.Keys(fields)) {
		isFile := false
		if schema != nil && schema.Properties[name] != nil && schema.Properties[name].Value != nil {
			isFile = schema.Properties[name].Value.Format == "binary"
		}
		create := w.CreateFormField
		if isFile {
			create = func(name string) (io.Writer, error) { return w.CreateFormFile(name, name) }
		}
		part, err := create(name)
		if err != nil {
			return nil, err
		}
		if _, err := part.Write([]byte(textOf(fields[name]))); err != nil {
			return nil, err
		}
	}
	return out.Bytes(), w.Close()
}

// xmlOf writes a value as XML, within an element with the name that the schema gives it.
func xmlOf(schema *openapi3.Schema, value any) ([]byte, error) {
	root := "root"
	if schema != nil && schema.XML != nil && schema.XML.Name != "" {
		root = schema.XML.Name
	}
	if text, ok := value.(string); ok && strings.HasPrefix(strings.TrimSpace(text), "<") {
		return []byte(text), nil
	}
	var out bytes.Buffer
	e := xml.NewEncoder(&out)
	if err := xmlElement(e, root, value); err != nil {
		return nil, err
	}
	err := e.Close()
	return out.Bytes(), err
}

func xmlElement(e *xml.Encoder, name string, value any) error {
	if list, ok := value.([]any); ok {
		for _, item := range list {
			if err := xmlElement(e, name, item); err != nil {
				return err
			}
		}
		return nil
	}
	start := xml.StartElement{Name: xml.Name{Local: name}}
	if err := e.EncodeToken(start); err != nil {
		return err
	}
	if fields, ok := value.(map[string]any); ok {
		for _, key := range slices.Sorted(maps.Keys(fields)) {
			if err := xmlElement(e, key, fields[key]); err != nil {
				return err
			}
		}
	} else if err := e.EncodeToken(xml.CharData(textOf(value))); err != nil {
		return err
	}
	return e.EncodeToken(start.End())
}
