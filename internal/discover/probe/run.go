package probe

import (
	"context"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe/port"
)

// run is one batch.
type run struct {
	Config

	ports   []uint16
	started time.Time
	emitted func(discover.Asset)

	mu     sync.Mutex // guards what is below, and the calls of emitted
	report Report
}

// quick are the ports that are tried when no port scan is asked for.
const quick = "80,443,8443"

const defaultPorts = "top-100"

func newRun(cfg Config, emit func(discover.Asset)) (*run, error) {
	r := &run{Config: cfg, started: time.Now(), emitted: emit}
	spec := cfg.Ports
	switch {
	case !discover.Has(cfg.Steps, discover.PortScan):
		spec = quick
	case spec == "":
		spec = defaultPorts
	}
	var err error
	r.ports, err = port.Parse(spec)
	return r, err
}

// wants reports whether any of these steps is asked for.
func (r *run) wants(steps ...discover.Step) bool {
	return slices.ContainsFunc(steps, func(s discover.Step) bool { return discover.Has(r.Steps, s) })
}

// hosts looks at the batch.
func (r *run) hosts(ctx context.Context, names []discover.Name) error {
	r.report.Hosts = len(names)
	var open map[netip.Addr]port.Result
	if r.wants(discover.PortScan, discover.TLSScan, discover.HTTPProbe, discover.EndpointCrawling, discover.HTTPScreenshot) {
		var err error
		if open, err = r.scan(ctx, names); err != nil {
			return err
		}
	}
	for _, n := range names {
		r.emit(alone(n))
		for _, a := range n.IP {
			for _, p := range open[a.Unmap()].Open {
				asset := alone(n)
				asset.Port, asset.Protocol = int(p), "tcp"
				r.emit(asset)
			}
		}
	}
	return ctx.Err()
}

// scan tries the ports of each address once.
func (r *run) scan(ctx context.Context, names []discover.Name) (map[netip.Addr]port.Result, error) {
	var targets []port.Target
	seen := map[netip.Addr]bool{}
	for _, n := range names {
		for _, a := range n.IP {
			if a = a.Unmap(); !seen[a] {
				seen[a] = true
				targets = append(targets, port.Target{Name: n.Host, Addr: a, Thorough: r.Thorough})
			}
		}
	}
	results, err := port.Scan(ctx, port.Config{Admit: r.Admit, Dial: r.Dial, Rate: r.Rate}, targets, r.ports)
	found := map[netip.Addr]port.Result{}
	for i, one := range results {
		found[targets[i].Addr] = one
	}
	return found, err
}

// alone is the asset of a name by itself.
func alone(n discover.Name) discover.Asset {
	a := discover.Asset{Host: n.Host, Domain: n.Domain, CNAME: n.CNAME, Records: n.Records, Sources: n.Sources}
	for _, ip := range n.IP {
		a.IP = append(a.IP, ip.String())
	}
	return a
}

func (r *run) emit(a discover.Asset) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Assets++
	r.emitted(a)
}

func (r *run) finish() Report {
	r.report.Took = time.Since(r.started)
	return r.report
}
