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
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

func numbered(address web.Address, n int) (reqs []web.Request) {
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
	conns := 0
	address := listen(t, func(i int, c net.Conn) {
		conns = i + 1
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
	if s := c.Stats(); conns != 1 || s.Requests != n || s.Open != 0 {
		t.Errorf("%d connections, %+v", conns, s)
	}
}

// A server that closes after some answers gets the rest on further connections; one
// that answers nothing gets no third.
func TestPipelineGoesOn(t *testing.T) {
	for each, want := range map[int]int{1: 5, 2: 3, 0: 1} {
		conns := 0
		address := listen(t, func(i int, c net.Conn) {
			conns = i + 1
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
		results := newClient(t, web.Config{}).Pipeline(t.Context(), numbered(address, 5))
		for i, r := range results {
			if each > 0 && (r.Err != nil || string(r.Exchange.Body) != fmt.Sprintf("/%d", i)) || each == 0 && (r.Err == nil || r.Exchange != nil) {
				t.Errorf("%d a connection, %d: %v %+v", each, i, r.Err, r.Exchange)
			}
		}
		if conns != want {
			t.Errorf("%d a connection: %d connections", each, conns)
		}
	}
}

// In a race nobody is complete before all are nearly so, and then all are.
func TestRace(t *testing.T) {
	const n = 10
	var incomplete sync.WaitGroup
	incomplete.Add(n)
	early := make(chan byte, n)
	address := listen(t, func(_ int, c net.Conn) {
		want := "GET /0 HTTP/1.1\r\nHost: " + c.LocalAddr().String() + "\r\n\r"
		buf := make([]byte, len(want))
		if _, err := io.ReadFull(c, buf); err != nil || strings.Replace(string(buf), string(buf[5]), "0", 1) != want {
			t.Errorf("%q %v", buf, err)
		}
		incomplete.Done()
		incomplete.Wait() // would never end if the last byte of one waited for an answer to another
		c.SetReadDeadline(time.Now().Add(5 * time.Second))
		if _, err := c.Read(buf[:1]); err != nil || buf[0] != '\n' {
			t.Errorf("the last byte: %q %v", buf[0], err)
		}
		early <- buf[0]
		io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
	})
	reqs := numbered(address, n)
	for i := range reqs {
		reqs[i].NoDefaults = true
	}
	reqs = append(reqs, web.Request{Address: web.Address{Scheme: "http", Host: "127.0.0.1:1"}}) // nobody is held up by it
	c := newClient(t, web.Config{})
	for i, r := range c.Race(t.Context(), reqs) {
		if i < n && (r.Err != nil || string(r.Exchange.Body) != "ok") || i == n && r.Err == nil {
			t.Errorf("%d: %v %+v", i, r.Err, r.Exchange)
		}
	}
	if s := c.Stats(); len(early) != n || s.Open != 0 {
		t.Errorf("%d last bytes, %+v", len(early), s)
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
	for name, send := range map[string]func(context.Context, []web.Request) []web.Result{"pipeline": c.Pipeline, "race": c.Race} {
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
