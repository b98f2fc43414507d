// Package web sends HTTP/1.1 requests and reads responses, on its own connections.
//
// Requests are sent byte for byte as built, and responses of broken servers are read as far as they make sense.
// Header, body, decompression, memory and time are bounded; the rest is cut. Every connection, also for redirects, is
// dialled with the given function.
//
// The calling goroutine reads an exchange. The end of its context interrupts it at once.
package web

import (
	"bytes"
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/membudget"
	"github.com/vedette-sec/vedette/internal/infra/traffic"
)

// Config configures a Client. Zero fields get the defaults below.
type Config struct {
	Dial func(ctx context.Context, network, addr string) (net.Conn, error)
	// of dial and TLS handshake each; an exchange gets three times as long, once if it is raw and its head has no end
	Timeout   time.Duration
	MaxBody   int64 // of a body that are kept, before and after decompression
	MaxHead   int   // of status line and header; longer is an error
	PerHost   int   // idle connections for a host, scheme and SNI
	MaxIdle   int   // idle connections; the oldest is closed first
	UserAgent string
	Headers   []Header // of every request; they replace the request's own
	SNI       string   // server name for TLS, of requests without their own; "" means their host
	// Certificates are shown to servers that ask for one.
	Certificates []tls.Certificate
	// Record gets each request that was sent, from any goroutine; it must not wait. nil: nobody asks.
	Record func(traffic.Exchange)

	// Memory bounds the memory of all heads and bodies that are being read or not released (Exchange.Release), without
	// the first 64 KiB of each. A body waits for memory as long as an exchange may last, and is then cut; a head is then
	// an error. nil: that of the process.
	Memory *membudget.Budget
}

// The defaults.
const (
	DefaultTimeout   = 10 * time.Second
	DefaultMaxBody   = 10 << 20
	DefaultMaxHead   = 4 << 20
	DefaultPerHost   = 10
	DefaultMaxIdle   = 1000
	DefaultUserAgent = "Mozilla/5.0 (compatible; Vedette/1.0; security scanner)"
	idleTimeout      = 30 * time.Second
)

// Client sends requests and keeps connections. It is safe for any number of goroutines; Close it when done.
type Client struct {
	cfg    Config
	tls    *tls.Config
	pool   *pool
	memory *membudget.Budget
	stats  counters
	http2  *http2Client // HTTP/2, for servers that speak nothing else

	speaksTLS    sync.Map    // HostPort of servers that want TLS
	anySpeaksTLS atomic.Bool // speaksTLS is not empty

	requests sync.Pool // of *[]byte, for writing
	buffers  sync.Pool // of *[]byte, for reading
	scratch  sync.Pool // of *bytes.Buffer, for bodies of unknown size
	gzips    sync.Pool // of *gzip.Reader
}

// New makes a client.
func New(cfg Config) *Client {
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{}).DialContext
	}
	cfg.Timeout = cmp.Or(cfg.Timeout, DefaultTimeout)
	cfg.MaxBody = cmp.Or(cfg.MaxBody, DefaultMaxBody)
	cfg.MaxHead = cmp.Or(cfg.MaxHead, DefaultMaxHead)
	cfg.PerHost = cmp.Or(cfg.PerHost, DefaultPerHost)
	cfg.MaxIdle = cmp.Or(cfg.MaxIdle, DefaultMaxIdle)
	cfg.Memory = cmp.Or(cfg.Memory, membudget.Process())
	cfg.UserAgent = cmp.Or(cfg.UserAgent, DefaultUserAgent)
	c := &Client{cfg: cfg, tls: tlsConfig(cfg.Certificates), pool: newPool(cfg.PerHost, cfg.MaxIdle), memory: cfg.Memory}
	c.http2 = newHTTP2(c)
	return c
}

// Close closes idle connections, and those of running exchanges after these.
func (c *Client) Close() {
	c.pool.close()
	c.http2.close()
}

// counters are for tests.
type counters struct {
	requests    atomic.Int64 // each attempt
	connections atomic.Int64
	handshakes  atomic.Int64
	resumed     atomic.Int64 // TLS handshakes that resumed a session
	stale       atomic.Int64 // kept connections that turned out to be closed
	in          atomic.Int64 // bytes read, after decryption
	open        atomic.Int64 // connections, idle ones included
}

// Do sends one request and reads its response; Follow follows redirects. A kept connection that turns out to be
// closed is replaced, unless the request may have taken effect. Incomplete responses are responses; an error (*Error
// or that of ctx) means that there was none.
func (c *Client) Do(ctx context.Context, req Request) (*Exchange, error) {
	if err := req.check(); err != nil {
		return nil, err
	}
	c.correct(&req)
	add := extra{cookies: req.Jar.line(req.Address), authorization: req.authorization()}
	x, err := c.attempt(ctx, &req, add)
	if err == nil && x.challenged() {
		x.Release()
		add.authorization = req.authorization()
		x, err = c.attempt(ctx, &req, add)
	}
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, failure(err)
	}
	req.Jar.Keep(x)
	c.remember(x)
	return x, nil
}

// correct changes http to https for a server that is known to want TLS (template language 2.11).
func (c *Client) correct(req *Request) {
	if req.Address.Scheme != "http" || !c.anySpeaksTLS.Load() {
		return
	}
	if _, ok := c.speaksTLS.Load(req.Address.HostPort()); ok {
		req.Address = req.Address.WithPort(req.Address.Port()) // of http, also where none was written
		req.Address.Scheme = "https"
	}
}

func (c *Client) remember(x *Exchange) {
	const complaint = "The plain HTTP request was sent to HTTPS port"
	if x.Status == 400 && x.Request.Address.Scheme == "http" && bytes.Contains(x.Body, []byte(complaint)) {
		c.speaksTLS.Store(x.Request.Address.HostPort(), true)
		c.anySpeaksTLS.Store(true)
	}
}

// attempt sends a request on a kept connection, or on a new one; in HTTP/2 where the server answers so.
func (c *Client) attempt(ctx context.Context, req *Request, add extra) (*Exchange, error) {
	if req.Raw == nil && c.http2.knows(req) {
		return c.http2.exchange(ctx, req, add)
	}
	kept := !req.Fresh && req.Raw == nil
	for {
		cn, err := c.connect(ctx, req, kept)
		if err != nil {
			return nil, err
		}
		used := cn.served > 0
		x, err := c.exchange(ctx, cn, req, add)
		e, failed := errors.AsType[*Error](err)
		switch {
		case !failed || ctx.Err() != nil:
			return x, err
		case used && e.silent && e.Kind != KindTimeout:
			c.stats.stale.Add(1)
			if !idempotent(req.method()) && e.Kind != KindReset {
				return nil, err
			}
			kept = false // once more, on a connection that cannot be stale
		case e.http2 && req.Raw == nil:
			return c.http2.exchange(ctx, req, add)
		default:
			return nil, err
		}
	}
}

// whole is the time limit of an exchange; short for a raw request whose head has no end: the server waits for it.
func (c *Client) whole(req *Request) time.Duration {
	switch {
	case req.Timeout > 0:
		return req.Timeout
	case req.endless():
		return c.cfg.Timeout
	}
	return 3 * c.cfg.Timeout
}

// endless reports whether the request is a raw one whose head has no end.
func (r *Request) endless() bool {
	return r.Raw != nil && !bytes.Contains(r.Raw, []byte("\n\r\n")) && !bytes.Contains(r.Raw, []byte("\n\n"))
}

// exchange sends one request on a connection, which is then kept or closed. An error is that of ctx or an *Error.
func (c *Client) exchange(ctx context.Context, cn *conn, req *Request, add extra) (*Exchange, error) {
	x := c.begin(cn, req, add)
	box, ok := c.requests.Get().(*[]byte)
	if !ok {
		box = new([]byte)
	}
	*box = c.appendRequest((*box)[:0], req, add)
	again, err := false, cn.ready(ctx, x.At.Add(c.whole(req)))
	if err == nil {
		cn.send(*box)
		c.stats.requests.Add(1)
		if req.endless() {
			defer time.AfterFunc(c.cfg.Timeout/5, cn.endRequest).Stop()
		}
		again, err = c.receive(ctx, cn, x)
		c.record(x, err)
	}
	if again && cn.sent() && !req.Fresh && req.Raw == nil {
		c.pool.put(cn)
	} else {
		cn.finish()
	}
	if cap(*box) <= bigWrite {
		c.requests.Put(box)
	}
	switch {
	case ctx.Err() != nil:
		x.Release()
		return nil, ctx.Err()
	case err != nil:
		x.Release()
		return nil, failure(err)
	}
	return x, nil
}

func (c *Client) begin(cn *conn, req *Request, add extra) *Exchange {
	return &Exchange{Request: *req, client: c, extra: add, IP: cn.ip, TLS: cn.tls, At: time.Now()}
}
