package spec

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"net/http"
	"net/url"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// Of WSDL 1.1, as far as requests need it. Names are looked up without their namespaces.
type (
	wsdlDocument struct {
		Name      string        `xml:"name,attr"`
		Namespace string        `xml:"targetNamespace,attr"`
		Schemas   []xsdSchema   `xml:"types>schema"`
		Messages  []wsdlMessage `xml:"message"`
		PortTypes []wsdlNamed   `xml:"portType"`
		Bindings  []wsdlBinding `xml:"binding"`
		Services  []struct {
			Ports []wsdlPort `xml:"port"`
		} `xml:"service"`
	}
	wsdlMessage struct {
		Name  string `xml:"name,attr"`
		Parts []struct {
			Name    string `xml:"name,attr"`
			Element string `xml:"element,attr"`
			Type    string `xml:"type,attr"`
		} `xml:"part"`
	}
	wsdlNamed struct { // a portType
		Name       string `xml:"name,attr"`
		Operations []struct {
			Name  string `xml:"name,attr"`
			Input struct {
				Message string `xml:"message,attr"`
			} `xml:"input"`
		} `xml:"operation"`
	}
	wsdlBinding struct {
		Name   string          `xml:"name,attr"`
		Type   string          `xml:"type,attr"`
		Inner  []wsdlExtension `xml:"binding"`
		Called []struct {
			Name  string          `xml:"name,attr"`
			Inner []wsdlExtension `xml:"operation"`
		} `xml:"operation"`
	}
	wsdlExtension struct { // of SOAP or HTTP
		XMLName xml.Name
		Style   string `xml:"style,attr"`
		Action  string `xml:"soapAction,attr"`
		Verb    string `xml:"verb,attr"`
	}
	wsdlPort struct {
		Name    string `xml:"name,attr"`
		Binding string `xml:"binding,attr"`
		Address struct {
			Location string `xml:"location,attr"`
		} `xml:"address"`
	}
)

const (
	soap11 = "http://schemas.xmlsoap.org/soap/envelope/"
	soap12 = "http://www.w3.org/2003/05/soap-envelope"
)

// wsdl makes one request for each operation of each port that speaks SOAP.
func (r *reader) wsdl() error {
	if err := shallowXML(r.text); err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	var doc wsdlDocument
	if err := lenientXML(r.text).Decode(&doc); err != nil {
		return fmt.Errorf("%s: %w", r.name, err)
	}
	r.doc.Title = doc.Name
	w := wsdlReader{reader: r, doc: &doc, types: newXSD(doc.Schemas)}
	for _, service := range doc.Services {
		for _, port := range service.Ports {
			w.port(port)
		}
	}
	if len(r.doc.Operations) == 0 && len(r.doc.LeftOut) == 0 {
		return errors.New(r.name + ": it has no service with a port")
	}
	return nil
}

type wsdlReader struct {
	*reader

	doc   *wsdlDocument
	types *xsd
}

func (w *wsdlReader) port(port wsdlPort) {
	place := "port " + errs.Clip(port.Name, maxQuoted)
	at, err := url.Parse(port.Address.Location)
	if err == nil && w.opts.Base != nil {
		at = w.opts.Base.ResolveReference(at)
		if !w.inScope(at.Host) { // the description is of another installation: the same path may be here
			at = &url.URL{Scheme: w.opts.Base.Scheme, Host: w.opts.Base.Host, Path: at.Path, RawPath: at.RawPath}
		}
	}
	if err != nil || at.Host == "" || at.Scheme != "http" && at.Scheme != "https" {
		w.leaveOut(place, fmt.Sprintf("%q is not an http or https URL", errs.Clip(port.Address.Location, maxQuoted)))
		return
	}
	for i := range w.doc.Bindings {
		if b := &w.doc.Bindings[i]; b.Name == local(port.Binding) {
			w.binding(place, at, b)
			return
		}
	}
	w.leaveOut(place, "it has no binding")
}

func (w *wsdlReader) binding(place string, at *url.URL, b *wsdlBinding) {
	if len(b.Inner) == 0 || !strings.Contains(b.Inner[0].XMLName.Space, "/soap") {
		w.leaveOut(place, "it does not speak SOAP")
		return
	}
	envelope := soap11
	if strings.Contains(b.Inner[0].XMLName.Space, "soap12") {
		envelope = soap12
	}
	for _, called := range b.Called {
		action, style := "", b.Inner[0].Style
		if len(called.Inner) > 0 {
			action = called.Inner[0].Action
			if called.Inner[0].Style != "" {
				style = called.Inner[0].Style
			}
		}
		body, err := w.body(local(b.Type), called.Name, style, envelope)
		if err != nil {
			w.leaveOut(place+": "+errs.Clip(called.Name, maxQuoted), err.Error())
			continue
		}
		h := http.Header{}
		if envelope == soap12 {
			h.Set("Content-Type", "application/soap+xml; charset=utf-8; action="+quoted(action))
		} else {
			h.Set("Content-Type", "text/xml; charset=utf-8")
			h.Set("SOAPAction", quoted(action))
		}
		kept := len(w.reader.doc.Operations)
		w.keep(place, &message.Request{Method: http.MethodPost, URL: at, Header: h, Body: body})
		if len(w.reader.doc.Operations) > kept {
			w.reader.doc.Operations[kept].Name = called.Name
		}
	}
}

func quoted(text string) string {
	return `"` + strings.Map(func(c rune) rune {
		if c < ' ' || c == '"' || c == '\\' || c == 0x7f {
			return -1
		}
		return c
	}, text) + `"`
}

// body is the envelope of an operation with a value for each part.
func (w *wsdlReader) body(portType, operation, style, envelope string) ([]byte, error) {
	m := w.input(portType, operation)
	if m == nil {
		return nil, errors.New("its message is not described")
	}
	out := xsdWriter{xsd: w.types}
	fmt.Fprintf(&out.text, `<?xml version="1.0" encoding="utf-8"?>`+"\n"+`<soap:Envelope xmlns:soap="%s"><soap:Body>`, envelope)
	if style == "rpc" {
		fmt.Fprintf(&out.text, `<%s xmlns=%s>`, operation, attribute(w.doc.Namespace))
	}
	for _, p := range m.Parts {
		if p.Element != "" {
			out.root(local(p.Element))
			continue
		}
		out.element(xsdElement{Name: p.Name, Type: p.Type}, 0)
	}
	if style == "rpc" {
		fmt.Fprintf(&out.text, `</%s>`, operation)
	}
	out.text.WriteString(`</soap:Body></soap:Envelope>`)
	if out.err != nil {
		return nil, out.err
	}
	if err := shallowXML(out.text.Bytes()); err != nil { // a name in it was none
		return nil, err
	}
	return out.text.Bytes(), nil
}

func (w *wsdlReader) input(portType, operation string) *wsdlMessage {
	for _, p := range w.doc.PortTypes {
		for _, o := range p.Operations {
			if p.Name != portType || o.Name != operation {
				continue
			}
			for i := range w.doc.Messages {
				if w.doc.Messages[i].Name == local(o.Input.Message) {
					return &w.doc.Messages[i]
				}
			}
		}
	}
	return nil
}

// local is a name without its prefix.
func local(name string) string {
	if _, after, ok := strings.Cut(name, ":"); ok {
		return after
	}
	return name
}

// attribute is a text as the value of an attribute, with its quotes.
func attribute(text string) string {
	var b bytes.Buffer
	_ = xml.EscapeText(&b, []byte(text)) // into memory: it cannot fail
	return `"` + b.String() + `"`
}

// shallowXML refuses what is no XML, and what nests too deep to be decoded.
func shallowXML(text []byte) error {
	decoder := lenientXML(text)
	depth := 0
	for {
		token, err := decoder.Token()
		if isEnd(err) {
			return nil
		}
		if err != nil {
			return err
		}
		switch token.(type) {
		case xml.StartElement:
			if depth++; depth > maxDepth {
				return fmt.Errorf("it nests deeper than %d", maxDepth)
			}
		case xml.EndElement:
			depth--
		}
	}
}
