package pipeline

import (
	"cmp"
	"context"
	"fmt"
	"iter"
	"maps"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/names"
)

// Domain finds the names of a domain, with the domain itself, and emits those that DNS knows, with what it says of
// them. Where no step needs addresses, names are emitted as sources give them. emit is called by one goroutine at a
// time; its error ends the run and is returned. The reports say how each source behaved, and the name servers.
func (p *Pipeline) Domain(
	ctx context.Context, domain string, emit func(discover.Name) error,
) (reports []discover.SourceReport, err error) {
	ctx, send, stop := sender(ctx, emit)
	defer stop(nil)
	if !p.resolves() {
		send(discover.Name{Host: domain, Domain: domain})
		report, err := names.Find(ctx, p.names, domain, p.Steps, send)
		return report.Sources, causeOf(ctx, err)
	}
	found := newFeed()
	found.put(ctx, discover.Name{Host: domain, Sources: []discover.SourceRef{{Source: "input"}}})
	var sources names.Report
	var failed error
	var finding sync.WaitGroup
	finding.Go(func() {
		defer found.close()
		sources, failed = names.Find(ctx, p.names, domain, p.Steps, func(n discover.Name) {
			if n.RCode != "" {
				send(n)
				return
			}
			found.put(ctx, n)
		})
	})
	report, err := p.resolve(ctx, domain, found, send)
	finding.Wait()
	return append(sources.Sources, report), causeOf(ctx, cmp.Or(err, failed))
}

// sender makes emit safe for several goroutines; its error ends the context.
func sender(
	ctx context.Context, emit func(discover.Name) error,
) (context.Context, func(discover.Name), context.CancelCauseFunc) {
	ctx, stop := context.WithCancelCause(ctx)
	var mu sync.Mutex
	return ctx, func(n discover.Name) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		if err := emit(n); err != nil {
			stop(err)
		}
	}, stop
}

// causeOf is why a run ended early: the cause of its context, or else err.
func causeOf(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// resolves reports whether a step needs the addresses of names.
func (p *Pipeline) resolves() bool {
	return p.hasStep(discover.DNSResolve, discover.PortScan, discover.TLSScan, discover.HTTPProbe,
		discover.EndpointCrawling,
		discover.HTTPScreenshot)
}

// LookUp looks up known hosts, and emits those that still exist, also when a wildcard answers for them.
func (p *Pipeline) LookUp(
	ctx context.Context, about string, hosts iter.Seq[discover.Name], emit func(discover.Name) error,
) (discover.SourceReport, error) {
	ctx, send, stop := sender(ctx, emit)
	defer stop(nil)
	feed := newFeed()
	feed.named = true
	direct := 0 // hosts that need no look-up
	go func() {
		defer feed.close()
		for n := range hosts {
			a, err := netip.ParseAddr(n.Host)
			switch {
			case !p.Covers(n.Host):
				p.deny(n.Host, p.why(n.Host), 1)
				continue
			case err == nil && !p.hasStep(discover.DNSResolve):
				n.IP = []netip.Addr{a}
			case err == nil || p.resolves():
				feed.put(ctx, n)
				continue
			}
			direct++
			send(n)
		}
	}()
	report, err := p.resolve(ctx, about, feed, send)
	if direct > 0 { // the feed is closed: the goroutine has ended
		report.State, report.Count = discover.SourceOK, report.Count+direct
	}
	return report, causeOf(ctx, err)
}

// sourceRange is the source of addresses that only a range names.
const sourceRange = "range"

// Ranges emits every address of ranges, with its names in DNS if a step looks them up.
func (p *Pipeline) Ranges(
	ctx context.Context, ranges []netip.Prefix, emit func(discover.Name) error,
) (discover.SourceReport, error) {
	about := make([]string, len(ranges))
	for i, r := range ranges {
		about[i] = r.String()
	}
	return p.LookUp(ctx, strings.Join(about, ","), func(yield func(discover.Name) bool) {
		for i, r := range ranges {
			source := []discover.SourceRef{{Source: sourceRange, Metadata: map[string]string{"range": about[i]}}}
			for a := r.Masked().Addr(); r.Contains(a); a = a.Next() {
				if !yield(discover.Name{Host: a.String(), Sources: source}) {
					return
				}
			}
		}
	}, emit)
}

// Network is the ranges that an autonomous system (such as AS64500) announces.
func (p *Pipeline) Network(ctx context.Context, asn string) ([]netip.Prefix, discover.SourceReport) {
	return names.Ranges(ctx, p.names, asn)
}

// feed passes hosts from one goroutine to another, and keeps their sources meanwhile.
type feed struct {
	named bool // they are emitted also when a wildcard answers
	hosts chan string

	mu      sync.Mutex
	pending map[string]discover.Name
}

const feedSize = 1000 // hosts that wait

func newFeed() *feed {
	return &feed{hosts: make(chan string, feedSize), pending: map[string]discover.Name{}}
}

func (f *feed) put(ctx context.Context, n discover.Name) {
	f.mu.Lock()
	if old, ok := f.pending[n.Host]; ok {
		n.Sources = append(old.Sources, n.Sources...)
	}
	f.pending[n.Host] = n
	f.mu.Unlock()
	select {
	case f.hosts <- n.Host:
	case <-ctx.Done():
	}
}

func (f *feed) close() { close(f.hosts) }

func (f *feed) all(yield func(string) bool) {
	for host := range f.hosts {
		if !yield(host) {
			for range f.hosts { // so that the other side ends
			}
			return
		}
	}
}

func (f *feed) take(host string) discover.Name {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.pending[host]
	delete(f.pending, host)
	return n
}

// The source of names of addresses, and how many are followed.
const (
	sourceReverse = "dns_reverse"
	maxReverse    = 100_000
)

// reverse are covered names that DNS gives for addresses, each with one of them.
type reverse map[string]netip.Addr

// add adds the names of an address that lie below a domain whose names are looked for.
func (r reverse) add(p *Pipeline, n discover.Name, a netip.Addr) {
	for _, name := range n.Records["PTR"] {
		_, known := r[name]
		switch {
		case known || len(r) >= maxReverse || !p.belowDomains(name):
		case p.Covers(name):
			r[name] = a
		default:
			p.deny(name, p.why(name), 1)
		}
	}
}

// belowDomains reports whether a name lies below a domain whose names are looked for.
func (p *Pipeline) belowDomains(name string) bool {
	return slices.ContainsFunc(p.Domains, func(d string) bool { return discover.Under(name, d) })
}

// resolve looks up the hosts of a feed, and then the names of addresses among them. It sends those that exist.
func (p *Pipeline) resolve(
	ctx context.Context, about string, from *feed, send func(discover.Name),
) (discover.SourceReport, error) {
	began := time.Now()
	found := 0
	others := reverse{}
	report, err := names.Resolve(ctx, p.names, from.all, func(n discover.Name) {
		n.Sources = from.take(n.Host).Sources
		a, err := netip.ParseAddr(n.Host)
		switch {
		case err == nil:
			n.IP = []netip.Addr{a}
			others.add(p, n, a)
		case from.named && len(n.IP) > 0, names.Exists(n):
		default:
			return
		}
		found++
		send(n)
	})
	for range from.hosts { // what Resolve left, so that the other side ends
	}
	if err == nil && len(others) > 0 {
		var more names.Report
		more, err = names.Resolve(ctx, p.names, maps.Keys(others), func(n discover.Name) {
			if !names.Exists(n) {
				return
			}
			address := map[string]string{"address": others[n.Host].String()}
			n.Sources = []discover.SourceRef{{Source: sourceReverse, Metadata: address}}
			found++
			send(n)
		})
		report.Asked += more.Asked
		report.TimedOut += more.TimedOut
		report.Malformed += more.Malformed
		report.Wildcards = append(report.Wildcards, more.Wildcards...)
	}
	out := discover.SourceReport{
		Source: string(discover.DNSResolve), About: about, State: discover.SourceOK, Count: found, Took: time.Since(began),
	}
	switch lost := report.TimedOut + report.Malformed; {
	case lost > 0 && lost == report.Asked:
		out.State, out.Detail = discover.SourceTimedOut, "No name server answered."
	case lost > 0:
		out.State, out.Detail = discover.SourceLimited, fmt.Sprintf("%d of %d names got no answer.", lost, report.Asked)
	case found == 0:
		out.State = discover.SourceEmpty
	}
	if len(report.Wildcards) > 0 {
		some := strings.Join(report.Wildcards[:min(len(report.Wildcards), 5)], ", ")
		out.Detail = strings.TrimSpace(out.Detail + " Every name is answered below " + some + ".")
	}
	return out, err
}

// byPorts groups targets by the ports to probe; most have none of their own.
func (p *Pipeline) byPorts(targets []Target) map[string][]discover.Name {
	out := map[string][]discover.Name{}
	for _, t := range targets {
		ports := p.Ports
		if len(t.Ports) > 0 {
			switch {
			case !p.hasStep(discover.PortScan):
				ports = "80,443,8443" // what a probe tries without a scan
			case ports == "":
				ports = "top-100"
			}
			list := []string{ports}
			for _, port := range slices.Sorted(slices.Values(t.Ports)) {
				list = append(list, strconv.Itoa(int(port)))
			}
			ports = strings.Join(list, ",")
		}
		out[ports] = append(out[ports], t.Name)
	}
	return out
}
