package netguard

import "net/netip"

// Special are the networks that are not the public internet.
func Special() []netip.Prefix {
	out := make([]netip.Prefix, len(special))
	for i, s := range special {
		out[i] = s.prefix
	}
	return out
}

// IsSpecial reports whether an address is not one of the public internet.
func IsSpecial(a netip.Addr) bool { return find(special, normalize(a)) != "" }
