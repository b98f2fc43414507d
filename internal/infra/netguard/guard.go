package netguard

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"syscall"
	"time"
)

// The bounds of a dial and of an answer.
const (
	dialTimeout    = 10 * time.Second // resolve and connect
	maxHeaderBytes = 64 << 10         // of a response
)

// Guard makes dials that users configure: to the public internet, and to what the operator allowed. The zero
// value is ready to use. Do not change it after its first use.
type Guard struct {
	// Allow lists special networks that the operator opens, in the form of ParsePrefix. A cloud's metadata
	// address is open only when it is listed by itself (/32 or /128).
	Allow    []netip.Prefix
	Resolver *net.Resolver // nil is the system's
}

// Check returns a *Denied if the guard would not dial a.
func (g *Guard) Check(a netip.Addr) error {
	if why := g.refuses(a); why != "" {
		return denied(CodeBlocked, a.String(), why)
	}
	return nil
}

// refuses is the reason why a may not be dialled, or "".
func (g *Guard) refuses(a netip.Addr) string {
	a = plain(a)
	switch {
	case !a.IsValid():
		return "it is not an IP address"
	case isMetadata(a):
		if slices.Contains(g.Allow, single(a)) {
			return ""
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

// control is the dialer's hook.
func (g *Guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, _ := dialled(address) // anything else is refused for not being an address
	if why := g.refuses(to.Addr()); why != "" {
		return denied(CodeBlocked, address, why)
	}
	return nil
}

// Dial connects to addr (host:port) over TCP, in at most ten seconds with the lookup. Each address of the host
// is checked by itself; the error of a refusal holds a *Denied.
func (g *Guard) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		// The hook cannot tell an address from a unix socket of that name.
		return nil, denied(CodeBlocked, addr, "only TCP is dialled")
	}
	d := net.Dialer{Timeout: dialTimeout, Resolver: g.Resolver, ControlContext: g.control}
	return d.DialContext(ctx, network, addr)
}

// Client is an HTTP client that dials through the guard. Every request's URL passes CheckURL; a redirect is
// returned as the response (an error when its Location is malformed), never followed; no proxy is used,
// whatever the environment says; certificates are verified; response headers are limited to 64 KiB. timeout
// bounds a whole exchange, from the lookup to the last byte of the body, and must be above zero. The caller
// limits bodies. Keep the client: it pools connections.
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
			DisableCompression:     true, // a small body must not expand into a large one
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
