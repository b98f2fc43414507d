// Package crawl finds the endpoints of a site in its pages, its robots.txt and its sitemaps. It sends only GET,
// submits no form, and does not fetch addresses that sound as if that changed something.
package crawl

import (
	"bytes"
	"context"
	"net/url"
	"path"
	"regexp"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe/web"
)

// The bounds of a crawl.
const (
	maxPages     = 30 // that are fetched
	maxDepth     = 3  // links from the start page
	maxEndpoints = 500
	maxTime      = 30 * time.Second
	maxURL       = 2048
	maxSitemaps  = 3
)

type crawler struct {
	client *web.Client
	site   *url.URL
	seen   map[string]bool
	found  []string
	queue  []page
	asked  int
}

type page struct {
	url   *url.URL
	depth int
}

// Site gives the endpoints of the site whose start page was visited: absolute URLs of the same scheme, host
// and port, in the order in which they were found. note says why not everything was read; "" when it was.
func Site(ctx context.Context, client *web.Client, start *web.Visit) (endpoints []string, note string) {
	ctx, cancel := context.WithTimeout(ctx, maxTime)
	defer cancel()
	c := &crawler{client: client, site: start.Last, seen: map[string]bool{start.Last.String(): true}}
	c.found = []string{discover.Clean(start.Last.String(), maxURL)}
	c.links(&start.Page, start.Last, 1)
	c.robots(ctx)
	for len(c.queue) > 0 && ctx.Err() == nil && c.asked < maxPages && len(c.found) < maxEndpoints {
		next := c.queue[0]
		c.queue = c.queue[1:]
		c.get(ctx, next.url, func(a *web.Answer) {
			if isHTML(a) {
				page := web.ReadPage(a.Body, a.Get("content-type"))
				c.links(&page, next.url, next.depth+1)
			}
		})
	}
	switch {
	case ctx.Err() != nil:
		note = "the crawl was ended by its time"
	case c.asked >= maxPages && len(c.queue) > 0, len(c.found) >= maxEndpoints:
		note = "the crawl was ended by its number of pages"
	}
	return c.found, note
}

// get fetches a page, has it read if it comes, and queues where it redirects to.
func (c *crawler) get(ctx context.Context, u *url.URL, read func(a *web.Answer)) {
	c.asked++
	a, err := c.client.Get(ctx, u)
	if err != nil {
		return
	}
	defer a.Release()
	if location := a.Get("location"); a.Status/100 == 3 && location != "" {
		c.add((&web.Page{}).Resolve(u, location), 0)
	}
	read(a)
}

func (c *crawler) links(page *web.Page, from *url.URL, depth int) {
	for _, link := range page.Links {
		c.add(page.Resolve(from, link), depth)
	}
}

// add adds an endpoint of the site, and queues it when it may be a page.
func (c *crawler) add(u *url.URL, depth int) {
	if u == nil || u.Scheme != c.site.Scheme || web.HostPort(u) != web.HostPort(c.site) || len(c.found) >= maxEndpoints {
		return
	}
	key := u.String()
	if len(key) > maxURL || c.seen[key] {
		return
	}
	c.seen[key] = true
	c.found = append(c.found, discover.Clean(key, maxURL))
	if depth <= maxDepth && len(c.queue) < maxPages && readable(u) {
		c.queue = append(c.queue, page{u, depth})
	}
}

// acting are words in an address that suggest that fetching it changes something.
var acting = regexp.MustCompile(`(?i)log-?_?out|log-?_?off|sign-?_?out|delete|remove|destroy|unsubscribe|disable|shutdown|reboot|reset|purge|drop|cancel|confirm|install|revoke|clear|add_to_cart|action=|do=`)

// readable reports whether fetching an address is harmless and may give a page.
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

func (c *crawler) robots(ctx context.Context) {
	var sitemaps []*url.URL
	root := &web.Page{}
	c.get(ctx, root.Resolve(c.site, "/robots.txt"), func(a *web.Answer) {
		if a.Status != 200 || isMarkup(a.Body) {
			return
		}
		for line := range bytes.Lines(a.Body) {
			line := string(line[:min(len(line), maxURL)])
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
				if len(sitemaps) == maxSitemaps {
					continue
				}
				if u := root.Resolve(c.site, value); u != nil {
					sitemaps = append(sitemaps, u)
				}
			}
		}
	})
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

func (c *crawler) sitemap(ctx context.Context, u *url.URL) {
	c.get(ctx, u, func(a *web.Answer) {
		if a.Status != 200 || !isMarkup(a.Body) {
			return
		}
		for _, m := range location.FindAllSubmatch(a.Body, maxEndpoints) {
			c.add((&web.Page{}).Resolve(c.site, strings.ReplaceAll(string(m[1]), "&amp;", "&")), 1)
		}
	})
}
