// Package web sends HTTP/1.1 requests and reads the answers.
//
// It trusts no server: header, body, decompression and time have bounds, and what is
// over them is cut, not stored. It dials only through the function it was given,
// whatever a redirect says.
package web

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/url"
	"strings"
	"sync"
	"time"
)

// Config is what a Client needs. Zero fields get the defaults below.
type Config struct {
	Dial      func(ctx context.Context, network, addr string) (net.Conn, error)
	Timeout   time.Duration // for each of dial, handshake and header; a whole exchange gets three of it
	MaxBody   int64         // bytes kept of a body, before and after decompression
	PerHost   int           // idle connections kept for a host
	UserAgent string
	Headers   []Header                     // sent with every request; they win over the request's own
	Follow    func(from, to *url.URL) bool // asked before each redirect; nil allows all
}

// The defaults, and the bounds that are not for choosing.
const (
	DefaultTimeout   = 10 * time.Second
	DefaultMaxBody   = 4 << 20
	DefaultPerHost   = 10
	DefaultUserAgent = "Mozilla/5.0 (compatible; Vedette/1.0; security scanner)"
	maxHeaderBytes   = 256 << 10
	idleTimeout      = 30 * time.Second
)

// Client sends requests over connections that it keeps. It is safe for any number of
// goroutines; Close it when done.
type Client struct {
	cfg   Config
	kept  *http.Transport // connections are reused
	fresh *http.Transport // one connection a request, nothing remembered
	spare sync.Pool       // of *bytes.Buffer, for reading bodies
}

// New makes a client.
func New(cfg Config) *Client {
	if cfg.Dial == nil {
		cfg.Dial = (&net.Dialer{}).DialContext
	}
	if cfg.Timeout <= 0 {
		cfg.Timeout = DefaultTimeout
	}
	if cfg.MaxBody <= 0 {
		cfg.MaxBody = DefaultMaxBody
	}
	if cfg.PerHost <= 0 {
		cfg.PerHost = DefaultPerHost
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = DefaultUserAgent
	}
	c := &Client{cfg: cfg}
	c.kept, c.fresh = c.transport(), c.transport()
	c.kept.TLSClientConfig.ClientSessionCache = tls.NewLRUClientSessionCache(0)
	c.fresh.DisableKeepAlives = true
	return c
}

// Close ends the connections that are idle.
func (c *Client) Close() {
	c.kept.CloseIdleConnections()
	c.fresh.CloseIdleConnections()
}

func (c *Client) transport() *http.Transport {
	return &http.Transport{
		Proxy: nil, // a scanner's traffic goes where it was told to, not where the environment says
		DialContext: func(ctx context.Context, network, addr string) (net.Conn, error) {
			ctx, cancel := context.WithTimeout(ctx, c.cfg.Timeout)
			defer cancel()
			return c.cfg.Dial(ctx, network, addr)
		},
		TLSClientConfig: &tls.Config{
			InsecureSkipVerify: true, // bad certificates are findings, not reasons to look away
			MinVersion:         tls.VersionTLS10,
			CipherSuites:       allCiphers(),
			Renegotiation:      tls.RenegotiateOnceAsClient,
		},
		TLSHandshakeTimeout:    c.cfg.Timeout,
		ResponseHeaderTimeout:  c.cfg.Timeout,
		MaxResponseHeaderBytes: maxHeaderBytes,
		MaxIdleConns:           0,
		MaxIdleConnsPerHost:    c.cfg.PerHost,
		IdleConnTimeout:        idleTimeout,
		DisableCompression:     true, // decoded in read.go, with a bound
	}
}

// allCiphers is every suite that can be spoken, weak ones included.
func allCiphers() (ids []uint16) {
	for _, s := range append(tls.CipherSuites(), tls.InsecureCipherSuites()...) {
		ids = append(ids, s.ID)
	}
	return ids
}

// Gate is asked before each request goes out, redirects included; an error stops it.
type Gate func(ctx context.Context) error

// Do sends a request, follows redirects as it says, and gives every answer in order:
// the last is the one that was not, or could not be, followed. With fresh it uses new
// connections and shares nothing. An error means that some request had no answer.
func (c *Client) Do(ctx context.Context, req Request, fresh bool, gate Gate) ([]*Response, error) {
	transport := c.kept
	if fresh {
		transport = c.fresh
	}
	req = c.complete(req)
	trail := trail{client: c, first: req}
	var chain []*Response
	for {
		if gate != nil {
			if err := gate(ctx); err != nil {
				return chain, err
			}
		}
		res, err := c.exchange(ctx, transport, req)
		if err != nil {
			return chain, err
		}
		chain = append(chain, res)
		next, ok := trail.next(res, len(chain))
		if !ok {
			return chain, nil
		}
		req = next
	}
}

// complete adds the headers that every request has.
func (c *Client) complete(req Request) Request {
	headers := make([]Header, 0, len(req.Headers)+len(c.cfg.Headers)+4)
	for _, h := range req.Headers {
		if !hasHeader(c.cfg.Headers, h.Name) {
			headers = append(headers, h)
		}
	}
	headers = append(headers, c.cfg.Headers...)
	for _, h := range []Header{
		{"User-Agent", c.cfg.UserAgent}, {"Accept", "*/*"}, {"Accept-Language", "en"}, {"Accept-Encoding", "gzip"},
	} {
		if !hasHeader(headers, h.Name) {
			headers = append(headers, h)
		}
	}
	req.Headers = headers
	if req.MaxBody <= 0 || req.MaxBody > c.cfg.MaxBody {
		req.MaxBody = c.cfg.MaxBody
	}
	return req
}

func hasHeader(list []Header, name string) bool {
	for _, h := range list {
		if strings.EqualFold(h.Name, name) {
			return true
		}
	}
	return false
}

// exchange sends one request and reads its answer.
func (c *Client) exchange(ctx context.Context, transport *http.Transport, req Request) (*Response, error) {
	whole, cancel := context.WithTimeout(ctx, 3*c.cfg.Timeout)
	defer cancel()
	res := &Response{Request: req, At: time.Now()}
	trace := &httptrace.ClientTrace{GotConn: func(info httptrace.GotConnInfo) { res.IP = ipOf(info.Conn) }}
	out := outgoing(httptrace.WithClientTrace(whole, trace), req)
	in, err := transport.RoundTrip(out)
	if err != nil {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		return nil, err
	}
	defer in.Body.Close()
	res.Duration = time.Since(res.At)
	res.fill(in)
	res.Body, res.Truncated = c.read(in, req.MaxBody)
	return res, ctx.Err()
}

// outgoing makes net/http's request.
func outgoing(ctx context.Context, req Request) *http.Request {
	out := (&http.Request{
		Method: req.method(), URL: req.Address.wire(), Host: req.Address.Host,
		Proto: "HTTP/1.1", ProtoMajor: 1, ProtoMinor: 1,
		Header: make(http.Header, len(req.Headers)),
	}).WithContext(ctx)
	for _, h := range req.Headers {
		if strings.EqualFold(h.Name, "Host") {
			out.Host = h.Value
			continue
		}
		out.Header[h.Name] = append(out.Header[h.Name], h.Value)
	}
	if req.Body != "" {
		out.Body = newBody(req.Body)
		out.GetBody = func() (body, error) { return newBody(req.Body), nil }
		out.ContentLength = int64(len(req.Body))
	}
	return out
}

func ipOf(conn net.Conn) string {
	host, _, err := net.SplitHostPort(conn.RemoteAddr().String())
	if err != nil {
		return ""
	}
	return host
}

// Reason says in few words why a request had no answer, without addresses and ports
// that would make each reason different.
func Reason(err error) string {
	var dns *net.DNSError
	var op *net.OpError
	var timeout net.Error
	switch {
	case err == nil:
		return ""
	case errors.As(err, &dns):
		return "the name does not resolve"
	case errors.As(err, &timeout) && timeout.Timeout():
		return "timed out"
	case errors.As(err, &op):
		return op.Op + ": " + op.Err.Error()
	}
	return clip(err.Error())
}
