package pipeline

import (
	"context"
	"net/netip"

	"golang.org/x/sync/errgroup"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/names"
)

// The bounds of asking whose addresses are.
const (
	originsAtOnce = 16
	maxOrigins    = 65_536 // networks that are remembered
)

// network is the smallest network that is announced by itself: an address's origin is
// that of its network.
func network(a netip.Addr) netip.Prefix {
	bits := 24
	if a.Is6() {
		bits = 48
	}
	p, _ := a.Prefix(bits) // bits fit the address
	return p
}

// originsOf asks for the autonomous systems of the targets' addresses, once for each
// network. One that cannot be had is left out.
func (p *Pipeline) originsOf(ctx context.Context, targets []Target) {
	if p.OriginZone == "" {
		return
	}
	var group errgroup.Group
	group.SetLimit(originsAtOnce)
	for _, t := range targets {
		for _, a := range t.IP {
			a = a.Unmap()
			if !a.IsGlobalUnicast() || a.IsPrivate() || !p.first(network(a)) {
				continue
			}
			group.Go(func() error {
				if origin, err := names.Origin(ctx, p.names, a); err == nil {
					p.mu.Lock()
					p.origins[network(a)] = &origin
					p.mu.Unlock()
				}
				return nil
			})
		}
	}
	_ = group.Wait() // no goroutine gives an error
}

// first reports whether a network is to be asked about, and remembers that it is.
func (p *Pipeline) first(n netip.Prefix) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, known := p.origins[n]; known || len(p.origins) >= maxOrigins {
		return false
	}
	p.origins[n] = nil
	return true
}

// originOf is the autonomous system of an asset's first address; nil when it is not known.
func (p *Pipeline) originOf(a discover.Asset) *discover.ASN {
	if a.ASN != nil || len(a.IP) == 0 {
		return a.ASN
	}
	addr, err := netip.ParseAddr(a.IP[0])
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.origins[network(addr.Unmap())]
}
