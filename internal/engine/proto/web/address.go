package web

import (
	"fmt"
	"net"
	"net/url"
	"path"
	"strings"
)

// Address is a URL whose path and query are kept byte by byte as they were written:
// "..", "//", "%2e" and invalid escapes reach the server as the author meant them.
type Address struct {
	Scheme string // http or https
	Host   string // host or host:port, as written; lower case
	Path   string // begins with a slash, or is empty
	Query  string // without the question mark
}

// ParseAddress takes an absolute http or https URL apart. A fragment is dropped.
func ParseAddress(s string) (Address, error) {
	var a Address
	scheme, rest, ok := strings.Cut(s, "://")
	a.Scheme = strings.ToLower(scheme)
	if !ok || a.Scheme != "http" && a.Scheme != "https" {
		return a, fmt.Errorf("%q is not an http or https URL", clip(s))
	}
	rest, _, _ = strings.Cut(rest, "#")
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		rest, a.Path = rest[:end], rest[end:]
	}
	a.Path, a.Query, _ = strings.Cut(a.Path, "?")
	u, err := url.Parse("http://" + rest)
	if err != nil || u.Host == "" || u.User != nil || u.Hostname() == "" || u.Path != "" {
		return a, fmt.Errorf("%q names no host", clip(s))
	}
	a.Host = strings.ToLower(u.Host)
	return a, nil
}

// AddressOf is the Address of a parsed URL.
func AddressOf(u *url.URL) Address {
	return Address{Scheme: u.Scheme, Host: strings.ToLower(u.Host), Path: u.EscapedPath(), Query: u.RawQuery}
}

// String is the URL in full.
func (a Address) String() string {
	s := a.Scheme + "://" + a.Host + a.Path
	if a.Query != "" {
		s += "?" + a.Query
	}
	return s
}

// Hostname is the host without port and brackets.
func (a Address) Hostname() string { return (&url.URL{Host: a.Host}).Hostname() }

// Port is the port, the scheme's own when none is written.
func (a Address) Port() string {
	if p := (&url.URL{Host: a.Host}).Port(); p != "" {
		return p
	}
	if a.Scheme == "https" {
		return "443"
	}
	return "80"
}

// HostPort is what is dialled: host and port, always both.
func (a Address) HostPort() string { return net.JoinHostPort(a.Hostname(), a.Port()) }

// URL is the parsed form, for judging where a redirect leads.
func (a Address) URL() *url.URL {
	p, err := url.PathUnescape(a.Path)
	if err != nil {
		p = a.Path
	}
	return &url.URL{Scheme: a.Scheme, Host: a.Host, Path: p, RawPath: a.Path, RawQuery: a.Query}
}

// wire is the URL that makes net/http send path and query as they are.
func (a Address) wire() *url.URL {
	p := wirePath(a.Path)
	u := &url.URL{Scheme: a.Scheme, Host: a.Host, RawQuery: wireQuery(a.Query)}
	if !strings.HasPrefix(p, "//") {
		u.Opaque = p
		return u
	}
	// An opaque part that begins with two slashes would be taken for a host.
	u.RawPath = p
	if u.Path, _ = url.PathUnescape(p); u.Path == "" {
		u.Path = p
	}
	return u
}

// wirePath makes a path that can stand in a request line: valid escapes stay, the
// percent sign of invalid ones is escaped, and so is what no request line can hold.
func wirePath(p string) string {
	if p == "" {
		return "/"
	}
	return escape(p, func(i int) bool {
		c := p[i]
		return c <= ' ' || c >= 0x7f || c == '%' && (i+2 >= len(p) || !isHex(p[i+1]) || !isHex(p[i+2]))
	}, "%20")
}

func wireQuery(q string) string {
	return escape(q, func(i int) bool { return q[i] <= ' ' || q[i] >= 0x7f }, "+")
}

func escape(s string, bad func(i int) bool, blank string) string {
	var b strings.Builder
	for i := range len(s) {
		switch {
		case !bad(i):
			b.WriteByte(s[i])
		case s[i] == ' ':
			b.WriteString(blank)
		default:
			fmt.Fprintf(&b, "%%%02X", s[i])
		}
	}
	return b.String()
}

func isHex(c byte) bool {
	return '0' <= c && c <= '9' || 'a' <= c && c <= 'f' || 'A' <= c && c <= 'F'
}

func clip(s string) string {
	if len(s) > 80 {
		return s[:80] + "…"
	}
	return s
}

// Variables are the names that templates know a target by. With trim, one slash at the
// end of the path is left out: what a text that begins with "{{BaseURL}}/" wants.
func (a Address) Variables(trim bool) map[string]string {
	p := a.Path
	if trim {
		p = strings.TrimSuffix(p, "/")
	}
	root := a.Scheme + "://" + a.Host
	vars := map[string]string{
		"BaseURL": root + p, "Input": root + p, "RootURL": root,
		"Hostname": a.Host, "Host": a.Hostname(), "Port": a.Port(), "Scheme": a.Scheme,
		"FQDN": a.Hostname(), "Path": path.Dir(p), "File": path.Base(p), "Query": "",
	}
	for _, name := range []string{"Path", "File"} {
		if vars[name] == "." {
			vars[name] = ""
		}
	}
	if a.Query != "" {
		vars["Query"] = "?" + a.Query
	}
	return vars
}
