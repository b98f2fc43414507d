package netguard

import (
	"net"
	"net/netip"
	"net/url"
	"strings"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

const maxURL = 2048 // bytes

// CheckURL reads a URL that a user configures, and refuses early, with a message for the user, what Dial would
// refuse later: a scheme other than http and https, a user name or password, no host, a port out of range, an
// address that may not be dialled in any spelling, localhost. It returns the URL with its host in the form in
// which it is looked up. An error is an *errs.Error without a Param: the caller sets it with At.
//
// It asks no name server: what a name resolves to is checked at each dial.
func (g *Guard) CheckURL(raw string) (*url.URL, error) {
	if len(raw) > maxURL {
		return nil, badURL("The URL is longer than %d bytes.", maxURL)
	}
	if !utf8.ValidString(raw) {
		return nil, badURL("The URL is not valid UTF-8.")
	}
	u, err := url.Parse(raw)
	if err != nil {
		return nil, badURL("This is not a URL.").Because(err)
	}
	switch {
	case u.Scheme != "http" && u.Scheme != "https":
		return nil, badURL("The URL must start with http:// or https://.")
	case u.User != nil:
		return nil, badURL("The URL must not carry a user name or password.")
	case u.Hostname() == "":
		return nil, badURL("The URL names no host.")
	}
	port := u.Port()
	if _, ok := parsePort(port); !ok && (port != "" || strings.HasSuffix(u.Host, ":")) {
		return nil, badURL("The port must be between 1 and 65535.")
	}
	h, ok := parseHost(u.Hostname())
	if !ok {
		return nil, badURL("%q is neither a host name nor an IP address.", errs.Clip(u.Hostname(), 64))
	}
	if err := g.checkHost(h); err != nil {
		return nil, err
	}
	u.Host = h.String()
	if port != "" {
		u.Host = net.JoinHostPort(strings.Trim(u.Host, "[]"), port)
	}
	return u, nil
}

// checkHost refuses a host to which, without a lookup, no dial can be allowed, and a literal that not every
// resolver reads alike.
func (g *Guard) checkHost(h host) error {
	switch {
	case h.name == "localhost", strings.HasSuffix(h.name, ".localhost"): // RFC 6761
		if g.refuses(netip.IPv6Loopback()) != "" && g.refuses(netip.AddrFrom4([4]byte{127, 0, 0, 1})) != "" {
			return blockedURL("localhost is not allowed here")
		}
	case h.name == "metadata.google.internal":
		return blockedURL("%s is a cloud metadata address", h.name)
	case h.name != "":
	case h.addr.Zone() != "":
		return badURL("An address in a URL must not carry a zone.")
	default:
		if why := g.refuses(h.addr); why != "" {
			return blockedURL("%s is not allowed here: %s", plain(h.addr), why)
		}
		if !h.usual {
			return badURL("Write the address as %s.", h.addr)
		}
	}
	return nil
}

// String is the host as it is written in a URL.
func (h host) String() string {
	switch {
	case h.name != "":
		return h.name
	case h.addr.Is4():
		return h.addr.String()
	default:
		return "[" + h.addr.String() + "]"
	}
}

func badURL(format string, args ...any) *errs.Error {
	return errs.New(errs.Invalid, "invalid_url", format, args...)
}

func blockedURL(format string, args ...any) *errs.Error {
	return errs.New(errs.Invalid, CodeBlocked, format+".", args...)
}
