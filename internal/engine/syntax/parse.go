package syntax

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"path/filepath"
	"reflect"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

// Options say how templates are read. The zero value is strict.
type Options struct {
	// Lenient skips unknown keys, lets the last of duplicate keys win, and follows "# !include:" lines.
	Lenient bool
	// Include reads the file of an include line; nil follows none.
	Include func(name string) ([]byte, error)
	// NewRandom returns the value of a {{randstr}} marker; Random by default.
	NewRandom func() string
}

// Parse reads one template strictly: JSON when path ends in .json, else YAML. The error is an *errs.Error of kind
// Invalid and code CodeInvalid that names file, line and key.
func Parse(path string, data []byte) (*Template, error) { return Options{}.Parse(path, data) }

// Parse reads one template.
func (o Options) Parse(path string, data []byte) (*Template, error) {
	sum := sha256.Sum256(data)
	t := &Template{Path: path, Digest: hex.EncodeToString(sum[:]), Signature: signature(data)}
	if len(data) > MaxBytes {
		return nil, Fault(path, 1, 0, "", "the template is larger than %d bytes", MaxBytes)
	}
	if !utf8.Valid(data) {
		return nil, Fault(path, 1, 0, "", "the template is not valid UTF-8")
	}
	data, err := o.include(path, data)
	if err != nil {
		return nil, err
	}
	data, random := o.randomize(data)
	root, err := document(path, data)
	if err != nil {
		return nil, err
	}
	r := &reader{file: path, lenient: o.Lenient}
	if root.Kind != yaml.MappingNode {
		return nil, r.fault(root, "a template must be a mapping")
	}
	if err := readStruct(language)(r, root, reflect.ValueOf(t).Elem()); err != nil {
		return nil, err
	}
	t.Constants = append(t.Constants, random...)
	return t, nil
}

// document parses a text.
func document(path string, data []byte) (*yaml.Node, error) {
	if strings.EqualFold(filepath.Ext(path), ".json") {
		return parseJSON(path, data)
	}
	var doc yaml.Node
	if err := yaml.Load(data, &doc); err != nil {
		return nil, yamlFault(path, err)
	}
	if doc.Kind == yaml.DocumentNode && len(doc.Content) == 1 {
		return doc.Content[0], nil
	}
	return &doc, nil
}

func yamlFault(path string, err error) error {
	var one *yaml.LoadError
	var many *yaml.LoadErrors
	if errors.As(err, &many) && len(many.Errors) > 0 {
		one = many.Errors[0]
	}
	if one != nil || errors.As(err, &one) {
		return Fault(path, max(1, one.Mark.Line), one.Mark.Column, "", "%s", strings.TrimPrefix(one.Message, "yaml: "))
	}
	return Fault(path, 1, 0, "", "%s", strings.TrimPrefix(err.Error(), "yaml: "))
}

// content is neither blank nor a comment.
var content = regexp.MustCompile(`(?m)^[ \t]*[^#\s]`)

// Settings reads a YAML mapping that is no template, such as a profile or an ignore list, in written order. Errors
// are those of Parse.
func Settings(path string, data []byte) ([]Variable, error) {
	if len(data) > MaxBytes {
		return nil, Fault(path, 1, 0, "", "the file is larger than %d bytes", MaxBytes)
	}
	if !content.Match(data) {
		return nil, nil
	}
	root, err := document(path, data)
	if err != nil {
		return nil, err
	}
	var list []Variable
	return list, readVariables(&reader{file: path}, root, reflect.ValueOf(&list).Elem())
}
