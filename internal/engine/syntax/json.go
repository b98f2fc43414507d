package syntax

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strconv"
	"strings"

	"go.yaml.in/yaml/v4"
)

// jsonReader makes of JSON the nodes that the YAML library would make.
type jsonReader struct {
	path    string
	data    []byte
	decoder *json.Decoder
	line    int   // of the offset up to which lines are counted
	begin   int64 // of that line
	counted int64
}

// parseJSON reads exactly one JSON value.
func parseJSON(path string, data []byte) (*yaml.Node, error) {
	p := &jsonReader{path: path, data: data, decoder: json.NewDecoder(bytes.NewReader(data)), line: 1}
	p.decoder.UseNumber()
	root, err := p.value(0)
	if err != nil {
		return nil, err
	}
	if _, err := p.decoder.Token(); !errors.Is(err, io.EOF) {
		line, column := p.position()
		return nil, Fault(path, line, column, "", "there is more after the template")
	}
	return root, nil
}

// position is the line and column, from 1, of the next token.
func (p *jsonReader) position() (line, column int) {
	at := p.decoder.InputOffset()
	for at < int64(len(p.data)) && strings.IndexByte(" \t\r\n,:", p.data[at]) >= 0 {
		at++
	}
	for ; p.counted < at; p.counted++ {
		if p.data[p.counted] == '\n' {
			p.line++
			p.begin = p.counted + 1
		}
	}
	return p.line, int(at-p.begin) + 1
}

func (p *jsonReader) value(depth int) (*yaml.Node, error) {
	n := &yaml.Node{Kind: yaml.ScalarNode}
	n.Line, n.Column = p.position()
	if depth > maxDepth {
		return nil, Fault(p.path, n.Line, n.Column, "", "nested too deep")
	}
	token, err := p.decoder.Token()
	if err != nil {
		if errors.Is(err, io.EOF) {
			err = io.ErrUnexpectedEOF
		}
		return nil, Fault(p.path, n.Line, n.Column, "", "%v", err)
	}
	switch v := token.(type) {
	case json.Delim:
		n.Kind, n.Tag = yaml.MappingNode, "!!map"
		if v == '[' {
			n.Kind, n.Tag = yaml.SequenceNode, "!!seq"
		}
		for p.decoder.More() {
			inner, err := p.value(depth + 1)
			if err != nil {
				return nil, err
			}
			n.Content = append(n.Content, inner)
		}
		_, err = p.decoder.Token()
		if err != nil {
			return nil, Fault(p.path, n.Line, n.Column, "", "%v", err)
		}
	case string:
		n.Tag, n.Value, n.Style = "!!str", v, yaml.DoubleQuotedStyle
	case json.Number:
		n.Tag, n.Value = "!!float", v.String()
		if !strings.ContainsAny(n.Value, ".eE") {
			n.Tag = "!!int"
		}
	case bool:
		n.Tag, n.Value = "!!bool", strconv.FormatBool(v)
	case nil:
		n.Tag, n.Value = "!!null", "null"
	}
	return n, nil
}
