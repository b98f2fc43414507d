package netguard

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"syscall"
	"time"
)

// The bounds of a dial and of an answer.
const (
	dialTimeout    = 10 * time.Second // resolve and connect
	maxHeaderBytes = 64 << 10         // of a response
)

// Guard dials on a user's word: the public internet, and what the operator allowed. Its
// zero value is ready and allows nothing special. Do not change it after its first use.
type Guard struct {
	// Allow lists networks that are open in spite of the rules, by the operator's word,
	// in the form ParsePrefix gives. A cloud's metadata address is open only when it is
	// listed by itself (/32 or /128): a wide range never opens it.
	Allow []netip.Prefix
	// Resolver looks up names; nil is the system's.
	Resolver *net.Resolver
}

// Check says whether the guard would dial a: nil, or a *Denied.
func (g *Guard) Check(a netip.Addr) error {
	if why := g.refuses(a); why != "" {
		return denied(CodeBlocked, a.String(), why)
	}
	return nil
}

// refuses gives the reason why a may not be dialled, or "".
func (g *Guard) refuses(a netip.Addr) string {
	a = plain(a)
	switch {
	case !a.IsValid():
		return "it is not an IP address"
	case isMetadata(a):
		for _, p := range g.Allow {
			if p.IsSingleIP() && p.Addr() == a {
				return ""
			}
		}
		return "it is a cloud metadata address"
	case within(g.Allow, a):
		return ""
	}
	if why := find(special, a); why != "" {
		return "it is " + why
	}
	return ""
}

// control is the dialer's hook: the socket exists, no packet has left.
func (g *Guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, _ := dialled(address) // what is no address is refused as such
	if why := g.refuses(to.Addr()); why != "" {
		return denied(CodeBlocked, address, why)
	}
	return nil
}

// Dial connects to addr (host:port) over TCP. Each address that the host resolves to is
// decided on by itself; the error of a refusal holds a *Denied. The look-up and the
// connection take at most ten seconds.
func (g *Guard) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		// The hook cannot tell an address from a unix socket of that name.
		return nil, denied(CodeBlocked, addr, "only TCP is dialled")
	}
	d := net.Dialer{Timeout: dialTimeout, Resolver: g.Resolver, ControlContext: g.control}
	return d.DialContext(ctx, network, addr)
}

// Client is an HTTP client that dials through the guard. Every request's URL passes
// CheckURL; a redirect is returned as the response (an error when its Location is
// malformed), never followed; no proxy is used,
// whatever the environment says; certificates are verified; response headers are
// limited to 64 KiB. timeout bounds a whole exchange, from the look-up to the last byte
// of the body, and must be above zero. Bodies are the caller's to bound. Make one
// client and keep it: it pools connections.
func (g *Guard) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &checked{guard: g, next: &http.Transport{
			Proxy:                  nil,
			DialContext:            g.Dial,
			TLSClientConfig:        &tls.Config{MinVersion: tls.VersionTLS12},
			TLSHandshakeTimeout:    dialTimeout,
			MaxResponseHeaderBytes: maxHeaderBytes,
			DisableCompression:     true, // a small body must not unfold into a large one
			MaxIdleConns:           16,
			IdleConnTimeout:        30 * time.Second,
		}},
	}
}

// checked refuses requests to URLs that CheckURL refuses.
type checked struct {
	guard *Guard
	next  *http.Transport
}

func (c *checked) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := c.guard.CheckURL(r.URL.String()); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	return c.next.RoundTrip(r)
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the pool.
func (c *checked) CloseIdleConnections() { c.next.CloseIdleConnections() }
