// Package pipeline joins the steps of discovery: it finds and resolves names, and probes the hosts behind them. One
// scope decides on each connection; refused ones are counted.
//
// Domain, Known and Ranges find hosts and Look probes them, so that a server can store what one gives before the
// other begins; Run does both in one process.
package pipeline

import (
	"context"
	"errors"
	"net"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/names"
	"github.com/vedette-sec/vedette/internal/discover/probe"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Config says what to discover, and how. Covers is required.
type Config struct {
	Covers      []netguard.Target                   // all that may be dialled
	Domains     []string                            // whose names are looked for
	Deny        []netip.Prefix                      // never dialled
	Excludes    func(host string, port uint16) bool // hosts that are left out; port 0 asks for the host. nil: none
	Steps       []discover.Step                     // none: all
	Ports       string                              // as port.Parse reads it; "" is top-100
	UDP         bool                                // the common services over UDP, too
	Proxy       *netguard.Proxy                     // for all connections to Covers; nil: none
	Guard       *netguard.Guard                     // dials the Proxy
	Pace        *discover.Pace                      // of the connections of port scans; nil: no limit
	Timeout     time.Duration                       // of one exchange with a service; 0: the probe's default
	NoRedirects bool                                // redirects of web servers are recorded, and not followed
	Cameras     *probe.Cameras                      // bound the browsers that run at once; nil: no bound

	Resolvers    []string            // as names.Config; none: the system's
	Keys         map[string][]string // of sources, by name
	Sources      []string            // to ask; none: all
	Words        []string            // to try besides those that are built in
	QueryPace    *discover.Pace      // of questions to name servers; nil: no limit
	OriginZone   string              // as names.Origin; "": origins are not looked up
	RangesURL    string              // as names.Config
	RangesDial   names.Dialer        // as names.Config
	Fingerprints *probe.Fingerprints // of technologies, shared; nil: the pipeline's own
	Client       *http.Client        // for sources and for what certificates name; nil: none are asked
}

// Target is a host to probe.
type Target struct {
	discover.Name
	Ports []uint16 // besides the pipeline's
}

// Denial counts refused connections.
type Denial struct {
	Addr  string // host:port
	Why   string
	Times int
}

// maxDenials bounds the different denials that are kept.
const maxDenials = 1000

// Pipeline discovers what its Config covers. It is safe for use by many goroutines.
type Pipeline struct {
	Config
	scope    *netguard.Scope
	names    names.Config
	resolver *net.Resolver

	mu      sync.Mutex
	denials map[[2]string]int // by address and reason
	denied  int
	origins map[netip.Prefix]*discover.ASN
	edges   map[string]string // delivery networks of names

	through netguard.Dialer // nil without a proxy
	faulty  chan struct{}   // closed at the first fault of the proxy, which is fault then
	fault   error
}

// New makes a pipeline. The error is an *errs.Error for what is covered.
func New(c Config) (*Pipeline, error) {
	p := &Pipeline{
		Config: c, resolver: resolverOf(c.Resolvers),
		denials: map[[2]string]int{}, origins: map[netip.Prefix]*discover.ASN{}, edges: map[string]string{},
		faulty: make(chan struct{}),
	}
	if p.Proxy != nil {
		p.through = p.throughProxy
	}
	if p.Fingerprints == nil {
		p.Fingerprints = &probe.Fingerprints{}
	}
	var err error
	p.scope, err = netguard.NewScope(c.Covers, netguard.Limits{
		Deny: c.Deny, Excludes: c.Excludes, Resolver: p.resolver, Timeout: c.Timeout,
		Through: p.through,
	})
	if err != nil {
		return nil, err
	}
	p.names = names.Config{
		Resolvers: c.Resolvers, Client: c.Client, Keys: c.Keys, Sources: c.Sources, Domains: c.Domains, Allow: p.Covers,
		Words: c.Words, Pace: c.QueryPace, RangesURL: c.RangesURL, RangesDial: c.RangesDial,
	}
	return p, nil
}

// resolverOf uses these name servers in turn; none: nil, the system's.
func resolverOf(servers []string) *net.Resolver {
	if len(servers) == 0 {
		return nil
	}
	dialer := &net.Dialer{}
	next := make(chan string, len(servers))
	for _, s := range servers {
		if _, _, err := net.SplitHostPort(s); err != nil {
			s = net.JoinHostPort(s, "53")
		}
		next <- s
	}
	return &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, network, _ string) (net.Conn, error) {
		s := <-next
		next <- s
		return dialer.DialContext(ctx, network, s)
	}}
}

// Covers reports whether a host is in scope and not left out.
func (p *Pipeline) Covers(host string) bool {
	if p.Excludes != nil && p.Excludes(host, 0) {
		return false
	}
	return p.scope.AllowsURL(&url.URL{Scheme: "http", Host: net.JoinHostPort(host, "80")})
}

// why is the reason why a host is not covered.
func (p *Pipeline) why(host string) string {
	if p.Excludes != nil && p.Excludes(host, 0) {
		return "it is excluded"
	}
	if a, err := netip.ParseAddr(host); err == nil {
		if denied, ok := errors.AsType[*netguard.Denied](p.scope.Admit("", netip.AddrPortFrom(a, 80))); ok {
			return denied.Why
		}
	}
	return "it is not in scope"
}

func (p *Pipeline) deny(addr, why string, times int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.denied += times
	key := [2]string{addr, why}
	if _, known := p.denials[key]; known || len(p.denials) < maxDenials {
		p.denials[key] += times
	}
}

// Denied are the refused connections so far, at most maxDenials different ones, and their total.
func (p *Pipeline) Denied() (list []Denial, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, times := range p.denials {
		list = append(list, Denial{key[0], key[1], times})
	}
	slices.SortFunc(list, func(a, b Denial) int { return strings.Compare(a.Addr+" "+a.Why, b.Addr+" "+b.Why) })
	return list, p.denied
}

func (p *Pipeline) hasStep(steps ...discover.Step) bool {
	return discover.Has(p.Steps, steps...)
}

// unconfirmed are addresses of ranges that nothing is known of: they are no assets until a port answers. The host of
// one that is emitted is "".
type unconfirmed map[string]discover.Asset

// confirm are the assets to emit for one: itself, unless it is silent, and its address if that was silent so far.
func (s unconfirmed) confirm(a discover.Asset) []discover.Asset {
	held, known := s[a.Host]
	fromRange := func(r discover.SourceRef) bool { return r.Source == sourceRange }
	switch {
	case a.Port > 0:
		s[a.Host] = discover.Asset{}
		if held.Host != "" {
			return []discover.Asset{held, a}
		}
	case !known && len(a.Records) == 0 && len(a.Misconfiguration) == 0 && slices.ContainsFunc(a.Sources, fromRange):
		s[a.Host] = a
		return nil
	}
	return []discover.Asset{a}
}

// Probe probes hosts and emits an asset for each host and one for each open port. emit is called by one goroutine at a
// time; its error ends the run and is returned. notes say what could not be done.
func (p *Pipeline) Probe(
	ctx context.Context, targets []Target, emit func(discover.Asset) error,
) (notes []string, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	if p.Proxy != nil {
		if err := p.Guard.Greet(ctx, p.Proxy); err != nil {
			return nil, err
		}
		go p.stopAtFault(ctx, stop)
		defer func() { // of a proxy that hangs, all hosts look silent
			if err == nil {
				err = p.Guard.Greet(ctx, p.Proxy)
			}
		}()
	}
	p.originsOf(ctx, targets)
	unconfirmed := unconfirmed{}
	dangling := map[string]string{}
	for _, t := range targets {
		if t.Dangling != "" {
			dangling[t.Host] = t.Dangling
		}
	}
	for ports, batch := range p.byPorts(targets) {
		steps := p.Steps
		if ports != p.Ports && !p.hasStep(discover.PortScan) { // ports that were named are tried
			steps = append(slices.Clone(steps), discover.PortScan)
		}
		some, err := probe.Hosts(ctx, probe.Config{
			Steps: steps, Dial: p.scope.Dial, Admit: p.scope.Admit, Through: p.through, OnDenied: p.deny, Ports: ports,
			UDP: p.UDP, Pace: p.Pace, Timeout: p.Timeout, Fetch: p.fetcher(), Fingerprints: p.Fingerprints,
			Cameras: p.Cameras, Stay: p.NoRedirects,
		}, batch, func(a discover.Asset) {
			if ctx.Err() != nil {
				return
			}
			a.ASN, a.Misconfiguration = p.originOf(a), p.misconfigurations(ctx, a, dangling)
			for _, one := range unconfirmed.confirm(a) {
				if err := emit(one); err != nil {
					stop(err)
					return
				}
			}
		})
		if cause := context.Cause(ctx); cause != nil {
			return notes, cause
		}
		if err != nil {
			return notes, err
		}
		notes = append(notes, some...)
	}
	return notes, nil
}
