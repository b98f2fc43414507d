package web

import (
	"bytes"
	"context"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// http2Client is HTTP/2, for servers that answer HTTP/1 with an HTTP/2 frame (template language 2.11).
type http2Client struct {
	client    *Client
	transport *http.Transport

	known sync.Map // of origin: those that answered
	any   atomic.Bool
}

const (
	frameHeader = 9

	// Bounds of what net/http reads ahead, which is in no share of Config.Memory.
	maxHTTP2Head = 256 << 10 // bytes of a header
	streamBuffer = 256 << 10 // bytes of a body that nobody has read
)

// isFrame reports whether bytes begin an HTTP/2 connection: SETTINGS, or GOAWAY for what the server does not
// understand, both for stream 0 (RFC 9113).
func isFrame(b []byte) bool {
	const goAway, settings = 7, 4
	return len(b) >= frameHeader && (b[3] == settings || b[3] == goAway) && string(b[5:frameHeader]) == "\x00\x00\x00\x00"
}

func (s *http2Client) knows(req *Request) bool {
	if !s.any.Load() {
		return false
	}
	_, ok := s.known.Load(req.origin())
	return ok
}

func newHTTP2(c *Client) *http2Client {
	var only http.Protocols
	only.SetHTTP2(true)
	only.SetUnencryptedHTTP2(true)
	secure := c.tls.Clone() // net/http adds h2 to it
	secure.ServerName = c.cfg.SNI
	return &http2Client{client: c, transport: &http.Transport{
		Protocols: &only,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return c.dial(ctx, addr)
		},
		TLSClientConfig:        secure,
		TLSHandshakeTimeout:    c.cfg.Timeout,
		DisableCompression:     true,
		MaxResponseHeaderBytes: int64(min(c.cfg.MaxHead, maxHTTP2Head)),
		HTTP2: &http.HTTP2Config{
			MaxReceiveBufferPerStream: streamBuffer, MaxReceiveBufferPerConnection: 4 * streamBuffer,
		},
		IdleConnTimeout: idleTimeout,
	}}
}

func (s *http2Client) close() { s.transport.CloseIdleConnections() }

// exchange sends a request and makes its response look like one of HTTP/1.
func (s *http2Client) exchange(ctx context.Context, req *Request, add extra) (*Exchange, error) {
	c := s.client
	ctx, cancel := context.WithTimeout(ctx, c.whole(req))
	defer cancel()
	out, err := s.outgoing(ctx, req, add)
	if err != nil {
		return nil, err
	}
	x := c.begin(&conn{}, req, add)
	out = out.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn: func(info httptrace.GotConnInfo) { x.IP = ipOf(info.Conn) },
	}))
	in, err := s.transport.RoundTrip(out)
	if err != nil {
		c.record(x, err)
		return nil, err
	}
	defer in.Body.Close()
	c.stats.requests.Add(1)
	x.TLS = in.TLS
	if x.framing, err = x.parseHead(http2Head(in)); err != nil {
		return nil, err
	}
	x.Duration = time.Since(x.At)
	limit := c.bodyLimit(req)
	x.Body, err = c.collect(in.Body, -1, limit, &bodyMemory{ctx: ctx, x: x, need: codeFactor * limit})
	x.Truncated = err != nil
	c.decode(ctx, x, limit)
	x.settle()
	c.record(x, nil)
	s.known.Store(req.origin(), true)
	s.any.Store(true)
	return x, nil
}

func (s *http2Client) outgoing(ctx context.Context, req *Request, add extra) (*http.Request, error) {
	out, err := http.NewRequestWithContext(ctx, req.method(), req.Address.String(), bytes.NewReader(req.Body))
	if err != nil {
		return nil, err
	}
	out.URL.Opaque, out.URL.RawQuery = "//"+req.Address.Host+req.target(), "" // the target as it is
	for _, h := range s.client.lines(req, add) {
		switch strings.ToLower(h.Name) {
		case "host":
			out.Host = h.Value
		case "connection", "content-length", "transfer-encoding", "upgrade", "keep-alive", "proxy-connection":
		default:
			out.Header[h.Name] = append(out.Header[h.Name], h.Value)
		}
	}
	return out, nil
}

// http2Head is the head of a response in HTTP/1 form.
func http2Head(in *http.Response) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/2.0 %s\r\n", in.Status)
	if in.ContentLength >= 0 && in.Header.Get("Content-Length") == "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", in.ContentLength)
	}
	_ = in.Header.Write(&b) // never fails: memory
	b.WriteString("\r\n")
	return b.Bytes()
}
