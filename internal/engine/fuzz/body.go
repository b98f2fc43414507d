package fuzz

import (
	"mime"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// maxDepth bounds the nesting of documents in bodies; deeper ones are raw.
const maxDepth = 100

// body finds the parameters of the body, by its form (JSON, XML) or its type. A body without parameters is one, named
// "value".
func body(base *web.Request) component {
	text := string(base.Body)
	c := component{position: "body", apply: func(edits []edit) web.Request { return withBody(base, splice(text, edits)) }}
	if text == "" {
		return c
	}
	contentType := ""
	for _, h := range base.Headers {
		if strings.EqualFold(h.Name, "Content-Type") {
			contentType = h.Value
		}
	}
	kind, parameters, _ := mime.ParseMediaType(contentType)
	shape := strings.TrimSpace(text)
	ok := false
	switch {
	case strings.HasPrefix(shape, "{"), strings.HasPrefix(shape, "["), strings.HasSuffix(kind, "json"):
		ok = c.json(text)
	case strings.HasPrefix(shape, "<"), strings.HasSuffix(kind, "xml"):
		ok = c.xml(text)
	case kind == "multipart/form-data":
		ok = c.multipart(text, parameters["boundary"])
	}
	if !ok {
		c.parameters, c.create = nil, nil
	}
	if !ok && (kind == "application/x-www-form-urlencoded" || formShape.MatchString(text)) {
		c.parameters, c.create = pairs(text, "&"), appendPair(text, "&")
	}
	if len(c.parameters) == 0 {
		c.create = nil
		c.parameters = []parameter{{name: "value", value: text, to: len(text)}}
	}
	return c
}

// formShape is the form of a form that does not declare its type.
var formShape = regexp.MustCompile(`^[^\s=&<>{}\[\]"]+=[^\s&]*(?:&[^\s=&]+(?:=[^\s&]*)?)*$`)

// withBody replaces the body and corrects a Content-Length.
func withBody(base *web.Request, text string) web.Request {
	r := *base
	r.Body = []byte(text)
	if i := slices.IndexFunc(r.Headers,
		func(h web.Header) bool { return strings.EqualFold(h.Name, "Content-Length") }); i >= 0 {
		r.Headers = slices.Clone(r.Headers)
		r.Headers[i].Value = strconv.Itoa(len(text))
	}
	return r
}
