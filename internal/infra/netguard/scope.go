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
	"strconv"
	"strings"
	"sync"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/pause"
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
	// Through, when set, makes each connection, to an address that the scope allows: Guard.Through of a proxy. UDP is
	// refused then.
	Through Dialer
	// Names says that Through looks names up: it gets those that a target names, and what they mean is not known here.
	// Deny and the checks of addresses then hold for targets that are addresses only.
	Names bool
}

// Scope is what one scan or task may dial: its targets, less what is never a target. It is safe for concurrent
// use.
//
// A host that is named exactly may resolve to a private address: the user means that machine. A host that only
// a wildcard covers may resolve to public addresses and to those that a target names: its owner must not lead
// a scan into the scanner's own network. Cloud metadata addresses, multicast, the unspecified address and the
// operator's denied networks are always refused.
//
// A name is looked up once, so that a name server cannot move a target during a scan. Names out of scope are
// not looked up.
type Scope struct {
	limits Limits
	index  index
	pins   pins
}

// NewScope is the scope of these targets; without any, everything is refused. An error is an *errs.Error that
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
		s.limits.Deny[i] = normalizePrefix(p)
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

// Dial connects to addr (host:port, the port a number) over TCP or UDP. A refusal is a *Denied. A name's
// allowed addresses are tried in the resolver's order.
func (s *Scope) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, s.limits.Timeout)
	defer cancel()
	switch network {
	case "tcp", "tcp4", "tcp6", "udp", "udp4", "udp6":
	default: // the control hook cannot tell an address from a unix socket of that name
		return nil, s.report(addr, "only TCP and UDP are dialled")
	}
	h, port, reach, why := s.checkHostPort(addr)
	if why == "" && s.limits.Through != nil && strings.HasPrefix(network, "udp") {
		why = "UDP does not go through the proxy"
	}
	if why != "" {
		return nil, s.report(addr, why)
	}
	if h.name != "" && s.limits.Names {
		return s.limits.Through(ctx, network, net.JoinHostPort(h.name, strconv.Itoa(int(port))))
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
		conn, err := s.dialOne(ctx, network, addr, netip.AddrPortFrom(a, port), reach, share)
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

// dialOne connects to one address of addr. The control hook decides, before any packet is sent. While this process may
// open no more files it waits: that says nothing about the target.
func (s *Scope) dialOne(
	ctx context.Context, network, addr string, to netip.AddrPort, reach addressReach, timeout time.Duration,
) (net.Conn, error) {
	if s.limits.Through != nil {
		if why := s.denialReason(to.Addr(), to.Port(), reach); why != "" {
			return nil, s.report(addr, fmt.Sprintf("it resolves to %s: %s", to.Addr(), why))
		}
		ctx, cancel := context.WithTimeout(ctx, timeout)
		defer cancel()
		return s.limits.Through(ctx, network, netip.AddrPortFrom(normalize(to.Addr()), to.Port()).String())
	}
	d := net.Dialer{Control: func(_, address string, _ syscall.RawConn) error {
		got, ok := dialled(address)
		if !ok {
			return s.report(addr, "it does not lead to an IP address and a port")
		}
		if why := s.denialReason(got.Addr(), got.Port(), reach); why != "" {
			return s.report(addr, fmt.Sprintf("it resolves to %s: %s", got.Addr(), why))
		}
		return nil
	}}
	ctx, cancel := context.WithTimeout(ctx, timeout)
	defer cancel()
	var none error // that this process may open no more files
	for {
		conn, err := d.DialContext(ctx, network, to.String())
		timeout, _ := errors.AsType[net.Error](err)
		switch {
		case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
			none = err
		case none != nil && timeout != nil && timeout.Timeout(): // its time was over before it began
			return nil, none
		default:
			return conn, err
		}
		if pause.For(ctx, descriptorPause) != nil {
			return nil, none
		}
	}
}

const descriptorPause = 50 * time.Millisecond // until the next try to open a connection without descriptors

// AllowsURL reports whether a request to u (http, https, ws or wss) may be dialled, as far as that is known
// without a lookup. OnDenied is not called.
func (s *Scope) AllowsURL(u *url.URL) bool {
	port := defaultPorts[u.Scheme]
	if port == "" {
		return false
	}
	_, _, _, why := s.checkHostPort(net.JoinHostPort(u.Hostname(), cmp.Or(u.Port(), port)))
	return why == ""
}

// AllowsName reports whether a request to a target may give its server this name: in a Host line, for TLS (SNI) or in a
// header that stands for them. A name that leads elsewhere sends no packet there, and checks of host headers need
// names that nobody has; but on a shared address it asks another site, so what is excluded is excluded as a name too.
func (s *Scope) AllowsName(name string) bool {
	h, ok := parseHost(name)
	if !ok {
		return true // no site has it
	}
	if h.name == "" {
		return !s.excludes(normalize(h.addr).String(), 0) && !within(s.limits.Deny, normalize(h.addr))
	}
	return !s.excludes(h.name, 0)
}

// NobodysName reports whether no public site can have this name: it is an address of no public network, has one label,
// or ends in a domain that is set aside for tests and private networks (RFC 2606, RFC 6761, RFC 6762, RFC 9476) or that
// does not exist.
func NobodysName(name string) bool {
	h, ok := parseHost(name)
	if !ok {
		return true
	}
	if h.name == "" {
		return find(special, normalize(h.addr)) != ""
	}
	last := h.name[strings.LastIndexByte(h.name, '.')+1:]
	if last == h.name || slices.Contains(reservedDomains, last) {
		return true
	}
	return slices.ContainsFunc([]string{"example.com", "example.net", "example.org"}, func(domain string) bool {
		return h.name == domain || strings.HasSuffix(h.name, "."+domain)
	})
}

var reservedDomains = []string{
	"alt", "corp", "example", "home", "internal", "invalid", "lan", "local", "localdomain", "localhost", "mail", "onion",
	"test", "tld",
}

var defaultPorts = map[string]string{"http": "80", "ws": "80", "https": "443", "wss": "443"}

// Admit checks a connection that the caller makes itself, such as a port scan's, to an address of name (""
// where the address itself was named): nil, or a *Denied. OnDenied is not called.
func (s *Scope) Admit(name string, to netip.AddrPort) error {
	reach := reachNone
	dialled := normalize(to.Addr()).String()
	if h, ok := parseHost(name); ok && h.name != "" {
		reach, dialled = s.index.reachOf(h.name, to.Port()), h.name
	}
	why := s.denialReason(to.Addr(), to.Port(), reach)
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

// checkHostPort checks host:port without a lookup: where it may lead, and why it is refused ("" when it is not).
func (s *Scope) checkHostPort(addr string) (h host, port uint16, reach addressReach, why string) {
	text, port, ok := splitPort(addr)
	if !ok {
		return h, 0, reachNone, "it is not a host and a port"
	}
	h, ok = parseHost(text)
	if !ok {
		return h, 0, reachNone, "it is neither a host name nor an IP address"
	}
	if h.name == "" {
		if s.excludes(normalize(h.addr).String(), port) {
			return h, port, reachNone, excluded
		}
		return h, port, reachNone, s.denialReason(h.addr, port, reachNone)
	}
	if s.excludes(h.name, port) {
		return h, port, reachNone, excluded
	}
	if reach = s.index.reachOf(h.name, port); reach == reachNone {
		return h, port, reach, notInScope
	}
	return h, port, reach, ""
}

// denialReason is the reason why a:port may not be dialled, or "". reach is that of the name that led here; a
// literal address has none.
func (s *Scope) denialReason(a netip.Addr, port uint16, reach addressReach) string {
	a = normalize(a)
	if why := s.alwaysDenied(a); why != "" {
		return why
	}
	switch {
	case reach == reachAny, s.index.covers(a, port):
		return ""
	case reach == reachPublic:
		if why := find(special, a); why != "" {
			return "it is " + why + ", which no target names"
		}
		return ""
	}
	return notInScope
}

// alwaysDenied is the reason why no target may be a, or "".
func (s *Scope) alwaysDenied(a netip.Addr) string {
	a = normalize(a)
	if why := find(neverTargets, a); why != "" {
		return "it is " + why
	}
	if isMetadata(a) {
		return "it is a cloud metadata address"
	}
	if slices.ContainsFunc(embeddedAddresses(a), func(c netip.Addr) bool { return within(s.limits.Deny, c) }) {
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

// The bounds of what a name server can make us keep.
const (
	maxPins  = 1 << 16 // names; further ones are looked up at each dial
	maxAddrs = 16      // addresses of one name
)

// pins keeps the first answer for each name (DNS pinning): a later dial cannot be led elsewhere.
type pins struct {
	resolver *net.Resolver
	timeout  time.Duration

	mu    sync.Mutex
	names map[string]*pin
}

// pin is one lookup, finished when done is closed.
type pin struct {
	done  chan struct{}
	addrs []netip.Addr
	err   error
}

// lookup returns the addresses of name, at least one. Concurrent dials share one query, which goes on when its
// caller leaves. A failure is not kept.
func (p *pins) lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	p.mu.Lock()
	entry, ok := p.names[name]
	if !ok {
		entry = &pin{done: make(chan struct{})}
		if p.names == nil {
			p.names = map[string]*pin{}
		}
		if len(p.names) < maxPins {
			p.names[name] = entry
		}
		go p.ask(context.WithoutCancel(ctx), name, entry)
	}
	p.mu.Unlock()
	select {
	case <-entry.done:
		return entry.addrs, entry.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pins) ask(ctx context.Context, name string, entry *pin) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	question := name
	if strings.Contains(name, ".") { // with a dot at the end, no search list makes it another name
		question += "."
	}
	addrs, err := p.resolver.LookupNetIP(ctx, "ip", question)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no address", Name: name, IsNotFound: true}
	}
	entry.addrs, entry.err = addrs[:min(len(addrs), maxAddrs)], err
	if err != nil {
		p.mu.Lock()
		if p.names[name] == entry {
			delete(p.names, name)
		}
		p.mu.Unlock()
	}
	close(entry.done)
}
