package probe

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe/handshake"
	"github.com/vedette-sec/vedette/internal/discover/probe/port"
	"github.com/vedette-sec/vedette/internal/discover/probe/web"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// What a zero in Config means, and what a batch may report.
const (
	quick        = "80,443,8443" // the ports tried when no port scan is asked for
	defaultPorts = "top-100"
	workers      = 64
	timeout      = 10 * time.Second
	maxDenials   = 1000
	maxNotes     = 100
)

// run is one batch.
type run struct {
	Config

	ports   []uint16
	started time.Time
	emitted func(discover.Asset)
	hosts   map[string]*host           // by name
	names   map[netip.Addr][]string    // that lead to an address
	scanned map[netip.Addr]port.Result // what the port scan found
	client  *web.Client
	looker  *handshake.Looker
	known   services
	camera  camera

	mu     sync.Mutex // guards report, and the calls of emitted
	report Report
}

// host is a name of the batch.
type host struct {
	discover.Name

	fronted bool // Cloudflare stands before it
}

func newRun(cfg Config, emit func(discover.Asset)) (*run, error) {
	r := &run{Config: cfg, started: time.Now(), emitted: emit, hosts: map[string]*host{}, names: map[netip.Addr][]string{}}
	spec := cfg.Ports
	switch {
	case !discover.Has(cfg.Steps, discover.PortScan):
		spec = quick
	case spec == "":
		spec = defaultPorts
	}
	if r.Workers <= 0 {
		r.Workers = workers
	}
	if r.Timeout <= 0 {
		r.Timeout = timeout
	}
	if r.Fingerprints == nil {
		r.Fingerprints = &Fingerprints{}
	}
	r.client = &web.Client{Dial: r.dialTCP, Timeout: r.Timeout, Apps: &r.Fingerprints.apps, Stay: r.Stay}
	r.looker = &handshake.Looker{Timeout: r.Timeout, Now: r.Now, Roots: r.Roots, Fetch: r.Fetch}
	var err error
	r.ports, err = port.Parse(spec)
	return r, err
}

// wants reports whether any of these steps is asked for.
func (r *run) wants(steps ...discover.Step) bool {
	return slices.ContainsFunc(steps, func(s discover.Step) bool { return discover.Has(r.Steps, s) })
}

// wantsWeb reports whether start pages are to be fetched.
func (r *run) wantsWeb() bool {
	return r.wants(discover.HTTPProbe, discover.EndpointCrawling, discover.HTTPScreenshot)
}

// look looks at the batch: first all ports, then what is behind them.
func (r *run) look(ctx context.Context, names []discover.Name) error {
	defer r.camera.close(r)
	list := r.enter(names)
	if r.wants(discover.PortScan, discover.TLSScan) || r.wantsWeb() {
		if err := r.scan(ctx); err != nil {
			return err
		}
	}
	jobs := make(chan job)
	var group sync.WaitGroup
	for range r.Workers {
		group.Go(func() {
			for j := range jobs {
				r.work(ctx, j)
			}
		})
	}
	for _, j := range r.jobs(list) {
		select {
		case jobs <- j:
		case <-ctx.Done():
		}
	}
	close(jobs)
	group.Wait()
	return ctx.Err()
}

// enter takes in the names, each once.
func (r *run) enter(names []discover.Name) []*host {
	var list []*host
	for _, n := range names {
		if r.hosts[n.Host] != nil {
			continue
		}
		if a, err := netip.ParseAddr(n.Host); err == nil && len(n.IP) == 0 {
			n.IP = []netip.Addr{a}
		}
		n.IP = slices.Clone(n.IP)
		h := &host{Name: n}
		for i, a := range n.IP {
			a = a.Unmap()
			n.IP[i] = a
			h.fronted = h.fronted || web.Fronted(a)
			r.names[a] = append(r.names[a], n.Host)
		}
		r.hosts[n.Host] = h
		list = append(list, h)
	}
	r.report.Hosts, r.report.Addresses = len(list), len(r.names)
	return list
}

// edgePorts are open at Cloudflare for everybody, and say nothing of the site behind.
var edgePorts = []uint16{8080, 8880, 8443, 2052, 2082, 2086, 2095, 2053, 2083, 2087, 2096}

// scan tries the ports of each address once.
func (r *run) scan(ctx context.Context) error {
	var targets []port.Target
	for a, names := range r.names {
		t := port.Target{Name: names[0], Addr: a, Thorough: r.Thorough || names[0] != a.String()}
		if web.Fronted(a) {
			t.Except = edgePorts
		}
		targets = append(targets, t)
	}
	slices.SortFunc(targets, func(a, b port.Target) int { return a.Addr.Compare(b.Addr) })
	cfg := port.Config{Dial: r.Dial, Pace: r.Pace}
	if r.Admit != nil {
		cfg.Admit = r.admitted
	}
	results, err := port.Scan(ctx, cfg, targets, r.ports)
	r.scanned = map[netip.Addr]port.Result{}
	for i, one := range results {
		t := targets[i]
		r.scanned[t.Addr] = one
		r.report.Tried += one.Tried
		r.report.Open += len(one.Open)
		if one.Alive {
			r.report.Alive++
		}
		if one.Denied > 0 {
			r.deny(Denial{Host: t.Name, Addr: t.Addr.String(), Why: one.Why, Count: one.Denied})
		}
	}
	return err
}

// admitted decides for the port scan of an address, which serves all its names: it may be
// tried on the word of any of them.
func (r *run) admitted(_ string, to netip.AddrPort) error {
	var err error
	for _, name := range r.names[to.Addr()] {
		if err = r.Admit(name, to); err == nil {
			return nil
		}
	}
	return err
}

// dialTCP connects to host:port, as dial does.
func (r *run) dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	return r.dial(ctx, "tcp", addr)
}

// dial connects to host:port. A host of the batch is reached at the addresses it is known
// to have, where the guard lets us decide on them; all others through Dial.
func (r *run) dial(ctx context.Context, network, addr string) (net.Conn, error) {
	name, service, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, err
	}
	h := r.hosts[name]
	if r.Admit == nil || h == nil || len(h.IP) == 0 {
		return r.Dial(ctx, network, addr)
	}
	number, err := strconv.ParseUint(service, 10, 16)
	if err != nil {
		return nil, err
	}
	failure := error(&netguard.Denied{Addr: addr, Why: "it has no address"})
	for _, a := range r.likely(h, uint16(number)) {
		to := netip.AddrPortFrom(a, uint16(number))
		if err := r.Admit(h.Host, to); err != nil {
			failure = err
			continue
		}
		conn, err := (&net.Dialer{Timeout: r.Timeout, KeepAlive: -1}).DialContext(ctx, network, to.String())
		if err == nil {
			return conn, nil
		}
		if failure = err; ctx.Err() != nil {
			break
		}
	}
	return nil, failure
}

// likely are the addresses of a host, those first on which the port scan found the port.
func (r *run) likely(h *host, number uint16) []netip.Addr {
	var open, others []netip.Addr
	for _, a := range h.IP {
		if _, found := slices.BinarySearch(r.scanned[a].Open, number); found {
			open = append(open, a)
		} else {
			others = append(others, a)
		}
	}
	return append(open, others...)
}

// deny reports what the guard refused.
func (r *run) deny(d Denial) {
	r.mu.Lock()
	if len(r.report.Denied) < maxDenials {
		r.report.Denied = append(r.report.Denied, d)
	}
	r.mu.Unlock()
	if r.OnDenied != nil {
		r.OnDenied(d)
	}
}

// denied reports a refusal when err is one.
func (r *run) denied(name string, err error) bool {
	var d *netguard.Denied
	if !errors.As(err, &d) {
		return false
	}
	r.deny(Denial{Host: name, Addr: d.Addr, Why: d.Why, Count: 1})
	return true
}

// note takes in what could not be done for the whole batch.
func (r *run) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.report.Notes) < maxNotes && !slices.Contains(r.report.Notes, text) {
		r.report.Notes = append(r.report.Notes, text)
	}
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
