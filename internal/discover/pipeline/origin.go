package pipeline

import (
	"context"
	"net/netip"

	"golang.org/x/sync/errgroup"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/names"
)

const (
	originsAtOnce = 16
	maxOrigins    = 65_536 // networks that are kept
)

// originsOf looks up the autonomous systems of the targets' addresses, once for each network. Failures are left out.
func (p *Pipeline) originsOf(ctx context.Context, targets []Target) {
	if p.OriginZone == "" {
		return
	}
	var group errgroup.Group
	group.SetLimit(originsAtOnce)
	for _, t := range targets {
		for _, a := range t.IP {
			a = a.Unmap()
			if !a.IsGlobalUnicast() || a.IsPrivate() || !p.first(names.Network(a)) {
				continue
			}
			group.Go(func() error {
				for range 2 { // questions of names.Origin
					if err := p.QueryPace.Wait(ctx); err != nil {
						return err
					}
				}
				if origin, err := names.Origin(ctx, p.resolver, p.OriginZone, a); err == nil {
					p.mu.Lock()
					p.origins[names.Network(a)] = &origin
					p.mu.Unlock()
				}
				return nil
			})
		}
	}
	_ = group.Wait() // what is missing is left out
}

// first reports whether a network was not looked up before, and marks it.
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
	if len(a.IP) == 0 {
		return nil
	}
	addr, err := netip.ParseAddr(a.IP[0])
	if err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.origins[names.Network(addr.Unmap())]
}
