package netguard

import (
	"net"
	"net/netip"
	"slices"
)

// PublicAddresses are the addresses of this machine's network interfaces that belong to the public internet, in order.
func PublicAddresses() ([]netip.Addr, error) {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil, err
	}
	return publicOf(all), nil
}

// publicOf are the public addresses among those of network interfaces, each once.
func publicOf(all []net.Addr) []netip.Addr {
	var out []netip.Addr
	for _, one := range all {
		if p, err := netip.ParsePrefix(one.String()); err == nil && new(Guard).Check(p.Addr()) == nil {
			out = append(out, normalize(p.Addr()))
		}
	}
	slices.SortFunc(out, netip.Addr.Compare)
	return slices.Compact(out)
}
