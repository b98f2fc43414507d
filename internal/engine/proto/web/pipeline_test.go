package web_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

func numbered(address rawurl.URL, n int) (reqs []web.Request) {
	for i := range n {
		address.Path = fmt.Sprintf("/%d", i)
		reqs = append(reqs, web.Request{Address: address})
	}
	return reqs
}

// Pipelined requests are all on the wire before the first is answered, and the answers
// find their requests.
func TestPipeline(t *testing.T) {
	const n = 20
	address := listen(t, func(_ int, c net.Conn) {
		r := bufio.NewReader(c)
		var paths []string
		for len(paths) < n {
			paths = append(paths, strings.Fields(request(r))[1])
		}
		for _, path := range paths {
			fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(path), path)
		}
		io.Copy(io.Discard, c)
	})
	c := newClient(t, web.Config{})
	for i, r := range c.Pipeline(t.Context(), numbered(address, n)) {
		if r.Err != nil || string(r.Exchange.Body) != fmt.Sprintf("/%d", i) {
			t.Errorf("%d: %v %+v", i, r.Err, r.Exchange)
		}
	}
	if s := c.Stats(); s.Connections != 1 || s.Requests != n || s.Open != 0 {
		t.Errorf("%+v", s)
	}
}

// A server that closes after some answers gets the rest on further connections; one
// that answers nothing gets no third.
func TestPipelineGoesOn(t *testing.T) {
	for each, want := range map[int]int{1: 5, 2: 3, 0: 1} {
		address := listen(t, func(_ int, c net.Conn) {
			r := bufio.NewReader(c)
			for range each {
				text := request(r)
				if text == "" {
					return
				}
				path := strings.Fields(text)[1]
				fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n%s", len(path), path)
			}
			c.(*net.TCPConn).CloseWrite()
			io.Copy(io.Discard, r)
		})
		c := newClient(t, web.Config{})
		results := c.Pipeline(t.Context(), numbered(address, 5))
		for i, r := range results {
			if each > 0 && (r.Err != nil || string(r.Exchange.Body) != fmt.Sprintf("/%d", i)) || each == 0 &&
				(r.Err == nil || r.Exchange != nil) {
				t.Errorf("%d a connection, %d: %v %+v", each, i, r.Err, r.Exchange)
			}
		}
		if n := c.Stats().Connections; n != int64(want) {
			t.Errorf("%d a connection: %d connections", each, n)
		}
	}
}

// In a race nobody is complete before all are nearly so: while the last connection is
// still being made, the others are silent before their last byte.
func TestRace(t *testing.T) {
	const n = 5
	var quiet sync.WaitGroup
	quiet.Add(n - 1)
	address := listen(t, func(i int, c net.Conn) {
		buf := make([]byte, 1)
		for tail := ""; !strings.HasSuffix(tail, "\r\n\r"); tail += string(buf) {
			if _, err := c.Read(buf); err != nil {
				t.Error(err)
				return
			}
		}
		if i < n-1 {
			c.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
			if _, err := c.Read(buf); err == nil {
				t.Errorf("%q came too early", buf)
			}
			quiet.Done()
		}
		c.SetReadDeadline(time.Now().Add(time.Minute))
		if _, err := c.Read(buf); err != nil || buf[0] != '\n' {
			t.Errorf("the last byte: %q %v", buf, err)
		}
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	})
	var dials atomic.Int64
	c := newClient(t, web.Config{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != address.Host {
			return nil, errors.New("nobody there") // holds nobody up
		}
		if dials.Add(1) == n {
			quiet.Wait()
		}
		return new(net.Dialer).DialContext(ctx, network, addr)
	}})
	reqs := append(numbered(address, n), web.Request{Address: rawurl.URL{Scheme: "http", Host: "gone.example"}})
	for i, r := range c.Race(t.Context(), reqs) {
		if i < n && (r.Err != nil || string(r.Exchange.Body) != "ok") || i == n && r.Err == nil {
			t.Errorf("%d: %v %+v", i, r.Err, r.Exchange)
		}
	}
	if s := c.Stats(); s.Requests != n || s.Open != 0 {
		t.Errorf("%+v", s)
	}
}

// The end of a context ends both.
func TestTogetherIsCancelled(t *testing.T) {
	reached := make(chan struct{}, 10)
	address := listen(t, func(_ int, c net.Conn) {
		ask(c)
		reached <- struct{}{}
		io.Copy(io.Discard, c)
	})
	c := newClient(t, web.Config{Timeout: time.Minute})
	for name, send := range map[string]func(context.Context, []web.Request) []web.Result{"pipeline": c.Pipeline,
		"race": c.Race} {
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-reached; cancel() }()
		for _, r := range send(ctx, numbered(address, 3)) {
			if !errors.Is(r.Err, context.Canceled) {
				t.Errorf("%s: %v", name, r.Err)
			}
		}
	}
	if s := c.Stats(); s.Open != 0 {
		t.Errorf("%+v", s)
	}
}
