// Package pipeline joins the rooms of discovery: names are found and looked up, and the
// hosts behind them are looked at. All that it looks at lies in one scope, which decides
// on each connection; what names lead outside is refused and told.
//
// The stages are apart, so that a server can keep what one hands on before the next takes
// it; Run puts them together for a process by itself.
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

// Config says what is looked at, and how. Covers is required.
type Config struct {
	Covers   []netguard.Target                   // all that may be dialled
	Domains  []string                            // whose names are looked for: names belong to these
	Deny     []netip.Prefix                      // of the operator and of exclusions
	Excludes func(host string, port uint16) bool // hosts that are left out; port 0 asks for the host. nil: none
	Steps    []discover.Step                     // none: all
	Ports    string                              // as port.Parse reads it; "" is top-100
	UDP      bool                                // the common services over UDP, too
	Pace     *discover.Pace                      // of the connections of port scans; nil: no limit
	Timeout  time.Duration                       // of one exchange with a service; 0: the probe's own
	Workers  int                                 // assets looked at at once; 0: the probe's own
	Stay     bool                                // redirects of web servers are told, and not followed
	Chromium string                              // the browser of screenshots; "": one in PATH
	Cameras  *probe.Cameras                      // places for browsers, shared; nil: no bound

	Resolvers     []string            // as names.Config; none: the system's
	Keys          map[string][]string // of sources, by name
	Sources       []string            // to ask; none: all
	SourceTimeout time.Duration       // of one source
	Words         []string            // to try besides those that are built in
	MaxCandidates int                 // names that are made up at most; 0: the default of names
	QueryPace     *discover.Pace      // of questions to name servers; nil: no limit
	OriginZone    string              // that tells the networks of addresses; "": nobody is asked
	RangesURL     string              // that tells the ranges of a network; "": nobody is asked
	RangesDial    names.Dialer        // the way to it where it is a registry; nil: none is asked
	Fingerprints  *probe.Fingerprints // of technologies, read once and shared; nil: the pipeline's own
	Client        *http.Client        // the way to sources and to what certificates name; nil: none are asked
}

// Target is a host to look at.
type Target struct {
	discover.Name
	Ports []uint16 // besides the pipeline's
}

// Denial is a connection that the scope refused, and how often.
type Denial struct {
	Addr  string // host:port
	Why   string
	Times int
}

// maxDenials is how many different ones are kept.
const maxDenials = 1000

// Pipeline looks at what its Config covers. It is safe for use by many goroutines.
type Pipeline struct {
	Config
	scope *netguard.Scope
	names names.Config

	mu      sync.Mutex
	denials map[[2]string]int // by address and reason
	denied  int
	origins map[netip.Prefix]*discover.ASN
	edges   map[string]string // delivery networks of names
}

// New makes a pipeline. The error is an *errs.Error for what is covered.
func New(c Config) (*Pipeline, error) {
	p := &Pipeline{Config: c, denials: map[[2]string]int{}, origins: map[netip.Prefix]*discover.ASN{}, edges: map[string]string{}}
	if p.Fingerprints == nil {
		p.Fingerprints = &probe.Fingerprints{}
	}
	var err error
	p.scope, err = netguard.NewScope(c.Covers, netguard.Limits{
		Deny: c.Deny, Excludes: c.Excludes, Resolver: resolverOf(c.Resolvers), Timeout: c.Timeout,
	})
	if err != nil {
		return nil, err
	}
	p.names = names.Config{
		Resolvers: c.Resolvers, Client: c.Client, Keys: c.Keys, Sources: c.Sources, SourceTimeout: c.SourceTimeout, Domains: c.Domains, Allow: p.allows,
		Words: c.Words, MaxCandidates: c.MaxCandidates, Pace: c.QueryPace, OriginZone: c.OriginZone, RangesURL: c.RangesURL, RangesDial: c.RangesDial,
	}
	return p, nil
}

// resolverOf looks names up at these name servers; nil, the system's, when there are none.
func resolverOf(servers []string) *net.Resolver {
	if len(servers) == 0 {
		return nil
	}
	dialer := &net.Dialer{}
	next := make(chan string, len(servers)) // each in its turn
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

// allows reports whether a host may be asked about: it is covered, and not left out.
func (p *Pipeline) allows(host string) bool {
	if p.Excludes != nil && p.Excludes(host, 0) {
		return false
	}
	return p.scope.AllowsURL(&url.URL{Scheme: "http", Host: net.JoinHostPort(host, "80")})
}

// Covers reports whether a host is in scope and not left out.
func (p *Pipeline) Covers(host string) bool { return p.allows(host) }

// why is the reason for which a host is not allowed.
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

// Denied is what the scope has refused until now, at most maxDenials different ones, and
// how much it was in all.
func (p *Pipeline) Denied() (list []Denial, total int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for key, times := range p.denials {
		list = append(list, Denial{key[0], key[1], times})
	}
	slices.SortFunc(list, func(a, b Denial) int { return strings.Compare(a.Addr+" "+a.Why, b.Addr+" "+b.Why) })
	return list, p.denied
}

// wants reports whether any of these steps is asked for.
func (p *Pipeline) wants(steps ...discover.Step) bool {
	return slices.ContainsFunc(steps, func(s discover.Step) bool { return discover.Has(p.Steps, s) })
}

// quiet are addresses of ranges that nothing is known of but that somebody named the
// range: they are no assets until a port of theirs answers.
type quiet map[string]discover.Asset

// sift is what an asset gives to be emitted: itself, unless it is quiet, and the address
// that was quiet until now.
func (q quiet) sift(a discover.Asset) []discover.Asset {
	held, was := q[a.Host]
	switch {
	case a.Port == 0 && len(a.Records) == 0 && len(a.Misconfiguration) == 0 && slices.ContainsFunc(a.Sources, func(s discover.SourceRef) bool { return s.Source == sourceRange }):
		if _, answers := q[a.Host]; !answers {
			q[a.Host] = a
			return nil
		}
	case a.Port > 0 && was && held.Host != "":
		q[a.Host] = discover.Asset{} // it is emitted
		return []discover.Asset{held, a}
	case a.Port > 0 && !was:
		q[a.Host] = discover.Asset{}
	}
	return []discover.Asset{a}
}

// Look looks at hosts and emits what it sees: an asset for each host by itself, and one
// for each open port. emit is called by one goroutine at a time; its error ends the run
// and is returned. Notes say what could not be done.
func (p *Pipeline) Look(ctx context.Context, targets []Target, emit func(discover.Asset) error) (notes []string, err error) {
	ctx, stop := context.WithCancelCause(ctx)
	defer stop(nil)
	p.originsOf(ctx, targets)
	quiet := quiet{}
	dangling := map[string]string{}
	for _, t := range targets {
		if t.Dangling != "" {
			dangling[t.Host] = t.Dangling
		}
	}
	for ports, batch := range p.byPorts(targets) {
		steps := p.Steps
		if ports != p.Ports && !p.wants(discover.PortScan) { // those that were named are tried
			steps = append(slices.Clone(steps), discover.PortScan)
		}
		report, err := probe.Hosts(ctx, probe.Config{
			Steps: steps, Dial: p.scope.Dial, Admit: p.scope.Admit, Ports: ports, UDP: p.UDP, Pace: p.Pace, Workers: p.Workers, Timeout: p.Timeout, Fetch: p.Client, Fingerprints: p.Fingerprints, Chromium: p.Chromium, Cameras: p.Cameras, Stay: p.Stay,
			OnDenied: func(d probe.Denial) { p.deny(d.Addr, d.Why, max(1, d.Count)) },
		}, batch, func(a discover.Asset) {
			if ctx.Err() != nil {
				return
			}
			a.ASN, a.Misconfiguration = p.originOf(a), p.wrongs(ctx, a, dangling)
			for _, one := range quiet.sift(a) {
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
		notes = append(notes, report.Notes...)
	}
	return notes, nil
}
