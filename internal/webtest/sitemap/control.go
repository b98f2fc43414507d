package sitemap

import (
	"net/http"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/message"
	"golang.org/x/net/html"
)

// Control is a link or a form of a page, as who reads the page may use it.
type Control struct {
	Request *message.Request
	Label   string            // the text of the link, or of the form's buttons
	Own     map[string]string // values of the form's fields that people type into, as the page has them

	node *html.Node
}

// maxControls bounds the controls of a page.
const maxControls = 1000

// Controls are the links and forms of a page.
func Controls(response *message.Response) (out []*Control) {
	p := parsePage(response.Request.URL, response.Body)
	for _, f := range p.forms {
		own := map[string]string{}
		for _, one := range f.fields {
			if one.text && one.kind != "password" {
				own[one.name] = one.value
			}
		}
		for _, e := range f.requests(p) {
			if e.Request.Token != nil {
				e.Request.Token.Page = response.Request
			}
			out = append(out, &Control{Request: e.Request, Label: f.said(), Own: own, node: f.node})
		}
	}
	for _, n := range p.anchors {
		attrs := attributes(n)
		if to := p.resolve(attrs["href"]); to != nil && len(out) < maxControls {
			label := strings.TrimSpace(content(n) + " " + attrs["title"] + " " + attrs["aria-label"])
			out = append(out, &Control{Request: message.From(http.MethodGet, to), Label: label, node: n})
		}
	}
	return out
}

// said is the text of the buttons of a form.
func (f *form) said() string {
	var texts []string
	for n := range f.node.Descendants() {
		if n.Type != html.ElementNode {
			continue
		}
		switch attrs := attributes(n); {
		case n.Data == "button":
			texts = append(texts, content(n), attrs["title"], attrs["aria-label"])
		case n.Data == "input" && (attrs["type"] == "submit" || attrs["type"] == "image"):
			texts = append(texts, attrs["value"], attrs["title"], attrs["alt"])
		}
	}
	return strings.Join(strings.Fields(strings.Join(texts, " ")), " ")
}

// Row are the texts and values of the part of a page that a control belongs to, such as its row of a table: the largest
// part around it that has none of the others. Where whole is false, that part is none that holds a page together.
func (c *Control) Row(others []*Control, whole bool) []string {
	apart := map[*html.Node]bool{} // what is around another control
	for _, other := range others {
		if other.node == c.node || other.Request.Key() == c.Request.Key() {
			continue
		}
		for n := range other.node.Ancestors() {
			apart[n] = true
		}
	}
	row := c.node
	for n := range c.node.Ancestors() {
		if apart[n] || !whole && holds[n.Data] {
			break
		}
		row = n
	}
	return texts(row)
}

// holds are the elements that hold the parts of a page together.
var holds = map[string]bool{"html": true, "body": true, "main": true, "table": true, "tbody": true, "ul": true,
	"ol": true, "dl": true}

// Texts are all texts of a page, and the values of its fields.
func Texts(response *message.Response) []string {
	root, err := html.Parse(strings.NewReader(string(response.Body)))
	if err != nil {
		return nil
	}
	return texts(root)
}

func texts(root *html.Node) (out []string) {
	add := func(text string) {
		if text = strings.TrimSpace(text); text != "" {
			out = append(out, text)
		}
	}
	for n := range root.Descendants() {
		switch {
		case n.Type == html.TextNode:
			add(n.Data)
		case n.Type == html.ElementNode && (n.Data == "input" || n.Data == "option"):
			add(attributes(n)["value"])
		case n.Type == html.ElementNode && (n.Data == "a" || n.Data == "img"):
			attrs := attributes(n)
			add(attrs["href"] + attrs["src"])
		}
	}
	return out
}
