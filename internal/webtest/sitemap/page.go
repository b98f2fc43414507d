package sitemap

import (
	"bytes"
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/url"
	"regexp"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/markup"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"golang.org/x/net/html"
)

// The bounds of one page.
const (
	maxLinks    = 5000
	maxForms    = 200
	maxFields   = 500
	maxComments = 200
	maxScript   = 4 << 20
)

// page is what a document says.
type page struct {
	base     *url.URL
	links    []string
	anchors  []*html.Node // elements a with an address
	ends     []string     // addresses of links whose text says that they end the session
	logins   []string     // and of those whose text says that they lead to a login
	scripts  []string     // addresses
	inline   []string     // texts of scripts and of handlers of events
	comments []string
	forms    []*form
	typedIn  map[string]string // values of controls, by their ids
	metas    map[string]string
	data     map[string]string // values of data attributes by their names

	documents []string // of XML, that it shows as text
}

// linking are the attributes of elements that have addresses.
var linking = map[string][]string{
	"a": {"href", "ping"}, "area": {"href"}, "link": {"href"}, "iframe": {"src"}, "frame": {"src"}, "embed": {"src"},
	"object": {
		"data",
	}, "blockquote": {"cite"}, "q": {"cite"}, "ins": {"cite"}, "del": {"cite"}, "img": {"src", "longdesc"},
	"source": {"src"}, "video": {"src"}, "audio": {"src"}, "body": {"background"}, "input": {"src"}, "applet": {"code"},
}

// dataLinks are attributes of any element with addresses that scripts follow.
var dataLinks = map[string]bool{
	"data-href":       true,
	"data-url":        true,
	"data-src":        true,
	"data-link":       true,
	"hx-get":          true,
	"data-remote":     true,
	"data-target-url": true,
	"routerlink":      true,
	"data-action":     true,
}

// parsePage reads a document at an address.
func parsePage(at *url.URL, body []byte) *page {
	p := &page{base: at, metas: map[string]string{}, data: map[string]string{}, typedIn: map[string]string{}}
	root, err := html.Parse(bytes.NewReader(body))
	if err != nil {
		return p
	}
	byID := map[string]*form{}
	var swaps []*form
	for n := range root.Descendants() {
		switch n.Type {
		case html.CommentNode:
			if len(p.comments) < maxComments {
				p.comments = append(p.comments, n.Data)
			}
		case html.ElementNode:
			if n.Data == "form" && len(p.forms) < maxForms {
				current := newForm(n)
				byID[current.id] = current
				p.forms = append(p.forms, current)
			}
			p.element(n)
			p.field(n, byID)
			if f := p.swap(n, byID); f != nil {
				swaps = append(swaps, f)
			}
		}
	}
	for _, f := range swaps { // with the fields of the form around them, which are known now
		if f.around != nil {
			f.fields = append(f.around.fields, f.fields...)
		}
		p.forms = append(p.forms, f)
	}
	return p
}

// swap is what an element of htmx sends: a request of its own, with the fields of the form that it is or stands in.
func (p *page) swap(n *html.Node, byID map[string]*form) *form {
	a := attributes(n)
	for _, verb := range []string{http.MethodPost, http.MethodPut, http.MethodPatch} {
		action := cmp.Or(a["hx-"+strings.ToLower(verb)], a["data-hx-"+strings.ToLower(verb)])
		if action == "" || len(p.forms) >= maxForms {
			continue
		}
		f := &form{action: action, method: verb, around: p.formOf(n, a, byID), labels: []string{content(n), a["value"]}}
		if n.Data == "form" && len(p.forms) > 0 {
			f.around = p.forms[len(p.forms)-1]
		} else if f.around == nil && a["name"] != "" {
			f.fields = []*field{{name: a["name"], kind: strings.ToLower(a["type"]), value: a["value"], text: true}}
		}
		return f
	}
	return nil
}

// element takes in what is in the attributes of an element.
func (p *page) element(n *html.Node) {
	attrs := attributes(n)
	if n.Data == "base" && attrs["href"] != "" {
		if u, err := p.base.Parse(attrs["href"]); err == nil {
			p.base = u
		}
	}
	for _, name := range linking[n.Data] {
		p.link(attrs[name])
	}
	if n.Data == "a" && attrs["href"] != "" {
		if len(p.anchors) < maxLinks {
			p.anchors = append(p.anchors, n)
		}
		switch text := content(n); {
		case client.SaysLogout(text), client.SaysLogout(attrs["title"]), client.SaysLogout(attrs["aria-label"]):
			p.ends = append(p.ends, attrs["href"])
		case client.SaysLogin(text):
			p.logins = append(p.logins, attrs["href"])
		}
	}
	for name, value := range attrs {
		if strings.HasPrefix(name, "data-") && len(p.data) < maxLinks {
			p.data[name] = value
		}
		switch {
		case dataLinks[name]:
			p.link(value)
		case strings.HasPrefix(name, "on"), strings.HasPrefix(value, "javascript:"):
			p.inline = append(p.inline, value)
		case name == "srcset":
			for part := range strings.SplitSeq(value, ",") {
				p.link(strings.TrimSpace(strings.Split(strings.TrimSpace(part), " ")[0]))
			}
		}
	}
	switch n.Data {
	case "script":
		if attrs["src"] != "" {
			p.scripts = append(p.scripts, attrs["src"])
		} else if text := content(n); len(text) <= maxScript {
			p.inline = append(p.inline, text)
		}
	case "meta":
		if m := refresh.FindStringSubmatch(attrs["content"]); m != nil && strings.EqualFold(attrs["http-equiv"], "refresh") {
			p.link(m[1])
		}
		if attrs["name"] != "" {
			p.metas[attrs["name"]] = attrs["content"]
		}
	}
}

var refresh = regexp.MustCompile(`(?i)url\s*=\s*['"]?([^'"\s>]+)`)

func (p *page) link(text string) {
	text = strings.TrimSpace(text)
	if text == "" || len(text) > maxAddress || len(p.links) >= maxLinks || strings.HasPrefix(text, "data:") {
		return
	}
	p.links = append(p.links, text)
}

// resolve is an address of the page; nil if it is none of http.
func (p *page) resolve(text string) *url.URL {
	text = strings.Map(func(r rune) rune { // browsers take these out
		if r == '\n' || r == '\r' || r == '\t' {
			return -1
		}
		return r
	}, text)
	u, err := p.base.Parse(text)
	if err != nil { // browsers send what is no valid encoding as it is
		u, err = p.base.Parse(strings.ReplaceAll(strings.ReplaceAll(text, "%", "%25"), " ", "%20"))
	}
	if err != nil || u.Scheme != "http" && u.Scheme != "https" {
		return nil
	}
	if strings.ContainsAny(u.RawQuery, " \"<>`{}|^\\") {
		u.RawQuery = queryEscapes.Replace(u.RawQuery)
	}
	if u.Path == "" {
		u.Path = "/"
	}
	return u
}

// queryEscapes are the bytes of a query that browsers encode.
var queryEscapes = strings.NewReplacer(" ", "%20", `"`, "%22", "<", "%3C", ">", "%3E")

func attributes(n *html.Node) map[string]string {
	out := make(map[string]string, len(n.Attr))
	for _, a := range n.Attr {
		if _, ok := out[a.Key]; !ok {
			out[a.Key] = a.Val
		}
	}
	return out
}

// content is the text of an element.
func content(n *html.Node) string {
	var b strings.Builder
	for d := range n.Descendants() {
		if d.Type == html.TextNode && b.Len() <= maxScript {
			b.WriteString(d.Data)
		}
	}
	return b.String()
}

// readBody queues what an answer leads to.
func (c *crawler) readBody(from *Entry, response *message.Response) {
	at := from.Request.URL
	kind := response.Type()
	switch {
	case response.IsHTML():
		p := parsePage(at, response.Body)
		p.documents = markup.Documents(string(response.Body))
		c.readPage(from, p, true)
	case strings.Contains(kind, "javascript"), strings.HasSuffix(at.Path, ".js"):
		c.readScript(from, at, at.String(), string(response.Body))
	case strings.Contains(kind, "json"):
		c.readJSON(from, response)
	case strings.Contains(kind, "xml"), kind == "text/plain":
		c.readFile(from, response)
	}
	for _, value := range response.Header.Values("Link") {
		for _, m := range linkHeader.FindAllStringSubmatch(value, 20) {
			if to := (&page{base: at}).resolve(m[1]); to != nil {
				c.follow(from, to, ByLink)
			}
		}
	}
}

var linkHeader = regexp.MustCompile(`<([^>]+)>`)

func (c *crawler) readPage(from *Entry, p *page, whole bool) {
	how := ByLink
	if !whole {
		how = ByComment
	}
	p.noteEnds(c.Client, from.Request.URL)
	for _, text := range p.links {
		if to := p.resolve(text); to != nil {
			c.follow(from, to, how)
			c.foldersOf(from, to)
		}
	}
	c.readForms(from, p, whole)
	if whole && len(p.forms)+len(p.typedIn)+len(p.documents)+len(p.data)+len(p.metas) > 0 && len(c.shown) < maxEntries {
		maps.Copy(p.data, p.metas)
		c.shown[from.Request.URL.String()] = &page{forms: p.forms, typedIn: p.typedIn, documents: p.documents, data: p.data}
	}
	for i, text := range p.inline {
		c.readScript(from, p.base, fmt.Sprintf("%s#%d", from.Request.URL, i), text)
	}
	for _, text := range p.scripts {
		if to := p.resolve(text); to != nil && c.hosts[to.Host] {
			c.add(&Entry{Request: message.From("GET", to), How: ByLink, From: from.Request.URL.String(), Depth: from.Depth})
		}
	}
	if !whole {
		return
	}
	for _, text := range p.comments {
		if strings.ContainsAny(text, "</") && len(text) < maxScript {
			inner := parsePage(p.base, []byte(text))
			inner.comments = nil
			for _, m := range bareAddress.FindAllString(text, 50) {
				inner.link(m)
			}
			c.readPage(from, inner, false)
		}
	}
}

// readForms queues the requests of a page's forms.
func (c *crawler) readForms(from *Entry, p *page, whole bool) {
	for _, f := range p.forms {
		for _, e := range f.requests(p) {
			e.From, e.Depth = from.Request.URL.String(), from.Depth+1
			if e.Request.Token != nil {
				e.Request.Token.Page = from.Request
			}
			if from.Request.After != nil || from.How == ByForm && from.Request.Method != http.MethodGet {
				e.Request.After = from.Request
			}
			if !whole {
				e.How = ByComment
			}
			c.add(e)
		}
	}
}

// bareAddress is a path or a URL in a text.
var bareAddress = regexp.MustCompile(`https?://[^\s"'<>]+|(?:^|\s)/[\w./-]{2,}(?:\?[^\s"'<>]*)?`)

// foldersOf queues the folders above an address: what they list or answer.
func (c *crawler) foldersOf(from *Entry, to *url.URL) {
	if !c.hosts[to.Host] {
		return
	}
	path := to.EscapedPath()
	for range 3 {
		end := strings.LastIndexByte(strings.TrimSuffix(path, "/"), '/')
		if end <= 0 {
			return
		}
		path = path[:end+1]
		folder := &url.URL{Scheme: to.Scheme, Host: to.Host}
		plain, err := url.PathUnescape(path)
		if err != nil {
			return
		}
		folder.Path, folder.RawPath = plain, path
		c.add(
			&Entry{Request: message.From("GET", folder), How: ByFile, From: from.Request.URL.String(), Depth: from.Depth + 2},
		)
	}
}
