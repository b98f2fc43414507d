// Package netguard decides where this program may dial.
//
// A Guard makes the dials that users configure (webhooks, template URLs, trackers, identity providers): it
// reaches the public internet, and of private networks only what the operator listed. A Scope makes the dials
// of a scan: it reaches what the request named and nothing else, but never a cloud's metadata address or a
// network that the operator denied.
//
// Both decide on the address that is about to be dialled, in the dialer's control hook, after the socket is
// created and before it is connected: name servers, spellings of addresses and redirects cannot change
// anything after the decision. What they do not understand they refuse.
package netguard

import (
	"net"
	"net/netip"
	"strconv"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The codes of a refusal.
const (
	CodeOutOfScope = "out_of_scope"        // by a Scope
	CodeBlocked    = "address_not_allowed" // by a Guard
)

// Denied is a dial that was refused before any packet left. Find it with errors.As; as an errs.Error it is
// Forbidden.
type Denied struct {
	Addr string // host:port as requested or about to be dialled, cut to 300 bytes
	Why  string // for people

	code string
}

func (d *Denied) Error() string { return "dial " + d.Addr + " refused: " + d.Why }

// Unwrap returns the refusal as an *errs.Error.
func (d *Denied) Unwrap() error {
	return errs.New(errs.Forbidden, d.code, "%s is refused: %s.", d.Addr, d.Why)
}

func denied(code, addr, why string) *Denied {
	return &Denied{Addr: errs.Clip(addr, 300), Why: why, code: code}
}

// ParsePrefix reads an operator's range: a CIDR, or a single address, which becomes a /32 or /128. Bits behind
// the mask are dropped, and IPv4 inside IPv6 becomes IPv4.
func ParsePrefix(s string) (netip.Prefix, error) {
	s = strings.TrimSpace(s)
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		return single(a), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return p, errs.New(errs.Invalid, "invalid_range",
			"%q is neither an IP address nor a range such as 10.0.0.0/8.", errs.Clip(s, 64))
	}
	return normal(p), nil
}

// normal is p for addresses in the form of plain.
func normal(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96).Masked()
	}
	return p.Masked()
}

// dialled reads the address that a dialer passes to its control hook: an IP and a port, never a name.
func dialled(address string) (netip.AddrPort, bool) {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return ap, false
	}
	return netip.AddrPortFrom(plain(ap.Addr()), ap.Port()), true
}

// splitPort reads host:port with a numeric port from 1.
func splitPort(addr string) (host string, port uint16, ok bool) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, false
	}
	port, ok = parsePort(text)
	return host, port, ok
}

// parsePort reads a port in plain decimal digits, from 1 to 65535.
func parsePort(s string) (uint16, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return uint16(n), err == nil && n > 0
}
