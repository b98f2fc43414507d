package pipeline

import (
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

// Domain finds the names of a domain, with the domain itself, and emits those that DNS
// knows, with what it says of them. Where no step needs addresses, names are emitted as
// sources tell them. emit is called by one goroutine at a time; its error ends the run and
// is returned. The reports say how each source behaved, and the name servers.
func (p *Pipeline) Domain(ctx context.Context, domain string, emit func(discover.Name) error) ([]discover.SourceReport, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex
	hand := func(n discover.Name) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		if err := emit(n); err != nil {
			stop(err)
		}
	}
	if !p.resolves() {
		hand(discover.Name{Host: domain, Domain: domain})
		report, err := names.Find(ctx, p.names, domain, p.Steps, hand)
		return report.Sources, because(ctx, err)
	}
	found := newFeed()
	found.put(ctx, discover.Name{Host: domain, Sources: []discover.SourceRef{{Source: "input"}}})
	var told names.Report
	var failed error
	var finding sync.WaitGroup
	finding.Go(func() {
		defer found.close()
		told, failed = names.Find(ctx, p.names, domain, p.Steps, func(n discover.Name) {
			if n.RCode != "" {
				hand(n)
				return
			}
			found.put(ctx, n)
		})
	})
	report, err := p.resolve(ctx, domain, found, hand)
	finding.Wait()
	if err == nil {
		err = failed
	}
	return append(told.Sources, report), because(ctx, err)
}

// because is why a run ended early: the cause of its context, or else err.
func because(ctx context.Context, err error) error {
	if cause := context.Cause(ctx); cause != nil {
		return cause
	}
	return err
}

// resolves reports whether a step needs to know where names lead.
func (p *Pipeline) resolves() bool {
	return p.wants(discover.DNSResolve, discover.PortScan, discover.TLSScan, discover.HTTPProbe, discover.EndpointCrawling, discover.HTTPScreenshot)
}

// Known looks up hosts that are known already, and emits those that are there still. What
// somebody named is emitted although it is a wildcard's answer.
func (p *Pipeline) Known(ctx context.Context, about string, hosts iter.Seq[discover.Name], emit func(discover.Name) error) (discover.SourceReport, error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	var mu sync.Mutex
	hand := func(n discover.Name) {
		mu.Lock()
		defer mu.Unlock()
		if ctx.Err() != nil {
			return
		}
		if err := emit(n); err != nil {
			stop(err)
		}
	}
	feed := newFeed()
	feed.named = true
	plain := 0 // hosts that need no look-up
	go func() {
		defer feed.close()
		for n := range hosts {
			a, err := netip.ParseAddr(n.Host)
			switch {
			case !p.allows(n.Host):
				p.deny(n.Host, p.why(n.Host), 1)
				continue
			case err == nil && !p.wants(discover.DNSResolve):
				n.IP = []netip.Addr{a}
			case err == nil || p.resolves():
				feed.put(ctx, n)
				continue
			}
			plain++
			hand(n)
		}
	}()
	report, err := p.resolve(ctx, about, feed, hand)
	if plain > 0 { // the feed is closed: the other side has ended
		report.State, report.Count = discover.SourceOK, report.Count+plain
	}
	return report, because(ctx, err)
}

// sourceRange is the source of addresses that nobody named one by one.
const sourceRange = "range"

// Ranges emits every address of ranges, with the names that DNS has for it where that is
// asked for.
func (p *Pipeline) Ranges(ctx context.Context, ranges []netip.Prefix, emit func(discover.Name) error) (discover.SourceReport, error) {
	about := make([]string, len(ranges))
	for i, r := range ranges {
		about[i] = r.String()
	}
	return p.Known(ctx, strings.Join(about, ","), func(yield func(discover.Name) bool) {
		for _, r := range ranges {
			for a := r.Masked().Addr(); r.Contains(a); a = a.Next() {
				if !yield(discover.Name{Host: a.String(), Sources: []discover.SourceRef{{Source: sourceRange, Metadata: map[string]string{"range": r.String()}}}}) {
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

// feed takes hosts from one goroutine to another, and remembers who named those that are
// on their way.
type feed struct {
	named bool // somebody named them one by one
	hosts chan string

	mu      sync.Mutex
	pending map[string]discover.Name
}

// feedSize is how many hosts wait.
const feedSize = 1000

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
			for range f.hosts { // let the other side end
			}
			return
		}
	}
}

// take is what was put for a host.
func (f *feed) take(host string) discover.Name {
	f.mu.Lock()
	defer f.mu.Unlock()
	n := f.pending[host]
	delete(f.pending, host)
	return n
}

// The source of names that addresses lead to, and how many are followed at once.
const (
	sourceReverse = "dns_reverse"
	maxReverse    = 100_000
)

// behind are the covered names that DNS gives to addresses, each with one of them.
type behind map[string]netip.Addr

// add takes in the names of an address that lie below a domain whose names are looked for.
func (b behind) add(p *Pipeline, n discover.Name, a netip.Addr) {
	for _, name := range n.Records["PTR"] {
		_, known := b[name]
		switch {
		case known || len(b) >= maxReverse || !p.ours(name):
		case p.allows(name):
			b[name] = a
		default:
			p.deny(name, p.why(name), 1)
		}
	}
}

// ours reports whether a name is one of those that are looked for.
func (p *Pipeline) ours(name string) bool {
	return slices.ContainsFunc(p.Domains, func(d string) bool { return name == d || strings.HasSuffix(name, "."+d) })
}

// resolve looks the hosts of a feed up and hands on those that are there, and then the
// names that lead to addresses among them.
func (p *Pipeline) resolve(ctx context.Context, about string, from *feed, hand func(discover.Name)) (discover.SourceReport, error) {
	began := time.Now()
	found := 0
	leads := behind{}
	report, err := names.Resolve(ctx, p.names, from.all, func(n discover.Name) {
		put := from.take(n.Host)
		n.Sources = put.Sources
		a, err := netip.ParseAddr(n.Host)
		switch {
		case err == nil:
			n.IP = []netip.Addr{a}
			leads.add(p, n, a)
		case from.named && len(n.IP) > 0, names.Exists(n):
		default:
			return
		}
		found++
		hand(n)
	})
	for range from.hosts { // what Resolve left, so that the other side ends
	}
	if err == nil && len(leads) > 0 {
		var more names.Report
		more, err = names.Resolve(ctx, p.names, maps.Keys(leads), func(n discover.Name) {
			if !names.Exists(n) {
				return
			}
			n.Sources = []discover.SourceRef{{Source: sourceReverse, Metadata: map[string]string{"address": leads[n.Host].String()}}}
			found++
			hand(n)
		})
		report.Asked, report.TimedOut, report.Malformed = report.Asked+more.Asked, report.TimedOut+more.TimedOut, report.Malformed+more.Malformed
		report.Wildcards = append(report.Wildcards, more.Wildcards...)
	}
	out := discover.SourceReport{Source: string(discover.DNSResolve), About: about, State: discover.SourceOK, Count: found, Took: time.Since(began)}
	switch lost := report.TimedOut + report.Malformed; {
	case lost > 0 && lost == report.Asked:
		out.State, out.Detail = discover.SourceTimedOut, "No name server answered."
	case lost > 0:
		out.State, out.Detail = discover.SourceLimited, fmt.Sprintf("%d of %d names got no answer.", lost, report.Asked)
	case found == 0:
		out.State = discover.SourceEmpty
	}
	if len(report.Wildcards) > 0 {
		out.Detail = strings.TrimSpace(out.Detail + " Every name is answered below " + strings.Join(report.Wildcards[:min(len(report.Wildcards), 5)], ", ") + ".")
	}
	return out, err
}

// byPorts parts targets by the ports they are looked at for. Most have none of their own.
func (p *Pipeline) byPorts(targets []Target) map[string][]discover.Name {
	out := map[string][]discover.Name{}
	for _, t := range targets {
		ports := p.Ports
		if len(t.Ports) > 0 {
			switch {
			case !p.wants(discover.PortScan):
				ports = "80,443,8443" // as a probe tries them that is not to scan
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
