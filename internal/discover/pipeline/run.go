package pipeline

import (
	"context"
	"net/netip"
	"slices"

	"golang.org/x/sync/errgroup"

	"github.com/vedette-sec/vedette/internal/discover"
)

// Input is what a run begins with.
type Input struct {
	Domains []string // whose names are looked for
	Hosts   []Target // probed as they are
	Ranges  []netip.Prefix
}

// Progress counts what a run has done.
type Progress struct {
	Names  int // hosts that were found
	Probed int // hosts that were probed
	Assets int // that were emitted
}

// Report is the result of a run.
type Report struct {
	Progress
	Sources []discover.SourceReport
	Denied  []Denial // some of the refused connections
	Denials int      // their total
	Notes   []string // what could not be done, in words
}

// batchSize is how many hosts are probed together, and how many wait for it.
const batchSize = 200

// Run finds names and probes the hosts behind them while more are found. emit is called by one goroutine at a time; its
// error ends the run and is returned. progress may be nil. The report is complete as far as the run went, also after
// an error.
func (p *Pipeline) Run(
	ctx context.Context, in Input, emit func(discover.Asset) error, progress func(Progress),
) (Report, error) {
	var r Report
	if progress == nil {
		progress = func(Progress) {}
	}
	group, ctx := errgroup.WithContext(ctx)
	found := make(chan Target, batchSize)
	var sources []discover.SourceReport
	group.Go(func() (err error) {
		defer close(found)
		sources, err = p.findHosts(ctx, in, found)
		return err
	})
	group.Go(func() error {
		for batch := range batches(found) {
			r.Names += len(batch)
			progress(r.Progress)
			notes, err := p.Probe(ctx, batch, func(a discover.Asset) error {
				r.Assets++
				return emit(a)
			})
			r.Notes = append(r.Notes, notes...)
			if err != nil {
				for range found { // so that the other side ends
				}
				return err
			}
			r.Probed += len(batch)
			progress(r.Progress)
		}
		return nil
	})
	err := group.Wait()
	r.Sources = sources
	r.Denied, r.Denials = p.Denied()
	return r, err
}

// findHosts finds the different hosts of an input.
func (p *Pipeline) findHosts(
	ctx context.Context, in Input, found chan<- Target,
) (sources []discover.SourceReport, err error) {
	seen := discover.NewNameSet()
	ports := map[string][]uint16{}
	send := func(n discover.Name) error {
		if !seen.Add(n.Host) {
			return nil
		}
		select {
		case found <- Target{n, ports[n.Host]}:
			return nil
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if len(in.Hosts) > 0 {
		hosts := make([]discover.Name, len(in.Hosts))
		for i, h := range in.Hosts {
			hosts[i], ports[h.Host] = h.Name, h.Ports
		}
		report, err := p.LookUp(ctx, in.Hosts[0].Host+" …", slices.Values(hosts), send)
		if sources = append(sources, report); err != nil {
			return sources, err
		}
	}
	if len(in.Ranges) > 0 {
		report, err := p.Ranges(ctx, in.Ranges, send)
		if sources = append(sources, report); err != nil {
			return sources, err
		}
	}
	for _, domain := range in.Domains {
		reports, err := p.Domain(ctx, domain, send)
		if sources = append(sources, reports...); err != nil {
			return sources, err
		}
	}
	return sources, nil
}

// batches gives what has come, up to batchSize at a time.
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
