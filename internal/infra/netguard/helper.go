package netguard

import (
	"context"
	"net"
	"slices"
)

// Helper dials the servers that help a scan and are not among its targets: the resolvers (host:port) that an operator
// named, wherever they are, and others, such as registries, as g allows. Through a proxy (nil for none) nothing but
// TCP goes.
func (g *Guard) Helper(
	resolvers []string, proxy *Proxy,
) func(ctx context.Context, network, addr string) (net.Conn, error) {
	if proxy != nil {
		return g.Through(proxy)
	}
	return func(ctx context.Context, network, addr string) (net.Conn, error) {
		if slices.Contains(resolvers, addr) {
			d := net.Dialer{Timeout: dialTimeout}
			return d.DialContext(ctx, network, addr)
		}
		return g.Dial(ctx, network, addr)
	}
}
