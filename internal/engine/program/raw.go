package program

import (
	"errors"
	"net"
	"slices"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// maxTimeout bounds what a @timeout line can ask for.
const maxTimeout = 5 * time.Minute

// message is a parsed raw request (template language 2.3).
type message struct {
	method      string
	target      string // as written; "" when the request line has none
	headers     []web.Header
	body        string
	annotations annotations

	text       string // what follows the annotations, byte by byte
	start, end int    // where target is in text
}

// annotations are the @ lines before a raw request.
type annotations struct {
	host    string // of @Host, as written
	sni     string // of @tls-sni, as written
	timeout time.Duration
	once    bool
}

var errRequestLine = errors.New("a raw request begins with METHOD PATH VERSION")

// readMessage parses a rendered raw request with lines that end with \r\n or \n. With unsafe any request line will do:
// the text is sent as it is.
func readMessage(text string, unsafe bool) (message, error) {
	var m message
	m.annotations, m.text = readAnnotations(text)
	line, rest, _ := strings.Cut(m.text, "\n")
	words := strings.Fields(line)
	switch {
	case len(words) == 2 && strings.Contains(words[1], "HTTP"):
		m.method = words[0] // no path: that of the target
	case len(words) >= 3 || unsafe && len(words) == 2:
		m.method, m.target = words[0], words[1]
		m.start = strings.Index(line, words[0]) + len(words[0])
		m.start += strings.Index(line[m.start:], words[1])
		m.end = m.start + len(words[1])
	case unsafe && len(words) == 1:
		m.method = words[0]
	case !unsafe:
		return m, errRequestLine
	}
	m.readRest(rest)
	return m, nil
}

// readRest reads headers and body. A line without a colon is a header with the value of the one before; a repeated
// name replaces its value.
func (m *message) readRest(rest string) {
	var value string
	multipart := false
	for rest != "" {
		var line string
		line, rest, _ = strings.Cut(rest, "\n")
		if line = strings.TrimSpace(line); line == "" {
			break
		}
		name, after, ok := strings.Cut(line, ":")
		if ok {
			value = strings.TrimSpace(after)
		}
		multipart = multipart || strings.Contains(name, "Content-Type") && strings.Contains(value, "multipart/")
		if name != "" {
			m.headers = setHeader(m.headers, name, value)
		}
	}
	m.body = rest
	if !multipart {
		m.body = strings.TrimSuffix(rest, "\r\n")
	}
}

// setHeader replaces the header of exactly this name, or adds it.
func setHeader(list []web.Header, name, value string) []web.Header {
	if i := slices.IndexFunc(list, func(h web.Header) bool { return h.Name == name }); i >= 0 {
		list[i].Value = value
		return list
	}
	return append(list, web.Header{Name: name, Value: value})
}

// readAnnotations cuts the @ lines, and empty lines before them, off a raw request.
func readAnnotations(text string) (n annotations, rest string) {
	for rest = text; ; {
		line, after, more := strings.Cut(rest, "\n")
		line = strings.TrimSpace(line)
		if !more || line != "" && line[0] != '@' {
			return n, rest
		}
		rest = after
		name, value, _ := strings.Cut(line, ":")
		value = strings.TrimSpace(value)
		switch name {
		case "@Host":
			n.host = value
		case "@tls-sni":
			n.sni = value
		case "@timeout":
			if d, err := time.ParseDuration(value); err == nil && d > 0 {
				n.timeout = min(d, maxTimeout)
			}
		case "@once":
			n.once = true
		}
	}
}

// addressFor is the address after a @Host line: another host and possibly scheme. Without a port there the old one
// stays.
func (n annotations) addressFor(a rawurl.URL) rawurl.URL {
	if n.host == "" {
		return a
	}
	to := n.host
	for _, scheme := range []string{"http", "https"} {
		if len(to) > len(scheme)+3 && strings.EqualFold(to[:len(scheme)+3], scheme+"://") {
			a.Scheme, to = scheme, to[len(scheme)+3:]
			break
		}
	}
	to = strings.ToLower(strings.TrimRight(to, "/"))
	if _, _, err := net.SplitHostPort(to); err != nil {
		if _, port, err := net.SplitHostPort(a.Host); err == nil {
			to = net.JoinHostPort(strings.Trim(to, "[]"), port)
		}
	}
	a.Host = to
	return a
}

// serverName is the name for SNI of a @tls-sni line; host is the request's Host header.
func (n annotations) serverName(host string) string {
	if n.sni == "request.host" {
		name, _, err := net.SplitHostPort(host)
		if err != nil {
			return host
		}
		return name
	}
	_, name, found := strings.Cut(n.sni, "://")
	if !found {
		return n.sni
	}
	return name
}

// relative is the path of a request target that is a URL. A host without dot or port makes the whole a path, unless
// it is the target's own: scanners for open proxies send "http://2852039166/x".
func relative(target, own string) string {
	for _, scheme := range []string{"http://", "https://"} {
		rest, ok := strings.CutPrefix(target, scheme)
		if !ok {
			continue
		}
		host, path := rest, ""
		if i := strings.IndexAny(rest, "/?#"); i >= 0 {
			host, path = rest[:i], rest[i:]
		}
		if host != "" && host != "localhost" && host != own && !strings.ContainsAny(host, ".:{") {
			return "/" + target
		}
		return path
	}
	return target
}

// merge joins the paths and the parameters of a target and of a raw request. An empty path, and a lone slash, mean
// the target's own. A common part at the joint stands once.
func merge(base rawurl.URL, target string, automerge bool) (path, query string) {
	target, _, _ = strings.Cut(relative(target, base.Host), "#")
	own, params, _ := strings.Cut(target, "?")
	if target == "/" || target == "" {
		own = ""
	} else if own != "" && own[0] != '/' {
		own = "/" + own
	}
	if automerge {
		own = join(base.Path, own)
	}
	return own, joinQuery(base.Query, params)
}

// mergeUnsafe is merge for a request that is sent byte by byte: without a leading slash, on a target without a path,
// its own path stays as written.
func mergeUnsafe(base rawurl.URL, target string, automerge bool) string {
	target = relative(target, base.Host)
	target, fragment, marked := strings.Cut(target, "#")
	if marked {
		fragment = "#" + fragment
	}
	own, params, _ := strings.Cut(target, "?")
	query := joinQuery(base.Query, params)
	if query != "" || strings.HasSuffix(target, "?") {
		query = "?" + query
	}
	if (base.Path == "" || base.Path == "/") && !strings.HasPrefix(target, "/") {
		return own + query + fragment
	}
	path, _ := merge(base, target, automerge)
	if path == "" {
		path = "/"
	}
	return path + query + fragment
}

func joinQuery(a, b string) string {
	if a == "" || b == "" {
		return a + b
	}
	return a + "&" + b
}

// join joins two paths with one slash and writes a common part once: "/blog/test" and "/blog/test/x" are
// "/blog/test/x".
func join(a, b string) string {
	switch {
	case a == "":
		return b
	case b == "":
		return a
	case strings.HasSuffix(a, "/"):
		b = strings.TrimPrefix(b, "/")
	case !strings.HasPrefix(b, "/"):
		b = "/" + b
	}
	switch {
	case strings.HasSuffix(a, b):
		return a
	case strings.HasPrefix(b, a):
		return b
	}
	return a + b
}
