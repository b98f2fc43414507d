// Package names finds the host names of a domain and asks DNS about them.
//
// Find looks for names: it asks passive sources, tries words, and bends what it found.
// Resolve asks name servers about each name, tells the answers of a wildcard from those
// of a name, and follows CNAMEs to where they end, or to the service that nobody holds.
// Reverse, Origin and Ranges go the other way, from addresses to names and networks.
//
// Everything streams: a name is handed on when it is known, and what is remembered of a
// million candidates is a set of hashes.
package names

import (
	"context"
	"log/slog"
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

// Config says whom to ask, and how hard. The zero value asks the system's resolvers and
// no source.
type Config struct {
	// Resolvers are name servers, as host:port or as an address that listens on port 53.
	// None: those of the system (/etc/resolv.conf).
	Resolvers []string
	// Dial opens a socket ("udp") or a connection ("tcp") to a resolver; nil is a plain
	// dialer. The resolvers are the operator's: this is the place of a deny list.
	Dial func(ctx context.Context, network, address string) (net.Conn, error)
	// Client asks the sources of names, and is the only way to them: give it
	// netguard.Guard's. Nil: every source is skipped, and says so.
	Client *http.Client
	// Keys are the keys of sources by the source's name, as a subfinder configuration has
	// them; where a source wants two parts they are joined by a colon.
	Keys map[string][]string
	// Sources are the names of the sources to ask; none means all.
	Sources []string
	// SourceTimeout is how long one source may take for one domain; 0 is two minutes.
	SourceTimeout time.Duration
	// Domains are the domains that names belong to. Wildcards are looked for below them,
	// and Name.Domain is the longest that fits. None: a name's last two labels.
	Domains []string
	// Records are the kinds of further records to ask for, of names that exist: MX, NS,
	// TXT, SOA, CAA, SRV, PTR. Others are refused.
	Records []string
	// Allow says which hosts may be asked about and handed on; nil allows all. A CNAME's
	// target that is not allowed is kept as data and never asked about.
	Allow func(host string) bool
	// Words are labels to try besides those that are built in.
	Words []string
	// MaxCandidates bounds the names that are made up for one domain by each of brute
	// force and permutation; 0 is 2,000,000.
	MaxCandidates int
	// Pace bounds the questions to all resolvers together; nil does not.
	Pace *discover.Pace
	// Window bounds the questions in flight; 0 is 2,000. What is really in flight adapts
	// to what the resolvers bear.
	Window int
	// Timeout is how long one question waits for its answer; 0 is two seconds.
	Timeout time.Duration
	// Retries is how often a question without a good answer is asked again, of another
	// resolver where there is one; 0 is two, below 0 is never.
	Retries int
	// OriginZone is the zone that tells an address's autonomous system in TXT records, as
	// Team Cymru's origin.asn.cymru.com does; "" switches Origin off.
	OriginZone string
	// RangesURL tells the ranges that an autonomous system announces, as RIPEstat's
	// announced-prefixes does, where %s stands for the number; or it is a registry of
	// routes, as whois://whois.radb.net. "" switches Ranges off.
	RangesURL string
	// RangesDial reaches a registry of routes, as a guard's Dial does; nil: none is asked.
	RangesDial Dialer
	// Log hears of what went wrong with a resolver or a source; nil is silent.
	Log *slog.Logger
}

// Dialer connects to host:port.
type Dialer func(ctx context.Context, network, addr string) (net.Conn, error)

// Report is what a run did.
type Report struct {
	Asked     int                     // names that were asked about
	Found     int                     // names that were handed on as existing
	TimedOut  int                     // names that nobody answered for
	Malformed int                     // names whose answers could not be read
	Partial   int                     // names of which A or AAAA had an answer, and the other none
	Wildcards []string                // *.zone for each zone that answers for every name, at most 1,000
	Sources   []discover.SourceReport // of Find: one for each source and each way of guessing
	Resolvers []Resolver
}

// Resolver is how a name server behaved.
type Resolver struct {
	Address  string
	Queries  int64
	Answers  int64
	Timeouts int64
	Refused  int64         // SERVFAIL, REFUSED and other answers that made us ask again
	Garbage  int64         // packets that were no answer to a question of ours
	Fastest  time.Duration // the quickest answer
}

// The words of Name.RCode for names without an answer.
const (
	RCodeTimeout   = "timeout"   // nobody answered
	RCodeMalformed = "malformed" // what answered was not DNS
)

const maxWildcards = 1000 // of a report

// kinds are the record kinds that Config.Records may name.
var kinds = map[string]uint16{
	"MX": dns.TypeMX, "NS": dns.TypeNS, "TXT": dns.TypeTXT, "SOA": dns.TypeSOA,
	"CAA": dns.TypeCAA, "SRV": dns.TypeSRV, "PTR": dns.TypePTR,
}

// orDefault fills in what is not set, and refuses what cannot be.
func (c Config) orDefault() (Config, error) {
	for i, kind := range c.Records {
		if kinds[kind] == 0 {
			return c, errs.Field("records", "records[%d] is %.20q, and not one of MX, NS, TXT, SOA, CAA, SRV, PTR.", i, kind)
		}
	}
	if len(c.Resolvers) == 0 {
		system, err := dns.ClientConfigFromFile("/etc/resolv.conf")
		if err != nil {
			return c, errs.New(errs.Unavailable, "no_resolvers", "No resolvers are configured, and the system names none.").Because(err)
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
	if c.Dial == nil {
		c.Dial = (&net.Dialer{Timeout: 5 * time.Second}).DialContext
	}
	if c.Allow == nil {
		c.Allow = func(string) bool { return true }
	}
	if c.Log == nil {
		c.Log = slog.New(slog.DiscardHandler)
	}
	c.Timeout = orElse(c.Timeout, 2*time.Second)
	c.SourceTimeout = orElse(c.SourceTimeout, 2*time.Minute)
	c.Window = orElse(c.Window, 2000)
	c.MaxCandidates = orElse(c.MaxCandidates, 2_000_000)
	c.Retries = max(orElse(c.Retries, 2), 0)
	domains := c.Domains
	c.Domains = nil
	for _, d := range domains {
		if host, ok := clean(d); ok {
			c.Domains = append(c.Domains, host)
		}
	}
	return c, nil
}

func orElse[T comparable](value, otherwise T) T {
	var zero T
	if value == zero {
		return otherwise
	}
	return value
}

// domainOf is the domain that a host belongs to: the longest of the configured ones, or
// where none is configured its last two labels.
func (c *Config) domainOf(host string) string {
	best := ""
	for _, d := range c.Domains {
		if len(d) > len(best) && below(host, d) {
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

// below reports whether host is domain or a name under it.
func below(host, domain string) bool {
	return strings.HasSuffix(host, domain) &&
		(len(host) == len(domain) || host[len(host)-len(domain)-1] == '.')
}

// socketsOf is how many sockets a resolver gets: enough that no reader is the bottleneck.
func socketsOf() int { return max(2, min(runtime.GOMAXPROCS(0), 8)) }
