// Package probe looks at hosts: which ports are open, what answers there, what it shows of
// itself over HTTP and TLS, which pages it links and how they look. All it sends is
// harmless, and every connection is one that the guard of its Config lets it make.
package probe

import (
	"context"
	"crypto/x509"
	"net"
	"net/http"
	"net/netip"
	"time"

	"github.com/vedette-sec/vedette/internal/discover"
	"github.com/vedette-sec/vedette/internal/discover/probe/tech"
	"github.com/vedette-sec/vedette/internal/discover/probe/web"
)

// Config is how a batch of hosts is looked at. Only Dial is required.
type Config struct {
	// Steps are the steps asked for; none means all. Steps of other packages are ignored.
	Steps []discover.Step
	// Dial connects to host:port over tcp or udp, as netguard.Scope's Dial does. It
	// refuses what is out of scope with a *netguard.Denied.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Admit decides on a connection to an address that name is known to have, before its
	// packet, as netguard.Scope's Admit does. When set, a name's addresses are those of
	// its Name and are connected to directly; when nil, a name is handed to Dial, which
	// finds the address.
	Admit func(name string, to netip.AddrPort) error
	// OnDenied, when set, is told of what the guard refused, several at a time.
	OnDenied func(Denial)
	// Ports lists the TCP ports to scan, in the form of port.Parse; "" is top-100.
	Ports string
	// UDP asks for the common UDP services, too.
	UDP bool
	// Thorough tries all ports also of addresses on which nothing answers. Without it,
	// those that were named as an address are left after their likeliest ports.
	Thorough bool
	// Pace bounds the connections of the port scan; nil does not.
	Pace *discover.Pace
	// Workers is how many assets are looked at at once; 0 is 64.
	Workers int
	// Timeout bounds one exchange with a service; 0 is ten seconds.
	Timeout time.Duration
	// Stay describes the answers of web servers that redirect, and does not follow them.
	Stay bool
	// Fetch gets revocation lists and OCSP answers from the URLs that certificates name:
	// a client of netguard.Guard. nil: only stapled answers tell of a revocation.
	Fetch *http.Client
	// Roots are the authorities that are trusted; nil is the system's.
	Roots *x509.CertPool
	// Fingerprints names technologies. Share one among batches; nil makes one for this.
	Fingerprints *Fingerprints
	// Chromium is the browser of screenshots; "" looks for one in PATH.
	Chromium string
	// Cameras bound the browsers that run at once. Share them among batches; nil: no bound.
	Cameras *Cameras
	// Now is the clock against which certificates are judged; nil is time.Now.
	Now func() time.Time
}

// Fingerprints are the fingerprints of technologies. The zero value is ready; it reads
// them, many megabytes, when it is first used.
type Fingerprints struct{ apps tech.Fingerprints }

// Cameras are places for browsers: one of a batch takes most of a processor, and a batch
// that finds no place waits for one.
type Cameras struct{ places chan struct{} }

// NewCameras makes places for so many browsers.
func NewCameras(n int) *Cameras { return &Cameras{make(chan struct{}, n)} }

// take waits for a place, or for the end of ctx.
func (c *Cameras) take(ctx context.Context) error {
	if c == nil {
		return nil
	}
	select {
	case c.places <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Cameras) free() {
	if c != nil {
		<-c.places
	}
}

// Denial is something that the guard refused.
type Denial struct {
	Host  string // as it was named
	Addr  string // host:port or a URL, the first when there were several
	Why   string
	Count int // connections that were not made for this reason
}

// Edge is the delivery network that a chain of CNAMEs or an address belongs to, or "".
func Edge(cnames []string, addrs []netip.Addr) string { return web.CDN(nil, cnames, addrs) }

// Report is what a batch came to.
type Report struct {
	Hosts     int // names and addresses looked at
	Addresses int // different addresses among them
	Alive     int // addresses that answered
	Tried     int // ports that were tried
	Open      int // ports that were open
	Assets    int // that were emitted
	Denied    []Denial
	Notes     []string // what could not be done for the whole batch, in words
	Took      time.Duration
}

// Hosts looks at a batch of names and addresses and emits what it sees: for each name an
// asset of port 0 with what DNS says of it, and an asset for each open port. Names that
// share an address share its port scan. emit is called by one goroutine at a time, and
// assets of one name are not in a certain order; an asset's Host, Port and Protocol tell
// it from all others.
//
// The error is an *errs.Error of the field ports, or ctx's; assets that were emitted
// before it are complete.
func Hosts(ctx context.Context, cfg Config, names []discover.Name, emit func(discover.Asset)) (Report, error) {
	r, err := newRun(cfg, emit)
	if err != nil {
		return Report{}, err
	}
	err = r.look(ctx, names)
	return r.finish(), err
}
