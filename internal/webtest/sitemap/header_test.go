package sitemap_test

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/sitemap"
)

// A header whose value a script takes from its page is sent with it: by a script of the page, and by one in a file.
func TestHeadersFromThePage(t *testing.T) {
	m, _ := crawl(t, client.Config{}, sitemap.Config{}, pages(map[string]string{
		"/": `<div id="box" data-patient="20418"></div><script src="/portal.js"></script>`,
		"/cards": `<html><meta name="card" content="card-7"><script>fetch("/api/card",
			{headers: {"X-Card": document.querySelector("meta[name=card]").content}})</script><a href="/">Home</a></html>`,
		"/portal.js":   `fetch('/results', { headers: { 'X-Patient': box.dataset.patient } }); location.href = "/cards"`,
		"/results":     `{"a": 1}`,
		"/api/card":    `{"b": 1}`,
		"/favicon.ico": "",
	}))
	want := map[string][2]string{"/results": {"X-Patient", "20418"}, "/api/card": {"X-Card", "card-7"}}
	for _, e := range m.Entries {
		if h, is := want[e.Request.URL.Path]; is && e.Request.Header.Get(h[0]) == h[1] && m.Headers[h[0]] != "" {
			delete(want, e.Request.URL.Path)
		}
	}
	if len(want) > 0 {
		t.Errorf("headers are missing: %v", want)
	}
}

// A header that a script sets on its request is sent with its value, and the values of headers and cookies that scripts
// name are known.
func TestHeadersOfRequests(t *testing.T) {
	m, _ := crawl(t, client.Config{}, sitemap.Config{}, pages(map[string]string{
		"/": `<script>function go() { var call = new XMLHttpRequest(); call.open("GET", "/files", true);
			call.setRequestHeader("X-Name", "readme.txt"); call.send(); }
			document.cookie = "last=notes%2Fa.txt; path=/"; document.cookie = "seen=" + now;</script>`,
		"/files": "<p>a file</p>",
	}))
	sent := ""
	for _, e := range m.Entries {
		sent += e.Request.Header.Get("X-Name")
	}
	if sent != "readme.txt" || m.Headers["X-Name"] != "readme.txt" || m.Cookies["last"] != "notes%2Fa.txt" || m.Cookies["seen"] != "1" {
		t.Errorf("sent %q, headers %v, cookies %v", sent, m.Headers, m.Cookies)
	}
}
