// Package names finds the host names of a domain and asks DNS about them.
//
// Find asks passive sources, tries words, and permutes what it found. Resolve asks name servers about each name,
// separates a wildcard's answers from those of a name, and follows CNAMEs to their end, or to a service where the
// name can be claimed. Origin and Ranges go from addresses to networks and back.
//
// Everything streams: a name is emitted when it is known, and of a million candidates only hashes are kept.
package names

import (
	"cmp"
	"context"
	"net"
	"net/http"
	"net/netip"
	"runtime"
	"slices"
	"strings"
	"time"

	"github.com/miekg/dns"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// Config says which servers and sources to ask, and how fast. The zero value asks the system's resolvers and no
// source.
type Config struct {
	Resolvers []string            // host:port, or an address with port 53; none: those of /etc/resolv.conf
	Client    *http.Client        // to the sources, netguard.Guard's; nil: every source is skipped
	Keys      map[string][]string // of sources, as subfinder has them; two parts are joined by a colon
	Sources   []string            // to ask; none: all
	Words     []string            // to try besides those that are built in
	Pace      *discover.Pace      // of the questions to all resolvers together; nil: no limit
	// SourceTimeout bounds one source for one domain; 0 is two minutes.
	SourceTimeout time.Duration
	// Domains are the domains that names belong to. Wildcards are looked for below them, and Name.Domain is
	// the longest that fits. None: a name's last two labels.
	Domains []string
	// Allow says which hosts may be asked about and emitted; nil allows all. A CNAME's target that is not
	// allowed is kept as data and never asked about.
	Allow func(host string) bool
	// Timeout is how long one question waits for its answer; 0 is two seconds.
	Timeout time.Duration
	// Retries is how often a question without a good answer is asked again, of another resolver if possible;
	// 0 is two, below 0 is never.
	Retries int
	// RangesURL gives the ranges that an autonomous system announces, as RIPEstat's announced-prefixes does,
	// where %s is the number; or it is a routing registry, as whois://whois.radb.net. "" switches Ranges off.
	RangesURL  string
	RangesDial Dialer // to a routing registry, a guard's; nil: none is asked
}

// Dialer connects to host:port.
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// Report is what a run did.
type Report struct {
	Asked     int                     // names that were asked about
	Found     int                     // names that exist
	TimedOut  int                     // names without an answer
	Malformed int                     // names whose answers could not be read
	Wildcards []string                // *.zone for each zone that answers for every name, at most 1,000
	Sources   []discover.SourceReport // of Find: one for each source and each way of guessing
	Questions int64                   // that were sent
}

// Values of Name.RCode for names without an answer.
const (
	RCodeTimeout   = "timeout"
	RCodeMalformed = "malformed"
)

const maxWildcards = 1000 // of a report

// maxInFlight is how many questions may be in flight; how many really are adapts to the resolvers.
const maxInFlight = 2000

// withDefaults fills in what is not set. The error is an *errs.Error.
func (c Config) withDefaults() (Config, error) {
	if len(c.Resolvers) == 0 {
		system, err := dns.ClientConfigFromFile("/etc/resolv.conf")
		if err != nil {
			return c, errs.New(errs.Unavailable, "no_resolvers",
				"No resolvers are configured, and the system names none.").Because(err)
		}
		for _, host := range system.Servers {
			c.Resolvers = append(c.Resolvers, net.JoinHostPort(host, system.Port))
		}
	}
	c.Resolvers = slices.Clone(c.Resolvers)
	for i, address := range c.Resolvers {
		if a, err := netip.ParseAddr(strings.Trim(address, "[]")); err == nil {
			c.Resolvers[i] = net.JoinHostPort(a.String(), "53")
		} else if _, _, err := net.SplitHostPort(address); err != nil {
			return c, errs.Field("resolvers", "resolvers[%d] is %.100q, and not host:port.", i, address)
		}
	}
	if c.Allow == nil {
		c.Allow = func(string) bool { return true }
	}
	c.Timeout = cmp.Or(c.Timeout, 2*time.Second)
	c.SourceTimeout = cmp.Or(c.SourceTimeout, 2*time.Minute)
	c.Retries = max(cmp.Or(c.Retries, 2), 0)
	domains := c.Domains
	c.Domains = nil
	for _, d := range domains {
		if host, ok := normalizeHost(d); ok {
			c.Domains = append(c.Domains, host)
		}
	}
	return c, nil
}

// domainOf is the domain of a host: the longest configured one, or where none is configured its last two labels.
func (c *Config) domainOf(host string) string {
	best := ""
	for _, d := range c.Domains {
		if len(d) > len(best) && discover.Under(host, d) {
			best = d
		}
	}
	if best != "" || len(c.Domains) > 0 {
		return best
	}
	cut := strings.LastIndexByte(host, '.')
	if cut < 0 {
		return host
	}
	return host[strings.LastIndexByte(host[:cut], '.')+1:]
}

// socketsOf is how many sockets a resolver gets, so that no reader is the bottleneck.
func socketsOf() int { return max(2, min(runtime.GOMAXPROCS(0), 8)) }
