package dsl

import (
	"context"
	"math/rand/v2"
	"net"
	"sync"
	"time"
)

// Host is the world as functions may touch it. One Host serves a whole scan, from any
// number of goroutines; it is not copied after first use.
type Host struct {
	// Dial connects, within what the scan may reach. nil: functions that connect fail.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Resolver connects to a DNS server; network is "udp" or "tcp". nil: resolve fails.
	Resolver func(ctx context.Context, network string) (net.Conn, error)
	// PublicIP is the address that this machine has on the internet. nil: public_ip fails.
	PublicIP func(ctx context.Context) (string, error)
	Now      func() time.Time // nil is time.Now
	Rand     *rand.Rand       // nil is the generator of the runtime

	mu sync.Mutex // guards Rand
}
