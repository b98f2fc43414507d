package web_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/digest"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// scripted is a connection that swallows what is written and gives bytes to read, cut
// as a server might cut them into packets.
type scripted struct {
	data []byte
	cut  int // bytes a read; 0 means all
}

func (c *scripted) Read(p []byte) (int, error) {
	if len(c.data) == 0 {
		return 0, io.EOF
	}
	if c.cut > 0 {
		p = p[:min(len(p), c.cut)]
	}
	n := copy(p, c.data)
	c.data = c.data[n:]
	return n, nil
}

func (c *scripted) Write(p []byte) (int, error)      { return len(p), nil }
func (c *scripted) Close() error                     { return nil }
func (c *scripted) LocalAddr() net.Addr              { return &net.TCPAddr{} }
func (c *scripted) RemoteAddr() net.Addr             { return &net.TCPAddr{} }
func (c *scripted) SetDeadline(time.Time) error      { return nil }
func (c *scripted) SetReadDeadline(time.Time) error  { return nil }
func (c *scripted) SetWriteDeadline(time.Time) error { return nil }

// scriptedClient makes a client whose every connection answers these bytes.
func scriptedClient(raw []byte, cut int) *web.Client {
	return web.New(web.Config{MaxBody: 1 << 10, MaxHead: 1 << 16,
		Dial: func(context.Context, string, string) (net.Conn, error) {
			return &scripted{bytes.Clone(raw), cut}, nil
		}})
}

// outline is what was read, as text.
func outline(x *web.Exchange, err error) string {
	if err != nil {
		return "error"
	}
	return fmt.Sprint(x.Status, x.Truncated, string(x.Head()), string(x.Body))
}

// FuzzResponse: whatever a server sends, reading it ends within the bounds, what is
// read can be shown, and it is the same however it comes in packets.
func FuzzResponse(f *testing.F) {
	for _, c := range odd {
		f.Add([]byte(c.raw), "GET", uint8(1))
	}
	f.Add([]byte("HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nSet-Cookie: \x00\r\nLocation: //x\\y\r\n\r\n"), "HEAD", uint8(2))
	f.Add([]byte("HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b\b\x00"), "GET", uint8(3))
	f.Add([]byte("HTTP/1.1 401 No\r\nWWW-Authenticate: Digest nonce=\"a\\\r\n\r\n"), "GET", uint8(7))
	f.Fuzz(func(t *testing.T, raw []byte, method string, cut uint8) {
		var first string
		for i, size := range []int{0, int(cut) + 1, 1} {
			c := scriptedClient(raw, size)
			req := web.Request{Address: rawurl.URL{Scheme: "http", Host: "h.example"}, Method: method,
				Digest: &digest.Credentials{Nonce: func() string { return "n" }}, Jar: web.NewJar()}
			x, err := c.Do(t.Context(), req)
			if got := outline(x, err); i == 0 {
				first = got
			} else if got != first {
				t.Fatalf("in packets of %d\n got %q\nwant %q", size, got, first)
			}
			if err != nil {
				if web.Reason(err) == "" {
					t.Error("no reason")
				}
				continue
			}
			if len(x.Body) > 1<<10 || len(x.Head()) > 1<<18 {
				t.Errorf("%d bytes of body, %d of head", len(x.Body), len(x.Head()))
			}
			for _, part := range []string{"status_code", "content_length", "content_type", "a", "tls_version", "location",
				"response", "request", "curl-command"} {
				x.Named(part)
			}
			if _, err := c.Follow(t.Context(), x,
				web.Policy{Mode: web.AllRedirects, Max: 2}); (&web.Request{Method: "POST"}).RetrySafe(err) {
				t.Error("a POST would be tried again")
			}
			c.Close()
			if n := c.Stats().Open; n != 0 {
				t.Errorf("%d connections are open", n)
			}
		}
	})
}

// FuzzRequest: what a template or a server puts into a request stays one request, of
// the lines that were asked for.
func FuzzRequest(f *testing.F) {
	f.Add("POST", "/a?b", "h.example", "X", "y", []byte("body"), false)
	f.Add("GET", "/ HTTP/1.1\r\nA: b", "h\r\n", "X: y\r\nZ", "\r\n\r\n", []byte{}, false)
	f.Add("PUT", "", "", "Transfer-Encoding", "chunked", []byte("x"), false)
	f.Add("", "*", "a:80", "Content-Length", "-1", []byte("GET / HTTP/1.1\r\nHost: x\r\n\r\n"), true)
	f.Fuzz(func(t *testing.T, method, target, host, name, value string, body []byte, raw bool) {
		c := scriptedClient([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"), 0)
		defer c.Close()
		req := web.Request{Address: rawurl.URL{Scheme: "http", Host: "h.example"}, Method: method, Target: target, Host: host,
			Headers: []web.Header{{name, value}}, Body: body, NoDefaults: true}
		if raw {
			req.Raw = append([]byte{}, body...)
		}
		x, err := c.Do(t.Context(), req)
		if err != nil {
			return
		}
		if raw {
			if !bytes.Equal(x.Sent(), body) {
				t.Errorf("%q became %q", body, x.Sent())
			}
			return
		}
		head, _, _ := strings.Cut(string(x.Sent()), "\r\n\r\n")
		if lines := strings.Count(head, "\r\n"); lines > 3 || strings.Count(head, "\n") != lines ||
			strings.Count(head, "\r") != lines {
			t.Errorf("%q", head)
		}
		x.Curl()
	})
}
