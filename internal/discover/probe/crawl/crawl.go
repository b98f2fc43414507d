// Package crawl finds the endpoints of a site by reading its pages, its robots.txt and its
// sitemaps. It asks with GET, submits no form, and leaves alone what sounds as if asking
// for it changed something.
package crawl

import (
	"bytes"
	"context"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/discover/probe/web"
)

// Limits bound a crawl. Zero values mean the defaults.
type Limits struct {
	Pages     int           // that are asked for; 30
	Depth     int           // links from the start page; 3
	Endpoints int           // that are kept; 500
	Time      time.Duration // 30 seconds
}

func (l *Limits) defaults() {
	for _, d := range []struct {
		field *int
		usual int
	}{{&l.Pages, 30}, {&l.Depth, 3}, {&l.Endpoints, 500}} {
		if *d.field <= 0 {
			*d.field = d.usual
		}
	}
	if l.Time <= 0 {
		l.Time = 30 * time.Second
	}
}

// crawler is one crawl.
type crawler struct {
	Limits

	client *web.Client
	site   *url.URL
	seen   map[string]bool
	found  []string
	queue  []step
	asked  int
}

// step is a page to be asked for.
type step struct {
	url   *url.URL
	depth int
}

// Site gives the endpoints of the site whose start page was visited: absolute URLs of the
// same scheme, host and port, in the order in which they were found. note says why not
// everything was read; "" when it was.
func Site(ctx context.Context, client *web.Client, start *web.Visit, limits Limits) (endpoints []string, note string) {
	limits.defaults()
	ctx, cancel := context.WithTimeout(ctx, limits.Time)
	defer cancel()
	c := &crawler{Limits: limits, client: client, site: start.Last, seen: map[string]bool{start.Last.String(): true}}
	c.found = []string{web.Clean(start.Last.String(), maxURL)}
	c.links(&start.Page, start.Last, 1)
	c.robots(ctx)
	for len(c.queue) > 0 && ctx.Err() == nil && c.asked < c.Pages && len(c.found) < c.Endpoints {
		next := c.queue[0]
		c.queue = c.queue[1:]
		if a := c.get(ctx, next.url); a != nil && isHTML(a) {
			page := web.ReadPage(a.Body, a.Get("content-type"))
			c.links(&page, next.url, next.depth+1)
		}
	}
	switch {
	case ctx.Err() != nil:
		note = "the crawl was ended by its time"
	case c.asked >= c.Pages && len(c.queue) > 0, len(c.found) >= c.Endpoints:
		note = "the crawl was ended by its number of pages"
	}
	return c.found, note
}

const (
	maxURL      = 2048
	maxSitemaps = 3
)

// get asks for one page, and follows a redirect within the site.
func (c *crawler) get(ctx context.Context, u *url.URL) *web.Answer {
	c.asked++
	a, err := c.client.Get(ctx, u)
	if err != nil {
		return nil
	}
	if location := a.Get("location"); a.Status/100 == 3 && location != "" {
		c.add((&web.Page{}).Resolve(u, location), 0)
	}
	return a
}

// links takes in the links of a page.
func (c *crawler) links(page *web.Page, from *url.URL, depth int) {
	for _, link := range page.Links {
		c.add(page.Resolve(from, link), depth)
	}
}

// add takes in an endpoint of the site, and has it asked for when it may be a page.
func (c *crawler) add(u *url.URL, depth int) {
	if u == nil || u.Scheme != c.site.Scheme || web.HostPort(u) != web.HostPort(c.site) || len(c.found) >= c.Endpoints {
		return
	}
	key := u.String()
	if len(key) > maxURL || c.seen[key] {
		return
	}
	c.seen[key] = true
	c.found = append(c.found, web.Clean(key, maxURL))
	if depth <= c.Depth && len(c.queue) < c.Pages && readable(u) {
		c.queue = append(c.queue, step{u, depth})
	}
}

// acting are words in an address that sound as if asking for it changed something.
var acting = regexp.MustCompile(`(?i)log-?_?out|log-?_?off|sign-?_?out|delete|remove|destroy|unsubscribe|disable|shutdown|reboot|reset|purge|drop|cancel|confirm|install|logoff|revoke|clear|add_to_cart|action=|do=`)

// readable reports whether asking for an address is harmless and may give a page.
func readable(u *url.URL) bool {
	if acting.MatchString(u.Path) || acting.MatchString(u.RawQuery) {
		return false
	}
	switch strings.ToLower(path.Ext(u.Path)) {
	case "", ".htm", ".html", ".xhtml", ".php", ".asp", ".aspx", ".jsp", ".jspx", ".do", ".cgi", ".pl", ".cfm", ".shtml":
		return true
	}
	return strings.HasSuffix(u.Path, "/")
}

func isHTML(a *web.Answer) bool {
	kind := strings.ToLower(a.Get("content-type"))
	return kind == "" || strings.Contains(kind, "html")
}

// robots takes in the paths that robots.txt names, and the sitemaps.
func (c *crawler) robots(ctx context.Context) {
	sitemaps := []*url.URL{}
	root := &web.Page{}
	if a := c.get(ctx, root.Resolve(c.site, "/robots.txt")); a != nil && a.Status == 200 && !isMarkup(a.Body) {
		for line := range strings.Lines(string(a.Body)) {
			line, _, _ = strings.Cut(line, "#")
			name, value, ok := strings.Cut(line, ":")
			value = strings.TrimSpace(value)
			if !ok || value == "" {
				continue
			}
			switch strings.ToLower(strings.TrimSpace(name)) {
			case "allow", "disallow":
				if !strings.ContainsAny(value, "*$") && strings.HasPrefix(value, "/") {
					c.add(root.Resolve(c.site, value), 1)
				}
			case "sitemap":
				if u := root.Resolve(c.site, value); u != nil {
					sitemaps = append(sitemaps, u)
				}
			}
		}
	}
	if len(sitemaps) == 0 {
		sitemaps = append(sitemaps, root.Resolve(c.site, "/sitemap.xml"))
	}
	for _, u := range sitemaps[:min(len(sitemaps), maxSitemaps)] {
		if u.Host == c.site.Host && u.Scheme == c.site.Scheme {
			c.sitemap(ctx, u)
		}
	}
}

func isMarkup(b []byte) bool { return bytes.HasPrefix(bytes.TrimSpace(b), []byte("<")) }

var location = regexp.MustCompile(`<loc>\s*([^<\s]+)\s*</loc>`)

// sitemap takes in the addresses of a sitemap.
func (c *crawler) sitemap(ctx context.Context, u *url.URL) {
	a := c.get(ctx, u)
	if a == nil || a.Status != 200 || !isMarkup(a.Body) {
		return
	}
	for _, m := range location.FindAllSubmatch(a.Body, c.Endpoints) {
		text := strings.ReplaceAll(string(m[1]), "&amp;", "&")
		c.add((&web.Page{}).Resolve(c.site, text), 1)
	}
}
