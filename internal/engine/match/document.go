package match

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"time"

	"github.com/antchfx/htmlquery"
	"github.com/antchfx/xmlquery"
	"github.com/itchyny/gojq"
	"golang.org/x/net/html"

	"github.com/vedette-sec/vedette/internal/engine/dsl/functions"
)

// Limits of what is parsed: a small text can make an endless tree.
const (
	maxDocument = 4 << 20 // bytes; more is not read as a document
	maxTags     = 30_000  // of markup
	maxReopened = 300_000 // tags times open formatting elements: the parser reopens each in each block
	maxItems    = 300_000 // of JSON: values, keys, lists and objects
)

const jsonTime = time.Second

// document is a part parsed as markup or as JSON, once for all operators.
type document struct {
	markup bool
	html   *html.Node
	xml    *xmlquery.Node

	decoded bool
	valid   bool
	json    any
}

func (v *view) document() *document {
	if v.doc == nil {
		v.doc = &document{}
	}
	return v.doc
}

// tree parses the view as markup; the document then has html, xml or neither.
func (v *view) tree() *document {
	d := v.document()
	if d.markup {
		return d
	}
	d.markup = true
	data := v.text.Bytes()
	if len(data) > maxDocument || bytes.Count(data, []byte{'<'}) > maxTags {
		return d
	}
	if bytes.HasPrefix(data, []byte("<?xml")) {
		if root, err := xmlquery.Parse(bytes.NewReader(data)); err == nil {
			d.xml = root
		}
		return d
	}
	if !explodes(data) {
		// Elements that are nested more than 512 deep are an error.
		if root, err := htmlquery.Parse(bytes.NewReader(data)); err == nil {
			d.html = root
		}
	}
	return d
}

// explodes reports whether the tree of a page is much larger than the page: an open formatting element is opened
// again in every block that follows.
func explodes(data []byte) bool {
	open, most, tags := 0, 0, 0
	z := html.NewTokenizer(bytes.NewReader(data))
	for {
		kind := z.Next()
		if kind == html.ErrorToken {
			return tags*most > maxReopened
		}
		if kind != html.StartTagToken && kind != html.EndTagToken {
			continue
		}
		tags++
		switch name, _ := z.TagName(); string(name) {
		case "a", "b", "big", "code", "em", "font", "i", "nobr", "s", "small", "strike", "strong", "tt", "u":
			if kind == html.StartTagToken {
				open++
				most = max(most, open)
			} else {
				open = max(open-1, 0)
			}
		}
	}
}

// filter is a jq program, compiled when it first runs.
type filter struct{ code func() *gojq.Code }

func compileFilter(source string) (filter, error) {
	parsed, err := gojq.Parse(source)
	if err != nil {
		return filter{}, fmt.Errorf("%q: %w", source, err)
	}
	return filter{sync.OnceValue(func() *gojq.Code {
		code, err := gojq.Compile(parsed)
		if err != nil {
			return nil // it names something that does not exist: it finds nothing
		}
		return code
	})}, nil
}

// run adds the outputs of a filter as text, up to its first error.
func (f *filter) run(r *Response, v *view, add func(string) bool) {
	value, ok := v.decode()
	code := f.code()
	if !ok || code == nil {
		return
	}
	ctx, cancel := context.WithTimeout(r.context(), jsonTime)
	defer cancel()
	outputs := code.RunWithContext(ctx, value)
	for {
		out, ok := outputs.Next()
		if _, failed := out.(error); !ok || failed || !add(jsonText(out)) {
			return
		}
	}
}

// decode parses the view as JSON.
func (v *view) decode() (any, bool) {
	d := v.document()
	if d.decoded {
		return d.json, d.valid
	}
	d.decoded = true
	data := v.text.Bytes()
	items := 0
	for _, sign := range []byte(",[{:") {
		items += bytes.Count(data, []byte{sign})
	}
	if len(data) <= maxDocument && items <= maxItems {
		d.valid = json.Unmarshal(data, &d.json) == nil
	}
	return d.json, d.valid
}

// jsonText is the text of an output: scalars as they are, null as "", all else as JSON.
func jsonText(value any) string {
	switch value := value.(type) {
	case nil:
		return ""
	case string:
		return strings.Clone(value)
	case bool, float64:
		return functions.String(value)
	}
	text, err := json.Marshal(value)
	if err != nil { // a number that JSON has not
		text, _ = gojq.Marshal(value)
	}
	return string(text)
}
