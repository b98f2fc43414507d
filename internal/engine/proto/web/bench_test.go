package web_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// asServer is the environment variable that makes the test binary a server.
const asServer = "VEDETTE_TEST_SERVER"

func TestMain(m *testing.M) {
	if os.Getenv(asServer) != "" {
		servePage()
		return
	}
	m.Run()
}

// page is what the server of the benchmark answers: an ordinary page of 4 KiB.
var page = func() []byte {
	body := strings.Repeat("<p>Some ordinary text of a page.</p>\n", 111)[:4096]
	return fmt.Appendf(nil, "HTTP/1.1 200 OK\r\nServer: nginx\r\nDate: Sat, 21 Nov 2026 08:00:00 GMT\r\nContent-Type: text/html; charset=utf-8\r\n"+
		"Content-Length: %d\r\nConnection: keep-alive\r\nX-Frame-Options: DENY\r\nSet-Cookie: session=abc; Path=/\r\n\r\n%s",
		len(body), body)
}()

// servePage answers every request with page, prints its address first, and ends with
// its standard input.
func servePage() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	fmt.Println(l.Addr())
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go answerAll(c)
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

func answerAll(c net.Conn) {
	buf := make([]byte, 4096)
	n := 0
	for {
		m, err := c.Read(buf[n:])
		if n += m; err != nil {
			return
		}
		for {
			end := bytes.Index(buf[:n], []byte("\r\n\r\n"))
			if end < 0 {
				break
			}
			n = copy(buf, buf[end+4:n])
			if _, err := c.Write(page); err != nil {
				return
			}
		}
	}
}

// pageServer starts the server in a process of its own, so that its CPU time is not
// counted as ours.
func pageServer(b *testing.B) string {
	cmd := exec.Command(os.Args[0])
	cmd.Env = append(os.Environ(), asServer+"=1")
	in, err := cmd.StdinPipe()
	if err != nil {
		b.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		b.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		b.Fatal(err)
	}
	b.Cleanup(func() { in.Close(); cmd.Wait() })
	line := make([]byte, 64)
	n, err := out.Read(line)
	if err != nil {
		b.Fatal(err)
	}
	return strings.TrimSpace(string(line[:n]))
}

// cpu is the CPU time that the process has used.
func cpu() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// atATime is how many exchanges run at a time in the benchmarks.
const atATime = 10

// spread runs one for each of b.N in as many goroutines and reports exchanges per
// CPU-second of this process.
func spread(b *testing.B, one func(i int) error) {
	jobs := make(chan int, 4*atATime)
	var workers sync.WaitGroup
	b.ReportAllocs()
	b.ResetTimer()
	before := cpu()
	for range atATime {
		workers.Go(func() {
			for i := range jobs {
				if err := one(i); err != nil {
					b.Error(err)
				}
			}
		})
	}
	for i := range b.N {
		jobs <- i
	}
	close(jobs)
	workers.Wait()
	b.ReportMetric(float64(b.N)/(cpu()-before).Seconds(), "exchanges/cpu-s")
}

// BenchmarkDo asks a raw server on loopback for a page of 4 KiB; BenchmarkNetHTTP and
// BenchmarkFloor are what it is measured against in the same run.
func BenchmarkDo(b *testing.B) {
	address := rawurl.URL{Scheme: "http", Host: pageServer(b)}
	c := newClient(b, web.Config{PerHost: atATime})
	spread(b, func(i int) error {
		a := address
		a.Path = paths[i%len(paths)]
		x, err := c.Do(b.Context(), web.Request{Address: a})
		if err == nil && (x.Status != 200 || len(x.Body) != 4096) {
			err = fmt.Errorf("%d %d", x.Status, len(x.Body))
		}
		return err
	})
}

// BenchmarkDoWithContext does the same with a context of its own for every exchange.
func BenchmarkDoWithContext(b *testing.B) {
	address := rawurl.URL{Scheme: "http", Host: pageServer(b)}
	c := newClient(b, web.Config{PerHost: atATime})
	spread(b, func(int) error {
		ctx, cancel := context.WithCancel(b.Context())
		defer cancel()
		_, err := c.Do(ctx, web.Request{Address: address})
		return err
	})
}

// BenchmarkNetHTTP does the same with net/http.
func BenchmarkNetHTTP(b *testing.B) {
	host := pageServer(b)
	transport := &http.Transport{MaxIdleConnsPerHost: atATime, DisableCompression: true}
	defer transport.CloseIdleConnections()
	client := &http.Client{Transport: transport}
	spread(b, func(i int) error {
		res, err := client.Get("http://" + host + paths[i%len(paths)])
		if err != nil {
			return err
		}
		defer res.Body.Close()
		_, err = io.ReadAll(res.Body)
		return err
	})
}

// BenchmarkFloor only writes bytes and reads bytes, with a deadline: no client can be
// cheaper.
func BenchmarkFloor(b *testing.B) {
	host := pageServer(b)
	conns := make(chan net.Conn, atATime)
	for range atATime {
		c, err := net.Dial("tcp", host)
		if err != nil {
			b.Fatal(err)
		}
		defer c.Close()
		conns <- c
	}
	request := []byte("GET /path/1 HTTP/1.1\r\nHost: " + host + "\r\nUser-Agent: x\r\nAccept: */*\r\n\r\n")
	buffers := sync.Pool{New: func() any { b := make([]byte, 16<<10); return &b }}
	spread(b, func(int) error {
		c := <-conns
		defer func() { conns <- c }()
		buf, _ := buffers.Get().(*[]byte)
		defer buffers.Put(buf)
		if err := c.SetDeadline(time.Now().Add(time.Minute)); err != nil {
			return err
		}
		if _, err := c.Write(request); err != nil {
			return err
		}
		for n := 0; n < len(page); {
			m, err := c.Read(*buf)
			if n += m; err != nil {
				return err
			}
		}
		return nil
	})
}

var paths = func() (all []string) {
	for i := range 500 {
		all = append(all, fmt.Sprintf("/path/%d", i))
	}
	return all
}()
