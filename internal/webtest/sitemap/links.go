package sitemap

import (
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
)

// What links and buttons say is read beside their addresses: /leave ends a session as /logout does when its link says
// "Sign out", and /in is a login when its link says "Sign in".

// LoginLinks are the addresses of a page's links whose text says that they lead to a login.
func LoginLinks(response *message.Response) (out []*url.URL) {
	if !response.IsHTML() {
		return nil
	}
	p := parsePage(response.Request.URL, response.Body)
	for _, text := range p.logins {
		if to := p.resolve(text); to != nil {
			to.Fragment = ""
			out = append(out, to)
		}
	}
	return out
}

// PageLinks are addresses of a page's links that only read, without a query, so many at most.
func PageLinks(response *message.Response, most int) (out []*url.URL) {
	if !response.IsHTML() {
		return nil
	}
	p := parsePage(response.Request.URL, response.Body)
	for _, text := range p.links {
		to := p.resolve(text)
		if to == nil || to.RawQuery != "" || len(out) >= most || slices.Contains(p.ends, text) || isMedia(to.Path) {
			continue
		}
		to.Fragment = ""
		if !client.Writes(message.From(http.MethodGet, to)) {
			out = append(out, to)
		}
	}
	return out
}

// NoteEnds tells a client which links and forms of a page end the session by what they say.
func NoteEnds(c *client.Client, response *message.Response) {
	if response.IsHTML() {
		parsePage(response.Request.URL, response.Body).noteEnds(c, response.Request.URL)
	}
}

// noteEnds is NoteEnds of a page at an address. What leads back to the page itself, or to the front page, is a
// script's.
func (p *page) noteEnds(c *client.Client, at *url.URL) {
	note := func(to *url.URL) {
		if to != nil && to.RequestURI() != "/" && to.RequestURI() != at.RequestURI() {
			c.Ends(to)
		}
	}
	for _, text := range p.ends {
		if !strings.HasPrefix(text, "#") {
			note(p.resolve(text))
		}
	}
	for _, f := range p.forms {
		if f.signsOut() {
			note(p.resolve(f.action))
		}
	}
}

// signsOut reports whether a form without fields for people says that it ends the session.
func (f *form) signsOut() bool {
	says := false
	for _, label := range f.labels {
		says = says || client.SaysLogout(label)
	}
	for _, one := range f.fields {
		says = says && one.kind == "hidden"
	}
	return says
}
