package netguard

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"golang.org/x/net/idna"
)

const maxName = 253 // bytes of a name in a DNS question

// hostNames normalises host names as browsers do: full-width digits and dots become ASCII, letters lower case,
// other scripts punycode. Underscores and double hyphens stay, because real names have them.
var hostNames = idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.CheckHyphens(false))

// host is an address, or a name in the form in which it is looked up and compared.
type host struct {
	addr      netip.Addr // valid for a literal; as written, with its zone
	name      string     // of anything else: lower case ASCII, no trailing dot
	canonical bool       // addr was written in the usual form, which every resolver reads alike
}

// parseHost reads a host without brackets. It knows every spelling of an IPv4 address that a C library knows
// (0x7f.1, 2130706433, 0177.0.0.1), and accepts no name that one might read as an address.
func parseHost(s string) (h host, ok bool) {
	if a, err := netip.ParseAddr(s); err == nil {
		return host{addr: a, canonical: true}, true
	}
	if len(s) > 4*maxName || !utf8.ValidString(s) { // in UTF-8; the bound below is on the ASCII form
		return host{}, false
	}
	name, err := hostNames.ToASCII(s)
	if err != nil {
		return host{}, false
	}
	name = strings.TrimSuffix(name, ".")
	if !isName(name) {
		return host{}, false
	}
	if last := name[strings.LastIndexByte(name, '.')+1:]; isNumber(last) { // as the URL standard has it
		a, ok := parseNumbers(name)
		return host{addr: a}, ok
	}
	return host{name: name}, true
}

// isName reports whether s is a name of 1 to 253 bytes, in labels of 1 to 63 letters, digits, hyphens and
// underscores.
func isName(s string) bool {
	if s == "" || len(s) > maxName {
		return false
	}
	for label := range strings.SplitSeq(s, ".") {
		if label == "" || len(label) > 63 {
			return false
		}
		if strings.Trim(label, "abcdefghijklmnopqrstuvwxyz0123456789-_") != "" {
			return false
		}
	}
	return true
}

// parseNumbers reads an IPv4 address as inet_aton(3) does: one to four numbers, each decimal, octal (0…) or
// hexadecimal (0x…), the last filling the remaining bytes.
func parseNumbers(s string) (netip.Addr, bool) {
	parts := strings.Split(s, ".")
	if len(parts) > 4 {
		return netip.Addr{}, false
	}
	var sum uint64
	for i, part := range parts {
		n, ok := parseNumber(part)
		bits := 8
		if i == len(parts)-1 {
			bits = 8 * (5 - len(parts))
		}
		if !ok || n>>bits != 0 {
			return netip.Addr{}, false
		}
		sum = sum<<bits | n
	}
	return netip.AddrFrom4([4]byte{byte(sum >> 24), byte(sum >> 16), byte(sum >> 8), byte(sum)}), true
}

// parseNumber reads one number of an inet_aton address, at most 32 bits.
func parseNumber(s string) (uint64, bool) {
	base := 10
	switch {
	case s == "0x": // zero, to libraries that accept it
		return 0, true
	case strings.HasPrefix(s, "0x"):
		s, base = s[2:], 16
	case len(s) > 1 && s[0] == '0':
		s, base = s[1:], 8
	}
	n, err := strconv.ParseUint(s, base, 32)
	return n, err == nil
}

func isNumber(s string) bool {
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(s, "0123456789") == ""
}

// IsWebURL reports whether a text is an http or https URL of a host.
func IsWebURL(text string) bool {
	u, err := url.Parse(text)
	return err == nil && u.Host != "" && (u.Scheme == "https" || u.Scheme == "http")
}

const maxURL = 2048 // bytes

// CheckURL reads a URL that a user configures, and refuses early, with a message for the user, what Dial would
// refuse later. It returns the URL with its host as it is looked up. An error is an *errs.Error without a
// Param: the caller sets it with At. It asks no name server.
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

// checkHost refuses a host to which no dial can be allowed, and a literal that not every resolver reads alike.
func (g *Guard) checkHost(h host) error {
	switch {
	case h.name == "localhost", strings.HasSuffix(h.name, ".localhost"): // RFC 6761
		if g.denialReason(netip.IPv6Loopback()) != "" && g.denialReason(netip.AddrFrom4([4]byte{127, 0, 0, 1})) != "" {
			return blockedURL("localhost is not allowed here")
		}
	case h.name == "metadata.google.internal":
		return blockedURL("%s is a cloud metadata address", h.name)
	case h.name != "":
	case h.addr.Zone() != "":
		return badURL("An address in a URL must not carry a zone.")
	default:
		if why := g.denialReason(h.addr); why != "" {
			return blockedURL("%s is not allowed here: %s", normalize(h.addr), why)
		}
		if !h.canonical {
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
