package httptool

import (
	"bytes"
	"encoding/json"
	"errors"
	"mime"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// node is a JSON document whose strings are templates.
type node struct {
	text   text            // of a string
	fields map[string]node // of an object
	items  []node          // of an array
	other  any             // number, boolean or null
	kind   nodeKind
}

type nodeKind int

const (
	scalarNode nodeKind = iota
	stringNode
	objectNode
	arrayNode
)

const maxDepth = 20

// media is the type of a text body and its escaping.
type media struct {
	name   string // Content-Type without a header
	escape escape
}

func (r *Request) content(raw json.RawMessage) error {
	if len(raw) == 0 || string(bytes.TrimSpace(raw)) == "null" {
		return nil
	}
	if ReadsOnly(r.method) {
		return errs.Field("body", "body: a %s request has none.", r.method)
	}
	var doc any
	if decode(raw, &doc) != nil {
		return errs.Field("body", "body must be JSON.")
	}
	var err error
	if r.body, err = nodeOf(doc, 0); err != nil {
		return errs.Field("body", "body: %s.", err)
	}
	r.hasBody = true
	r.media, err = r.mediaType()
	return err
}

// decode keeps numbers as they are written.
func decode(raw []byte, to any) error {
	dec := json.NewDecoder(bytes.NewReader(raw))
	dec.UseNumber()
	return dec.Decode(to)
}

// mediaType decides by the header Content-Type how values in a text body are escaped.
func (r *Request) mediaType() (media, error) {
	if r.body.kind != stringNode {
		return media{name: "application/json"}, nil
	}
	i := slices.IndexFunc(r.headers, func(h pair) bool { return h.name == "Content-Type" })
	if i < 0 {
		return media{"text/plain; charset=utf-8", asIs}, nil
	}
	declared, err := values{}.fill(r.headers[i].value, inHeader)
	if err != nil {
		return media{}, errs.Field("headers", "headers: Content-Type must have no placeholder.")
	}
	kind, _, err := mime.ParseMediaType(declared)
	switch {
	case err != nil:
		return media{}, errs.Field("headers", "headers: Content-Type is no media type.")
	case kind == "application/x-www-form-urlencoded":
		return media{declared, inQuery}, nil
	case kind == "application/json" || strings.HasSuffix(kind, "+json"):
		return media{declared, inJSON}, nil
	case kind == "text/html", kind == "text/xml", kind == "application/xml", strings.HasSuffix(kind, "+xml"):
		return media{declared, inXML}, nil
	case kind == "text/plain":
		return media{declared, asIs}, nil
	}
	return media{}, errs.Field("headers",
		"headers: a body that is text can be JSON, a form, XML, HTML or text/plain, not %.100s.", kind)
}

func nodeOf(doc any, depth int) (n node, err error) {
	if depth > maxDepth {
		return n, errors.New("it is nested too deeply")
	}
	switch doc := doc.(type) {
	case string:
		n.kind = stringNode
		n.text, err = parse(doc)
		return n, err
	case map[string]any:
		n.kind, n.fields = objectNode, map[string]node{}
		for key, value := range doc {
			if strings.Contains(key, "{{") {
				return n, errors.New("a key must have no placeholder")
			}
			if n.fields[key], err = nodeOf(value, depth+1); err != nil {
				return n, err
			}
		}
		return n, nil
	case []any:
		n.kind = arrayNode
		for _, value := range doc {
			item, err := nodeOf(value, depth+1)
			if err != nil {
				return n, err
			}
			n.items = append(n.items, item)
		}
		return n, nil
	}
	return node{other: doc}, nil
}

func (n node) each(f func(text)) {
	f(n.text)
	for _, field := range n.fields {
		field.each(f)
	}
	for _, item := range n.items {
		item.each(f)
	}
}

// value fills in the values. A member that is only an absent argument is omitted.
func (n node) value(v values) (any, error) {
	switch n.kind {
	case stringNode:
		if name := n.text.onlyParam(); name != "" {
			return v.args[name], nil
		}
		return v.fill(n.text, asIs)
	case objectNode:
		out := map[string]any{}
		for key, field := range n.fields {
			if field.kind == stringNode && v.absent(field.text) {
				continue
			}
			var err error
			if out[key], err = field.value(v); err != nil {
				return nil, err
			}
		}
		return out, nil
	case arrayNode:
		out := []any{}
		for _, item := range n.items {
			if item.kind == stringNode && v.absent(item.text) {
				continue
			}
			value, err := item.value(v)
			if err != nil {
				return nil, err
			}
			out = append(out, value)
		}
		return out, nil
	}
	return n.other, nil
}

func (r *Request) encode(v values) ([]byte, error) {
	if !r.hasBody {
		return nil, nil
	}
	if r.body.kind == stringNode {
		text, err := v.fill(r.body.text, r.media.escape)
		return []byte(text), err
	}
	doc, err := r.body.value(v)
	if err != nil {
		return nil, err
	}
	return json.Marshal(doc)
}
