package app

import (
	"bytes"
	"encoding/json"
	"maps"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/api/agentapi"
	"github.com/vedette-sec/vedette/internal/api/platform"
	"github.com/vedette-sec/vedette/internal/api/rest"
)

// contract is the part of an OpenAPI document that the tests read.
type contract struct {
	Servers    []struct{ URL, Description string }
	Paths      map[string]map[string]*operation
	Components struct {
		Schemas         map[string]*schema
		SecuritySchemes map[string]any
	}
}

type operation struct {
	OperationID string
	Summary     string
	Tags        []string
	Security    []map[string][]string
	Parameters  []struct {
		Name, In, Description string
		Required              bool
		Schema                *schema
	}
	RequestBody *struct {
		Required bool
		Content  map[string]struct{ Schema *schema }
	}
	Responses map[string]struct {
		Description string
		Content     map[string]struct{ Schema *schema }
		Headers     map[string]struct{ Schema *schema }
	}
	method, path string
}

type schema struct {
	Ref                  string `json:"$ref"`
	Type                 any
	Format               string
	Description          string
	Properties           map[string]*schema
	Required             []string
	Items                *schema
	OneOf                []*schema
	Enum                 []any
	MinItems             int `json:"minItems"`
	Minimum, Maximum     *float64
	MaxLength            *int
	AdditionalProperties any
}

// is reports whether a schema allows a JSON type.
func (s *schema) is(kind string) bool {
	if list, ok := s.Type.([]any); ok {
		return slices.Contains(list, any(kind))
	}
	return s.Type == kind
}

func (c *contract) deref(s *schema) *schema {
	if name, ok := strings.CutPrefix(s.Ref, "#/components/schemas/"); ok {
		return c.Components.Schemas[name]
	}
	return s
}

// operations are all of a contract, in a stable order.
func (c *contract) operations() (out []*operation) {
	for _, path := range slices.Sorted(maps.Keys(c.Paths)) {
		for _, method := range slices.Sorted(maps.Keys(c.Paths[path])) {
			op := c.Paths[path][method]
			op.method, op.path = strings.ToUpper(method), path
			out = append(out, op)
		}
	}
	return out
}

// apis are the two APIs without services behind them.
func apis(c Config) map[string]*rest.API {
	return map[string]*rest.API{
		"agent":    agentapi.New(rest.Config{}, Servers(c), agentapi.Deps{}),
		"platform": platform.New(rest.Config{}, Servers(c), platform.Deps{}),
	}
}

func contractOf(t testing.TB, c Config, surface string) *contract {
	t.Helper()
	text, err := apis(c)[surface].ContractJSON()
	if err != nil {
		t.Fatal(err)
	}
	var doc contract
	if err := json.Unmarshal(text, &doc); err != nil {
		t.Fatal(err)
	}
	return &doc
}

func TestContractsAreCheckedIn(t *testing.T) {
	c, _, err := Load(nil, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for _, surface := range []string{"agent", "platform"} {
		emitted, err := Contract(c, surface == "agent")
		if err != nil {
			t.Fatal(err)
		}
		file := "../../api/" + surface + ".openapi.yaml"
		kept, err := os.ReadFile(file)
		if err != nil || !bytes.Equal(emitted, kept) {
			t.Errorf("%s is not what the code says (run `make gen` and look at the difference): %v", file, err)
		}
	}
}

func TestContractNamesItsServers(t *testing.T) {
	c, _, err := Load(map[string]any{"public_url": "https://vedette.example.com",
		"development_url": "https://dev.example.com"}, nil, "")
	if err != nil {
		t.Fatal(err)
	}
	for surface := range apis(c) {
		doc := contractOf(t, c, surface)
		var got []string
		for _, server := range doc.Servers {
			got = append(got, server.Description+" "+server.URL)
		}
		want := []string{"production https://vedette.example.com", "development https://dev.example.com",
			"local http://localhost:8080"}
		if !slices.Equal(got, want) {
			t.Errorf("%s: servers %q, want %q", surface, got, want)
		}
	}
}

func TestEveryOperationIsDescribed(t *testing.T) {
	for surface := range apis(Config{}) {
		doc := contractOf(t, Config{}, surface)
		seen := map[string]bool{}
		for _, op := range doc.operations() {
			name := surface + ": " + op.method + " " + op.path
			if op.OperationID == "" || seen[op.OperationID] {
				t.Errorf("%s: operationId %q is missing or not its own", name, op.OperationID)
			}
			seen[op.OperationID] = true
			if op.Summary == "" || len(op.Tags) == 0 {
				t.Errorf("%s: no summary or no tag", name)
			}
			for _, p := range op.Parameters {
				if p.Description == "" || p.Schema == nil {
					t.Errorf("%s: parameter %s has no description or no schema", name, p.Name)
				}
			}
			checkResponses(t, doc, name, op)
		}
	}
}

func checkResponses(t *testing.T, doc *contract, name string, op *operation) {
	t.Helper()
	want := []string{"400", "429", "500"}
	if len(op.Security) > 0 {
		want = append(want, "401")
	}
	if strings.Contains(op.path, "{") {
		want = append(want, "404")
	}
	if op.RequestBody != nil {
		want = append(want, "413", "415")
	}
	for _, status := range want {
		if _, ok := op.Responses[status]; !ok {
			t.Errorf("%s: the answer %s is not in the contract", name, status)
		}
	}
	good := 0
	for status, response := range op.Responses {
		if strings.HasPrefix(status, "2") {
			good++
			continue
		}
		if strings.HasPrefix(status, "3") { // a browser is sent on
			if response.Headers["Location"].Schema == nil {
				t.Errorf("%s: the answer %s says not where to", name, status)
			}
			continue
		}
		content, ok := response.Content["application/json"]
		if !ok || len(response.Content) != 1 || content.Schema.Ref != "#/components/schemas/Error" {
			t.Errorf("%s: the answer %s does not have the API's error shape: %+v", name, status, response.Content)
		}
		if status == "422" {
			t.Errorf("%s: 422 is never answered", name)
		}
	}
	if good == 0 {
		t.Errorf("%s: no good answer", name)
	}
	for _, alternative := range op.Security {
		for scheme := range alternative {
			if doc.Components.SecuritySchemes[scheme] == nil {
				t.Errorf("%s: there is no security scheme %q", name, scheme)
			}
		}
	}
}

func TestErrorShapesAreTheSpecifications(t *testing.T) {
	for surface, want := range map[string][]string{
		"agent":    {"code", "error", "error_id", "kind", "message", "turnstile_site_key"},
		"platform": {"code", "error", "error_id", "kind", "message", "param", "status"},
	} {
		got := slices.Sorted(maps.Keys(contractOf(t, Config{}, surface).Components.Schemas["Error"].Properties))
		if !slices.Equal(got, want) {
			t.Errorf("%s: an error has %q, want %q", surface, got, want)
		}
	}
}

func TestEverySchemaIsDescribed(t *testing.T) {
	for surface := range apis(Config{}) {
		doc := contractOf(t, Config{}, surface)
		for name, s := range doc.Components.Schemas {
			if strings.ContainsAny(name, "-_") || name == "Item" || strings.HasSuffix(name, "Response") {
				t.Errorf("%s: %q is a generated name: give the type one", surface, name)
			}
			closed := name == "MasterEmailRequest" || name == "AssetFilters" // an unknown field must not silently mean "all"
			if open := s.AdditionalProperties == true; open == closed {
				t.Errorf("%s: %s: additionalProperties is %v", surface, name, s.AdditionalProperties)
			}
			for field, property := range s.Properties {
				if property.Description == "" {
					t.Errorf("%s: %s.%s has no description", surface, name, field)
				}
				checkProperty(t, doc, surface+": "+name+"."+field, property)
			}
			for _, field := range s.Required {
				if s.Properties[field] == nil {
					t.Errorf("%s: %s requires %s, which it does not have", surface, name, field)
				}
			}
		}
	}
}

func checkProperty(t *testing.T, doc *contract, name string, p *schema) {
	t.Helper()
	if target := doc.deref(p); target == nil {
		t.Errorf("%s refers to nothing: %s", name, p.Ref)
	}
	if p.is("array") && p.is("null") {
		t.Errorf("%s: a list is [] and never null", name)
	}
	if len(p.Enum) > 0 && p.is("null") != slices.Contains(p.Enum, nil) {
		t.Errorf("%s: null must be both in type and enum, or in neither", name)
	}
	if p.Items != nil {
		checkProperty(t, doc, name+"[]", p.Items)
	}
}

// What the specification says of a document, field by field: required, and may be null.
func TestDocumentsAreTheSpecifications(t *testing.T) {
	doc := contractOf(t, Config{}, "agent")
	for name, fields := range map[string]map[string]bool{ // field: may be null
		"CreatedAPIKey":      {"created_at": false, "id": false, "key": false},
		"MasterEmailRequest": {"email": false},
		"MasterLookupResult": {"exists": false, "user_region": true, "team": true},
		"MasterTeam":         {"id": false, "name": false, "owner_email": false, "user_role": false, "members": false},
		"MasterMember":       {"email": false, "role": false},
		"ArtifactWrapper":    {"task_id": false, "completion_delivery": false, "artifact": false},
		"CompletionArtifact": {
			"schema_version": false, "completion_delivery": false, "task_id": false, "stream_id": false, "status": false,
			"completed_at": false, "issue_count": false, "summary": false, "findings": false,
		},
	} {
		s := doc.Components.Schemas[name]
		if s == nil {
			t.Errorf("there is no schema %s", name)
			continue
		}
		if got := slices.Sorted(slices.Values(s.Required)); !slices.Equal(got, slices.Sorted(maps.Keys(fields))) {
			t.Errorf("%s requires %q", name, got)
		}
		for field, nullable := range fields {
			p := s.Properties[field]
			if p == nil {
				continue
			}
			got := p.is("null") || slices.ContainsFunc(p.OneOf, func(s *schema) bool { return s.is("null") })
			if got != nullable {
				t.Errorf("%s.%s: may be null: %v", name, field, got)
			}
		}
	}
}
