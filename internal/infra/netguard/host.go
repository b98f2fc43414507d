package netguard

import (
	"net/netip"
	"strconv"
	"strings"
	"unicode/utf8"

	"golang.org/x/net/idna"
)

const maxName = 253 // bytes of a name in a DNS question

// names normalises a host name as browsers and net/http do before a lookup: full-width digits and dots become
// ASCII, letters lower case, other scripts punycode. Underscores and double hyphens stay: existing names have them.
var names = idna.New(idna.MapForLookup(), idna.StrictDomainName(false), idna.CheckHyphens(false))

// host is an address, or a name in the form in which it is looked up and compared.
type host struct {
	addr  netip.Addr // valid for a literal; as written, with its zone
	name  string     // of anything else: lower case ASCII, no trailing dot
	usual bool       // addr was written in the usual form, which every resolver reads alike
}

// parseHost reads a host without brackets. It knows every spelling of an IPv4 address that a C library knows
// (0x7f.1, 2130706433, 0177.0.0.1), and accepts no name that a C library might read as an address. ok is false
// for what is neither.
func parseHost(s string) (h host, ok bool) {
	if a, err := netip.ParseAddr(s); err == nil {
		return host{addr: a, usual: true}, true
	}
	if len(s) > 4*maxName || !utf8.ValidString(s) { // in UTF-8; the bound below is on the ASCII form
		return host{}, false
	}
	name, err := names.ToASCII(s)
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

// isNumber reports whether s is digits, or 0x and hexadecimal digits, of any length.
func isNumber(s string) bool {
	if hex, ok := strings.CutPrefix(s, "0x"); ok {
		return strings.Trim(hex, "0123456789abcdef") == ""
	}
	return strings.Trim(s, "0123456789") == ""
}
