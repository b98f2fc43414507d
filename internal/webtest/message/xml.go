package message

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strconv"
	"strings"
)

// attribute is one in the text of a tag.
var attribute = regexp.MustCompile(`\s([A-Za-z_][\w.:-]*)\s*=\s*(?:"([^"]*)"|'([^']*)')`)

// xmlSpans are the texts of the elements without children, named by the path to them such as order.item[1].name, and
// attributes, such as order.item@id. None if the text is not well formed.
func xmlSpans(text string) (out []span) {
	decoder := xml.NewDecoder(strings.NewReader(text))
	decoder.CharsetReader = func(_ string, in io.Reader) (io.Reader, error) { return in, nil }
	type open struct {
		path   string
		start  int // of its content
		leaf   bool
		counts map[string]int
	}
	stack := []open{{counts: map[string]int{}}}
	for {
		before := int(decoder.InputOffset())
		token, err := decoder.RawToken()
		if err != nil {
			if errors.Is(err, io.EOF) && len(stack) == 1 {
				return out
			}
			return nil
		}
		after := int(decoder.InputOffset())
		if len(stack) > maxDepth || len(out) >= maxPlaces {
			return out
		}
		switch t := token.(type) {
		case xml.StartElement:
			parent := &stack[len(stack)-1]
			parent.leaf = false
			name := t.Name.Local
			path := strings.TrimPrefix(parent.path+"."+name, ".")
			if n := parent.counts[name]; n > 0 {
				path += "[" + strconv.Itoa(n) + "]"
			}
			parent.counts[name]++
			out = append(out, attributeSpans(text[before:after], path, before)...)
			selfClosing := strings.HasSuffix(text[before:after], "/>")
			stack = append(stack, open{path: path, start: after, leaf: !selfClosing, counts: map[string]int{}})
		case xml.EndElement:
			if len(stack) == 1 {
				return nil
			}
			top := stack[len(stack)-1]
			stack = stack[:len(stack)-1]
			if top.leaf && top.start <= before {
				out = append(out, span{
					Place: Place{Component: Body, Format: XML, Name: top.path, Value: xmlText(text[top.start:before])},
					start: top.start, end: before, write: xmlEscape,
				})
			}
		}
	}
}

func attributeSpans(tag, path string, at int) (out []span) {
	for _, m := range attribute.FindAllStringSubmatchIndex(tag, maxPlaces) {
		name := tag[m[2]:m[3]]
		from, to := m[4], m[5]
		if from < 0 {
			from, to = m[6], m[7]
		}
		if name == "xmlns" || strings.HasPrefix(name, "xmlns:") || strings.HasPrefix(name, "xsi:") {
			continue
		}
		out = append(out, span{
			Place: Place{Component: Body, Format: XML, Name: path + "@" + name, Value: xmlText(tag[from:to])},
			start: at + from, end: at + to, write: xmlEscape,
		})
	}
	return out
}

// xmlText is the text of an element or attribute, decoded; of what is not understood it is the text itself.
func xmlText(written string) string {
	decoder := xml.NewDecoder(strings.NewReader("<a>" + written + "</a>"))
	var b strings.Builder
	for {
		token, err := decoder.Token()
		if errors.Is(err, io.EOF) {
			return b.String()
		}
		if err != nil {
			return written
		}
		if data, ok := token.(xml.CharData); ok {
			b.Write(data)
		}
	}
}

func xmlEscape(text string) string {
	return strings.NewReplacer("&", "&amp;", "<", "&lt;", ">", "&gt;", `"`, "&quot;", "'", "&apos;").Replace(text)
}
