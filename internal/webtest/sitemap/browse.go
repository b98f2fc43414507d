package sitemap

import (
	"cmp"
	"context"
	_ "embed"
	"encoding/json"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/markup"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

//go:embed watch.js
var watchScript string

//go:embed click.js
var clickScript string

// The bounds of the browser.
const (
	maxVisits   = 60 // pages and routes
	visitTime   = 30 * time.Second
	stillTime   = 400 * time.Millisecond
	stableTime  = 5 * time.Second
	maxRoutes   = 40 // of one page that are visited
	maxRouteLen = 300
)

// visited is what a visit has seen.
type visited struct {
	Sent []struct {
		Method, URL, Type, Body string
		Headers                 map[string]string
	} `json:"sent"`
	Routes []string `json:"routes"`
	HTML   string   `json:"html"`
}

// browse visits pages with scripts, each structure once, clicks what can be clicked and queues what scripts send, link
// and show. It goes on with the routes of single-page applications, which only differ behind the #.
func (c *crawler) browse(ctx context.Context) {
	done := map[string]bool{}
	kinds := map[string]bool{}
	routes := []string{}
	for i := 0; (i < len(c.Entries) || len(routes) > 0) && len(done) < maxVisits && ctx.Err() == nil; {
		var from *Entry
		var address string
		if len(routes) > 0 {
			address, routes = routes[0], routes[1:]
			from = c.Entries[0]
		} else {
			from = c.Entries[i]
			i++
			if !c.browsable(from) || kinds[from.Kind] {
				continue
			}
			kinds[from.Kind] = true
			address = from.Request.URL.String()
		}
		if done[address] {
			continue
		}
		done[address] = true
		if why := c.unwanted(&item{Entry: &Entry{Request: from.Request, How: ByStart}}); why != "" {
			c.Skipped["no browser opened it: "+why]++
			continue
		}
		seen, err := c.visit(ctx, address)
		if err != nil {
			c.Skipped["the browser could not open it"]++
			continue
		}
		routes = append(routes, c.takeVisit(from, seen, done)...)
	}
}

// browsable reports whether a page has scripts that a browser would run.
func (c *crawler) browsable(e *Entry) bool {
	return e.Response != nil && e.Request.Method == http.MethodGet && e.Response.Status/100 == 2 && e.Response.IsHTML() &&
		strings.Contains(strings.ToLower(string(e.Response.Body)), "<script")
}

func (c *crawler) visit(ctx context.Context, address string) (*visited, error) {
	at, err := url.Parse(address)
	if err != nil {
		return nil, err
	}
	page, err := c.Client.Page(ctx, c.Browser, c.As, at, visitTime)
	if err != nil {
		return nil, err
	}
	defer page.Close()
	readOnly := "true"
	if c.Client.Level >= client.Active {
		readOnly = "false"
	}
	if err := page.Hook(strings.Replace(watchScript, "READ_ONLY", readOnly, 1)); err != nil {
		return nil, err
	}
	if err := page.Navigate(address); err != nil {
		return nil, err
	}
	_ = page.Stable(stillTime, stableTime) // a page that never rests is clicked as well
	text, err := page.Eval(clickScript)
	if err != nil {
		return nil, err
	}
	var seen visited
	written, _ := text.(string)
	return &seen, json.Unmarshal([]byte(written), &seen)
}

// takeVisit queues what a visit has seen, and returns the routes to visit next.
func (c *crawler) takeVisit(from *Entry, seen *visited, done map[string]bool) (routes []string) {
	opening := map[string]*message.Request{} // messages that others to the same WebSocket need before them
	for _, s := range seen.Sent {
		r, err := message.New(s.Method, s.URL)
		if err != nil {
			continue
		}
		if r.IsMessage() {
			r = message.NewMessage(r.URL, s.Body)
		}
		for name, value := range s.Headers {
			r.Header.Set(name, value)
			if http.CanonicalHeaderKey(name) != "Content-Type" {
				c.Headers[http.CanonicalHeaderKey(name)] = cmp.Or(value, "1")
			}
		}
		r.Body = []byte(s.Body)
		if s.Type != "" {
			r.Header.Set("Content-Type", s.Type)
		}
		inDialogue(r, opening)
		c.add(&Entry{Request: r, How: ByBrowser, From: from.Request.URL.String(), Depth: from.Depth + 1,
			Writes: client.Writes(r)})
	}
	p := parsePage(from.Request.URL, []byte(seen.HTML))
	p.inline = nil // they were read from the answer
	p.documents = markup.Documents(seen.HTML)
	c.readPage(from, p, true)
	for _, text := range seen.Routes {
		to, err := url.Parse(text)
		if err != nil || !c.hosts[to.Host] || len(text) > maxRouteLen {
			continue
		}
		if to.Fragment == "" {
			c.follow(from, to, ByBrowser)
		} else if strings.HasPrefix(to.Fragment, "/") || strings.HasPrefix(to.Fragment, "!") {
			if !done[text] && len(routes) < maxRoutes {
				routes = append(routes, text)
			}
		}
	}
	return routes
}
