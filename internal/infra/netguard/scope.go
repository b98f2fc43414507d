package netguard

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"syscall"
	"time"
)

// Limits is what bounds a scope besides its targets. The zero value is ready.
type Limits struct {
	// Deny lists networks that are refused whatever the targets say (--deny-targets).
	Deny []netip.Prefix
	// Excludes, when set, says which hosts (a name or an address, as a dial names it) are
	// refused whatever the targets say. Where a name leads is not asked: that is for Deny.
	Excludes func(host string, port uint16) bool
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
// refusal is a *Denied, and no packet left for the address refused. A name's addresses
// are tried in the resolver's order until one answers; those refused are passed over.
func (s *Scope) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Timeout)
	defer cancel()
	switch network {
	case "tcp", "tcp4", "tcp6", "udp", "udp4", "udp6":
	default: // the control hook cannot tell an address from a unix socket of that name
		return nil, s.report(addr, "only TCP and UDP are dialled")
	}
	h, port, may, why := s.admit(addr)
	if why != "" {
		return nil, s.report(addr, why)
	}
	addrs := []netip.Addr{h.addr}
	if h.name != "" {
		var err error
		if addrs, err = s.pins.lookup(ctx, h.name); err != nil {
			return nil, err
		}
	}
	var failures []error
	var refusal error
	for i, a := range addrs {
		deadline, _ := ctx.Deadline()
		share := time.Until(deadline) / time.Duration(len(addrs)-i)
		conn, err := s.dialOne(ctx, network, addr, netip.AddrPortFrom(a, port), may, share)
		var d *Denied
		switch {
		case err == nil:
			return conn, nil
		case errors.As(err, &d):
			refusal = d
		default:
			failures = append(failures, err)
		}
		if ctx.Err() != nil {
			break
		}
	}
	if len(failures) > 0 {
		return nil, errors.Join(failures...)
	}
	return nil, refusal
}

// dialOne connects to one address of addr. The decision falls in the control hook: the
// socket exists, no packet has left.
func (s *Scope) dialOne(ctx context.Context, network, addr string, to netip.AddrPort, may reach, timeout time.Duration) (net.Conn, error) {
	d := net.Dialer{Timeout: timeout, ControlContext: func(_ context.Context, _, address string, _ syscall.RawConn) error {
		got, ok := dialled(address)
		if !ok {
			return s.report(addr, "it does not lead to an IP address and a port")
		}
		if why := s.refuses(got.Addr(), got.Port(), may); why != "" {
			return s.report(addr, fmt.Sprintf("it resolves to %s: %s", got.Addr(), why))
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

// Admit decides on a connection that the caller makes itself, to an address it knows name
// to have: nil, or a *Denied. name is "" for an address that was named by itself. It is for
// those who make very many connections, such as a port scan; ask for each address and port,
// before the packet. Nothing is reported to OnDenied.
func (s *Scope) Admit(name string, to netip.AddrPort) error {
	may := nowhere
	dialled := plain(to.Addr()).String()
	if h, ok := parseHost(name); ok && h.name != "" {
		may, dialled = s.index.name(h.name, to.Port()), h.name
	}
	why := s.refuses(to.Addr(), to.Port(), may)
	switch {
	case to.Port() == 0:
		why = "it is not a host and a port"
	case s.excludes(dialled, to.Port()):
		why = excluded
	case why == "":
		return nil
	}
	return denied(CodeOutOfScope, to.String(), why)
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
		if s.excludes(plain(h.addr).String(), port) {
			return h, port, nowhere, excluded
		}
		return h, port, nowhere, s.refuses(h.addr, port, nowhere)
	}
	if s.excludes(h.name, port) {
		return h, port, nowhere, excluded
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

// excludes reports whether the caller's rules leave a host out.
func (s *Scope) excludes(host string, port uint16) bool {
	return s.limits.Excludes != nil && s.limits.Excludes(host, port)
}

// The reasons that have nothing to do with what an address is.
const (
	notInScope = "it is not in scope"
	excluded   = "it is excluded"
)

// report makes the refusal of addr, and tells OnDenied.
func (s *Scope) report(addr, why string) *Denied {
	d := denied(CodeOutOfScope, addr, why)
	if s.limits.OnDenied != nil {
		s.limits.OnDenied(*d)
	}
	return d
}
