package netguard

import (
	"context"
	"net"
	"net/netip"
	"strings"
	"sync"
	"time"
)

// The bounds of what a name server can make us keep.
const (
	maxPins  = 1 << 16 // names; further ones are looked up at each dial
	maxAddrs = 16      // addresses of one name
)

// pins keeps the first answer for each name.
type pins struct {
	resolver *net.Resolver
	timeout  time.Duration

	mu    sync.Mutex
	names map[string]*pin
}

// pin is one lookup, finished when done is closed.
type pin struct {
	done  chan struct{}
	addrs []netip.Addr
	err   error
}

// lookup returns the addresses of name, at least one. Concurrent dials share one query, which continues when
// its caller leaves. A failure is returned to all who wait for it and not kept, so that the next dial asks
// again.
func (p *pins) lookup(ctx context.Context, name string) ([]netip.Addr, error) {
	p.mu.Lock()
	entry, ok := p.names[name]
	if !ok {
		entry = &pin{done: make(chan struct{})}
		if p.names == nil {
			p.names = map[string]*pin{}
		}
		if len(p.names) < maxPins {
			p.names[name] = entry
		}
		go p.ask(context.WithoutCancel(ctx), name, entry)
	}
	p.mu.Unlock()
	select {
	case <-entry.done:
		return entry.addrs, entry.err
	case <-ctx.Done():
		return nil, ctx.Err()
	}
}

func (p *pins) ask(ctx context.Context, name string, entry *pin) {
	ctx, cancel := context.WithTimeout(ctx, p.timeout)
	defer cancel()
	question := name
	if strings.Contains(name, ".") { // with a dot at the end, no search list makes it another name
		question += "."
	}
	addrs, err := p.resolver.LookupNetIP(ctx, "ip", question)
	if err == nil && len(addrs) == 0 {
		err = &net.DNSError{Err: "no address", Name: name, IsNotFound: true}
	}
	entry.addrs, entry.err = addrs[:min(len(addrs), maxAddrs)], err
	if err != nil {
		p.mu.Lock()
		if p.names[name] == entry {
			delete(p.names, name)
		}
		p.mu.Unlock()
	}
	close(entry.done)
}
