package web

import (
	"cmp"
	"context"
	"net/http"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
)

// RedirectMode says which redirects are followed.
type RedirectMode int

// The modes.
const (
	NoRedirects   RedirectMode = iota
	AllRedirects               // wherever they lead
	HostRedirects              // to the host and port of the first request
)

// DefaultMaxRedirects bounds a chain of redirects by default.
const DefaultMaxRedirects = 10

// Policy says which redirects are followed.
type Policy struct {
	Mode       RedirectMode
	SameScheme bool // only from http to http and from https to https
	Max        int  // 0 means DefaultMaxRedirects

	// Jar is for the further requests; nil is that of the first request.
	Jar *Jar

	// Allow reports whether an address may be requested; if not, the chain ends without error. Nil allows all.
	Allow func(to rawurl.URL) bool

	// Before, if not nil, runs before each further request; its error ends the chain.
	Before func(ctx context.Context) error
}

// Follow follows redirects and returns all responses in order, first included. Many may follow the same first
// response, each with its own policy. An error means that a further request had no response; the earlier responses
// are returned, too.
func (c *Client) Follow(ctx context.Context, first *Exchange, p Policy) ([]*Exchange, error) {
	chain := []*Exchange{first}
	if p.Mode == NoRedirects {
		return chain, nil
	}
	if p.Max <= 0 {
		p.Max = DefaultMaxRedirects
	}
	jar := cmp.Or(p.Jar, first.Request.Jar)
	for len(chain) <= p.Max {
		last := chain[len(chain)-1]
		req, ok := next(first, last, p)
		if !ok {
			break
		}
		if p.Before != nil {
			if err := p.Before(ctx); err != nil {
				return chain, err
			}
		}
		if jar == nil { // cookies live at least as long as the chain
			jar = NewJar()
			jar.Keep(first)
		}
		req.Jar = jar
		x, err := c.Do(ctx, req)
		if err != nil {
			return chain, err
		}
		chain = append(chain, x)
	}
	return chain, nil
}

// next is the request that a response redirects to; false if it must not be sent.
func next(first, last *Exchange, p Policy) (Request, bool) {
	keep := false
	switch last.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther:
	case http.StatusTemporaryRedirect, http.StatusPermanentRedirect:
		keep = true
	default:
		return Request{}, false
	}
	from := last.Request.Address
	location := last.Header("Location")
	to, ok := from.Resolve(location)
	if !ok ||
		p.Mode == HostRedirects && !sameHost(to, first.Request.Address) ||
		p.SameScheme && to.Scheme != from.Scheme ||
		p.Allow != nil && !p.Allow(to) {
		return Request{}, false
	}
	req := last.Request
	req.asWritten()
	req.Address, req.Target = to, ""
	if strings.Contains(location, "://") || strings.HasPrefix(location, "//") {
		// Another host name is kept for relative redirects only.
		req.Host = ""
		req.Headers = without(req.Headers, "Host")
	}
	if method := req.method(); !keep && method != http.MethodGet && method != http.MethodHead {
		req.Method, req.Body = http.MethodGet, nil
		req.Headers = without(req.Headers, "Content-Type", "Content-Encoding", "Content-Length", "Transfer-Encoding")
	}
	if to.Hostname() != first.Request.Address.Hostname() {
		req.elsewhere, req.Digest, req.SNI = true, nil, ""
		req.Headers = slices.DeleteFunc(slices.Clone(req.Headers), func(h Header) bool { return secret(h.Name) })
	}
	req.Headers = withoutCookies(req.Headers, last)
	if indexHeader(first.Request.Headers, "Referer") < 0 {
		req.Headers = without(req.Headers, "Referer")
		if from.Scheme == to.Scheme || to.Scheme == "https" {
			req.Headers = append(req.Headers, Header{"Referer", from.String()})
		}
	}
	return req, true
}

// asWritten parses a raw request.
func (r *Request) asWritten() {
	if r.Raw == nil {
		return
	}
	line, rest := cutLine(string(r.Raw))
	head, body, ok := strings.Cut(rest, "\r\n\r\n")
	if !ok {
		head, body, _ = strings.Cut(rest, "\n\n")
	}
	r.Method, _, _ = strings.Cut(line, " ")
	r.Headers = nil
	for name, value := range eachField(head) {
		r.Headers = append(r.Headers, Header{name, value})
	}
	r.Body, r.Raw, r.NoDefaults, r.Fresh = []byte(body), nil, true, true
}

func without(list []Header, names ...string) []Header {
	return slices.DeleteFunc(slices.Clone(list), func(h Header) bool { return containsName(names, h.Name) })
}

func containsName(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// sameHost reports whether host and port are equal, or http and https use their default ports.
func sameHost(a, b rawurl.URL) bool {
	standard := func(x rawurl.URL) bool {
		return x.Scheme == "http" && x.Port() == "80" || x.Scheme == "https" && x.Port() == "443"
	}
	return a.Hostname() == b.Hostname() && (a.Port() == b.Port() || standard(a) && standard(b))
}

// Redirects reports whether the response redirects.
func (x *Exchange) Redirects() bool {
	switch x.Status {
	case http.StatusMovedPermanently, http.StatusFound, http.StatusSeeOther, http.StatusTemporaryRedirect,
		http.StatusPermanentRedirect:
		return x.Header("Location") != ""
	}
	return false
}
