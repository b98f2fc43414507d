package docs

import (
	"encoding/json"
	"errors"
	"strings"
)

// The types below are the part of an OpenAPI 3.1 document that the pages show.
type document struct {
	OpenAPI string `json:"openapi"`
	Info    struct {
		Title       string `json:"title"`
		Version     string `json:"version"`
		Description string `json:"description"`
	} `json:"info"`
	Servers []struct {
		URL         string `json:"url"`
		Description string `json:"description"`
	} `json:"servers"`
	Tags []struct {
		Name        string `json:"name"`
		Description string `json:"description"`
	} `json:"tags"`
	Paths      map[string]pathItem `json:"paths"`
	Components struct {
		Schemas         map[string]*schema         `json:"schemas"`
		SecuritySchemes map[string]*securityScheme `json:"securitySchemes"`
	} `json:"components"`
}

type pathItem struct {
	Get    *operation `json:"get"`
	Post   *operation `json:"post"`
	Put    *operation `json:"put"`
	Patch  *operation `json:"patch"`
	Delete *operation `json:"delete"`
}

type operation struct {
	OperationID string                `json:"operationId"`
	Summary     string                `json:"summary"`
	Description string                `json:"description"`
	Tags        []string              `json:"tags"`
	Deprecated  bool                  `json:"deprecated"`
	Security    []map[string][]string `json:"security"`
	Parameters  []parameter           `json:"parameters"`
	RequestBody *struct {
		Description string               `json:"description"`
		Required    bool                 `json:"required"`
		Content     map[string]mediaType `json:"content"`
	} `json:"requestBody"`
	Responses map[string]response `json:"responses"`
}

type parameter struct {
	Name        string  `json:"name"`
	In          string  `json:"in"`
	Description string  `json:"description"`
	Required    bool    `json:"required"`
	Schema      *schema `json:"schema"`
}

type response struct {
	Description string               `json:"description"`
	Content     map[string]mediaType `json:"content"`
}

type mediaType struct {
	Schema *schema `json:"schema"`
}

type securityScheme struct {
	Type         string `json:"type"`
	In           string `json:"in"`
	Name         string `json:"name"`
	Scheme       string `json:"scheme"`
	BearerFormat string `json:"bearerFormat"`
	Description  string `json:"description"`
}

type schema struct {
	Ref                  string             `json:"$ref"`
	Type                 types              `json:"type"`
	Format               string             `json:"format"`
	Description          string             `json:"description"`
	Properties           map[string]*schema `json:"properties"`
	Required             []string           `json:"required"`
	Items                *schema            `json:"items"`
	AdditionalProperties *openness          `json:"additionalProperties"`
	OneOf                []*schema          `json:"oneOf"`
	AnyOf                []*schema          `json:"anyOf"`
	AllOf                []*schema          `json:"allOf"`
	Enum                 []any              `json:"enum"`
	Const                any                `json:"const"`
	Default              any                `json:"default"`
	Pattern              string             `json:"pattern"`
	Minimum              json.Number        `json:"minimum"`
	Maximum              json.Number        `json:"maximum"`
	MinLength            json.Number        `json:"minLength"`
	MaxLength            json.Number        `json:"maxLength"`
	MinItems             json.Number        `json:"minItems"`
	MaxItems             json.Number        `json:"maxItems"`
}

// types is "string" or ["string","null"].
type types []string

// UnmarshalJSON accepts both forms.
func (t *types) UnmarshalJSON(text []byte) error {
	var one string
	if json.Unmarshal(text, &one) == nil {
		*t = types{one}
		return nil
	}
	var several []string
	err := json.Unmarshal(text, &several)
	*t = several
	return err
}

// openness is additionalProperties: true, false, or the schema of further properties.
type openness struct {
	closed bool
	schema *schema
}

// UnmarshalJSON accepts a boolean or a schema.
func (o *openness) UnmarshalJSON(text []byte) error {
	var open bool
	if json.Unmarshal(text, &open) == nil {
		o.closed = !open
		return nil
	}
	return json.Unmarshal(text, &o.schema)
}

// read parses a document; version and paths are required.
func read(text []byte) (*document, error) {
	var d document
	if err := json.Unmarshal(text, &d); err != nil {
		return nil, err
	}
	if !strings.HasPrefix(d.OpenAPI, "3.") || d.Paths == nil {
		return nil, errors.New("not an OpenAPI 3 document")
	}
	return &d, nil
}

const refPrefix = "#/components/schemas/"

// resolve follows a reference within the document and returns its name; an unknown reference is an empty schema.
func (d *document) resolve(s *schema) (*schema, string) {
	if s == nil {
		return &schema{}, ""
	}
	name, ok := strings.CutPrefix(s.Ref, refPrefix)
	if !ok {
		return s, ""
	}
	if target := d.Components.Schemas[name]; target != nil && target.Ref == "" {
		return target, name
	}
	return &schema{}, name
}
