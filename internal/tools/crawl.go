package tools

import (
	"context"
	"errors"
	"fmt"
	"html"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/agent/loop"
	"github.com/vedette-sec/vedette/internal/tools/brief"
)

type crawlArgs struct {
	URL     string `json:"url"`
	Pages   int    `json:"pages"`
	Session string `json:"session"`
}

const (
	maxPages     = 50
	defaultPages = 20
	maxLinks     = 1000 // of one crawl
	maxLink      = 2000 // bytes
)

func (a crawlArgs) pages() int {
	if a.Pages <= 0 {
		return defaultPages
	}
	return min(a.Pages, maxPages)
}

func (k *Kit) crawl() action[crawlArgs] {
	return action[crawlArgs]{
		name: "crawl", repeatable: true,
		schema:   `{"type": "object", "required": ["url"], "properties": {"url": {"type": "string"}, "pages": {"type": "integer", "minimum": 1, "maximum": 50, "description": "20 when absent"}, "session": {"type": "string", "description": "as of http_request"}}}`,
		requests: crawlArgs.pages,
		call:     k.callCrawl,
	}
}

func (k *Kit) callCrawl(ctx context.Context, a crawlArgs, progress func(string)) (loop.Result, error) {
	start, err := url.Parse(a.URL)
	if err != nil || start.Host == "" {
		return loop.Result{}, errors.New("url must begin with http:// or https:// and name a host")
	}
	start.Fragment = ""
	var r loop.Result
	var lines []string
	queue, seen := []string{start.String()}, map[string]bool{start.String(): true}
	for most := allowedRequests(ctx, a.pages()); len(queue) > 0 && r.Requests < most && ctx.Err() == nil; {
		page := queue[0]
		queue = queue[1:]
		progress(page)
		answer, err := k.web.send(ctx, webRequest{Method: http.MethodGet, URL: page, Session: a.Session})
		if err != nil {
			lines = append(lines, page+": "+brief.Reason(err))
			if r.Requests == 0 {
				return r, err
			}
			continue
		}
		r.Requests++
		lines = append(lines, fmt.Sprintf("%d %s %s", answer.Status, page, answer.Header.Get("Content-Type")))
		r.Evidence = append(r.Evidence, fmt.Sprintf("page %s %d", page, answer.Status))
		base, err := url.Parse(page)
		if err != nil {
			continue
		}
		for _, link := range links(base, answer) {
			if !seen[link] && len(seen) < maxLinks {
				seen[link] = true
				queue = append(queue, link)
			}
		}
	}
	if len(queue) > 0 {
		lines = append(lines, fmt.Sprintf("%d more links were seen and not visited:", len(queue)))
		lines = append(lines, queue[:min(len(queue), 100)]...)
	}
	r.Text = strings.Join(lines, "\n")
	return r, context.Cause(ctx)
}

// links are the GET links of an answer to the same host.
func links(base *url.URL, a *webAnswer) (out []string) {
	found := []string{a.Header.Get("Location")}
	for _, m := range regexp.MustCompile(`(?i)\b(?:href|src|action)\s*=\s*(?:"([^"]+)"|'([^']+)'|([^\s"'>]+))`).FindAllSubmatch(a.Body, maxLinks) {
		found = append(found, html.UnescapeString(string(slices.Concat(m[1], m[2], m[3]))))
	}
	for _, text := range found {
		u, err := base.Parse(strings.TrimSpace(text))
		if text == "" || len(text) > maxLink || err != nil || u.Host != base.Host || u.Scheme != base.Scheme {
			continue
		}
		u.Fragment = ""
		out = append(out, u.String())
	}
	return out
}
