package names

import (
	"context"
	"errors"
	"iter"
	"net/netip"
	"slices"
	"strconv"
	"sync"

	"github.com/miekg/dns"

	"github.com/vedette-sec/vedette/internal/discover"
)

// Resolve asks about every name (hosts in any spelling, or addresses, for their PTR records) once, and emits each with
// what DNS says of it: addresses, the CNAME chain, the response code, whether a wildcard answered, and whether a CNAME
// is left dangling. A name without an answer is emitted too: its RCode says why. What is no host name, comes a second
// time or is not allowed is skipped. emit is called by one goroutine at a time, in no particular order; while it
// blocks, the run waits. The error is the context's, or an *errs.Error for a wrong Config; the report counts what was
// done in any case.
func Resolve(ctx context.Context, cfg Config, names iter.Seq[string], emit func(discover.Name)) (Report, error) {
	r, err := newResolver(ctx, cfg)
	if err != nil {
		return Report{}, err
	}
	defer r.close()
	r.each(ctx, names, emit)
	return r.done(), ctx.Err()
}

// resolver is a client that knows wildcards and counts.
type resolver struct {
	*client
	wild wildcards

	mu     sync.Mutex // of emit and the report
	report Report
}

func newResolver(ctx context.Context, cfg Config) (*resolver, error) {
	cfg, err := cfg.withDefaults()
	if err != nil {
		return nil, err
	}
	c, err := newClient(ctx, cfg)
	if err != nil {
		return nil, err
	}
	r := &resolver{client: c}
	r.wild = wildcards{resolve: r.addresses, zones: map[string]*zone{}}
	return r, nil
}

func (r *resolver) done() Report {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.report.Questions = r.sent.Load()
	r.report.Wildcards = slices.Clone(r.wild.seen)
	slices.Sort(r.report.Wildcards)
	return r.report
}

// each looks up and emits every name, a window of names at a time.
func (r *resolver) each(ctx context.Context, names iter.Seq[string], emit func(discover.Name)) {
	var running sync.WaitGroup
	defer running.Wait()
	work := make(chan string)
	defer close(work)
	workers := 0
	seen := discover.NewNameSet()
	for name := range names {
		host, ok := hostOf(name)
		if !ok || !r.cfg.Allow(host) || !seen.Add(host) {
			continue
		}
		select {
		case work <- host:
			continue
		default: // no worker is idle
		}
		if workers < maxInFlight {
			workers++
			running.Go(func() { r.serve(ctx, host, work, emit) })
			continue
		}
		select {
		case work <- host:
		case <-ctx.Done():
			return
		}
	}
}

// serve looks up a host, and then others from work.
func (r *resolver) serve(ctx context.Context, host string, work <-chan string, emit func(discover.Name)) {
	for ok := true; ok; host, ok = <-work {
		r.deliver(ctx, r.lookUp(ctx, host), emit)
		if ctx.Err() != nil {
			return
		}
	}
}

// deliver counts and emits a name, unless the run was cancelled: then what is known of it may be incomplete.
func (r *resolver) deliver(ctx context.Context, n discover.Name, emit func(discover.Name)) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if ctx.Err() != nil {
		return
	}
	r.report.Asked++
	switch {
	case n.RCode == RCodeTimeout:
		r.report.TimedOut++
	case n.RCode == RCodeMalformed:
		r.report.Malformed++
	case Exists(n):
		r.report.Found++
	}
	emit(n)
}

// Exists reports whether DNS knows the name itself: it has an answer, even an empty one or a CNAME that leads
// nowhere, and it is not a wildcard's.
func Exists(n discover.Name) bool {
	return !n.Wildcard && (n.RCode == dns.RcodeToString[dns.RcodeSuccess] || len(n.CNAME) > 0)
}

func hostOf(name string) (string, bool) {
	if a, err := netip.ParseAddr(name); err == nil {
		return a.Unmap().WithZone("").String(), true
	}
	return normalizeHost(name)
}

func (r *resolver) lookUp(ctx context.Context, host string) discover.Name {
	if a, err := netip.ParseAddr(host); err == nil {
		return r.reverse(ctx, a)
	}
	n := discover.Name{Host: host, Domain: r.cfg.domainOf(host)}
	f := r.addresses(ctx, host)
	n.RCode, n.IP, n.CNAME = f.rcodeText(), f.addrs, f.chain
	if !f.exists() {
		return n
	}
	n.Dangling = dangling(f)
	if host != n.Domain && parentOf(parentOf(host)) != "" || host != n.Domain && len(r.cfg.Domains) > 0 {
		n.Wildcard = r.wild.isWildcard(ctx, host, f)
	}
	return n
}

func (r *resolver) reverse(ctx context.Context, addr netip.Addr) discover.Name {
	n := discover.Name{Host: addr.String(), IP: []netip.Addr{addr}}
	arpa, err := dns.ReverseAddr(n.Host)
	if err != nil {
		return n
	}
	a, err := r.query(ctx, lowerName(arpa), dns.TypePTR)
	n.RCode = lookupResult{rcode: a.rcode, err: err}.rcodeText()
	if len(a.names) > 0 {
		slices.Sort(a.names)
		n.Records = map[string][]string{"PTR": slices.Compact(a.names)}
	}
	return n
}

// addresses asks for a host's A and AAAA records, and follows CNAMEs that an answer leaves unfinished.
func (r *resolver) addresses(ctx context.Context, host string) lookupResult {
	f := r.both(ctx, host)
	for f.err == nil && f.rcode == dns.RcodeSuccess && !f.loop && len(f.chain) > 0 && len(f.addrs) == 0 {
		end := f.chain[len(f.chain)-1]
		if _, ok := normalizeHost(end); !ok || !r.cfg.Allow(end) {
			break
		}
		g := r.both(ctx, end)
		if g.err != nil {
			break // what is known is the chain
		}
		f.rcode, f.addrs = g.rcode, g.addrs
		if len(g.chain) == 0 {
			break
		}
		for _, link := range g.chain {
			if link == host || slices.Contains(f.chain, link) || len(f.chain) == maxChain {
				f.loop, f.addrs = true, nil
				break
			}
			f.chain = append(f.chain, link)
		}
		f.loop = f.loop || g.loop
	}
	slices.SortFunc(f.addrs, netip.Addr.Compare)
	f.addrs = slices.Compact(f.addrs)
	return f
}

// both asks for A and AAAA; for a name that does not exist one is enough.
func (r *resolver) both(ctx context.Context, host string) lookupResult {
	f := r.lookUpType(ctx, host, dns.TypeA)
	if f.err == nil && f.rcode != dns.RcodeSuccess || ctx.Err() != nil {
		return f
	}
	return f.merge(r.lookUpType(ctx, host, dns.TypeAAAA))
}

func (r *resolver) lookUpType(ctx context.Context, host string, kind uint16) lookupResult {
	a, err := r.query(ctx, host, kind)
	return lookupResult{rcode: a.rcode, err: err, chain: a.chain, loop: a.loop, addrs: a.addrs}
}

// merge joins the answers about A (f) and AAAA (g). An empty one proves nothing while the other is missing.
func (f lookupResult) merge(g lookupResult) lookupResult {
	switch {
	case f.err != nil && g.err == nil && (g.rcode != dns.RcodeSuccess || !g.empty()):
		f = g
	case f.err == nil && g.err != nil && f.empty():
		f.err = g.err
	case f.err == nil && g.err == nil && g.rcode == dns.RcodeSuccess:
		f.addrs = append(f.addrs, g.addrs...)
		if len(f.chain) == 0 {
			f.chain, f.loop = g.chain, g.loop
		}
	}
	return f
}

func (f lookupResult) rcodeText() string {
	switch {
	case errors.Is(f.err, errMalformed):
		return RCodeMalformed
	case f.err != nil:
		return RCodeTimeout
	}
	if word, ok := dns.RcodeToString[f.rcode]; ok {
		return word
	}
	return "RCODE" + strconv.Itoa(f.rcode)
}
