//go:build !linux

package port

import (
	"context"
	"net"
)

// descriptors is how many connections may be in flight.
func descriptors() int { return leastFlying }

// newConnector dials.
func newConnector(ctx context.Context, cfg Config, _ int) (connector, error) {
	if cfg.Dial == nil {
		cfg.Dial = func(ctx context.Context, network, addr string) (net.Conn, error) {
			return (&net.Dialer{}).DialContext(ctx, network, addr)
		}
	}
	return newDialling(ctx, cfg), nil
}
