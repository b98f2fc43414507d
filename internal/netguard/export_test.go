package netguard

import "context"

// Control runs the dialer's hook on an address as a dialer would give it.
func (g *Guard) Control(network, address string) error {
	return g.control(context.Background(), network, address, nil)
}
