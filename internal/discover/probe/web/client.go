// Package web fetches pages and reads what servers say of themselves, also where they break the rules. Everything
// they send is bounded in size and in time.
package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/vedette-sec/vedette/internal/discover/probe/tech"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
	"github.com/vedette-sec/vedette/internal/infra/tlsfacts"
)

// Client speaks HTTP/1.1.
type Client struct {
	Dial    func(ctx context.Context, addr string) (net.Conn, error) // to host:port; refuses what is out of scope
	Timeout time.Duration                                            // of one request
	Apps    *tech.Fingerprints                                       // nil: technologies are not named
	Stay    bool                                                     // do not follow redirects
	Memory  *membudget.Budget                                        // of answers; nil: that of the process
}

const agent = "Mozilla/5.0 (compatible; Vedette)"

// Get fetches a page once. The answer's body is there as far as it came in time; Release the answer after use.
func (c *Client) Get(ctx context.Context, u *url.URL) (*Answer, error) {
	k := keeper{Client: c}
	defer k.close()
	return k.get(ctx, u)
}

// keeper fetches pages, and keeps a connection for the next while the server does.
type keeper struct {
	*Client

	server string   // scheme and address of conn
	conn   net.Conn // free for a request; nil when there is none
}

func (k *keeper) close() {
	if k.conn != nil {
		_ = k.conn.Close()
		k.conn = nil
	}
}

func (k *keeper) get(ctx context.Context, u *url.URL) (*Answer, error) {
	ctx, cancel := context.WithTimeout(ctx, k.Timeout)
	defer cancel()
	server := u.Scheme + "://" + HostPort(u)
	if k.conn != nil && k.server == server {
		if a, err := k.ask(ctx, u); err == nil {
			return a, nil
		} // the server may have hung up: try a new connection
	}
	k.close()
	conn, err := k.connect(ctx, u)
	if err != nil {
		return nil, err
	}
	k.conn, k.server = conn, server
	return k.ask(ctx, u)
}

func (c *Client) connect(ctx context.Context, u *url.URL) (net.Conn, error) {
	conn, err := c.Dial(ctx, HostPort(u))
	if err != nil || u.Scheme != "https" {
		return conn, err
	}
	over := tls.Client(conn, tlsfacts.Lenient(u.Hostname()))
	if err := over.HandshakeContext(ctx); err != nil {
		_ = conn.Close()
		return nil, fmt.Errorf("TLS: %w", err)
	}
	return over, nil
}

// ask uses the connection, and closes it unless it can be used again.
func (k *keeper) ask(ctx context.Context, u *url.URL) (*Answer, error) {
	conn := k.conn
	defer context.AfterFunc(ctx, func() { _ = conn.SetDeadline(time.Unix(1, 0)) })()
	// The answer may begin before the request is written whole: only the answer counts.
	_, _ = conn.Write([]byte("GET " + requestPath(u) + " HTTP/1.1\r\nHost: " + hostField(u) +
		"\r\nUser-Agent: " + agent + "\r\nAccept: text/html,*/*;q=0.8\r\n\r\n"))
	a, err := readAnswer(ctx, conn, cmp.Or(k.Memory, membudget.Process()).Share())
	if err != nil || !a.ended {
		k.close()
	}
	return a, err
}

// requestPath is the path and query of a request line: printable ASCII without spaces.
func requestPath(u *url.URL) string {
	path := u.RequestURI()
	if !strings.HasPrefix(path, "/") {
		return "/"
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

// hostField is the Host of a request, with a port where it is not the default.
func hostField(u *url.URL) string {
	host := u.Hostname()
	if strings.Contains(host, ":") {
		host = "[" + host + "]"
	}
	if p := u.Port(); p != "" && p != defaultPort(u.Scheme) {
		host += ":" + p
	}
	return strings.Map(func(c rune) rune {
		if c <= ' ' || c >= 0x7f {
			return -1
		}
		return c
	}, host)
}

func defaultPort(scheme string) string {
	if scheme == "https" {
		return "443"
	}
	return "80"
}

// HostPort is the address of a URL's server.
func HostPort(u *url.URL) string {
	p := u.Port()
	if p == "" {
		p = defaultPort(u.Scheme)
	}
	return net.JoinHostPort(u.Hostname(), p)
}
