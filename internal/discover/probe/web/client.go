// Package web asks web servers for pages and reads what they say of themselves. It reads
// servers that break the rules, and bounds everything they send in size and in time.
package web

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"time"
)

// Client asks over HTTP/1.1, a connection for each request.
type Client struct {
	// Dial connects to host:port over TCP; it refuses what is out of scope.
	Dial func(ctx context.Context, addr string) (net.Conn, error)
	// Timeout bounds one request, from the dial to the last byte.
	Timeout time.Duration
	// Apps names technologies; nil names none.
	Apps *Fingerprints
}

const agent = "Mozilla/5.0 (compatible; Vedette)"

// Get asks for a page once. The answer's body is there as far as it came in time.
func (c *Client) Get(ctx context.Context, u *url.URL) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, c.Timeout)
	defer cancel()
	conn, err := c.Dial(ctx, HostPort(u))
	if err != nil {
		return nil, err
	}
	defer conn.Close()
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	if u.Scheme == "https" {
		over := tls.Client(conn, Lenient(u.Hostname()))
		if err := over.HandshakeContext(ctx); err != nil {
			return nil, fmt.Errorf("TLS: %w", err)
		}
		conn = over
	}
	// The answer may begin before the request is taken whole: what counts is the answer.
	_, _ = conn.Write([]byte("GET " + requestPath(u) + " HTTP/1.1\r\nHost: " + hostField(u) +
		"\r\nUser-Agent: " + agent + "\r\nAccept: text/html,*/*;q=0.8\r\nConnection: close\r\n\r\n"))
	return readAnswer(conn, "GET")
}

// requestPath is the path and query of a request line: printable ASCII without spaces.
func requestPath(u *url.URL) string {
	path := u.RequestURI()
	if !strings.HasPrefix(path, "/") {
		path = "/"
	}
	var b strings.Builder
	for _, c := range []byte(path) {
		if c <= ' ' || c >= 0x7f {
			fmt.Fprintf(&b, "%%%02X", c)
			continue
		}
		b.WriteByte(c)
	}
	return b.String()
}

// hostField is the Host of a request: with a port only where it is not the usual.
func hostField(u *url.URL) string {
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if p := u.Port(); p != "" && p != usualPort(u.Scheme) {
		host += ":" + p
	}
	return strings.Map(func(c rune) rune {
		if c <= ' ' || c >= 0x7f {
			return -1
		}
		return c
	}, host)
}

func usualPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// HostPort is where a URL's server listens.
func HostPort(u *url.URL) string {
	p := u.Port()
	if p == "" {
		p = usualPort(u.Scheme)
	}
	return net.JoinHostPort(u.Hostname(), p)
}

// Lenient is a TLS configuration that reaches old and broken servers: the point is to see
// them, certificates are judged elsewhere. name is sent unless it is an address.
func Lenient(name string) *tls.Config {
	c := &tls.Config{InsecureSkipVerify: true, MinVersion: tls.VersionTLS10, CipherSuites: everyCipher()} //nolint:gosec // see above
	if _, err := netip.ParseAddr(name); err != nil {
		c.ServerName = name
	}
	return c
}

// everyCipher are the suites up to TLS 1.2, the broken ones last.
func everyCipher() []uint16 {
	var ids []uint16
	for _, suites := range [][]*tls.CipherSuite{tls.CipherSuites(), tls.InsecureCipherSuites()} {
		for _, s := range suites {
			ids = append(ids, s.ID)
		}
	}
	return ids
}
