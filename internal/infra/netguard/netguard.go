// Package netguard decides where this program may dial.
//
// A Guard makes the dials that users configure (webhooks, template URLs, trackers, identity providers): to the
// public internet, and to what the operator allowed. A Scope makes the dials of a scan: to what the request
// named, but never to a cloud's metadata address or a network that the operator denied.
//
// Both check the address in the dialer's control hook, between creating and connecting the socket, so that no
// name server, spelling of an address or redirect can change it afterwards. What they do not understand they
// refuse.
package netguard

import (
	"context"
	"crypto/tls"
	"net"
	"net/http"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/errs"
)

// The codes of a refusal.
const (
	CodeOutOfScope = "out_of_scope"        // by a Scope
	CodeBlocked    = "address_not_allowed" // by a Guard
)

// Denied is a dial that was refused before any packet left. Find it with errors.As; as an errs.Error it is
// Forbidden.
type Denied struct {
	Addr string // host:port as requested or about to be dialled, cut to 300 bytes
	Why  string // for people

	code string
}

func (d *Denied) Error() string { return "dial " + d.Addr + " refused: " + d.Why }

// Unwrap returns the refusal as an *errs.Error.
func (d *Denied) Unwrap() error {
	return errs.New(errs.Forbidden, d.code, "%s is refused: %s.", d.Addr, d.Why)
}

func denied(code, addr, why string) *Denied {
	return &Denied{Addr: errs.Clip(addr, 300), Why: why, code: code}
}

// ParsePrefix reads a range of the operator: a CIDR, or an address, which becomes a /32 or /128. Bits behind
// the mask are dropped, and IPv4 inside IPv6 becomes IPv4.
func ParsePrefix(s string) (netip.Prefix, error) {
	s = strings.TrimSpace(s)
	if a, err := netip.ParseAddr(s); err == nil && a.Zone() == "" {
		return singleAddress(a), nil
	}
	p, err := netip.ParsePrefix(s)
	if err != nil {
		return p, errs.New(errs.Invalid, "invalid_range",
			"%q is neither an IP address nor a range such as 10.0.0.0/8.", errs.Clip(s, 64))
	}
	return normalizePrefix(p), nil
}

// normalizePrefix is p for addresses that normalize made.
func normalizePrefix(p netip.Prefix) netip.Prefix {
	if p.Addr().Is4In6() && p.Bits() >= 96 {
		return netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-96).Masked()
	}
	return p.Masked()
}

// dialled reads the address that a dialer passes to its control hook: an IP and a port, never a name.
func dialled(address string) (netip.AddrPort, bool) {
	ap, err := netip.ParseAddrPort(address)
	if err != nil {
		return ap, false
	}
	return netip.AddrPortFrom(normalize(ap.Addr()), ap.Port()), true
}

func splitPort(addr string) (host string, port uint16, ok bool) {
	host, text, err := net.SplitHostPort(addr)
	if err != nil {
		return "", 0, false
	}
	port, ok = parsePort(text)
	return host, port, ok
}

// parsePort reads a port in plain decimal digits, from 1 to 65535.
func parsePort(s string) (uint16, bool) {
	n, err := strconv.ParseUint(s, 10, 16)
	return uint16(n), err == nil && n > 0
}

// The bounds of a dial and of an answer.
const (
	dialTimeout    = 10 * time.Second // resolve and connect
	maxHeaderBytes = 64 << 10         // of a response
)

// Guard makes dials that users configure. The zero value is ready to use. Do not change it after its first
// use.
type Guard struct {
	// Allow lists special networks that the operator opens, in the form of ParsePrefix. A cloud's metadata
	// address is open only when it is listed by itself (/32 or /128).
	Allow    []netip.Prefix
	Resolver *net.Resolver // nil is the system's
}

// Check returns a *Denied if the guard would not dial a.
func (g *Guard) Check(a netip.Addr) error {
	if why := g.denialReason(a); why != "" {
		return denied(CodeBlocked, a.String(), why)
	}
	return nil
}

// denialReason is the reason why a may not be dialled, or "".
func (g *Guard) denialReason(a netip.Addr) string {
	a = normalize(a)
	switch {
	case !a.IsValid():
		return "it is not an IP address"
	case isMetadata(a):
		if slices.Contains(g.Allow, singleAddress(a)) {
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

func (g *Guard) control(_ context.Context, _, address string, _ syscall.RawConn) error {
	to, _ := dialled(address) // anything else is refused for not being an address
	if why := g.denialReason(to.Addr()); why != "" {
		return denied(CodeBlocked, address, why)
	}
	return nil
}

// Dial connects to addr (host:port) over TCP, in at most ten seconds with the lookup. Each address of the host
// is checked; a refusal is a *Denied.
func (g *Guard) Dial(ctx context.Context, network, addr string) (net.Conn, error) {
	if network != "tcp" && network != "tcp4" && network != "tcp6" {
		// The hook cannot tell an address from a unix socket of that name.
		return nil, denied(CodeBlocked, addr, "only TCP is dialled")
	}
	d := net.Dialer{Timeout: dialTimeout, Resolver: g.Resolver, ControlContext: g.control}
	return d.DialContext(ctx, network, addr)
}

// Client is an HTTP client that dials through the guard. It checks URLs with CheckURL, verifies certificates,
// uses no proxy, returns redirects as the response, and limits headers to 64 KiB. timeout (above zero) is for
// a whole exchange, with lookup and body. The caller limits bodies. Keep the client: it pools connections.
func (g *Guard) Client(timeout time.Duration) *http.Client {
	return &http.Client{
		Timeout:       timeout,
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &checkedTransport{guard: g, next: &http.Transport{
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

type checkedTransport struct {
	guard *Guard
	next  *http.Transport
}

func (c *checkedTransport) RoundTrip(r *http.Request) (*http.Response, error) {
	if _, err := c.guard.CheckURL(r.URL.String()); err != nil {
		if r.Body != nil {
			r.Body.Close()
		}
		return nil, err
	}
	return c.next.RoundTrip(r)
}

// CloseIdleConnections lets http.Client.CloseIdleConnections reach the pool.
func (c *checkedTransport) CloseIdleConnections() { c.next.CloseIdleConnections() }
