package match

import (
	"bytes"
	"encoding/json"

	"github.com/antchfx/htmlquery"
	"github.com/antchfx/xmlquery"
	"golang.org/x/net/html"
)

// Limits of what is parsed: a small text can make an endless tree.
const (
	maxDocument = 4 << 20 // bytes; more is not read as a document
	maxTags     = 30_000  // of markup
	maxReopened = 300_000 // tags times open formatting elements: the parser reopens each in each block
	maxItems    = 300_000 // of JSON: values, keys, lists and objects
)

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
