// Package rawurl keeps http and https URLs byte for byte as written.
//
// A scanner sends what net/url would clean up: "..", "//", "%2e" and invalid escapes must reach the server as the
// template says. The package parses such URLs, resolves redirects and makes the variables of targets in templates.
package rawurl

import (
	"cmp"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"path"
	"slices"
	"strings"

	"golang.org/x/net/idna"
	"golang.org/x/net/publicsuffix"
)

// URL is an absolute http or https URL without fragment; path and query are as written. Protocols other than HTTP also
// use it for the address of their targets.
type URL struct {
	Scheme string // http or https; of targets of other protocols also ws, wss, or ""
	Host   string // host or host:port, as written; lower case
	Path   string // begins with a slash, or is empty
	Query  string // without the question mark
}

// Parse parses an http or https URL. Fragments are dropped; internationalised names become ASCII.
func Parse(s string) (URL, error) {
	scheme, rest, ok := strings.Cut(s, "://")
	a := URL{Scheme: strings.ToLower(scheme)}
	if !ok || a.Scheme != "http" && a.Scheme != "https" {
		return a, fmt.Errorf("%.80q is not an http or https URL", s)
	}
	rest, _, _ = strings.Cut(rest, "#")
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		rest, a.Path = rest[:end], rest[end:]
	}
	a.Path, a.Query, _ = strings.Cut(a.Path, "?")
	if a.Host, ok = parseHost(rest); !ok {
		return a, fmt.Errorf("%.80q names no host", s)
	}
	return a, nil
}

// parseHost checks host[:port] and returns it in lower case.
func parseHost(s string) (string, bool) {
	host, port := splitHost(s)
	for _, c := range []byte(port) {
		if c < '0' || c > '9' {
			return "", false
		}
	}
	switch {
	case host == "" || len(port) > 5:
		return "", false
	case s[0] == '[':
		_, err := netip.ParseAddr(host)
		after := strings.TrimPrefix(s[1:], host)
		return strings.ToLower(s), err == nil && (after == "]" || strings.HasPrefix(after, "]:"))
	}
	for _, c := range []byte(host) {
		if c <= ' ' || c == 0x7f || strings.IndexByte("\"<>\\^`{|}@[]:%", c) >= 0 {
			return "", false
		}
		if c >= 0x80 {
			ascii, err := idna.Lookup.ToASCII(host)
			return ascii + s[len(host):], err == nil
		}
	}
	return strings.ToLower(s), true
}

// splitHost splits host[:port], without brackets.
func splitHost(s string) (host, port string) {
	if strings.HasPrefix(s, "[") {
		host, port, _ = strings.Cut(s[1:], "]")
		return host, strings.TrimPrefix(port, ":")
	}
	if i := strings.LastIndexByte(s, ':'); i >= 0 {
		return s[:i], s[i+1:]
	}
	return s, ""
}

// String is the URL in full.
func (a URL) String() string {
	if a.Query == "" {
		return a.base() + a.Path
	}
	return a.base() + a.Path + "?" + a.Query
}

// base is the URL up to the path.
func (a URL) base() string {
	if a.Scheme == "" {
		return a.Host
	}
	return a.Scheme + "://" + a.Host
}

// Hostname is the host without port and brackets.
func (a URL) Hostname() string { host, _ := splitHost(a.Host); return host }

// Port is the port, by default that of the scheme; "" without either.
func (a URL) Port() string {
	if _, port := splitHost(a.Host); port != "" {
		return port
	}
	switch a.Scheme {
	case "https", "wss":
		return "443"
	case "":
		return ""
	}
	return "80"
}

// ExplicitPort is the port that the URL names; "" without.
func (a URL) ExplicitPort() string { _, port := splitHost(a.Host); return port }

// HostPort is host:port, for dialling.
func (a URL) HostPort() string { return net.JoinHostPort(a.Hostname(), a.Port()) }

// Parsed is the URL for net/url.
func (a URL) Parsed() *url.URL {
	p, err := url.PathUnescape(a.Path)
	if err != nil {
		p = a.Path
	}
	return &url.URL{Scheme: a.Scheme, Host: a.Host, Path: p, RawPath: a.Path, RawQuery: a.Query}
}

// Root is the root of the server.
func (a URL) Root() URL { return URL{Scheme: a.Scheme, Host: a.Host, Path: "/"} }

// WithPort is the same URL with another port.
func (a URL) WithPort(port string) URL {
	a.Host = strings.TrimSuffix(net.JoinHostPort(a.Hostname(), port), ":")
	return a
}

// CutPort finds a port that a path of a template has directly after {{BaseURL}} or {{RootURL}}, which replaces the
// target's own (template language 1.5). rest is the text without it; port is "" if there is none.
func CutPort(text string) (rest, port string) {
	for _, mark := range []string{"{{BaseURL}}", "{{RootURL}}"} {
		after, ok := strings.CutPrefix(text, mark+":")
		if !ok {
			continue
		}
		n := 0
		for n < len(after) && after[n] >= '0' && after[n] <= '9' {
			n++
		}
		if n > 0 && n <= 5 {
			return mark + after[n:], after[:n]
		}
	}
	return text, ""
}

// Target is the request target: the path as EscapePath writes it, and the query without what a request line cannot
// contain.
func (a URL) Target() string {
	p := a.Path
	if p == "" {
		p = "/"
	}
	if p = EscapePath(p); a.Query == "" {
		return p
	}
	return p + "?" + escapeQuery(a.Query)
}

func escapeQuery(q string) string {
	return Escape(q, func(i int) bool { return q[i] <= ' ' || q[i] >= 0x7f }, "+")
}

// Escape percent-encodes bad bytes; blank replaces a space.
func Escape(s string, bad func(i int) bool, blank string) string {
	first := 0
	for first < len(s) && !bad(first) {
		first++
	}
	if first == len(s) {
		return s
	}
	var b strings.Builder
	b.WriteString(s[:first])
	for i := first; i < len(s); i++ {
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

// variables are the names of the variables of a target (template language 1.5).
var variables = []string{
	"BaseURL", "RootURL", "Hostname", "Host", "Port", "Scheme", "Path", "File", "Query", "Input", "ip",
	"FQDN", "RDN", "DN", "TLD", "SD",
}

// Variables are all variables of the URL; see Variable.
func (a URL) Variables(trim bool) map[string]string {
	vars := make(map[string]string, len(variables))
	for _, name := range variables {
		if value, ok := a.Variable(name, trim); ok {
			vars[name] = value
		}
	}
	return vars
}

// IsVariable reports whether a name is that of a variable of URLs.
func IsVariable(name string) bool { return slices.Contains(variables, name) }

// Variable is a variable of the URL (template language 1.5). trim removes one slash at the end of the path, for texts
// that begin with "{{BaseURL}}/". Hosts that the public suffix list cannot split (addresses, localhost) have no RDN,
// DN, TLD and SD.
func (a URL) Variable(name string, trim bool) (string, bool) {
	p := a.Path
	if trim {
		p = strings.TrimSuffix(p, "/")
	}
	switch name {
	case "BaseURL", "Input":
		return a.base() + p, true
	case "RootURL":
		return a.base(), true
	case "Hostname":
		return a.Host, true
	case "Host", "FQDN":
		return a.Hostname(), true
	case "Port":
		return a.Port(), true
	case "Scheme":
		return a.Scheme, true
	case "Path":
		return notDot(path.Dir(p)), true
	case "File":
		return notDot(path.Base(p)), true
	case "Query":
		return sortedQuery(a.Query), true
	case "ip":
		return "", true // the address that answers is known once it has
	case "RDN", "DN", "TLD", "SD":
		return domainPart(strings.TrimSuffix(a.Hostname(), "."), name)
	}
	return "", false
}

func notDot(s string) string {
	if s == "." {
		return ""
	}
	return s
}

// sortedQuery is a query with question mark, parameters sorted by name; equal names keep their order.
func sortedQuery(q string) string {
	if q == "" {
		return ""
	}
	params := strings.Split(q, "&")
	slices.SortStableFunc(params, func(a, b string) int {
		nameA, _, _ := strings.Cut(a, "=")
		nameB, _, _ := strings.Cut(b, "=")
		return cmp.Compare(nameA, nameB)
	})
	return "?" + escapeQuery(strings.Join(params, "&"))
}

// domainPart splits a host name by the public suffix list.
func domainPart(host, name string) (string, bool) {
	if _, err := netip.ParseAddr(host); err == nil {
		return "", false
	}
	registrable, err := publicsuffix.EffectiveTLDPlusOne(host)
	if err != nil {
		return "", false
	}
	suffix, _ := publicsuffix.PublicSuffix(host)
	switch name {
	case "RDN":
		return registrable, true
	case "DN":
		return strings.TrimSuffix(registrable, "."+suffix), true
	case "TLD":
		return suffix, true
	}
	return strings.TrimSuffix(strings.TrimSuffix(host, registrable), "."), true
}
