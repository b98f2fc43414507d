package syntax

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"regexp"
	"strings"
	"unicode/utf8"

	"go.yaml.in/yaml/v4"
)

var idForm = regexp.MustCompile(`^([a-zA-Z0-9]+[-_])*[a-zA-Z0-9]+$`)

// Parse reads one template. path is only for messages and events. The error is an
// *errs.Error of kind Invalid and code CodeInvalid that names file, line and key.
func Parse(path string, data []byte) (*Template, error) {
	if len(data) > MaxBytes {
		return nil, Fault(path, 1, 0, "", "the template is larger than %d bytes", MaxBytes)
	}
	if !utf8.Valid(data) {
		return nil, Fault(path, 1, 0, "", "the template is not valid UTF-8")
	}
	var doc yaml.Node
	if err := yaml.Load(data, &doc); err != nil {
		return nil, yamlFault(path, err)
	}
	root := &doc
	if root.Kind == yaml.DocumentNode && len(root.Content) == 1 {
		root = root.Content[0]
	}
	sum := sha256.Sum256(data)
	t := &Template{Path: path, Digest: hex.EncodeToString(sum[:]), Raw: data}
	r := &reader{file: path}
	if err := r.template(root, t); err != nil {
		return nil, err
	}
	t.Later = r.later
	return t, nil
}

// template reads the top level.
func (r *reader) template(n *yaml.Node, t *Template) error {
	if n.Kind != yaml.MappingNode {
		return r.fault(n, "", "a template must be a mapping")
	}
	hasInfo, work, requests := false, false, ""
	http := func(n *yaml.Node, at string) error {
		if requests != "" {
			return r.fault(n, at, "http and requests are one key under two names: use one of them")
		}
		requests, work = at, true
		return r.list(n, at, func(n *yaml.Node, at string) error {
			block, err := r.http(n, at)
			t.HTTP = append(t.HTTP, block)
			return err
		})
	}
	want := fields{
		"id": r.text(&t.ID),
		"info": func(n *yaml.Node, at string) (err error) {
			hasInfo = true
			t.Info, err = r.info(n, at)
			return err
		},
		"variables":           r.pairs(&t.Variables, "variables with lists"),
		"constants":           r.pairs(&t.Constants, "constants with lists"),
		"stop-at-first-match": r.boolean(&t.StopAtFirstMatch),
		"http":                http,
		"requests":            http,
		"flow":                r.unrun("flow"),
		"self-contained":      r.unrun("self-contained"),
		"signature":           r.unrun("signature"),
	}
	for _, protocol := range []string{"dns", "file", "headless", "ssl", "websocket", "whois", "code", "javascript", "tcp", "network", "workflows"} {
		want[protocol] = func(n *yaml.Node, at string) error {
			work = true
			return r.unrun(protocol)(n, at)
		}
	}
	if err := r.mapping(n, "", want); err != nil {
		return err
	}
	switch {
	case !idForm.MatchString(t.ID):
		return r.fault(n, "id", "the id %q must be letters and digits, with single hyphens or underscores between them", t.ID)
	case !hasInfo:
		return r.fault(n, "info", "a template needs an info block")
	case !work || requests != "" && len(t.HTTP) == 0:
		return r.fault(n, "http", "a template needs at least one request")
	}
	return nil
}

func yamlFault(path string, err error) error {
	var one *yaml.LoadError
	var many *yaml.LoadErrors
	if errors.As(err, &many) && len(many.Errors) > 0 {
		one = many.Errors[0]
	}
	if one != nil || errors.As(err, &one) {
		return Fault(path, max(1, one.Mark.Line), one.Mark.Column, "", "%s", one.Message)
	}
	return Fault(path, 1, 0, "", "%s", strings.TrimPrefix(err.Error(), "yaml: "))
}
