package sitemap

import (
	"encoding/json"
	"html"
	"maps"
	"net/http"
	"net/url"
	"path"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// wellKnown are files that tell of a site, on its root.
var wellKnown = []string{"/robots.txt", "/sitemap.xml", "/sitemap_index.xml", "/.well-known/security.txt",
	"/.well-known/openid-configuration", "/.well-known/assetlinks.json", "/manifest.json", "/asset-manifest.json"}

// wellKnown queues the files that tell of each site.
func (c *crawler) wellKnown() {
	seen := map[string]bool{}
	for _, start := range c.Starts {
		if seen[start.Host] {
			continue
		}
		seen[start.Host] = true
		for _, name := range wellKnown {
			u := &url.URL{Scheme: start.Scheme, Host: start.Host, Path: name}
			c.add(&Entry{Request: message.From(http.MethodGet, u), How: ByFile, Depth: 1})
		}
	}
}

var (
	location = regexp.MustCompile(`<loc>\s*(?:<!\[CDATA\[)?\s*([^<\s\]]+)`)
	absolute = regexp.MustCompile(`https?://[^\s"'<>\])]+`)
)

// readFile reads robots.txt, sitemaps, and other texts and XML with addresses.
func (c *crawler) readFile(from *Entry, response *message.Response) {
	p := &page{base: from.Request.URL}
	text := string(response.Body)
	var found []string
	isXML := strings.Contains(response.Type(), "xml") || location.MatchString(text)
	switch name := path.Base(from.Request.URL.Path); {
	case name == "robots.txt":
		found = robots(text)
	case location.MatchString(text):
		for _, m := range location.FindAllStringSubmatch(text, maxLinks) {
			found = append(found, m[1])
		}
	default:
		found = absolute.FindAllString(text, maxLinks)
	}
	for _, text := range found {
		if isXML {
			text = html.UnescapeString(text)
		}
		if to := p.resolve(text); to != nil {
			c.follow(from, to, ByFile)
		}
	}
}

// robots are the addresses of a robots.txt: what it allows, what it does not, and its sitemaps. We are asked to test
// the site by its owner, so what it asks of search engines is a list of pages like another.
func robots(text string) (out []string) {
	for line := range strings.Lines(text) {
		line, _, _ = strings.Cut(line, "#")
		name, value, ok := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		if !ok || value == "" {
			continue
		}
		switch strings.ToLower(strings.TrimSpace(name)) {
		case "allow", "disallow":
			value = strings.TrimRight(value, "*$")
			if strings.HasPrefix(value, "/") && !strings.Contains(value, "*") {
				out = append(out, value)
			}
		case "sitemap":
			out = append(out, value)
		}
	}
	return out
}

// readJSON queues the addresses in a JSON answer, and reads the sources of a source map.
func (c *crawler) readJSON(from *Entry, response *message.Response) {
	var sourceMap struct {
		Sources  []string `json:"sources"`
		Contents []string `json:"sourcesContent"`
	}
	if strings.HasSuffix(from.Request.URL.Path, ".map") && json.Unmarshal(response.Body, &sourceMap) == nil {
		for i, text := range sourceMap.Contents {
			name := from.Request.URL.String()
			if i < len(sourceMap.Sources) {
				name += "!" + sourceMap.Sources[i]
			}
			c.readScript(from, from.Request.URL, name, text)
		}
		return
	}
	var value any
	if json.Unmarshal(response.Body, &value) != nil {
		return
	}
	p := &page{base: from.Request.URL}
	left := maxLinks
	c.jsonAddresses(from, p, value, 0, &left)
}

// jsonAddresses follows texts in JSON that are addresses: paths from the root, and URLs.
func (c *crawler) jsonAddresses(from *Entry, p *page, value any, depth int, left *int) {
	if depth > 40 || *left <= 0 {
		return
	}
	switch v := value.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			c.jsonAddresses(from, p, v[key], depth+1, left)
		}
	case []any:
		for _, inner := range v {
			c.jsonAddresses(from, p, inner, depth+1, left)
		}
	case string:
		if (strings.HasPrefix(v, "/") || strings.HasPrefix(v, "http")) && !strings.ContainsAny(v, " \n<>") {
			*left--
			if to := p.resolve(v); to != nil {
				c.follow(from, to, ByScript)
			}
		}
	}
}
