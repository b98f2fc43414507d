package spec

import (
	"bytes"
	"encoding/json"
	"encoding/xml"
	"io"
	"regexp"
	"strings"
)

// sniffed is how much of a text is looked at where its beginning tells what it is.
const sniffed = 64 << 10

var (
	yamlVersion = regexp.MustCompile(`(?m)^(openapi|swagger)['"]?\s*:\s*["']?[23]`)
	requestLine = regexp.MustCompile(`^[A-Z]{3,16} \S+( HTTP/[0-9.]+)?\r?\n[A-Za-z0-9-]+:`)
	zapMessage  = regexp.MustCompile(`^=+ ?[0-9]+ ?=+\r?\n`)
	sitesTree   = regexp.MustCompile(`(?m)^- node: `)
	graphQLType = regexp.MustCompile(`(?m)^\s*(schema\s*(@\w+\s*)*\{|(extend\s+)?(type|interface|input|enum)\s+\w+[^{}\n]*\{)`)
	queryType   = regexp.MustCompile(`(?m)^\s*(schema\s*(@\w+\s*)*\{|(extend\s+)?type\s+(Query|Mutation)\b)`)
	urlLine     = regexp.MustCompile(`^https?://\S+\s*(\n|$)`)
)

// Recognise says which kind of document a text is, such as the body of an answer; "" for none.
func Recognise(text []byte) Kind {
	text = bytes.TrimSpace(bytes.TrimPrefix(text, []byte("\ufeff")))
	if len(text) == 0 || len(text) > MaxText {
		return ""
	}
	head := text[:min(len(text), sniffed)]
	switch {
	case text[0] == '{':
		return recogniseJSON(text)
	case text[0] == '<':
		return recogniseXML(text)
	case zapMessage.Match(head), sitesTree.Match(head):
		return ZAP
	case requestLine.Match(head), bytes.HasPrefix(text, []byte("###")):
		return Raw
	case urlLine.Match(head):
		return URLs
	}
	if m := yamlVersion.FindSubmatch(head); m != nil {
		return Kind(m[1])
	}
	if graphQLType.Match(head) && queryType.Match(text) {
		return GraphQL
	}
	return ""
}

func recogniseJSON(text []byte) Kind {
	decoder := json.NewDecoder(bytes.NewReader(text))
	var top map[string]json.RawMessage
	if tooDeep(text) || decoder.Decode(&top) != nil {
		return ""
	}
	has := func(names ...string) bool {
		for _, name := range names {
			if _, ok := top[name]; !ok {
				return false
			}
		}
		return true
	}
	inside := func(name, key string) bool {
		var inner map[string]json.RawMessage
		return json.Unmarshal(top[name], &inner) == nil && inner[key] != nil
	}
	switch {
	case has("openapi") && (has("paths") || has("info")):
		return OpenAPI
	case has("swagger") && (has("paths") || has("info")):
		return Swagger
	case has("info", "item"):
		return Postman
	case has("log") && inside("log", "entries"):
		return HAR
	case has("__schema"), has("data") && inside("data", "__schema"):
		return GraphQL
	case has("site") && (has("@programName") || has("@version") || has("@generated")):
		return ZAP
	case has("request") && (inside("request", "raw") || inside("request", "endpoint") || has("url")):
		return JSONLines
	}
	return ""
}

func recogniseXML(text []byte) Kind {
	decoder := lenientXML(text[:min(len(text), sniffed)])
	for {
		token, err := decoder.Token()
		if err != nil {
			return ""
		}
		start, ok := token.(xml.StartElement)
		if !ok {
			continue
		}
		switch start.Name.Local {
		case "items":
			for _, a := range start.Attr {
				if a.Name.Local == "burpVersion" {
					return Burp
				}
			}
		case "OWASPZAPReport":
			return ZAP
		case "definitions":
			if strings.Contains(start.Name.Space, "wsdl") {
				return WSDL
			}
		case "urlset", "sitemapindex":
			return Sitemap
		}
		return ""
	}
}

// lenientXML reads XML of any declared character set as it is. It resolves no entities of a document's own.
func lenientXML(text []byte) *xml.Decoder {
	decoder := xml.NewDecoder(bytes.NewReader(text))
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	return decoder
}

// tooDeep reports whether JSON nests deeper than is read.
func tooDeep(text []byte) bool {
	depth, quoted, escaped := 0, false, false
	for _, c := range text {
		switch {
		case escaped:
			escaped = false
		case quoted:
			escaped, quoted = c == '\\', c != '"'
		case c == '"':
			quoted = true
		case c == '{' || c == '[':
			if depth++; depth > maxDepth {
				return true
			}
		case c == '}' || c == ']':
			depth--
		}
	}
	return false
}
