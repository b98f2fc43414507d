package rest

import (
	"cmp"
	"encoding/json"
	"reflect"
	"slices"
	"strings"

	"github.com/danielgtaylor/huma/v2"
)

// Vocabulary describes types and fields in an OpenAPI document.
type Vocabulary struct {
	// Names are schema names for types whose own name is too short outside their package.
	Names map[reflect.Type]string
	// Enums are the values of named string types.
	Enums map[reflect.Type][]string
	// Words describe fields that no doc tag describes: by Schema.field, or by field alone
	// where it means the same everywhere.
	Words map[string]string
	// WithoutEffect are fields of bodies that are taken and have no effect, with the reason: who sends one is warned.
	WithoutEffect map[string]string
}

// ParseWords reads Vocabulary.Words from lines such as "field, Schema.field: Description.", by key.
func ParseWords(text string) map[string]string {
	words := map[string]string{}
	for line := range strings.Lines(text) {
		keys, description, _ := strings.Cut(strings.TrimSpace(line), ": ")
		for key := range strings.SplitSeq(keys, ", ") {
			words[key] = description
		}
	}
	return words
}

// Contract is the surface's OpenAPI document, as YAML.
func (a *API) Contract() ([]byte, error) {
	a.Complete()
	return a.Huma.OpenAPI().YAML()
}

// ContractJSON is the surface's OpenAPI document, as JSON.
func (a *API) ContractJSON() ([]byte, error) {
	a.Complete()
	return json.Marshal(a.Huma.OpenAPI())
}

// Complete adds the vocabulary to the schemas, once, when all operations are there and before the first request: bodies
// are checked against the same schemas.
func (a *API) Complete() {
	a.complete.Do(func() {
		schemas := a.Huma.OpenAPI().Components.Schemas
		for name, schema := range schemas.Map() {
			a.describe(name, schema, schemas.TypeFromRef(schemaPrefix+name))
		}
	})
}

const schemaPrefix = "#/components/schemas/"

// describe adds the vocabulary to one schema.
func (a *API) describe(name string, schema *huma.Schema, t reflect.Type) {
	for _, field := range reflect.VisibleFields(t) {
		key, _, _ := strings.Cut(field.Tag.Get("json"), ",")
		property := schema.Properties[key]
		if property == nil {
			continue
		}
		words := a.Vocabulary.Words
		property.Description = cmp.Or(property.Description, words[name+"."+key], words[key])
		kind := field.Type
		if kind.Kind() == reflect.Pointer {
			kind = kind.Elem()
		}
		if values := a.Vocabulary.Enums[kind]; len(property.Enum) == 0 {
			for _, value := range values {
				property.Enum = append(property.Enum, value)
			}
		}
		if property.Nullable && len(property.Enum) > 0 && !slices.Contains(property.Enum, nil) {
			property.Enum = append(property.Enum, nil) // JSON Schema requires null among the values
		}
		if property.Ref != "" && field.Type.Kind() == reflect.Pointer && slices.Contains(schema.Required, key) {
			schema.Properties[key] = &huma.Schema{
				Description: property.Description, OneOf: []*huma.Schema{{Ref: property.Ref}, {Type: "null"}},
			}
		}
	}
}

// schemaName names a type in the contract.
func (s Surface) schemaName(t reflect.Type, hint string) string {
	for t.Kind() == reflect.Pointer {
		t = t.Elem()
	}
	if name := s.Vocabulary.Names[t]; name != "" {
		return name
	}
	return huma.DefaultSchemaNamer(t, hint)
}
