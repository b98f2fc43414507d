package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
	"time"
)

// Limits is what bounds a scope besides its targets. The zero value is ready.
type Limits struct {
	// Deny lists networks that are refused whatever the targets say (--deny-targets).
	Deny []netip.Prefix
	// Resolver looks up names; nil is the system's.
	Resolver *net.Resolver
	// OnDenied, when set, is told of each dial that was refused, before Dial returns. It
	// is called from the dialling goroutines, several at a time.
	OnDenied func(Denied)
	// Timeout bounds a dial, the look-up included; zero is ten seconds.
	Timeout time.Duration
}

// Scope is what one scan or task may dial: the targets it was given, less what is never
// a target. It is safe for use by many goroutines.
//
// A host that is named exactly may resolve to a private address or to loopback: whoever
// names intranet.example means the machine behind it. A host that is only covered by a
// wildcard may resolve to public addresses and to those that a target names: nobody
// looked at it, and its owner must not lead a scan into the scanner's own network.
// Cloud metadata addresses, multicast, the unspecified address and the operator's
// denied networks are refused even when a target names them.
//
// A name is looked up once: later dials go to the addresses of the first answer, so
// that a name server cannot move a target while it is being scanned. A name that is out
// of scope is not looked up at all.
type Scope struct {
	limits Limits
	index  index
	pins   pins
}

// NewScope makes the scope of these targets; with none, everything is refused. An error
// is an *errs.Error that tells which target or range is malformed.
func NewScope(targets []Target, limits Limits) (*Scope, error) {
	s := &Scope{limits: limits}
	if s.limits.Timeout <= 0 {
		s.limits.Timeout = dialTimeout
	}
	s.limits.Deny = make([]netip.Prefix, len(limits.Deny))
	for i, p := range limits.Deny {
		if !p.IsValid() {
			return nil, invalidTarget("A denied range is not a range.")
		}
		s.limits.Deny[i] = normal(p)
	}
	for _, t := range targets {
		if err := s.index.add(t); err != nil {
			return nil, err
		}
	}
	s.pins.resolver = limits.Resolver
	s.pins.timeout = s.limits.Timeout
	return s, nil
}

// Dial connects to addr (host:port, the port a number) over a TCP or UDP network. A
// refusal is a *Denied, and no packet left for the address refused. Of a name's
// addresses only those allowed are tried, in the resolver's order, until one answers.
func (s *Scope) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Timeout)
	defer cancel()
	switch network {
	case "tcp", "tcp4", "tcp6", "udp", "udp4", "udp6":
	default:
		return nil, s.report(addr, "only TCP and UDP are dialled")
	}
	h, port, may, why := s.admit(addr)
	if why != "" {
		return nil, s.report(addr, why)
	}
	if h.name == "" {
		return s.dialFirst(ctx, network, addr, []netip.AddrPort{netip.AddrPortFrom(h.addr, port)})
	}
	addrs, err := s.pins.lookup(ctx, h.name)
	if err != nil {
		return nil, err
	}
	var to []netip.AddrPort
	var refusal error
	for _, a := range addrs {
		if why := s.refuses(a, port, may); why != "" {
			refusal = s.report(addr, fmt.Sprintf("it resolves to %s: %s", a, why))
		} else if speaks(network, a) {
			to = append(to, netip.AddrPortFrom(a, port))
		}
	}
	if len(to) == 0 {
		if refusal == nil {
			refusal = fmt.Errorf("dial %s: no address for %s", addr, network)
		}
		return nil, refusal
	}
	return s.dialFirst(ctx, network, addr, to)
}

// dialFirst tries the addresses in turn, each with its share of the time that is left.
func (s *Scope) dialFirst(ctx context.Context, network, addr string, to []netip.AddrPort) (net.Conn, error) {
	var failures []error
	for i, ap := range to {
		deadline, _ := ctx.Deadline() // Dial sets one
		conn, err := s.dialOne(ctx, network, addr, ap, time.Until(deadline)/time.Duration(len(to)-i))
		if err == nil {
			return conn, nil
		}
		failures = append(failures, err)
		if ctx.Err() != nil {
			break
		}
	}
	return nil, errors.Join(failures...)
}

// dialOne connects to one address that was decided on. The control hook holds the
// dialer to it, and decides again what holds for every dial.
func (s *Scope) dialOne(ctx context.Context, network, addr string, to netip.AddrPort, timeout time.Duration) (net.Conn, error) {
	d := net.Dialer{Timeout: timeout, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		got, ok := dialled(address)
		if !ok || got != netip.AddrPortFrom(plain(to.Addr()), to.Port()) {
			return s.report(address, "it is not the address that "+clip(addr, 300)+" was pinned to")
		}
		if why := s.never(got.Addr()); why != "" {
			return s.report(address, why)
		}
		return nil
	}}
	return d.DialContext(ctx, network, to.String())
}

// AllowsURL reports whether a request to u, such as a redirect's next hop, may be
// dialled as far as that is known without a look-up: http, https, ws or wss; a host and
// port in scope. Dial still decides on the address. Nothing is reported to OnDenied.
func (s *Scope) AllowsURL(u *url.URL) bool {
	var port string
	switch u.Scheme {
	case "http", "ws":
		port = "80"
	case "https", "wss":
		port = "443"
	default:
		return false
	}
	if p := u.Port(); p != "" {
		port = p
	}
	_, _, _, why := s.admit(net.JoinHostPort(u.Hostname(), port))
	return why == ""
}

// admit decides what can be decided about host:port without a look-up: to which
// addresses it may lead, and why it is refused ("" when it is not).
func (s *Scope) admit(addr string) (h host, port uint16, may reach, why string) {
	text, port, ok := splitPort(addr)
	if !ok {
		return h, 0, nowhere, "it is not a host and a port"
	}
	h, ok = parseHost(text)
	if !ok {
		return h, 0, nowhere, "it is neither a host name nor an IP address"
	}
	if h.name == "" {
		return h, port, nowhere, s.refuses(h.addr, port, nowhere)
	}
	if may = s.index.name(h.name, port); may == nowhere {
		return h, port, may, notInScope
	}
	return h, port, may, ""
}

// refuses gives the reason why a:port may not be dialled, or "". may is what the name
// that led here brings with it; a literal address brings nothing.
func (s *Scope) refuses(a netip.Addr, port uint16, may reach) string {
	a = plain(a)
	if why := s.never(a); why != "" {
		return why
	}
	switch {
	case may == anywhere, s.index.addr(a, port):
		return ""
	case may == public:
		if why := find(special, a); why != "" {
			return "it is " + why + ", which no target names"
		}
		return ""
	}
	return notInScope
}

// never gives the reason why no target may be a, or "".
func (s *Scope) never(a netip.Addr) string {
	a = plain(a)
	if why := find(neverTargets, a); why != "" {
		return "it is " + why
	}
	if isMetadata(a) {
		return "it is a cloud metadata address"
	}
	for _, c := range carried(a) {
		if within(s.limits.Deny, c) {
			return "the operator denies it"
		}
	}
	return ""
}

const notInScope = "it is not in scope"

// report makes the refusal of addr, and tells OnDenied.
func (s *Scope) report(addr, why string) *Denied {
	d := denied(CodeOutOfScope, addr, why)
	if s.limits.OnDenied != nil {
		s.limits.OnDenied(*d)
	}
	return d
}

// speaks reports whether a network with a family in its name can reach a.
func speaks(network string, a netip.Addr) bool {
	switch {
	case strings.HasSuffix(network, "4"):
		return plain(a).Is4()
	case strings.HasSuffix(network, "6"):
		return !plain(a).Is4()
	}
	return true
}
