package netguard

import "net/netip"

// span is a range of addresses that no user's word may make us dial, and why.
type span struct {
	prefix netip.Prefix
	why    string
}

// special lists the ranges that are not the public internet, narrow ones before the
// wide ones that hold them, so that the reason given is the closest. The sources are
// IANA's special-purpose registries (RFC 6890) and the RFC named on each line.
//
// Left out on purpose, because they are reachable from everywhere and lead to nobody's
// private network: the AS112 sinks (RFC 7534, RFC 7535) and AMT in IPv4 (RFC 7450).
var special = []span{
	{netip.MustParsePrefix("0.0.0.0/8"), "the unspecified network"},                 // RFC 1122: reaches the machine itself on Linux
	{netip.MustParsePrefix("10.0.0.0/8"), "a private network"},                      // RFC 1918
	{netip.MustParsePrefix("100.64.0.0/10"), "a carrier's shared network"},          // RFC 6598
	{netip.MustParsePrefix("127.0.0.0/8"), "loopback"},                              // RFC 1122
	{netip.MustParsePrefix("169.254.0.0/16"), "link-local"},                         // RFC 3927
	{netip.MustParsePrefix("172.16.0.0/12"), "a private network"},                   // RFC 1918
	{netip.MustParsePrefix("192.0.0.0/24"), "reserved for protocols"},               // RFC 6890
	{netip.MustParsePrefix("192.0.2.0/24"), "a documentation network"},              // RFC 5737
	{netip.MustParsePrefix("192.88.99.0/24"), "a retired relay network"},            // RFC 7526
	{netip.MustParsePrefix("192.168.0.0/16"), "a private network"},                  // RFC 1918
	{netip.MustParsePrefix("198.18.0.0/15"), "a benchmarking network"},              // RFC 2544
	{netip.MustParsePrefix("198.51.100.0/24"), "a documentation network"},           // RFC 5737
	{netip.MustParsePrefix("203.0.113.0/24"), "a documentation network"},            // RFC 5737
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},                             // RFC 5771
	{netip.MustParsePrefix("255.255.255.255/32"), "broadcast"},                      // RFC 919
	{netip.MustParsePrefix("240.0.0.0/4"), "reserved"},                              // RFC 1112
	{netip.MustParsePrefix("::/128"), "the unspecified address"},                    // RFC 4291
	{netip.MustParsePrefix("::1/128"), "loopback"},                                  // RFC 4291
	{netip.MustParsePrefix("::/96"), "an IPv4 address inside IPv6"},                 // RFC 4291 2.5.5.1, deprecated
	{netip.MustParsePrefix("::ffff:0:0:0/96"), "an IPv4 address inside IPv6"},       // RFC 2765, SIIT
	{netip.MustParsePrefix("64:ff9b::/96"), "an IPv4 address inside IPv6"},          // RFC 6052, NAT64
	{netip.MustParsePrefix("64:ff9b:1::/48"), "an IPv4 address inside IPv6"},        // RFC 8215, NAT64 of a site
	{netip.MustParsePrefix("2001::/32"), "an IPv4 address inside IPv6"},             // RFC 4380, Teredo
	{netip.MustParsePrefix("2001::/23"), "reserved for protocols"},                  // RFC 2928: ORCHID, benchmarking, …
	{netip.MustParsePrefix("2001:db8::/32"), "a documentation network"},             // RFC 3849
	{netip.MustParsePrefix("2002::/16"), "an IPv4 address inside IPv6"},             // RFC 3056, 6to4
	{netip.MustParsePrefix("3fff::/20"), "a documentation network"},                 // RFC 9637
	{netip.MustParsePrefix("fc00::/7"), "a private network"},                        // RFC 4193
	{netip.MustParsePrefix("fe80::/10"), "link-local"},                              // RFC 4291
	{netip.MustParsePrefix("fec0::/10"), "site-local"},                              // RFC 3879, deprecated
	{netip.MustParsePrefix("ff00::/8"), "multicast"},                                // RFC 4291
	{netip.MustParsePrefix("::/3"), "outside the IPv6 addresses in public use"},     // RFC 4291: only 2000::/3 is
	{netip.MustParsePrefix("4000::/2"), "outside the IPv6 addresses in public use"}, // handed out; 100::/64 (RFC 6666)
	{netip.MustParsePrefix("8000::/1"), "outside the IPv6 addresses in public use"}, // and 5f00::/16 (RFC 9602) fall
} // in these three as well

// metadata lists the addresses at which clouds hand credentials to whoever asks from
// inside the machine. Some (168.63.129.16) lie in public space.
var metadata = map[netip.Addr]bool{
	netip.MustParseAddr("169.254.169.254"): true, // AWS, Azure, Google, OpenStack, Oracle, DigitalOcean, …
	netip.MustParseAddr("169.254.170.2"):   true, // AWS ECS task credentials
	netip.MustParseAddr("169.254.170.23"):  true, // AWS EKS pod identity
	netip.MustParseAddr("169.254.0.23"):    true, // Tencent
	netip.MustParseAddr("169.254.42.42"):   true, // Scaleway
	netip.MustParseAddr("168.63.129.16"):   true, // Azure WireServer
	netip.MustParseAddr("100.100.100.200"): true, // Alibaba
	netip.MustParseAddr("100.96.0.96"):     true, // Volcengine
	netip.MustParseAddr("192.0.0.192"):     true, // Oracle Classic
	netip.MustParseAddr("fd00:ec2::254"):   true, // AWS
	netip.MustParseAddr("fd00:ec2::23"):    true, // AWS EKS pod identity
	netip.MustParseAddr("fd20:ce::254"):    true, // Google
	netip.MustParseAddr("fd00:42::42"):     true, // Scaleway
	netip.MustParseAddr("fe80::a9fe:a9fe"): true, // OpenStack
}

// neverTargets are the ranges that no scan may reach even when it names them: they are
// not one machine (multicast, broadcast), or they reach this machine by a name that an
// operator who denied 127.0.0.0/8 did not think of.
var neverTargets = []span{
	{netip.MustParsePrefix("0.0.0.0/8"), "the unspecified network"},
	{netip.MustParsePrefix("224.0.0.0/4"), "multicast"},
	{netip.MustParsePrefix("255.255.255.255/32"), "broadcast"},
	{netip.MustParsePrefix("::/128"), "the unspecified address"},
	{netip.MustParsePrefix("ff00::/8"), "multicast"},
}

var (
	nat64      = netip.MustParsePrefix("64:ff9b::/96")
	nat64Local = netip.MustParsePrefix("64:ff9b:1::/48")
	sixToFour  = netip.MustParsePrefix("2002::/16")
	teredo     = netip.MustParsePrefix("2001::/32")
	compatible = netip.MustParsePrefix("::/96")
	translated = netip.MustParsePrefix("::ffff:0:0:0/96")
)

// plain is the form in which addresses are judged: IPv4 inside ::ffff:0:0/96 becomes
// IPv4, and a zone is dropped (a prefix contains no address that has one).
func plain(a netip.Addr) netip.Addr { return a.WithZone("").Unmap() }

// find gives the reason of the first span that holds a, or "".
func find(spans []span, a netip.Addr) string {
	for _, s := range spans {
		if s.prefix.Contains(a) {
			return s.why
		}
	}
	return ""
}

// carried lists a and every IPv4 address that a may carry to a gateway that
// translates: a rule about an IPv4 address holds for each of its disguises.
func carried(a netip.Addr) []netip.Addr {
	out := []netip.Addr{a}
	if a.Is4() {
		return out
	}
	b := a.As16()
	v4 := func(i, j, k, l int) netip.Addr { return netip.AddrFrom4([4]byte{b[i], b[j], b[k], b[l]}) }
	switch {
	case a.IsLoopback(), a.IsUnspecified(): // in ::/96 by their looks only
	case nat64.Contains(a), translated.Contains(a), compatible.Contains(a):
		out = append(out, v4(12, 13, 14, 15))
	case nat64Local.Contains(a): // RFC 6052 2.2: four places, by the length a site chose
		out = append(out, v4(6, 7, 9, 10), v4(7, 9, 10, 11), v4(9, 10, 11, 12), v4(12, 13, 14, 15))
	case sixToFour.Contains(a):
		out = append(out, v4(2, 3, 4, 5))
	case teredo.Contains(a): // RFC 4380 4: the server, and the client with every bit turned
		out = append(out, v4(4, 5, 6, 7), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	}
	return out
}

// isMetadata reports whether a is, or carries, a cloud's metadata address.
func isMetadata(a netip.Addr) bool {
	for _, c := range carried(a) {
		if metadata[c] {
			return true
		}
	}
	return false
}

// within reports whether one of the prefixes holds a.
func within(prefixes []netip.Prefix, a netip.Addr) bool {
	for _, p := range prefixes {
		if p.Contains(a) {
			return true
		}
	}
	return false
}
