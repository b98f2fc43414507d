package netguard

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"slices"
	"syscall"
	"time"
)

// Limits restricts a scope besides its targets. The zero value is ready to use.
type Limits struct {
	Deny []netip.Prefix // networks that are refused even when a target names them (--deny-targets)
	// Excludes, when set, reports which hosts (a name or an address, as dialled) are refused even when a target
	// names them. It does not see what a name resolves to: that is for Deny.
	Excludes func(host string, port uint16) bool
	Resolver *net.Resolver // nil is the system's
	// OnDenied, when set, is called for each refused dial before Dial returns, by several goroutines at a time.
	OnDenied func(Denied)
	Timeout  time.Duration // of a dial, lookup included; 0 is ten seconds
}

// Scope is what one scan or task may dial: its targets, less what is never a target. It is safe for concurrent
// use.
//
// A host that is named exactly may resolve to a private address or to loopback: the user means the machine
// behind the name. A host that is only covered by a wildcard may resolve to public addresses and to those that a
// target names: its owner must not lead a scan into the scanner's own network. Cloud metadata addresses,
// multicast, the unspecified address and the operator's denied networks are refused even when a target names them.
//
// A name is looked up once, so that a name server cannot move a target while it is being scanned. A name that is
// out of scope is not looked up at all.
type Scope struct {
	limits Limits
	index  index
	pins   pins
}

// NewScope is the scope of these targets; with none, everything is refused. An error is an *errs.Error that
// names the malformed target or range.
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

// Dial connects to addr (host:port, the port a number) over TCP or UDP. A refusal is a *Denied, and no packet
// was sent to the refused address. A name's addresses are tried in the resolver's order until one answers,
// without those that are refused.
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
		if err == nil {
			return conn, nil
		}
		if d, ok := errors.AsType[*Denied](err); ok {
			refusal = d
		} else {
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

// dialOne connects to one address of addr. The control hook decides, before any packet is sent.
func (s *Scope) dialOne(
	ctx context.Context, network, addr string, to netip.AddrPort, may reach, timeout time.Duration,
) (net.Conn, error) {
	d := net.Dialer{Timeout: timeout, Control: func(_, address string, _ syscall.RawConn) error {
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

// AllowsURL reports whether a request to u, such as a redirect's next hop, may be dialled as far as that is
// known without a lookup: http, https, ws or wss; a host and port in scope. Dial still checks the address.
// OnDenied is not called.
func (s *Scope) AllowsURL(u *url.URL) bool {
	port := defaultPorts[u.Scheme]
	if port == "" {
		return false
	}
	_, _, _, why := s.admit(net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)))
	return why == ""
}

var defaultPorts = map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443"}

// Admit checks a connection that the caller makes itself, to an address that it knows name to have: nil, or a
// *Denied. name is "" where the address itself was named. It is for callers that make very many connections,
// such as a port scan; call it for each address and port before the packet is sent. OnDenied is not called.
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

// admit decides what can be decided about host:port without a lookup: which addresses it may lead to, and why
// it is refused ("" when it is not).
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

// refuses is the reason why a:port may not be dialled, or "". may is the reach of the name that led here; a
// literal address has none.
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

// never is the reason why no target may be a, or "".
func (s *Scope) never(a netip.Addr) string {
	a = plain(a)
	if why := find(neverTargets, a); why != "" {
		return "it is " + why
	}
	if isMetadata(a) {
		return "it is a cloud metadata address"
	}
	if slices.ContainsFunc(carried(a), func(c netip.Addr) bool { return within(s.limits.Deny, c) }) {
		return "the operator denies it"
	}
	return ""
}

func (s *Scope) excludes(host string, port uint16) bool {
	return s.limits.Excludes != nil && s.limits.Excludes(host, port)
}

const (
	notInScope = "it is not in scope"
	excluded   = "it is excluded"
)

// report makes the refusal of addr, and calls OnDenied.
func (s *Scope) report(addr, why string) *Denied {
	d := denied(CodeOutOfScope, addr, why)
	if s.limits.OnDenied != nil {
		s.limits.OnDenied(*d)
	}
	return d
}
