package prober

import (
	"context"
	"errors"
	"net"
	"sync"
	"syscall"
)

// Dials remembers the addresses of a target that accept no connections, so that hundreds of templates for the same
// ports do not each wait for them: those that refused, and those that were silent twice. The zero value is ready.
type Dials struct {
	mu     sync.Mutex
	failed map[string]failure
}

type failure struct {
	err   error
	times int
}

// maxSilences is how often an address may fail before it is left alone.
const maxSilences = 2

type dialFunc = func(ctx context.Context, network, addr string) (net.Conn, error)

func (d *Dials) dial(ctx context.Context, dial dialFunc, network, addr string) (net.Conn, error) {
	key := network + " " + addr
	d.mu.Lock()
	known := d.failed[key]
	d.mu.Unlock()
	if errors.Is(known.err, syscall.ECONNREFUSED) || known.times >= maxSilences {
		return nil, known.err
	}
	conn, err := dial(ctx, network, addr)
	if err != nil && !errors.Is(err, context.Canceled) {
		d.mu.Lock()
		defer d.mu.Unlock()
		if d.failed == nil {
			d.failed = map[string]failure{}
		}
		d.failed[key] = failure{err, d.failed[key].times + 1}
	}
	return conn, err
}
