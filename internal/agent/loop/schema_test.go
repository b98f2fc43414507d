package loop

import (
	"fmt"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/agent/redact"
)

// doubling is a schema of few bytes that a validator would visit 2^n times for one value.
func doubling(n int, ref string) string {
	var b strings.Builder
	b.WriteString(`{"type": "object", "allOf": [{"$ref": "` + fmt.Sprintf(ref, 0) + `"}], "$defs": {`)
	for i := range n {
		next := fmt.Sprintf(ref, i+1)
		fmt.Fprintf(&b, `"d%d": {"allOf": [{"$ref": %q}, {"$ref": %q}]}, `, i, next, next)
	}
	fmt.Fprintf(&b, `"d%d": {}}, "%%24defs": {"d0": {}}}`, n)
	return b.String()
}

func TestSchemasAreBounded(t *testing.T) {
	for name, c := range map[string]struct {
		schema string
		good   bool
	}{
		"plain": {`{"type": "object", "properties": {"a": {"type": "string"}, "$ref": {"type": "string"}}}`,
			true},
		"a reference":     {`{"type": "object", "properties": {"a": {"$ref": "#/$defs/x"}, "b": {"$ref": "#/$defs/x"}}, "$defs": {"x": {"type": "string"}}}`, true},
		"a few doublings": {doubling(8, "#/$defs/d%d"), true},
		"many doublings":  {doubling(40, "#/$defs/d%d"), false},
		"percent":         {doubling(40, "#/%%24defs/d%d"), false},
		"itself":          {`{"type": "object", "properties": {"a": {"$ref": "#"}}}`, false},
		"a ring": {`{"$ref": "#/$defs/x", "$defs": {"x": {"$ref": "#/$defs/y"}, "y": {"$ref": "#/$defs/x"}}}`,
			false},
		"nowhere":            {`{"$ref": "#/$defs/x"}`, false},
		"elsewhere":          {`{"$ref": "https://schemas.example/x"}`, false},
		"a file":             {`{"$ref": "file:///etc/passwd"}`, false},
		"an anchor":          {`{"$ref": "#x", "$defs": {"x": {"$anchor": "x"}}}`, false},
		"a place of its own": {`{"$ref": "#/$defs/x", "$defs": {"x": {"$id": "y", "type": "string"}}}`, false},
		"an item":            {`{"$ref": "#/anyOf/1", "anyOf": [{}, {"type": "object"}]}`, true},
		"an old draft":       {`{"$schema": "http://json-schema.org/draft-04/schema#", "$ref": "#/definitions/x", "definitions": {"x": {}}}`, false},
		"no JSON":            {`{`, false},
		"a bad expression":   {`{"properties": {"a": {"pattern": "("}}}`, false},
	} {
		if err := CheckSchema([]byte(c.schema)); (err == nil) != c.good {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// FuzzSchema: whatever a schema says, reading it and a call against it come to an end.
func FuzzSchema(f *testing.F) {
	f.Add(doubling(3, "#/$defs/d%d"), `{"a": 1}`)
	f.Add(`{"type": "object", "properties": {"a": {"$ref": "#"}}}`, `{"a": {"a": {}}}`)
	f.Add(`{"type": ["object", 1], "required": 1}`, `{}`)
	f.Fuzz(func(t *testing.T, schema, args string) {
		compiled, err := compile([]byte(schema))
		if err != nil || compiled == nil || len(schema)+len(args) > 4096 {
			return
		}
		_ = compiled.Validate(args)
	})
}

func TestHiddenValuesAreTakenOut(t *testing.T) {
	s := redact.New(map[string]string{"A": "hunter22"}, "token-of-another", "xy", "", "hunter22")
	got := s.Redact("hunter22 token-of-another dG9rZW4tb2YtYW5vdGhlcg== xy oxyd")
	if want := "{{$A}} [secret] [secret]g== [secret] oxyd"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	doc, err := redact.New(nil, "token-of-another").RedactJSON([]byte(`{"a": "x token-of-another"}`))
	if err != nil || string(doc) != `{"a":"x [secret]"}` {
		t.Errorf("%s, %v", doc, err)
	}
	if _, err := s.Substitute([]byte(`{"a": "{{$xy}}"}`)); err == nil {
		t.Error("a hidden value can be named")
	}
}
