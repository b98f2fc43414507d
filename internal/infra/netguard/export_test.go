package netguard

import (
	"context"
	"net/netip"
)

// Control runs the dialer's hook on an address as a dialer would give it.
func (g *Guard) Control(address string) error {
	return g.control(context.Background(), "tcp", address, nil)
}

// Refuses is the reason why a scope would not dial a:port for name, or "".
func (s *Scope) Refuses(name string, a netip.Addr, port uint16) string {
	return s.denialReason(a, port, s.index.reachOf(name, port))
}
