package schema_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/vedette-sec/vedette/internal/engine/schema"
	"github.com/vedette-sec/vedette/internal/engine/syntax"
	"go.yaml.in/yaml/v4"
)

func compiled(t testing.TB) *jsonschema.Schema {
	t.Helper()
	text, err := schema.JSON()
	if err != nil {
		t.Fatal(err)
	}
	document, err := jsonschema.UnmarshalJSON(bytes.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	c := jsonschema.NewCompiler()
	if err := c.AddResource("template.json", document); err != nil {
		t.Fatal(err)
	}
	s, err := c.Compile("template.json")
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// read is a template as an editor sees it.
func read(text []byte) (any, error) {
	var value any
	if err := yaml.Load(text, &value); err != nil {
		return nil, err
	}
	plain, err := json.Marshal(value)
	if err != nil {
		return nil, err
	}
	return jsonschema.UnmarshalJSON(bytes.NewReader(plain))
}

// TestCorpusIsValid: every public template that loads fits the schema.
func TestCorpusIsValid(t *testing.T) {
	root := os.Getenv("VEDETTE_CORPUS")
	if root == "" {
		root = "../../../../shared/corpus/templates"
	}
	if _, err := os.Stat(root); errors.Is(err, fs.ErrNotExist) {
		t.Skip("there is no corpus beside the checkout")
	}
	s, count := compiled(t), 0
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || filepath.Ext(path) != ".yaml" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if _, err := syntax.Parse(path, text); err != nil {
			return nil //nolint:nilerr // it does not load
		}
		value, err := read(text)
		if err != nil {
			t.Logf("%s: not what editors read: %v", path, err)
			return nil
		}
		count++
		if err := s.Validate(value); err != nil {
			t.Errorf("%s: %v", path, err)
		}
		return nil
	})
	if err != nil || count < 1000 {
		t.Errorf("%d templates, %v", count, err)
	}
}

// base has a place for a change in each kind of mapping.
const base = `id: a
info: {name: A, author: ada, severity: low}
http:
  - path: ["{{BaseURL}}/"]
    method: GET
    matchers: [{type: word, words: [a], condition: and}]
`

// TestFaultsAreFound: what the reader refuses for its form, the schema refuses too.
func TestFaultsAreFound(t *testing.T) {
	s := compiled(t)
	for name, c := range map[string]struct {
		from, to string
		valid    bool
	}{
		"nothing":              {"", "", true},
		"any case":             {"method: GET", "method: ' get '", true},
		"a single value":       {`path: ["{{BaseURL}}/"]`, `path: "{{BaseURL}}/"`, true},
		"the old key":          {"http:", "requests:", true},
		"a word of YAML 1.1":   {"method: GET", "redirects: Yes", true},
		"a workflow":           {base[strings.Index(base, "http:"):], "workflows: [{template: x, subtemplates: [{tags: a}]}]", true},
		"payloads":             {"method: GET", "payloads: {a: [1, b], b: file.txt, c: {low: [x]}}", true},
		"a wrong key":          {"id: a", "id: a\nidd: b", false},
		"a wrong key inside":   {"severity: low", "severity: low, sevirity: high", false},
		"a wrong matcher":      {"condition: and", "conditions: and", false},
		"a wrong word":         {"type: word", "type: words", false},
		"a wrong severity":     {"severity: low", "severity: awful", false},
		"a wrong subtemplate":  {base[strings.Index(base, "http:"):], "workflows: [{template: x, subtemplates: [{tag: a}]}]", false},
		"a text for a number":  {"method: GET", "threads: many", false},
		"a negative number":    {"method: GET", "threads: -1", false},
		"a mapping for a text": {"method: GET", "body: {a: b}", false},
		"no id":                {"id: a\n", "", false},
		"no name":              {"name: A, ", "", false},
		"no request":           {base[strings.Index(base, "http:"):], "", false},
	} {
		text := strings.Replace(base, c.from, c.to, 1)
		_, parseErr := syntax.Parse("a.yaml", []byte(text))
		value, err := read([]byte(text))
		if err != nil {
			t.Fatal(err)
		}
		if err := s.Validate(value); (err == nil) != c.valid || (parseErr == nil) != c.valid {
			t.Errorf("%s: the schema says %v, the reader %v", name, err, parseErr)
		}
	}
}
