package web

import (
	"cmp"
	"context"
	"crypto/tls"
	"net"
	"net/netip"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/tlsfacts"
)

// longIdle is the idle time after which a connection is checked before use.
const longIdle = time.Second

func (c *Client) connect(ctx context.Context, req *Request, kept bool) (*conn, error) {
	o := req.origin()
	for kept {
		cn := c.pool.get(o, !idempotent(req.method()))
		if cn == nil {
			break
		}
		// What cannot be sent twice needs a connection that is surely open.
		if (!idempotent(req.method()) || time.Since(cn.since) > longIdle) && cn.stale() {
			c.stats.stale.Add(1)
			cn.close()
			continue
		}
		return cn, nil
	}
	socket, err := c.dial(ctx, o.hostPort)
	if err != nil {
		return nil, err
	}
	c.stats.open.Add(1)
	cn := &conn{Conn: socket, origin: o, socket: socket, client: c, ip: ipOf(socket)}
	if o.scheme != "https" {
		return cn, nil
	}
	if err := c.handshake(ctx, cn, req); err != nil {
		cn.close()
		return nil, err
	}
	return cn, nil
}

func (c *Client) dial(ctx context.Context, hostPort string) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	socket, err := c.cfg.Dial(ctx, "tcp", hostPort)
	if err != nil {
		return nil, &Error{Kind: KindDial, Err: err}
	}
	c.stats.connections.Add(1)
	return socket, nil
}

func (c *Client) handshake(ctx context.Context, cn *conn, req *Request) error {
	cfg := c.tls.Clone()
	cfg.ServerName = cmp.Or(req.SNI, c.cfg.SNI, req.Address.Hostname())
	if req.Fresh {
		cfg.ClientSessionCache = nil
	}
	secure := tls.Client(cn.socket, cfg)
	ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
	defer cancel()
	if err := secure.HandshakeContext(ctx); err != nil {
		return &Error{Kind: KindTLS, Err: err}
	}
	state := secure.ConnectionState()
	cn.Conn, cn.tls = secure, &state
	c.stats.handshakes.Add(1)
	if state.DidResume {
		c.stats.resumed.Add(1)
	}
	return nil
}

const sessions = 1024

// tlsConfig accepts bad certificates, which are findings, and shows those of the client.
func tlsConfig(own []tls.Certificate) *tls.Config {
	return &tls.Config{
		Certificates:       own,
		InsecureSkipVerify: true,
		MinVersion:         tls.VersionTLS10,
		CipherSuites:       tlsfacts.AllCiphers(),
		// Without the post-quantum exchange: its ClientHello takes two packets, which some servers refuse, and costs
		// more than the rest of the handshake.
		CurvePreferences:   []tls.CurveID{tls.X25519, tls.CurveP256, tls.CurveP384, tls.CurveP521},
		Renegotiation:      tls.RenegotiateOnceAsClient,
		ClientSessionCache: tls.NewLRUClientSessionCache(sessions),
	}
}

func ipOf(conn net.Conn) string {
	addr := conn.RemoteAddr()
	if addr == nil {
		return ""
	}
	if tcp, ok := addr.(*net.TCPAddr); ok {
		ip, _ := netip.AddrFromSlice(tcp.IP)
		return ip.Unmap().String()
	}
	host, _, err := net.SplitHostPort(addr.String())
	if err != nil {
		return ""
	}
	return host
}
