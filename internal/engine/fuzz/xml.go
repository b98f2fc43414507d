package fuzz

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
)

// xml finds the attributes and texts of an XML document. The name of a text is its elements, of an attribute its
// elements and -name. Payloads are not escaped: markup can be one.
func (c *component) xml(text string) bool {
	decoder := xml.NewDecoder(strings.NewReader(text))
	decoder.Strict = false // the document's own entities do not matter
	decoder.CharsetReader = func(_ string, r io.Reader) (io.Reader, error) { return r, nil }
	var stack []string
	opened := -1 // where an element's content begins, directly after its start
	for {
		from := int(decoder.InputOffset())
		token, err := decoder.RawToken()
		if errors.Is(err, io.EOF) {
			return len(stack) == 0 && len(c.parameters) > 0
		}
		if err != nil || len(stack) > maxDepth {
			return false
		}
		to := int(decoder.InputOffset())
		name := strings.Join(stack, separator)
		switch t := token.(type) {
		case xml.StartElement:
			stack = append(stack, t.Name.Local)
			c.attributes(text[from:to], from, strings.Join(stack, separator))
			opened = to
			continue
		case xml.EndElement:
			if len(stack) == 0 {
				return false
			}
			if opened == from && to > from {
				c.parameters = append(c.parameters, parameter{name: name, from: from, to: from})
			}
			stack = stack[:len(stack)-1]
		case xml.CharData:
			written := text[from:to]
			if inner, ok := strings.CutPrefix(written, "<![CDATA["); ok {
				from, written = from+len("<![CDATA["), strings.TrimSuffix(inner, "]]>")
			}
			if value := strings.TrimSpace(written); value != "" && len(stack) > 0 {
				from += strings.Index(written, value)
				c.parameters = append(c.parameters, parameter{name: name, value: value, from: from, to: from + len(value)})
			}
		}
		opened = -1
	}
}

var attributeForm = regexp.MustCompile(`([^\s=/<>"']+)\s*=\s*(?:"([^"]*)"|'([^']*)')`)

// attributes finds the attributes of a start tag at an offset, except namespaces.
func (c *component) attributes(tag string, at int, element string) {
	for _, m := range attributeForm.FindAllStringSubmatchIndex(tag, maxParameters) {
		name, from, to := tag[m[2]:m[3]], m[4], m[5]
		if from < 0 {
			from, to = m[6], m[7]
		}
		if !strings.HasPrefix(name, "xmlns") {
			c.parameters = append(c.parameters,
				parameter{name: element + separator + "-" + name, value: tag[from:to], from: at + from, to: at + to})
		}
	}
}
