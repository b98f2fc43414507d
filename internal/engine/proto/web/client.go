// Package web sends HTTP/1.1 requests and reads the responses, on connections of its own.
//
// Requests leave byte for byte as they were built, and broken servers are read as far
// as they make sense. It trusts no server: header, body, decompression, memory and time
// have bounds, and what is over them is cut, not stored. It dials only through the
// function it was given, wherever a redirect leads.
//
// An exchange is read by the goroutine that asks for it; no other is started. The end
// of a context interrupts it at once.
package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"sync/atomic"
	"time"
)

// Config is what a Client needs. Zero fields get the defaults below.
type Config struct {
	Dial      func(ctx context.Context, network, addr string) (net.Conn, error)
	Timeout   time.Duration // for each of dial and TLS handshake; an exchange gets three of it from its first byte to its last, one when it is raw and its head has no end
	MaxBody   int64         // bytes kept of a body, before and after decompression
	MaxHead   int           // bytes of a response's status line and header; a longer one is an error
	PerHost   int           // idle connections kept for a host, scheme and SNI
	MaxIdle   int           // idle connections kept in all; the oldest is closed first
	UserAgent string
	Headers   []Header // sent with every request; they win over the request's own

	// BodyMemory bounds the bytes of all bodies beyond 64 KiB each that are being read,
	// or were read and not released (Exchange.Release). A body that finds no room waits
	// for it as long as an exchange may last, with its server held back, and is then cut.
	BodyMemory int64
}

// The defaults.
const (
	DefaultTimeout    = 10 * time.Second
	DefaultMaxBody    = 10 << 20
	DefaultMaxHead    = 4 << 20
	DefaultPerHost    = 10
	DefaultMaxIdle    = 1000
	DefaultBodyMemory = 256 << 20
	DefaultUserAgent  = "Mozilla/5.0 (compatible; Vedette/1.0; security scanner)"
	idleTimeout       = 30 * time.Second
)

// Client sends requests over connections that it keeps. It is safe for any number of
// goroutines; Close it when done.
type Client struct {
	cfg    Config
	tls    *tls.Config
	pool   *pool
	budget *budget
	stats  counters
	second *second // HTTP/2, for servers that speak nothing else

	speaksTLS    sync.Map    // of HostPort: it said that plain http is the wrong protocol
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
	cfg.Timeout = orDefault(cfg.Timeout, DefaultTimeout)
	cfg.MaxBody = orDefault(cfg.MaxBody, DefaultMaxBody)
	cfg.MaxHead = orDefault(cfg.MaxHead, DefaultMaxHead)
	cfg.PerHost = orDefault(cfg.PerHost, DefaultPerHost)
	cfg.MaxIdle = orDefault(cfg.MaxIdle, DefaultMaxIdle)
	cfg.BodyMemory = orDefault(cfg.BodyMemory, DefaultBodyMemory)
	if cfg.UserAgent == "" {
		cfg.UserAgent = DefaultUserAgent
	}
	c := &Client{cfg: cfg, tls: tlsConfig(), pool: newPool(cfg.PerHost, cfg.MaxIdle), budget: newBudget(cfg.BodyMemory)}
	c.second = newSecond(c)
	return c
}

func orDefault[T int | int64 | time.Duration](value, otherwise T) T {
	if value <= 0 {
		return otherwise
	}
	return value
}

// Close ends the connections that are idle. Exchanges that still run go on; their
// connections are closed after them.
func (c *Client) Close() {
	c.pool.close()
	c.second.close()
}

// Stats are counts since the client was made.
type Stats struct {
	Requests    int64 // put on the wire, each attempt
	Connections int64 // dialled
	Handshakes  int64 // of TLS, resumed ones included
	Resumed     int64 // TLS handshakes that resumed a session
	Stale       int64 // kept connections that turned out to be closed
	BytesOut    int64 // written, before encryption
	BytesIn     int64 // read, after decryption
	Open        int64 // connections open now, idle ones included
}

type counters struct {
	requests, connections, handshakes, resumed, stale, out, in, open atomic.Int64
}

// Stats returns the counts.
func (c *Client) Stats() Stats {
	s := &c.stats
	return Stats{
		Requests: s.requests.Load(), Connections: s.connections.Load(), Handshakes: s.handshakes.Load(), Resumed: s.resumed.Load(),
		Stale: s.stale.Load(), BytesOut: s.out.Load(), BytesIn: s.in.Load(), Open: s.open.Load(),
	}
}

// Do sends one request and reads its answer; redirects are for Follow. A kept
// connection that turns out to be closed is replaced by a new one, unless the request
// may have been acted upon. Answers that break off are answers; an error (an *Error, or
// that of ctx) means that there was none.
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

// correct turns http into https for a server that has said that it wants TLS (template
// language 2.11).
func (c *Client) correct(req *Request) {
	if req.Address.Scheme != "http" || !c.anySpeaksTLS.Load() {
		return
	}
	if _, ok := c.speaksTLS.Load(req.Address.HostPort()); ok {
		req.Address = req.Address.WithPort(req.Address.Port()) // of http, also where none was written
		req.Address.Scheme = "https"
	}
}

// remember takes note of a server that wants TLS.
func (c *Client) remember(x *Exchange) {
	const complaint = "The plain HTTP request was sent to HTTPS port"
	if x.Status == 400 && x.Request.Address.Scheme == "http" && bytes.Contains(x.Body, []byte(complaint)) {
		c.speaksTLS.Store(x.Request.Address.HostPort(), true)
		c.anySpeaksTLS.Store(true)
	}
}

// attempt sends a request on a kept connection, or on a new one when there is none or
// the kept one is gone. A server that answers in HTTP/2 is asked in HTTP/2.
func (c *Client) attempt(ctx context.Context, req *Request, add extra) (*Exchange, error) {
	if req.Raw == nil && c.second.knows(req) {
		return c.second.exchange(ctx, req, add)
	}
	kept := !req.Fresh && req.Raw == nil
	for {
		cn, err := c.connect(ctx, req, kept)
		if err != nil {
			return nil, err
		}
		used := cn.used
		x, err := c.exchange(ctx, cn, req, add)
		e, failed := errors.AsType[*Error](err)
		switch {
		case !failed || ctx.Err() != nil:
			return x, err
		case used && e.silent && e.Kind != KindTimeout:
			c.stats.stale.Add(1)
			if !idempotent(req.method()) {
				return nil, err
			}
			kept = false // once more, on a connection that cannot be stale
		case e.second && req.Raw == nil:
			return c.second.exchange(ctx, req, add)
		default:
			return nil, err
		}
	}
}

// whole is how long an exchange may last. A server that waits for the end of a head which
// never comes is not waited for as one that thinks.
func (c *Client) whole(req *Request) time.Duration {
	switch {
	case req.Timeout > 0:
		return req.Timeout
	case req.Raw != nil && !bytes.Contains(req.Raw, []byte("\n\r\n")) && !bytes.Contains(req.Raw, []byte("\n\n")):
		return c.cfg.Timeout
	}
	return 3 * c.cfg.Timeout
}

// exchange sends one request on a connection and reads its answer. The connection is
// kept for the next one, or closed. An error is that of ctx or an *Error.
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
		again, err = c.receive(ctx, cn, x)
	}
	if again && cn.sent() && !req.Fresh && req.Raw == nil {
		c.pool.put(cn)
	} else {
		cn.close()
		cn.flushed()
	}
	if cap(*box) <= bigWrite {
		c.requests.Put(box)
	}
	switch {
	case ctx.Err() != nil:
		x.Release()
		return nil, ctx.Err()
	case err != nil:
		return nil, failure(err)
	}
	return x, nil
}

// begin makes the Exchange of a request that is about to be sent.
func (c *Client) begin(cn *conn, req *Request, add extra) *Exchange {
	return &Exchange{Request: *req, client: c, extra: add, IP: cn.ip, TLS: cn.tls, At: time.Now()}
}
