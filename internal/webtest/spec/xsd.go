package spec

import (
	"bytes"
	"errors"
	"fmt"
	"strings"
)

// Of XML Schema, as far as values need it.
type (
	xsdSchema struct {
		Namespace string       `xml:"targetNamespace,attr"`
		Form      string       `xml:"elementFormDefault,attr"`
		Elements  []xsdElement `xml:"element"`
		Complex   []xsdComplex `xml:"complexType"`
		Simple    []xsdSimple  `xml:"simpleType"`
	}
	xsdElement struct {
		Name    string      `xml:"name,attr"`
		Type    string      `xml:"type,attr"`
		Ref     string      `xml:"ref,attr"`
		Fixed   string      `xml:"fixed,attr"`
		Default string      `xml:"default,attr"`
		Complex *xsdComplex `xml:"complexType"`
		Simple  *xsdSimple  `xml:"simpleType"`
	}
	xsdComplex struct {
		Name      string      `xml:"name,attr"`
		Sequence  xsdGroup    `xml:"sequence"`
		All       xsdGroup    `xml:"all"`
		Choice    xsdGroup    `xml:"choice"`
		Extension *xsdDerived `xml:"complexContent>extension"`
		Simple    *xsdDerived `xml:"simpleContent>extension"`
	}
	xsdGroup struct {
		Elements []xsdElement `xml:"element"`
		Choices  []xsdGroup   `xml:"choice"`
		Sequence []xsdGroup   `xml:"sequence"`
	}
	xsdDerived struct {
		Base     string   `xml:"base,attr"`
		Sequence xsdGroup `xml:"sequence"`
		All      xsdGroup `xml:"all"`
	}
	xsdSimple struct {
		Name        string `xml:"name,attr"`
		Restriction struct {
			Base  string `xml:"base,attr"`
			Enums []struct {
				Value string `xml:"value,attr"`
			} `xml:"enumeration"`
		} `xml:"restriction"`
	}
)

// Bounds of a message.
const (
	maxElementDepth = 8
	maxElements     = 500
)

// xsd has the definitions of all schemas by their local names.
type xsd struct {
	elements map[string]xsdElement
	spaces   map[string]string // of elements
	complex  map[string]*xsdComplex
	simple   map[string]*xsdSimple
	form     map[string]bool // names of elements whose children have no namespace
}

func newXSD(schemas []xsdSchema) *xsd {
	x := &xsd{map[string]xsdElement{}, map[string]string{}, map[string]*xsdComplex{}, map[string]*xsdSimple{},
		map[string]bool{}}
	for i := range schemas {
		s := &schemas[i]
		for _, e := range s.Elements {
			x.elements[e.Name], x.spaces[e.Name], x.form[e.Name] = e, s.Namespace, s.Form != "qualified"
		}
		for j := range s.Complex {
			x.complex[s.Complex[j].Name] = &s.Complex[j]
		}
		for j := range s.Simple {
			x.simple[s.Simple[j].Name] = &s.Simple[j]
		}
	}
	return x
}

// xsdWriter writes a value of an element.
type xsdWriter struct {
	*xsd

	text  bytes.Buffer
	made  int
	open  map[*xsdComplex]bool // types that are being written
	plain bool                 // children have no namespace
	err   error
}

// root writes an element that a message names.
func (w *xsdWriter) root(name string) {
	e, ok := w.elements[name]
	if !ok {
		w.err = fmt.Errorf("the element %q is not described", name)
		return
	}
	w.plain = w.form[name]
	open := name + " xmlns=" + attribute(w.spaces[name])
	if w.plain {
		open = "m:" + name + " xmlns:m=" + attribute(w.spaces[name])
	}
	fmt.Fprintf(&w.text, "<%s>", open)
	w.content(e, 0)
	tag, _, _ := strings.Cut(open, " ")
	fmt.Fprintf(&w.text, "</%s>", tag)
}

func (w *xsdWriter) element(e xsdElement, depth int) {
	if e.Ref != "" {
		e = w.elements[local(e.Ref)]
	}
	if w.made++; w.made > maxElements {
		w.err = errors.New("its message is too large")
	}
	if w.err != nil || e.Name == "" || depth > maxElementDepth {
		return
	}
	fmt.Fprintf(&w.text, "<%s>", e.Name)
	w.content(e, depth)
	fmt.Fprintf(&w.text, "</%s>", e.Name)
}

// content writes what is inside an element.
func (w *xsdWriter) content(e xsdElement, depth int) {
	switch kind := local(e.Type); {
	case e.Complex != nil:
		w.complexType(e.Complex, e.Name, depth)
	case e.Fixed != "" || e.Default != "":
		w.value(e.Fixed + e.Default)
	case e.Simple != nil:
		w.simpleType(e.Simple, e.Name, depth)
	case w.complex[kind] != nil:
		w.complexType(w.complex[kind], e.Name, depth)
	case w.simple[kind] != nil:
		w.simpleType(w.simple[kind], e.Name, depth)
	default:
		w.value(builtIn(kind, e.Name))
	}
}

func (w *xsdWriter) complexType(c *xsdComplex, name string, depth int) {
	if depth > maxElementDepth || w.err != nil || w.open[c] {
		return
	}
	if w.open == nil {
		w.open = map[*xsdComplex]bool{}
	}
	w.open[c] = true
	defer delete(w.open, c)
	if c.Simple != nil {
		w.value(builtIn(local(c.Simple.Base), name))
		return
	}
	if d := c.Extension; d != nil {
		if base := w.complex[local(d.Base)]; base != nil && base != c {
			w.complexType(base, name, depth+1)
		}
		w.group(d.Sequence, depth)
		w.group(d.All, depth)
	}
	w.group(c.Sequence, depth)
	w.group(c.All, depth)
	w.choice(c.Choice, depth)
}

func (w *xsdWriter) group(g xsdGroup, depth int) {
	for _, e := range g.Elements {
		w.element(e, depth+1)
	}
	for _, inner := range g.Sequence {
		w.group(inner, depth)
	}
	for _, inner := range g.Choices {
		w.choice(inner, depth)
	}
}

// choice writes the first of several.
func (w *xsdWriter) choice(g xsdGroup, depth int) {
	if len(g.Elements) > 0 {
		g = xsdGroup{Elements: g.Elements[:1]}
	} else if len(g.Sequence) > 0 {
		g = g.Sequence[0]
	}
	w.group(g, depth)
}

func (w *xsdWriter) simpleType(s *xsdSimple, name string, depth int) {
	if len(s.Restriction.Enums) > 0 {
		w.value(s.Restriction.Enums[0].Value)
		return
	}
	base := local(s.Restriction.Base)
	if inner := w.simple[base]; inner != nil && inner != s && depth < maxElementDepth {
		w.simpleType(inner, name, depth+1)
		return
	}
	w.value(builtIn(base, name))
}

func (w *xsdWriter) value(text string) {
	quoted := attribute(text)
	w.text.WriteString(quoted[1 : len(quoted)-1])
}

// builtIn is a value of a type of XML Schema itself.
func builtIn(kind, name string) string {
	switch kind {
	case "int", "integer", "long", "short", "byte", "positiveInteger", "nonNegativeInteger", "unsignedInt", "unsignedLong",
		"unsignedShort", "unsignedByte":
		return "1"
	case "decimal", "float", "double":
		return "1.5"
	case "boolean":
		return "true"
	case "date":
		return "2024-01-31"
	case "dateTime":
		return "2024-01-31T12:00:00Z"
	case "time":
		return "12:00:00Z"
	case "base64Binary":
		return "dGV4dA=="
	case "anyURI":
		return "https://example.com/"
	}
	if strings.Contains(strings.ToLower(name), "email") {
		return "user@example.com"
	}
	return "string"
}
