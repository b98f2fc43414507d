package pipeline

import (
	"context"
	"hash/maphash"
	"net/netip"

	"golang.org/x/sync/errgroup"

	"github.com/vedette-sec/vedette/internal/discover"
)

// Input is what a run begins with.
type Input struct {
	Domains []string // whose names are looked for
	Hosts   []Target // looked at as they are
	Ranges  []netip.Prefix
}

// Progress is how far a run is.
type Progress struct {
	Names  int // hosts that were found
	Looked int // hosts that were looked at
	Assets int // that were emitted
}

// Report is what a run came to.
type Report struct {
	Progress
	Sources []discover.SourceReport
	Denied  []Denial // some of the refused connections
	Denials int      // all of them
	Notes   []string // what could not be done, in words
}

// batchSize is how many hosts are looked at together, and how many wait for it.
const batchSize = 200

// Run finds names and looks at the hosts behind them while more are found. emit is called
// by one goroutine at a time; its error ends the run and is returned. tell, if not nil,
// hears how far the run is. The report is complete also after an error, as far as it went.
func (p *Pipeline) Run(ctx context.Context, in Input, emit func(discover.Asset) error, tell func(Progress)) (Report, error) {
	var r Report
	if tell == nil {
		tell = func(Progress) {}
	}
	group, ctx := errgroup.WithContext(ctx)
	found := make(chan Target, batchSize)
	var sources []discover.SourceReport
	group.Go(func() (err error) {
		defer close(found)
		sources, err = p.gather(ctx, in, found)
		return err
	})
	group.Go(func() error {
		for batch := range batches(found) {
			r.Names += len(batch)
			tell(r.Progress)
			notes, err := p.Look(ctx, batch, func(a discover.Asset) error {
				r.Assets++
				return emit(a)
			})
			r.Notes = append(r.Notes, notes...)
			if err != nil {
				for range found { // let the other side end
				}
				return err
			}
			r.Looked += len(batch)
			tell(r.Progress)
		}
		return nil
	})
	err := group.Wait()
	r.Sources = sources
	r.Denied, r.Denials = p.Denied()
	return r, err
}

// gather finds the hosts of an input, each once.
func (p *Pipeline) gather(ctx context.Context, in Input, found chan<- Target) (sources []discover.SourceReport, err error) {
	seed := maphash.MakeSeed()
	seen := map[uint64]struct{}{}
	ports := map[string][]uint16{}
	hand := func(n discover.Name) error {
		key := maphash.String(seed, n.Host)
		if _, again := seen[key]; again {
			return nil
		}
		seen[key] = struct{}{}
		select {
		case found <- Target{n, ports[n.Host]}:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if len(in.Hosts) > 0 {
		for _, h := range in.Hosts {
			ports[h.Host] = h.Ports
		}
		report, err := p.Known(ctx, in.Hosts[0].Host+" …", func(yield func(discover.Name) bool) {
			for _, h := range in.Hosts {
				if !yield(h.Name) {
					return
				}
			}
		}, hand)
		if sources = append(sources, report); err != nil {
			return sources, err
		}
	}
	if len(in.Ranges) > 0 {
		report, err := p.Ranges(ctx, in.Ranges, hand)
		if sources = append(sources, report); err != nil {
			return sources, err
		}
	}
	for _, domain := range in.Domains {
		reports, err := p.Domain(ctx, domain, hand)
		if sources = append(sources, reports...); err != nil {
			return sources, err
		}
	}
	return sources, nil
}

// batches takes what has come, up to batchSize at a time.
func batches(found <-chan Target) func(yield func([]Target) bool) {
	return func(yield func([]Target) bool) {
		for first := range found {
			batch := []Target{first}
		more:
			for len(batch) < batchSize {
				select {
				case t, ok := <-found:
					if !ok {
						break more
					}
					batch = append(batch, t)
				default:
					break more
				}
			}
			if !yield(batch) {
				return
			}
		}
	}
}
