package netguard

import (
	"net/netip"
	"slices"
)

type span struct {
	prefix netip.Prefix
	why    string
}

// special lists the ranges that are not the public internet (IANA's special-purpose registries, RFC 6890, and
// the RFC named on each line), narrow ones before the wide ones that hold them, so that the closest reason is
// given.
//
// The AS112 sinks (RFC 7534, RFC 7535) and AMT in IPv4 (RFC 7450) are left out: everybody reaches them, and
// they lead to no private network.
var special = []span{
	{prefix("0.0.0.0/8"), "the unspecified network"},           // RFC 1122: reaches the machine itself on Linux
	{prefix("10.0.0.0/8"), "a private network"},                // RFC 1918
	{prefix("100.64.0.0/10"), "a carrier's shared network"},    // RFC 6598
	{prefix("127.0.0.0/8"), "loopback"},                        // RFC 1122
	{prefix("169.254.0.0/16"), "link-local"},                   // RFC 3927
	{prefix("172.16.0.0/12"), "a private network"},             // RFC 1918
	{prefix("192.0.0.0/24"), "reserved for protocols"},         // RFC 6890
	{prefix("192.0.2.0/24"), "a documentation network"},        // RFC 5737
	{prefix("192.88.99.0/24"), "a retired relay network"},      // RFC 7526
	{prefix("192.168.0.0/16"), "a private network"},            // RFC 1918
	{prefix("198.18.0.0/15"), "a benchmarking network"},        // RFC 2544
	{prefix("198.51.100.0/24"), "a documentation network"},     // RFC 5737
	{prefix("203.0.113.0/24"), "a documentation network"},      // RFC 5737
	{prefix("224.0.0.0/4"), "multicast"},                       // RFC 5771
	{prefix("255.255.255.255/32"), "broadcast"},                // RFC 919
	{prefix("240.0.0.0/4"), "reserved"},                        // RFC 1112
	{prefix("::/128"), "the unspecified address"},              // RFC 4291
	{prefix("::1/128"), "loopback"},                            // RFC 4291
	{prefix("::/96"), "an IPv4 address inside IPv6"},           // RFC 4291 2.5.5.1, deprecated
	{prefix("::ffff:0:0:0/96"), "an IPv4 address inside IPv6"}, // RFC 2765, SIIT
	{prefix("64:ff9b::/96"), "an IPv4 address inside IPv6"},    // RFC 6052, NAT64
	{prefix("64:ff9b:1::/48"), "an IPv4 address inside IPv6"},  // RFC 8215, NAT64 of a site
	{prefix("2001::/32"), "an IPv4 address inside IPv6"},       // RFC 4380, Teredo
	{prefix("2001::/23"), "reserved for protocols"},            // RFC 2928: ORCHID, benchmarking, …
	{prefix("2001:db8::/32"), "a documentation network"},       // RFC 3849
	{prefix("2002::/16"), "an IPv4 address inside IPv6"},       // RFC 3056, 6to4
	{prefix("3fff::/20"), "a documentation network"},           // RFC 9637
	{prefix("fc00::/7"), "a private network"},                  // RFC 4193
	{prefix("fe80::/10"), "link-local"},                        // RFC 4291
	{prefix("fec0::/10"), "site-local"},                        // RFC 3879, deprecated
	{prefix("ff00::/8"), "multicast"},                          // RFC 4291

	// RFC 4291: only 2000::/3 is assigned. 100::/64 (RFC 6666) and 5f00::/16 (RFC 9602) are in these ranges as well.
	{prefix("::/3"), "outside the IPv6 addresses in public use"},
	{prefix("4000::/2"), "outside the IPv6 addresses in public use"},
	{prefix("8000::/1"), "outside the IPv6 addresses in public use"},
}

// metadata lists the addresses at which clouds hand out credentials. Some (168.63.129.16) are in public space.
var metadata = addresses(
	"169.254.169.254", // AWS, Azure, Google, OpenStack, Oracle, DigitalOcean, …
	"169.254.170.2",   // AWS ECS task credentials
	"169.254.170.23",  // AWS EKS pod identity
	"169.254.0.23",    // Tencent
	"169.254.42.42",   // Scaleway
	"168.63.129.16",   // Azure WireServer
	"100.100.100.200", // Alibaba
	"100.96.0.96",     // Volcengine
	"192.0.0.192",     // Oracle Classic
	"fd00:ec2::254",   // AWS
	"fd00:ec2::23",    // AWS EKS pod identity
	"fd20:ce::254",    // Google
	"fd00:42::42",     // Scaleway
	"fe80::a9fe:a9fe", // OpenStack
)

// neverTargets are ranges that no scan may reach: not one machine (multicast, broadcast), or this machine even
// where the operator has denied 127.0.0.0/8.
var neverTargets = []span{
	{prefix("0.0.0.0/8"), "the unspecified network"},
	{prefix("224.0.0.0/4"), "multicast"},
	{prefix("255.255.255.255/32"), "broadcast"},
	{prefix("::/128"), "the unspecified address"},
	{prefix("ff00::/8"), "multicast"},
}

var (
	nat64      = prefix("64:ff9b::/96")
	nat64Local = prefix("64:ff9b:1::/48")
	sixToFour  = prefix("2002::/16")
	teredo     = prefix("2001::/32")
	compatible = prefix("::/96")
	translated = prefix("::ffff:0:0:0/96")
)

func prefix(s string) netip.Prefix { return netip.MustParsePrefix(s) }

func addresses(texts ...string) map[netip.Addr]bool {
	set := map[netip.Addr]bool{}
	for _, text := range texts {
		set[netip.MustParseAddr(text)] = true
	}
	return set
}

// normalize is the form in which addresses are checked: IPv4 inside ::ffff:0:0/96 becomes IPv4, and a zone, which
// no prefix contains, is dropped.
func normalize(a netip.Addr) netip.Addr { return a.WithZone("").Unmap() }

// find is the reason of the first span that holds a, or "".
func find(spans []span, a netip.Addr) string {
	for _, s := range spans {
		if s.prefix.Contains(a) {
			return s.why
		}
	}
	return ""
}

// embeddedAddresses lists a and every IPv4 address that a may carry to a translating gateway.
func embeddedAddresses(a netip.Addr) []netip.Addr {
	out := []netip.Addr{a}
	if a.Is4() {
		return out
	}
	b := a.As16()
	v4 := func(i, j, k, l int) netip.Addr { return netip.AddrFrom4([4]byte{b[i], b[j], b[k], b[l]}) }
	switch {
	case a.IsLoopback(), a.IsUnspecified(): // they lie in ::/96, but carry nothing
	case nat64.Contains(a), translated.Contains(a), compatible.Contains(a):
		out = append(out, v4(12, 13, 14, 15))
	case nat64Local.Contains(a): // RFC 6052 2.2: at one of four offsets, by the length that the site chose
		out = append(out, v4(6, 7, 9, 10), v4(7, 9, 10, 11), v4(9, 10, 11, 12), v4(12, 13, 14, 15))
	case sixToFour.Contains(a):
		out = append(out, v4(2, 3, 4, 5))
	case teredo.Contains(a): // RFC 4380 4: the server, and the client with every bit inverted
		out = append(out, v4(4, 5, 6, 7), netip.AddrFrom4([4]byte{^b[12], ^b[13], ^b[14], ^b[15]}))
	}
	return out
}

// isMetadata reports whether a is, or carries, a cloud's metadata address.
func isMetadata(a netip.Addr) bool {
	return slices.ContainsFunc(embeddedAddresses(a), func(c netip.Addr) bool { return metadata[c] })
}

func within(prefixes []netip.Prefix, a netip.Addr) bool {
	return slices.ContainsFunc(prefixes, func(p netip.Prefix) bool { return p.Contains(a) })
}
