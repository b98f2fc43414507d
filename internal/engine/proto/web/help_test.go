package web_test

import (
	"bufio"
	"bytes"
	"io"
	"net"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/klauspost/compress/gzip"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// newClient makes a client for the time of the test.
func newClient(t testing.TB, cfg web.Config) *web.Client {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = time.Minute
	}
	if cfg.UserAgent == "" {
		cfg.UserAgent = "ua"
	}
	c := web.New(cfg)
	t.Cleanup(c.Close)
	return c
}

// get sends a request with a client of its own.
func get(t testing.TB, cfg web.Config, req web.Request) (*web.Exchange, error) {
	t.Helper()
	return newClient(t, cfg).Do(t.Context(), req)
}

// listen starts a raw server on loopback for the time of the test; handle is called for
// each connection, in the order in which they come, with its number from 0. The
// connection is closed when handle returns.
func listen(t testing.TB, handle func(n int, c net.Conn)) rawurl.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	var mu sync.Mutex
	var all []net.Conn
	var running sync.WaitGroup
	running.Go(func() {
		for n := 0; ; n++ {
			c, err := l.Accept()
			if err != nil {
				return
			}
			mu.Lock()
			all = append(all, c)
			mu.Unlock()
			running.Go(func() {
				defer c.Close()
				handle(n, c)
			})
		}
	})
	t.Cleanup(func() {
		l.Close()
		mu.Lock()
		for _, c := range all {
			c.Close()
		}
		mu.Unlock()
		running.Wait()
	})
	return rawurl.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"}
}

// request reads one request, byte by byte as it came; "" when the connection is over.
func request(r *bufio.Reader) string {
	var text strings.Builder
	length, chunked := 0, false
	for {
		line, err := r.ReadString('\n')
		if text.WriteString(line); err != nil {
			return ""
		}
		if line == "\r\n" {
			break
		}
		name, value, _ := strings.Cut(strings.TrimSpace(line), ":")
		switch strings.ToLower(name) {
		case "content-length":
			length, _ = strconv.Atoi(strings.TrimSpace(value))
		case "transfer-encoding":
			chunked = true
		}
	}
	for chunked && !strings.HasSuffix(text.String(), "\r\n0\r\n\r\n") {
		c, err := r.ReadByte()
		if text.WriteByte(c); err != nil {
			return ""
		}
	}
	if _, err := io.CopyN(&text, r, int64(length)); err != nil {
		return ""
	}
	return text.String()
}

// answering starts a server that answers every request of a connection with these
// bytes, and closes the connection after the first when the bytes end it.
func answering(t testing.TB, raw string, thenClose bool) rawurl.URL {
	return listen(t, func(_ int, c net.Conn) {
		r := bufio.NewReader(c)
		for request(r) != "" {
			if _, err := io.WriteString(c, raw); err != nil || thenClose {
				return
			}
		}
	})
}

// recording starts a server that answers 200 and hands on every request as it came.
func recording(t testing.TB) (rawurl.URL, <-chan string) {
	seen := make(chan string, 100)
	return listen(t, func(_ int, c net.Conn) {
		r := bufio.NewReader(c)
		for {
			text := request(r)
			if text == "" {
				return
			}
			seen <- text
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")
		}
	}), seen
}

// reset closes a connection so that the other side sees a reset.
func reset(c net.Conn) {
	if tcp, ok := c.(*net.TCPConn); ok {
		tcp.SetLinger(0)
	}
	c.Close()
}

func zipped(data []byte) []byte {
	var b bytes.Buffer
	w, _ := gzip.NewWriterLevel(&b, gzip.BestSpeed)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

// eventually waits until a condition holds.
func eventually(t testing.TB, what string, holds func() bool) {
	t.Helper()
	for deadline := time.Now().Add(time.Minute); !holds(); runtime.Gosched() {
		if time.Now().After(deadline) {
			stacks := make([]byte, 64<<10)
			t.Fatalf("%s did not come about\n%s", what, stacks[:runtime.Stack(stacks, true)])
		}
	}
}
