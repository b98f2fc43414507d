package web_test

import (
	"bufio"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// Connections are kept: requests in a row use one, fresh ones one each.
func TestReuse(t *testing.T) {
	address := answering(t, "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok", false)
	c := newClient(t, web.Config{})
	for i, fresh := range []bool{false, true} {
		for range 10 {
			if _, err := c.Do(t.Context(), web.Request{Address: address, Fresh: fresh}); err != nil {
				t.Fatal(err)
			}
		}
		if s := c.Stats(); s.Connections != []int64{1, 11}[i] || s.Open != 1 || s.Requests != int64(10*(i+1)) {
			t.Errorf("fresh %v: %+v", fresh, s)
		}
	}
	c.Close()
	if s := c.Stats(); s.Open != 0 {
		t.Errorf("after Close: %+v", s)
	}
	if _, err := c.Do(t.Context(), web.Request{Address: address}); err != nil || c.Stats().Open != 0 {
		t.Errorf("a closed client keeps connections: %v %+v", err, c.Stats())
	}
}

// After some answers a connection is not used again, even if the server leaves it open.
func TestNotReused(t *testing.T) {
	for name, raw := range map[string]string{
		"close":           "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 3\r\n\r\nabc",
		"HTTP/1.0":        "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc",
		"bytes left over": "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 200 OK\r\n\r\n",
		"after no body":   "HTTP/1.1 204 No\r\n\r\nabc",
		"two lengths":     "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc",
		"chunks, length":  "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n3\r\nabc\r\n0\r\n\r\n",
		"switching":       "HTTP/1.1 101 Switching Protocols\r\n\r\n",
	} {
		address := answering(t, raw, false)
		c := newClient(t, web.Config{})
		for range 2 {
			if _, err := c.Do(t.Context(), web.Request{Address: address}); err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		if s := c.Stats(); s.Connections != 2 || s.Open != 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// Connections are kept apart by where they lead, and by the name told in TLS.
func TestPoolKeepsOriginsApart(t *testing.T) {
	var names sync.Map
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { names.Store(r.TLS.ServerName, true) }))
	s.StartTLS()
	t.Cleanup(s.Close)
	address, _ := rawurl.Parse(s.URL)
	c := newClient(t, web.Config{})
	for range 2 {
		for _, sni := range []string{"", "a.example", "b.example"} {
			x, err := c.Do(t.Context(), web.Request{Address: address, SNI: sni})
			if _, ok := names.Load(sni); err != nil || !ok || x.TLS == nil {
				t.Errorf("%q: %v", sni, err)
			}
		}
	}
	if n := c.Stats().Connections; n != 3 {
		t.Errorf("%d connections", n)
	}
}

func TestMaxIdle(t *testing.T) {
	c := newClient(t, web.Config{MaxIdle: 2})
	for range 4 {
		if _, err := c.Do(t.Context(), web.Request{Address: answering(t, "HTTP/1.1 204 No\r\n\r\n", false)}); err != nil {
			t.Fatal(err)
		}
	}
	if s := c.Stats(); s.Open != 2 || s.Connections != 4 {
		t.Errorf("%+v", s)
	}
}

// A kept connection that the server has closed costs a further attempt, not the
// answer; what must not be sent twice is not.
func TestStaleConnections(t *testing.T) {
	for _, method := range []string{"GET", "POST"} {
		closed := make(chan struct{}, 10)
		posts := make(chan string, 10)
		address := listen(t, func(_ int, c net.Conn) {
			posts <- request(bufio.NewReader(c))
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
			c.Close()
			closed <- struct{}{}
		})
		c := newClient(t, web.Config{})
		for i := range 3 {
			if _, err := c.Do(t.Context(), web.Request{Address: address, Method: method}); err != nil {
				t.Fatalf("%s %d: %v", method, i, err)
			}
			<-closed
		}
		if s := c.Stats(); method == "GET" && s.Stale != 2 || len(posts) != 3 {
			t.Errorf("%s: %+v, %d requests arrived", method, s, len(posts))
		}
	}
}

// What cannot be sent twice does not go where the server may not keep the connection, and goes again where the server has
// thrown it away unread.
func TestResetConnections(t *testing.T) {
	for _, method := range []string{"POST", "PUT", "GET"} {
		for kept := 1; kept <= 3; kept++ {
			arrived := make(chan string, 10)
			address := listen(t, func(n int, c net.Conn) {
				r := bufio.NewReader(c)
				for i := 0; n > 0 || i < kept; i++ {
					text := request(r)
					if text == "" {
						return
					}
					arrived <- text
					io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				}
				r.Peek(1)
				reset(c)
			})
			c := newClient(t, web.Config{})
			for range kept {
				if _, err := c.Do(t.Context(), web.Request{Address: address}); err != nil {
					t.Fatal(err)
				}
			}
			if _, err := c.Do(t.Context(), web.Request{Address: address, Method: method}); err != nil ||
				len(arrived) != kept+1 {
				t.Errorf("%s after %d: %v, %d requests arrived", method, kept, err, len(arrived))
			}
		}
	}
	address := listen(t, func(_ int, c net.Conn) {
		ask(c)
		reset(c)
	})
	for _, req := range []web.Request{{}, {Method: "POST"}, {Raw: []byte("POST / HTTP/1.1\r\n\r\n")}} {
		req.Address = address
		_, err := get(t, web.Config{}, req)
		if safe := req.RetrySafe(err); safe != (req.Raw == nil) {
			t.Errorf("%q %q after a reset (%v): safe to repeat %v", req.Method, req.Raw, err, safe)
		}
	}
}

// A POST whose connection breaks after it was read is not sent again.
func TestPostIsNotRepeated(t *testing.T) {
	arrived := make(chan string, 10)
	address := listen(t, func(_ int, c net.Conn) {
		r := bufio.NewReader(c)
		for i := 0; ; i++ {
			text := request(r)
			if text == "" {
				return
			}
			if arrived <- text; i == 2 {
				return
			}
			io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
		}
	})
	c := newClient(t, web.Config{})
	for range 2 {
		if _, err := c.Do(t.Context(), web.Request{Address: address}); err != nil {
			t.Fatal(err)
		}
	}
	_, err := c.Do(t.Context(), web.Request{Address: address, Method: "POST"})
	if err == nil || (&web.Request{Method: "POST"}).RetrySafe(err) || len(arrived) != 3 {
		t.Errorf("%v, %d requests arrived", err, len(arrived))
	}
}

// A body that is reset in the middle is kept as far as it came.
func TestResetInABody(t *testing.T) {
	for _, framing := range []string{"", "Content-Length: 100000\r\n"} {
		read := make(chan struct{})
		address := listen(t, func(_ int, c net.Conn) {
			ask(c)
			io.WriteString(c, "HTTP/1.1 200 OK\r\n"+framing+"\r\nabc")
			<-read
			reset(c)
		})
		dial := func(ctx context.Context, network, addr string) (net.Conn, error) {
			c, err := new(net.Dialer).DialContext(ctx, network, addr)
			return &afterRead{c, sync.OnceFunc(func() { close(read) })}, err
		}
		x, err := get(t, web.Config{Dial: dial}, web.Request{Address: address})
		if err != nil || string(x.Body) != "abc" || !x.Truncated {
			t.Errorf("%q: %v %+v", framing, err, x)
		}
	}
}

// afterRead is a connection that tells when something was read from it.
type afterRead struct {
	net.Conn

	tell func()
}

func (c *afterRead) Read(p []byte) (int, error) {
	n, err := c.Conn.Read(p)
	if n > 0 {
		c.tell()
	}
	return n, err
}

// A server that answers before it has read a big request is understood.
func TestEarlyAnswer(t *testing.T) {
	big := make([]byte, 8<<20)
	address := listen(t, func(_ int, c net.Conn) {
		ask(c)
		io.WriteString(c, "HTTP/1.1 413 Too Large\r\nContent-Length: 3\r\n\r\nbig")
		io.Copy(io.Discard, c) // a reset would be allowed to overtake the answer
	})
	c := newClient(t, web.Config{})
	x, err := c.Do(t.Context(), web.Request{Address: address, Method: "POST", Body: big})
	if err != nil || x.Status != 413 || string(x.Body) != "big" {
		t.Fatalf("%v %+v", err, x)
	}
}

// A server that sends as much as it gets, while it gets it, blocks nobody.
func TestBigEcho(t *testing.T) {
	big := make([]byte, 32<<20) // more than the buffers of both sides hold
	address := listen(t, func(_ int, c net.Conn) {
		r := bufio.NewReader(c)
		for line := ""; line != "\r\n"; line, _ = r.ReadString('\n') {
		}
		fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n", len(big))
		io.CopyN(c, r, int64(len(big)))
		io.Copy(io.Discard, c)
	})
	x, err := get(t, web.Config{MaxBody: 32 << 20}, web.Request{Address: address, Method: "POST", Body: big})
	if err != nil || x.Truncated || len(x.Body) != len(big) {
		t.Fatalf("%v %d", err, len(x.Body))
	}
}

// The memory of what a server wants: plain http at a TLS port is not tried again.
func TestPlainHTTPToTLSPort(t *testing.T) {
	s := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		fmt.Fprint(w,
			r.Proto)
	}))
	s.StartTLS()
	t.Cleanup(s.Close)
	var certificate = s.TLS.Certificates
	address := listen(t, func(_ int, c net.Conn) {
		r := bufio.NewReader(c)
		if first, _ := r.Peek(1); len(first) == 1 && first[0] == 'G' {
			io.WriteString(c, "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n<h1>The plain HTTP request was sent to HTTPS port</h1>")
			request(r)
			return
		}
		secure := tls.Server(&peeked{c, r}, &tls.Config{Certificates: certificate})
		request(bufio.NewReader(secure))
		io.WriteString(secure, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
	})
	c := newClient(t, web.Config{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		if addr != "h.example:80" {
			t.Errorf("dialled %s", addr)
		}
		return new(net.Dialer).DialContext(ctx, network, address.Host)
	}})
	named := rawurl.URL{Scheme: "http", Host: "h.example"}
	for i, want := range []string{"http://h.example 400", "https://h.example:80 200", "https://h.example:80 200"} {
		x, err := c.Do(t.Context(), web.Request{Address: named})
		if err != nil || fmt.Sprint(x.URL(), " ", x.Status) != want {
			t.Fatalf("%d: %v %+v", i, err, x)
		}
	}
}

// peeked is a connection whose first bytes are in a reader already.
type peeked struct {
	net.Conn

	r *bufio.Reader
}

func (c *peeked) Read(p []byte) (int, error) { return c.r.Read(p) }

// nginx starts Debian's nginx with a server block for http and https, and gives both
// addresses.
func nginx(t *testing.T) (plain, secure rawurl.URL) {
	t.Helper()
	binary, err := exec.LookPath("nginx")
	if err != nil {
		t.Skip("nginx is not installed")
	}
	dir := t.TempDir()
	var free [2]net.Listener
	var ports [2]string
	for i := range free {
		if free[i], err = net.Listen("tcp", "127.7.0.1:0"); err != nil { // an address of which nobody else is given ports
			t.Fatal(err)
		}
		ports[i] = free[i].Addr().String()
	}
	for _, l := range free {
		l.Close()
	}
	writeCertificate(t, dir)
	config := fmt.Sprintf(`worker_processes 1; pid %[1]s/pid; error_log %[1]s/error.log; events { worker_connections 512; }
http { access_log off; gzip on; gzip_min_length 1; gzip_types text/plain; client_body_temp_path %[1]s/b; proxy_temp_path %[1]s/p;
fastcgi_temp_path %[1]s/f; uwsgi_temp_path %[1]s/u; scgi_temp_path %[1]s/s;
server { listen %[2]s; listen %[3]s ssl; ssl_certificate %[1]s/cert.pem; ssl_certificate_key %[1]s/key.pem;
default_type text/plain; location / { return 200 "hello from nginx, hello again and again"; } location /gone { return 410; } } }`, dir, ports[0], ports[1])
	file := filepath.Join(dir, "nginx.conf")
	if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command(binary, "-p", dir, "-e", filepath.Join(dir, "error.log"), "-c", file, "-g",
		"daemon off; master_process off;")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	eventually(t, "nginx", func() bool {
		c, err := net.Dial("tcp", ports[1])
		if err == nil {
			c.Close()
		}
		return err == nil
	})
	return rawurl.URL{Scheme: "http", Host: ports[0]}, rawurl.URL{Scheme: "https", Host: ports[1]}
}

// With a real server, many workers use few connections and fewer handshakes.
func TestNginx(t *testing.T) {
	plain, secure := nginx(t)
	for _, address := range []rawurl.URL{plain, secure} {
		c := newClient(t, web.Config{})
		const workers, each = 8, 100
		var all sync.WaitGroup
		for w := range workers {
			all.Go(func() {
				for i := range each {
					a, want := address, 200
					if a.Path = fmt.Sprintf("/%d/%d", w, i); i%3 == 0 {
						a.Path, want = "/gone", 410
					}
					x, err := c.Do(t.Context(), web.Request{Address: a})
					if err != nil || x.Status != want || want == 200 && string(x.Body) != "hello from nginx, hello again and again" {
						t.Errorf("%s: %v %+v", a, err, x)
						return
					}
				}
			})
		}
		all.Wait()
		s := c.Stats()
		if s.Requests != workers*each || s.Connections > workers {
			t.Errorf("%s: %+v", address.Scheme, s)
		}
		if ratio := float64(s.Handshakes) / float64(s.Requests); ratio >= 0.05 || address.Scheme == "https" && ratio == 0 {
			t.Errorf("%s: %.3f handshakes a request", address.Scheme, ratio)
		}
	}
	c := newClient(t, web.Config{})
	for i := range 2 { // a session is resumed when its connection is gone
		x, err := c.Do(t.Context(), web.Request{Address: secure, Headers: []web.Header{{"Connection", "close"}}})
		if err != nil || x.TLS == nil || c.Stats().Resumed != int64(i) {
			t.Errorf("%v %+v", err, c.Stats())
		}
	}
	wrong := secure
	wrong.Scheme = "http"
	if x, err := c.Do(t.Context(), web.Request{Address: wrong}); err != nil || x.Status != 400 {
		t.Errorf("%v %+v", err, x)
	}
	if x, err := c.Do(t.Context(), web.Request{Address: wrong}); err != nil || x.Status != 200 || x.TLS == nil {
		t.Errorf("nginx's own word about https is not remembered: %v %+v", err, x)
	}
}

// Whatever happens to exchanges, no connection and no goroutine is left behind.
func TestNothingLeaks(t *testing.T) {
	before := runtime.NumGoroutine()
	func() {
		address := listen(t, func(n int, c net.Conn) {
			ask(c)
			switch n % 5 {
			case 0:
				reset(c)
			case 1:
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nabc")
			case 2:
				io.WriteString(c, "nonsense\r\n\r\n")
			case 3:
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc")
				io.Copy(io.Discard, c)
			case 4:
				io.Copy(io.Discard, c)
			}
		})
		c := web.New(web.Config{Timeout: 20 * time.Millisecond})
		var all sync.WaitGroup
		for i := range 50 {
			all.Go(func() {
				ctx, cancel := context.WithTimeout(t.Context(), time.Duration(i)*2*time.Millisecond)
				defer cancel()
				_, err := c.Do(ctx, web.Request{Address: address, Fresh: i%2 == 0})
				var e *web.Error
				if err != nil && !errors.As(err, &e) && ctx.Err() == nil {
					t.Errorf("an error of type %T: %v", err, err)
				}
			})
		}
		all.Wait()
		c.Close()
		if s := c.Stats(); s.Open != 0 {
			t.Errorf("%+v", s)
		}
	}()
	// the server's own
	eventually(t, "the end of all goroutines", func() bool { return runtime.NumGoroutine() <= before+1 })
}
