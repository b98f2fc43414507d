package netguard

import (
	"net/netip"
	"net/url"
	"slices"
	"strings"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Target is a host or a range of addresses that a request names.
type Target struct {
	Host       string       // a host name; "" when Prefix is set
	Subdomains bool         // the names below Host are meant, and not Host itself
	Prefix     netip.Prefix // an address (/32, /128) or a range
	Ports      []uint16     // empty means every port
}

// ParseTarget reads a target: example.com, *.example.com, example.com:8443, 192.0.2.7, [2001:db8::1]:443,
// 192.0.2.0/24, or a URL, of which host and port count. IPv4 addresses may have any spelling of inet_aton(3).
// An error is an *errs.Error without a Param.
func ParseTarget(text string) (Target, error) {
	s := strings.TrimSpace(text)
	if len(s) > maxURL {
		return Target{}, invalidTarget("The target is longer than %d bytes.", maxURL)
	}
	bad := invalidTarget("%q is not a host, an address, a range or a URL.", errs.Clip(s, 100))
	if p, err := netip.ParsePrefix(s); err == nil {
		return Target{Prefix: normalizePrefix(p)}, nil
	}
	if a, err := netip.ParseAddr(s); err == nil {
		return Target{Prefix: singleAddress(a)}, nil
	}
	if !strings.Contains(s, "://") {
		if _, bits, ok := strings.Cut(s, "/"); ok && isNumber(bits) { // 192.0.2.0/33 is a slip, not a path
			return Target{}, bad
		}
		s = "any://" + s
	}
	scheme, rest, _ := strings.Cut(s, "://")
	if end := strings.IndexAny(rest, "/?#"); end >= 0 {
		rest = rest[:end] // the rest of a URL may hold what no URL can
	}
	u, err := url.Parse(scheme + "://" + rest)
	if err != nil {
		return Target{}, bad
	}
	var t Target
	if text := u.Port(); text != "" {
		port, ok := parsePort(text)
		if !ok {
			return Target{}, invalidTarget("The port of %q is not between 1 and 65535.", errs.Clip(s, 100))
		}
		t.Ports = []uint16{port}
	}
	name, wild := strings.CutPrefix(u.Hostname(), "*.")
	h, ok := parseHost(name)
	switch {
	case !ok, wild && h.name == "":
		return Target{}, bad
	case h.name == "":
		t.Prefix = singleAddress(h.addr)
	default:
		t.Host, t.Subdomains = h.name, wild
	}
	return t, nil
}

func singleAddress(a netip.Addr) netip.Prefix {
	return netip.PrefixFrom(normalize(a), normalize(a).BitLen())
}

// addressReach is where a name may lead.
type addressReach int

const (
	reachNone   addressReach = iota // it is not in scope
	reachPublic                     // a wildcard covers it: public addresses, and those that targets name
	reachAny                        // a target names it: all addresses but neverTargets
)

// ports is the set of ports open at a host; nil is every port.
type ports []uint16

func (p ports) open(port uint16) bool { return p == nil || slices.Contains(p, port) }

// index finds out whether a host is a target, in a time that does not grow with the number of targets.
type index struct {
	exact    map[string]ports // by name
	below    map[string]ports // by the name whose subdomains are meant
	prefixes map[netip.Prefix]ports
	bits     [2][]int // the prefix lengths that occur, for IPv4 and IPv6
}

func (x *index) add(t Target) error {
	if x.exact == nil {
		x.exact, x.below, x.prefixes = map[string]ports{}, map[string]ports{}, map[netip.Prefix]ports{}
	}
	if slices.Contains(t.Ports, 0) {
		return invalidTarget("Port 0 is not a port.")
	}
	if t.Prefix.IsValid() {
		if t.Host != "" {
			return invalidTarget("A target is a host or a range, not both.")
		}
		x.addPrefix(t.Prefix, t.Ports)
		return nil
	}
	h, ok := parseHost(t.Host)
	switch {
	case !ok, t.Subdomains && h.name == "":
		return invalidTarget("%q is neither a host name nor an address.", errs.Clip(t.Host, 100))
	case h.name == "":
		x.addPrefix(singleAddress(h.addr), t.Ports)
	case t.Subdomains:
		merge(x.below, h.name, t.Ports)
	default:
		merge(x.exact, h.name, t.Ports)
	}
	return nil
}

func (x *index) addPrefix(p netip.Prefix, open ports) {
	p = normalizePrefix(p)
	merge(x.prefixes, p, open)
	if bits := &x.bits[family(p.Addr())]; !slices.Contains(*bits, p.Bits()) {
		*bits = append(*bits, p.Bits())
	}
}

// merge opens more ports at key; none means all.
func merge[K comparable](to map[K]ports, key K, more []uint16) {
	old, known := to[key]
	switch {
	case len(more) == 0, known && old == nil:
		to[key] = nil
	default:
		to[key] = append(slices.Clip(old), more...)
	}
}

// reachOf is the reach that the targets give a name in the form of parseHost.
func (x *index) reachOf(name string, port uint16) addressReach {
	if open, ok := x.exact[name]; ok && open.open(port) {
		return reachAny
	}
	for {
		_, parent, more := strings.Cut(name, ".")
		if !more {
			return reachNone
		}
		if open, ok := x.below[parent]; ok && open.open(port) {
			return reachPublic
		}
		name = parent
	}
}

// covers reports whether a target names a, as normalize makes it, or a range it is in.
func (x *index) covers(a netip.Addr, port uint16) bool {
	for _, bits := range x.bits[family(a)] {
		p, err := a.Prefix(bits)
		if err != nil {
			continue
		}
		if open, ok := x.prefixes[p]; ok && open.open(port) {
			return true
		}
	}
	return false
}

func family(a netip.Addr) int {
	if a.Is4() {
		return 0
	}
	return 1
}

func invalidTarget(format string, args ...any) *errs.Error {
	return errs.New(errs.Invalid, "invalid_target", format, args...)
}
