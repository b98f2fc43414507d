package web

import (
	"context"
	"net/http"
	"slices"
	"strings"
)

// RedirectMode says which redirects are followed.
type RedirectMode int

// The modes.
const (
	NoRedirects   RedirectMode = iota
	AllRedirects               // wherever they lead
	HostRedirects              // while host and port stay those of the first request
)

// DefaultMaxRedirects is how many redirects are followed when nobody says.
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
	Allow func(to Address) bool

	// Gate is called before each further request; its error ends the chain. May be nil.
	Gate func(ctx context.Context) error
}

// Follow goes on from an answer as a policy says, and gives all answers in order, first
// among them: the last is the one that was not, or could not be, followed. The same
// first answer may be followed by many, each by its own policy. An error means that
// some further request had no answer; what was answered before is given with it.
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
		if p.Gate != nil {
			if err := p.Gate(ctx); err != nil {
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

// next is the request that an answer asks for, and whether it is to be sent.
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

// sameHost says whether two addresses have one host and port, or differ only in that
// one is http and the other https, each at its own default port.
func sameHost(a, b Address) bool {
	standard := func(x Address) bool {
		return x.Scheme == "http" && x.Port() == "80" || x.Scheme == "https" && x.Port() == "443"
	}
	return a.Hostname() == b.Hostname() && (a.Port() == b.Port() || standard(a) && standard(b))
}

// Resolve is where a Location leads from an address (RFC 3986, 5.2), read as tolerantly
// as browsers do; false when it leads nowhere that can be asked. User names and
// fragments are left out.
func (a Address) Resolve(location string) (Address, bool) {
	location = strings.Trim(location, " \t\r\n\x00")
	location, _, _ = strings.Cut(location, "#")
	switch scheme, rest, absolute := strings.Cut(location, ":"); {
	case location == "":
		return a, false
	case absolute && isScheme(scheme):
		scheme = strings.ToLower(scheme)
		if scheme != "http" && scheme != "https" || !strings.HasPrefix(rest, "//") {
			return a, false
		}
		location = rest
		a.Scheme = scheme
		fallthrough
	case strings.HasPrefix(location, "//"):
		location = location[2:]
		end := strings.IndexAny(location, "/?\\")
		if end < 0 {
			end = len(location)
		}
		authority := location[:end]
		if at := strings.LastIndexByte(authority, '@'); at >= 0 {
			authority = authority[at+1:]
		}
		to, err := ParseAddress(a.Scheme + "://" + authority)
		if err != nil {
			return a, false
		}
		a = to
		a.Path, a.Query, _ = strings.Cut(location[end:], "?")
		if strings.HasPrefix(a.Path, "\\") {
			a.Path = "/" + a.Path[1:]
		}
	case location[0] == '/':
		a.Path, a.Query, _ = strings.Cut(location, "?")
	case location[0] == '?':
		a.Query = location[1:]
		return a, true
	default:
		dir := a.Path[:strings.LastIndexByte(a.Path, '/')+1]
		p, query, _ := strings.Cut(location, "?")
		a.Path, a.Query = "/"+strings.TrimPrefix(dir, "/")+p, query
	}
	a.Path = withoutDots(a.Path)
	return a, true
}

func isScheme(s string) bool {
	for i := range len(s) {
		c := s[i] | 0x20
		if (c < 'a' || c > 'z') && (i == 0 || (s[i] < '0' || s[i] > '9') && s[i] != '+' && s[i] != '-' && s[i] != '.') {
			return false
		}
	}
	return s != ""
}

// withoutDots removes the segments "." and ".." from a path.
func withoutDots(p string) string {
	if !strings.Contains(p, "/.") {
		return p
	}
	segments := strings.Split(p, "/")
	out := segments[:1]
	for i, s := range segments[1:] {
		last := i == len(segments)-2
		switch {
		case s == "." && last, s == ".." && last && len(out) == 1:
			out = append(out, "")
		case s == ".":
		case s == "..":
			out = out[:max(1, len(out)-1)]
			if last {
				out = append(out, "")
			}
		default:
			out = append(out, s)
		}
	}
	return strings.Join(out, "/")
}
