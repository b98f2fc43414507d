package web_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
)

// ask reads what a client sends first, so that an answer does not come before it.
func ask(c net.Conn) { c.Read(make([]byte, 4096)) }

// Bodies without end, or of a gigabyte, are cut at the bound, at once, and their
// connections are given up.
func TestLongBodies(t *testing.T) {
	for name, c := range map[string]struct {
		head string
		size int64
	}{
		"endless":          {"HTTP/1.1 200 OK\r\n\r\n", 1 << 60},
		"a gigabyte":       {"HTTP/1.1 200 OK\r\nContent-Length: 1073741824\r\n\r\n", 1 << 30},
		"an endless chunk": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n", 1 << 60},
	} {
		ended := make(chan struct{})
		address := listen(t, func(_ int, conn net.Conn) {
			defer close(ended)
			ask(conn)
			io.WriteString(conn, c.head)
			block := bytes.Repeat([]byte{'x'}, 64<<10)
			for sent := int64(0); sent < c.size; sent += int64(len(block)) {
				if _, err := conn.Write(block); err != nil {
					return
				}
			}
		})
		x, err := get(t, web.Config{MaxBody: 1 << 20, Timeout: time.Minute}, web.Request{Address: address})
		if err != nil || len(x.Body) != 1<<20 || !x.Truncated {
			t.Errorf("%s: %v", name, err)
		}
		select {
		case <-ended:
		case <-time.After(time.Minute):
			t.Errorf("%s: the server is still sending", name)
		}
	}
}

// A raw request whose head has no end is ended for a server that waits for the rest: it answers or closes, and either is
// known long before the time is over.
func TestRequestWithoutEnd(t *testing.T) {
	for _, answer := range []string{"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi", ""} {
		address := listen(t, func(_ int, c net.Conn) {
			io.ReadAll(c)
			io.WriteString(c, answer)
		})
		begun := time.Now()
		x, err := get(t, web.Config{Timeout: 5 * time.Second},
			web.Request{Address: address, Raw: []byte("GET / HTTP/1.1\r\nHost: h\r\n")})
		var e *web.Error
		switch {
		case time.Since(begun) > 4*time.Second:
			t.Errorf("%q took %s", answer, time.Since(begun))
		case answer != "" && (err != nil || string(x.Body) != "hi"):
			t.Errorf("%q: %v", answer, err)
		case answer == "" && (!errors.As(err, &e) || e.Kind != web.KindTimeout):
			t.Errorf("closed: %v", err)
		}
	}
}

// A request may want less than the client allows; what is left over of a small body is
// read, and the connection kept.
func TestMaxBodyOfARequest(t *testing.T) {
	address := answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 30000\r\n\r\n"+strings.Repeat("x", 30000), false)
	c := newClient(t, web.Config{})
	for range 3 {
		x, err := c.Do(t.Context(), web.Request{Address: address, MaxBody: 100})
		if err != nil || len(x.Body) != 100 || !x.Truncated {
			t.Fatalf("%v %+v", err, x)
		}
	}
	if s := c.Stats(); s.Connections != 1 || s.BytesIn < 90_000 {
		t.Errorf("%+v", s)
	}
}

// Bombs are cut while they are unpacked.
func TestBombs(t *testing.T) {
	zeros := strings.Repeat("\x00", 64<<20)
	for name, data := range map[string]string{"gzip": string(zipped([]byte(zeros))), "br": brotlied(zeros),
		"zstd": zstded(zeros), "deflate": deflated(zeros)} {
		address := answering(t, "HTTP/1.1 200 OK\r\nContent-Encoding: "+name+"\r\n\r\n"+data, true)
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		x, err := get(t, web.Config{MaxBody: 1 << 20}, web.Request{Address: address})
		runtime.ReadMemStats(&after)
		if err != nil || len(x.Body) != 1<<20 || !x.Truncated {
			t.Errorf("%s: %v", name, err)
		}
		if used := after.TotalAlloc - before.TotalAlloc; used > 40<<20 {
			t.Errorf("%s: %d MiB for a body of one", name, used>>20)
		}
	}
}

func TestManyHeaders(t *testing.T) {
	var b strings.Builder
	for i := range 100_000 {
		fmt.Fprintf(&b, "X-%d: %d\r\n", i, i)
	}
	address := answering(t, "HTTP/1.1 200 OK\r\n"+b.String()+"Content-Length: 3\r\n\r\nabc", false)
	x, err := get(t, web.Config{}, web.Request{Address: address})
	if err != nil || string(x.Body) != "abc" {
		t.Fatal(err)
	}
	if v, _ := x.Named("x_99999"); v != "99999" || len(x.Head()) < 1<<20 {
		t.Errorf("%v, a head of %d bytes", v, len(x.Head()))
	}
}

// No server keeps a request longer than the bounds say, at whatever point it stops or
// dawdles.
func TestDeadlines(t *testing.T) {
	const timeout = 500 * time.Millisecond // a second and a half for an exchange
	for name, c := range map[string]struct {
		first, drip string
		body        string
		err         bool
	}{
		"nothing":           {"", "", "", true},
		"half a head":       {"HTTP/1.1 200 OK\r\nA: ", "", "", true},
		"a head that drips": {"HTTP/1.1 200 OK\r\n", "A: b\r\n", "", true},
		"half a body":       {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "", "abc", false},
		"a body that drips": {"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nabc", "d", "abc", false},
		"chunks that drip": {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", "1\r\nd\r\n", "abc",
			false},
		"an unbounded body":       {"HTTP/1.1 200 OK\r\n\r\nabc", "d", "abc", false},
		"interim answers, slowly": {"", "HTTP/1.1 100 Continue\r\n\r\n", "", true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			over := make(chan struct{})
			address := listen(t, func(_ int, conn net.Conn) {
				ask(conn)
				io.WriteString(conn, c.first)
				tick := time.NewTicker(timeout / 5)
				defer tick.Stop()
				for {
					select {
					case <-tick.C:
						io.WriteString(conn, c.drip)
					case <-over:
						return
					}
				}
			})
			start := time.Now()
			x, err := get(t, web.Config{Timeout: timeout}, web.Request{Address: address})
			if took := time.Since(start); took > 20*timeout || took < 2*timeout {
				t.Errorf("it took %v", took)
			}
			close(over)
			if c.err {
				if web.Reason(err) != "timed out" {
					t.Error(err)
				}
			} else if err != nil || !x.Truncated || !strings.HasPrefix(string(x.Body), c.body) {
				t.Errorf("%v %+v", err, x)
			}
		})
	}
}

func TestDialAndHandshakeDeadlines(t *testing.T) {
	t.Parallel()
	const timeout = 500 * time.Millisecond
	hanging := func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	address := rawurl.URL{Scheme: "http", Host: "h"}
	_, err := get(t, web.Config{Dial: hanging, Timeout: timeout}, web.Request{Address: address})
	var e *web.Error
	if web.Reason(err) != "timed out" || !errors.As(err, &e) || e.Kind != web.KindDial ||
		!(&web.Request{Method: "POST"}).RetrySafe(err) {
		t.Errorf("dial: %v", err)
	}
	silent := listen(t, func(_ int, c net.Conn) { io.Copy(io.Discard, c) })
	silent.Scheme = "https"
	_, err = get(t, web.Config{Timeout: timeout}, web.Request{Address: silent})
	if web.Reason(err) != "timed out" || !errors.As(err, &e) || e.Kind != web.KindTLS {
		t.Errorf("handshake: %v", err)
	}
}

// A request can have more, or less, time than others.
func TestTimeoutOfARequest(t *testing.T) {
	address := listen(t, func(_ int, c net.Conn) {
		ask(c)
		time.AfterFunc(300*time.Millisecond, func() { io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n") })
		io.Copy(io.Discard, c)
	})
	c := newClient(t, web.Config{Timeout: 20 * time.Millisecond})
	if _, err := c.Do(t.Context(), web.Request{Address: address}); web.Reason(err) != "timed out" {
		t.Error(err)
	}
	if _, err := c.Do(t.Context(), web.Request{Address: address, Timeout: time.Minute}); err != nil {
		t.Error(err)
	}
}

// A context that ends interrupts an exchange at once, at any point, and leaves neither
// goroutine nor connection behind.
func TestCancel(t *testing.T) {
	before := runtime.NumGoroutine()
	c := newClient(t, web.Config{Timeout: time.Minute})
	for name, first := range map[string]string{"head": "", "body": "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"} {
		reached := make(chan struct{})
		over := make(chan struct{})
		address := listen(t, func(_ int, conn net.Conn) {
			ask(conn)
			io.WriteString(conn, first)
			close(reached)
			io.Copy(io.Discard, conn)
			close(over)
		})
		ctx, cancel := context.WithCancel(t.Context())
		go func() { <-reached; cancel() }()
		if _, err := c.Do(ctx, web.Request{Address: address}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: %v", name, err)
		}
		<-over // the server sees the end of the connection
		if _, err := c.Do(ctx, web.Request{Address: address}); !errors.Is(err, context.Canceled) {
			t.Errorf("%s: afterwards %v", name, err)
		}
	}
	eventually(t, "the end of all connections", func() bool { return c.Stats().Open == 0 })
	// two servers, two of each
	eventually(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before+4 })
}

// The end of a context does not reach a connection that has gone over to another one.
func TestCancelOfAFormerContext(t *testing.T) {
	address := answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n", false)
	c := newClient(t, web.Config{})
	for range 50 {
		former, cancel := context.WithCancel(t.Context())
		if _, err := c.Do(former, web.Request{Address: address}); err != nil {
			t.Fatal(err)
		}
		go cancel()
		if _, err := c.Do(t.Context(), web.Request{Address: address}); err != nil {
			t.Fatal(err)
		}
	}
	if n := c.Stats().Connections; n != 1 {
		t.Errorf("%d connections", n)
	}
}

// Bodies wait for memory, and go on when others are released.
func TestBodyMemory(t *testing.T) {
	const size = 1 << 20
	address := answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n"+strings.Repeat("x", size), false)
	c := newClient(t, web.Config{MaxBody: size, Memory: membudget.New(4 * size), Timeout: time.Minute})
	do := func() *web.Exchange {
		x, err := c.Do(t.Context(), web.Request{Address: address})
		if err != nil {
			t.Error(err)
		}
		return x
	}
	held := []*web.Exchange{do(), do()}
	third := make(chan *web.Exchange)
	go func() { third <- do() }()
	select {
	case <-third:
		t.Fatal("a third body found room")
	case <-time.After(50 * time.Millisecond):
	}
	var once sync.WaitGroup
	for range 3 { // only the first of them counts
		once.Go(held[0].Release)
	}
	if x := <-third; x.Truncated || len(x.Body) != size {
		t.Errorf("%d bytes, truncated %v", len(x.Body), x.Truncated)
	}
	once.Wait()
	runtime.KeepAlive(held)
	small := web.Request{Address: address, MaxBody: 1000, Timeout: 20 * time.Second}
	if x, err := c.Do(t.Context(), small); err != nil || len(x.Body) != 1000 {
		t.Errorf("a small body had to wait: %v", err)
	}
}

// A body holds no more than its size once it is read.
func TestBodyMemoryIsSettled(t *testing.T) {
	const size = 100 << 10
	address := answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 102400\r\n\r\n"+strings.Repeat("x", size), false)
	c := newClient(t, web.Config{MaxBody: 1 << 20, Memory: membudget.New(8 << 20)})
	var held []*web.Exchange
	for range 15 {
		x, err := c.Do(t.Context(), web.Request{Address: address, Timeout: 20 * time.Second})
		if err != nil || x.Truncated {
			t.Fatalf("%v, cut %v", err, x.Truncated)
		}
		held = append(held, x)
	}
	runtime.KeepAlive(held)
}

// Without memory in time, a body is cut, and the client goes on.
func TestBodyMemoryTimesOut(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	address := answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n"+strings.Repeat("x", size), false)
	c := newClient(t, web.Config{MaxBody: size, Memory: membudget.New(4 * size / 3)})
	held, err := c.Do(t.Context(), web.Request{Address: address})
	if err != nil || held.Truncated {
		t.Fatal(err)
	}
	x, err := c.Do(t.Context(), web.Request{Address: address, Timeout: time.Second})
	if err != nil || !x.Truncated || len(x.Body) >= size {
		t.Errorf("%v %+v", err, x)
	}
	runtime.KeepAlive(held)
}

// An exchange that nobody released gives its memory back when it is collected.
func TestForgottenExchange(t *testing.T) {
	const size = 1 << 20
	address := answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 1048576\r\n\r\n"+strings.Repeat("x", size), false)
	c := newClient(t, web.Config{MaxBody: size, Memory: membudget.New(4 * size / 3)})
	for range 3 {
		x, err := c.Do(t.Context(), web.Request{Address: address})
		if err != nil || x.Truncated {
			t.Fatalf("%v %v", err, x.Truncated)
		}
	}
}

// Heads that are long are counted as bodies are: two at once fit, a third waits, and its error is one of time.
func TestHeadMemory(t *testing.T) {
	t.Parallel()
	const size = 1 << 20
	address := answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n"+strings.Repeat("A: "+strings.Repeat("x", 1<<10)+"\r\n",
		size>>10)+"\r\n", false)
	c := newClient(t, web.Config{MaxBody: size, MaxHead: 2 * size, Memory: membudget.New(24 * size)}) // 18 of long shares
	do := func(timeout time.Duration) (*web.Exchange, error) {
		return c.Do(t.Context(), web.Request{Address: address, Timeout: timeout})
	}
	first, err := do(time.Minute) // 11 while it is read, then some 4
	if err != nil {
		t.Fatal(err)
	}
	second, err := do(time.Minute)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := do(300 * time.Millisecond); web.Reason(err) != "timed out" {
		t.Errorf("a third head: %v", err)
	}
	first.Release()
	if x, err := do(time.Minute); err != nil || len(x.Fields()) != size>>10+1 {
		t.Errorf("after a release: %v", err)
	}
	runtime.KeepAlive(second)
}
