// Package probe looks at hosts: which ports are open, what answers there, what it shows of itself over HTTP
// and TLS, which pages it links and how they look. All that it sends is harmless, and every connection is
// one that the guard of its Config allows.
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
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// Config is how a batch of hosts is probed. Only Dial is required.
type Config struct {
	Steps []discover.Step // none: all. Steps of other packages are ignored
	// Dial connects to host:port over tcp or udp, as netguard.Scope's Dial does. It refuses what is out of
	// scope with a *netguard.Denied.
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// Admit decides on a connection to a known address of a name before its packet, as netguard.Scope's
	// Admit does. When nil, names are handed to Dial, which looks up the address.
	Admit func(name string, to netip.AddrPort) error
	// Through, when set, makes the connections that Admit allowed, to their addresses: a proxy's, of TCP only.
	Through netguard.Dialer
	// OnDenied, when set, gets what the guard refused: host:port or a URL, why, and how many connections.
	// It may be called by several goroutines.
	OnDenied     func(addr, why string, times int)
	Ports        string         // TCP ports to scan, as port.Parse reads them; "": top-100
	UDP          bool           // ask for the common UDP services, too
	Pace         *discover.Pace // of the connections of the port scan; nil: no limit
	Timeout      time.Duration  // of one exchange with a service; 0: ten seconds
	Stay         bool           // record redirects of web servers, and do not follow them
	Fetch        *http.Client   // to OCSP servers and revocation lists, a guard's; nil: none are asked
	Roots        *x509.CertPool // trusted authorities; nil: the system's
	Fingerprints *Fingerprints  // of technologies, shared among batches; nil: the batch's own
	Cameras      *Cameras       // bound the browsers that run at once; nil: no bound
}

// Fingerprints are the fingerprints of technologies.
type Fingerprints = tech.Fingerprints

// Cameras bound the browsers that run at once: the one of a batch takes most of a processor.
type Cameras struct{ slots chan struct{} }

// NewCameras allows n browsers.
func NewCameras(n int) *Cameras { return &Cameras{make(chan struct{}, n)} }

// take waits for a slot, or for the end of ctx.
func (c *Cameras) take(ctx context.Context) error {
	if c == nil {
		return nil
	}
	select {
	case c.slots <- struct{}{}:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func (c *Cameras) free() {
	if c != nil {
		<-c.slots
	}
}

// Edge is the delivery network that a chain of CNAMEs or an address belongs to, or "".
func Edge(cnames []string, addrs []netip.Addr) string { return web.CDN(nil, cnames, addrs) }

// Hosts probes a batch of names and addresses and emits what it sees: for each name an asset of port 0 with
// what DNS says of it, and an asset for each open port. Names that share an address share its port scan.
// emit is called by one goroutine at a time, in no certain order; Host, Port and Protocol identify an asset.
// notes say what could not be done for the whole batch.
//
// The error is an *errs.Error of the field ports, or ctx's; assets emitted before it are complete.
func Hosts(
	ctx context.Context, cfg Config, names []discover.Name, emit func(discover.Asset),
) (notes []string, err error) {
	r, err := newRun(cfg, emit)
	if err != nil {
		return nil, err
	}
	err = r.probe(ctx, names)
	return r.notes, err
}
