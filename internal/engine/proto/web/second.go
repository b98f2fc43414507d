package web

import (
	"bytes"
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"strings"
	"time"
)

// second speaks HTTP/2, for the servers that speak nothing else (template language
// 2.11). It is asked once for a request whose answer was no HTTP/1.
type second struct {
	client    *Client
	transport *http.Transport
}

func newSecond(c *Client) *second {
	var only http.Protocols
	only.SetHTTP2(true)
	only.SetUnencryptedHTTP2(true)
	return &second{client: c, transport: &http.Transport{
		Protocols: &only,
		DialContext: func(ctx context.Context, _, addr string) (net.Conn, error) {
			return c.dial(ctx, addr)
		},
		TLSClientConfig:        c.tls.Clone(), // it is told to offer h2
		TLSHandshakeTimeout:    c.cfg.Timeout,
		DisableCompression:     true,
		MaxResponseHeaderBytes: int64(c.cfg.MaxHead),
		IdleConnTimeout:        idleTimeout,
	}}
}

func (s *second) close() { s.transport.CloseIdleConnections() }

// exchange sends a request and reads its answer, which looks like one of HTTP/1.
func (s *second) exchange(ctx context.Context, req *Request, add extra) (*Exchange, error) {
	c := s.client
	ctx, cancel := context.WithTimeout(ctx, c.whole(req))
	defer cancel()
	out, err := s.outgoing(ctx, req, add)
	if err != nil {
		return nil, err
	}
	x := c.begin(&conn{}, req, add)
	out = out.WithContext(httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
		GotConn:          func(info httptrace.GotConnInfo) { x.IP = ipOf(info.Conn) },
		TLSHandshakeDone: func(tls.ConnectionState, error) { c.stats.handshakes.Add(1) },
	}))
	in, err := s.transport.RoundTrip(out)
	if err != nil {
		return nil, err
	}
	defer in.Body.Close()
	c.stats.requests.Add(1)
	x.TLS = in.TLS
	if x.framing, err = x.parseHead(secondHead(in)); err != nil {
		return nil, err
	}
	x.Duration = time.Since(x.At)
	limit := c.cfg.MaxBody
	if req.MaxBody > 0 {
		limit = min(limit, req.MaxBody)
	}
	x.Body, err = c.collect(in.Body, -1, limit, &room{client: c, ctx: ctx, x: x, need: 2 * limit})
	x.Truncated = err != nil
	c.decode(ctx, x, limit)
	x.settle()
	return x, nil
}

// outgoing makes the request of the library.
func (s *second) outgoing(ctx context.Context, req *Request, add extra) (*http.Request, error) {
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

// secondHead writes the head of an answer as HTTP/1 would.
func secondHead(in *http.Response) []byte {
	var b bytes.Buffer
	fmt.Fprintf(&b, "HTTP/2.0 %s\r\n", in.Status)
	if in.ContentLength >= 0 && in.Header.Get("Content-Length") == "" {
		fmt.Fprintf(&b, "Content-Length: %d\r\n", in.ContentLength)
	}
	_ = in.Header.Write(&b) // fails never: memory
	b.WriteString("\r\n")
	return b.Bytes()
}
