package web

import (
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
	HostRedirects              // while host and port stay those of the first request
)

// DefaultMaxRedirects is how many redirects are followed by default.
const DefaultMaxRedirects = 10

// Policy says how far a chain of redirects is followed.
type Policy struct {
	Mode       RedirectMode
	SameScheme bool // only from http to http and from https to https
	Max        int  // 0 means DefaultMaxRedirects

	// Jar has the cookies of the further requests; nil for that of the first request.
	Jar *Jar

	// Allow is asked about each next address; one that it refuses is not followed, and
	// that is no error. Nil allows all that Config.Dial allows.
	Allow func(to rawurl.URL) bool

	// Before is called before each further request; its error ends the chain. May be nil.
	Before func(ctx context.Context) error
}

// Follow goes on from a response as a policy says, and gives all responses in order, first
// among them: the last is the one that was not, or could not be, followed. The same
// first response may be followed by many, each by its own policy. An error means that
// some further request had no response; what was answered before is given with it.
func (c *Client) Follow(ctx context.Context, first *Exchange, p Policy) ([]*Exchange, error) {
	chain := []*Exchange{first}
	if p.Mode == NoRedirects {
		return chain, nil
	}
	if p.Max <= 0 {
		p.Max = DefaultMaxRedirects
	}
	jar := p.Jar
	if jar == nil {
		jar = first.Request.Jar
	}
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

// next is the request that a response asks for, and whether it is to be sent.
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
		// A host that was asked for in another name holds for relative places only.
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

// asWritten makes a request that was given as raw bytes one that is built of parts.
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
	return slices.DeleteFunc(slices.Clone(list), func(h Header) bool { return indexName(names, h.Name) })
}

func indexName(names []string, name string) bool {
	return slices.ContainsFunc(names, func(n string) bool { return strings.EqualFold(n, name) })
}

// sameHost reports whether two addresses have one host and port, or differ only in that
// one is http and the other https, each at its own default port.
func sameHost(a, b rawurl.URL) bool {
	standard := func(x rawurl.URL) bool {
		return x.Scheme == "http" && x.Port() == "80" || x.Scheme == "https" && x.Port() == "443"
	}
	return a.Hostname() == b.Hostname() && (a.Port() == b.Port() || standard(a) && standard(b))
}
