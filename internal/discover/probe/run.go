package probe

import (
	"cmp"
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

const (
	webPorts = "80,443,8443" // tried when no port scan is wanted
	maxNotes = 100           // of a batch
	workers  = 64            // ports that are probed at once
)

type run struct {
	Config

	ports   []uint16
	emitted func(discover.Asset)
	hosts   map[string]*host           // by name
	names   map[netip.Addr][]string    // that lead to an address
	scanned map[netip.Addr]port.Result // of the port scan
	client  *web.Client
	looker  *handshake.Looker
	known   services
	camera  camera

	mu    sync.Mutex // guards notes, and the calls of emitted
	notes []string
}

type host struct {
	discover.Name

	fronted bool // by Cloudflare
}

func newRun(cfg Config, emit func(discover.Asset)) (*run, error) {
	r := &run{Config: cfg, emitted: emit, hosts: map[string]*host{}, names: map[netip.Addr][]string{}}
	spec := cmp.Or(cfg.Ports, "top-100")
	if !r.wants(discover.PortScan) {
		spec = webPorts
	}
	r.Timeout = cmp.Or(r.Timeout, 10*time.Second)
	if r.Fingerprints == nil {
		r.Fingerprints = &Fingerprints{}
	}
	r.client = &web.Client{Dial: r.dialTCP, Timeout: r.Timeout, Apps: r.Fingerprints, Stay: r.Stay}
	r.looker = &handshake.Looker{Timeout: r.Timeout, Roots: r.Roots, Fetch: r.Fetch}
	var err error
	r.ports, err = port.Parse(spec)
	return r, err
}

func (r *run) wants(steps ...discover.Step) bool { return discover.Has(r.Steps, steps...) }

func (r *run) wantsWeb() bool {
	return r.wants(discover.HTTPProbe, discover.EndpointCrawling, discover.HTTPScreenshot)
}

// probe probes the batch: first all ports, then what is behind them.
func (r *run) probe(ctx context.Context, names []discover.Name) error {
	defer r.camera.close(r)
	list := r.enter(names)
	if r.wants(discover.PortScan, discover.TLSScan) || r.wantsWeb() {
		if err := r.scan(ctx); err != nil {
			return err
		}
	}
	jobs := make(chan job)
	var group sync.WaitGroup
	for range workers {
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

func (r *run) enter(names []discover.Name) (list []*host) {
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
	return list
}

// edgePorts are open at Cloudflare for everybody, and say nothing of the site behind.
var edgePorts = []uint16{8080, 8880, 8443, 2052, 2082, 2086, 2095, 2053, 2083, 2087, 2096}

// scan tries the ports of each address once.
func (r *run) scan(ctx context.Context) error {
	var targets []port.Target
	for a, names := range r.names {
		t := port.Target{Name: names[0], Addr: a, Thorough: names[0] != a.String()}
		if web.Fronted(a) {
			t.Except = edgePorts
		}
		targets = append(targets, t)
	}
	slices.SortFunc(targets, func(a, b port.Target) int { return a.Addr.Compare(b.Addr) })
	cfg := port.Config{Dial: r.Dial, Pace: r.Pace}
	if r.Admit != nil {
		cfg.Admit, cfg.Dial = r.admit, r.Through
	}
	results, err := port.Scan(ctx, cfg, targets, r.ports)
	r.scanned = map[netip.Addr]port.Result{}
	for i, one := range results {
		addr := targets[i].Addr
		r.scanned[addr] = one
		if one.Denied > 0 {
			r.deny(addr.String(), one.Why, one.Denied)
		}
	}
	return err
}

// admit decides for the port scan of an address: it may be tried when any of its names allows it.
func (r *run) admit(_ string, to netip.AddrPort) (err error) {
	for _, name := range r.names[to.Addr()] {
		if err = r.Admit(name, to); err == nil {
			return nil
		}
	}
	return err
}

func (r *run) dialTCP(ctx context.Context, addr string) (net.Conn, error) {
	return r.dial(ctx, "tcp", addr)
}

// dial connects to host:port: to the known addresses of a host of the batch, where Admit decides on them;
// to all others through Dial.
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
	connect := r.Through
	if connect == nil {
		connect = (&net.Dialer{Timeout: r.Timeout, KeepAlive: -1}).DialContext
	}
	ctx, cancel := context.WithTimeout(ctx, r.Timeout*time.Duration(len(h.IP)))
	defer cancel()
	failure := error(&netguard.Denied{Addr: addr, Why: "it has no address"})
	for _, a := range r.likely(h, uint16(number)) {
		to := netip.AddrPortFrom(a, uint16(number))
		if err := r.Admit(h.Host, to); err != nil {
			failure = err
			continue
		}
		conn, err := connect(ctx, network, to.String())
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

func (r *run) deny(addr, why string, times int) {
	if r.OnDenied != nil {
		r.OnDenied(addr, why, times)
	}
}

// denied reports a refusal when err is one.
func (r *run) denied(err error) bool {
	d, ok := errors.AsType[*netguard.Denied](err)
	if ok {
		r.deny(d.Addr, d.Why, 1)
	}
	return ok
}

// note adds what could not be done for the whole batch.
func (r *run) note(text string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if len(r.notes) < maxNotes && !slices.Contains(r.notes, text) {
		r.notes = append(r.notes, text)
	}
}

func (r *run) emit(a discover.Asset) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.emitted(a)
}
