// Package targets reads what a scan is to test: a URL, a host with or without a port, or an address.
package targets

import (
	"net"
	"net/netip"
	"net/url"
	"os"
	"strconv"
	"strings"

	"golang.org/x/net/idna"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// maxTarget bounds the text of one target.
const maxTarget = 2048

// Target is a parsed target.
type Target struct {
	Input string // as it was given, without blanks around

	Address rawurl.URL // with the first of Schemes
	Schemes []string   // of HTTP, to try in this order; one when the target names it, none for a WebSocket
	Path    bool       // Input is a path of this machine, not a place in the network
	Named   string     // the scheme that it names: http, https, ws or wss; "" for none
}

// Parse reads a URL of http, https, ws or wss, a host, host:port or IP address, with a path if need be. The error is an
// *errs.Error that names "target".
func Parse(input string) (Target, error) {
	t := Target{Input: strings.TrimSpace(input)}
	refuse := func(why string) (Target, error) {
		return Target{}, errs.Field("target", "%s is not a target: %s.", strconv.QuoteToASCII(errs.Clip(input, 80)), why)
	}
	s := t.Input
	if s == "" || len(s) > maxTarget {
		return refuse("it is empty or too long")
	}
	if strings.ContainsFunc(s, func(c rune) bool { return c <= ' ' || c == 0x7f || c == 0xfffd }) {
		return refuse("it holds blanks or control characters")
	}
	if addr, err := netip.ParseAddr(s); err == nil && addr.Is6() {
		s = "[" + s + "]"
	}
	scheme, rest := "", s
	if before, after, named := strings.Cut(s, "://"); named {
		scheme, rest = strings.ToLower(before), after
	}
	webSocket := scheme == "ws" || scheme == "wss"
	if rest != s && scheme != "http" && scheme != "https" && !webSocket {
		return refuse("only http, https, ws and wss can be tested")
	}
	authority := rest
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		authority = rest[:end]
	}
	tail, _, _ := strings.Cut(rest[len(authority):], "#")
	if strings.Contains(authority, "\\") { // browsers end the host there, others go on to what follows
		return refuse("its host holds a backslash")
	}
	if strings.Contains(authority, "@") {
		return refuse("credentials do not belong into a target; send them as a header")
	}
	host, port, why := splitAuthority(authority)
	if why != "" {
		return refuse(why)
	}
	t.Named, t.Address = scheme, rawurl.URL{Scheme: scheme, Host: host}
	if !webSocket {
		t.Schemes = schemesFor(scheme, port)
		t.Address.Scheme = t.Schemes[0]
	}
	t.Address.Path, t.Address.Query, _ = strings.Cut(tail, "?")
	if port != "" {
		t.Address.Host += ":" + port
	}
	return t, nil
}

// IsPath reports whether a target is a path of this machine, for templates that search files: it begins as paths do, or
// has a slash and exists. A name without a slash is a host.
func IsPath(target string) bool {
	switch {
	case strings.Contains(target, "://"):
		return false
	case target == ".", target == "..":
		return true
	}
	for _, begin := range []string{"/", "./", "../"} {
		if strings.HasPrefix(target, begin) {
			return true
		}
	}
	_, err := os.Stat(target)
	return err == nil && strings.Contains(target, "/")
}

// URL is the target's URL, with the first scheme to try.
func (t Target) URL() string { return t.Address.String() }

// AsGiven is the target for protocols other than HTTP: without a scheme, and so without a port of its own, unless it
// names them.
func (t Target) AsGiven() rawurl.URL { return t.With(t.Named) }

// With is the address under another scheme.
func (t Target) With(scheme string) rawurl.URL {
	a := t.Address
	a.Scheme = scheme
	return a
}

// splitAuthority splits host and port and makes the host ASCII; why is what is wrong.
func splitAuthority(authority string) (host, port, why string) {
	u, err := url.Parse("//" + authority)
	if err != nil || u.Host == "" || u.Hostname() == "" {
		return "", "", "it names no host"
	}
	host, port = strings.ToLower(u.Hostname()), u.Port()
	if strings.HasSuffix(u.Host, ":") {
		return "", "", "the port is missing"
	}
	if port != "" {
		if n, err := strconv.Atoi(port); err != nil || n < 1 || n > 65535 {
			return "", "", "the port is not a number from 1 to 65535"
		}
	}
	if addr, err := netip.ParseAddr(host); err == nil {
		if addr.Zone() != "" {
			return "", "", "addresses with a zone cannot be tested"
		}
		if addr.Is6() {
			host = "[" + addr.String() + "]"
		}
		return host, port, ""
	}
	if strings.ContainsFunc(host, func(c rune) bool { return c >= 0x80 }) {
		if host, err = idna.Lookup.ToASCII(host); err != nil {
			host = ""
		}
	}
	if !validHost(host) {
		return "", "", "the host name is not valid"
	}
	return host, port, ""
}

// schemesFor are the schemes to try in order: the one that is named, else what the port suggests.
func schemesFor(named, port string) []string {
	n, _ := strconv.Atoi(port)
	switch {
	case named != "":
		return []string{named}
	case port == "80" || n > 1024 && n != 8443:
		return []string{"http", "https"}
	}
	return []string{"https", "http"}
}

func validHost(host string) bool {
	if len(host) > 253 || net.ParseIP(host) == nil && strings.Trim(host, "0123456789.") == "" {
		return false // all digits but no address: a typing error, or a trick
	}
	for label := range strings.SplitSeq(strings.TrimSuffix(host, "."), ".") {
		if label == "" || label[0] == '-' || len(label) > 63 || strings.ContainsFunc(label, func(c rune) bool {
			return (c < 'a' || c > 'z') && (c < '0' || c > '9') && c != '-' && c != '_'
		}) {
			return false
		}
	}
	return true
}
