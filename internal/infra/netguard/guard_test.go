package netguard_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/netguard/dnstest"
)

// The spellings of one machine's loopback and what leads there: none gets a packet out.
func TestGuardLetsNoPacketOut(t *testing.T) {
	four, six := listen(t, "127.0.0.1", "0"), (*trap)(nil)
	if l, err := net.Listen("tcp", "[::1]:0"); err == nil {
		l.Close()
		six = listen(t, "::1", "0")
	}
	names := dnstest.Start(t)
	names.Set("ten.test", []string{"10.0.0.1"})
	names.Set("loop.test", []string{"127.0.0.1", "::1"})
	names.Set("mapped.test", []string{"::ffff:127.0.0.1"})
	names.Set("alias.test", []string{"loop.test"})
	names.Set("meta.test", []string{"169.254.169.254", "fd00:ec2::254"})
	names.Set("many.test", []string{"10.0.0.1", "127.0.0.1", "192.168.1.1"})
	names.Set("0x7f.1", []string{"127.0.0.1"}) // as a C library's resolver would have it
	g := &netguard.Guard{Resolver: names.Resolver()}
	for _, host := range []string{
		"127.0.0.1", "::1", "::ffff:127.0.0.1", "0.0.0.0", "::", "localhost",
		"ten.test", "loop.test", "mapped.test", "alias.test", "meta.test", "many.test", "0x7f.1",
	} {
		for _, network := range []string{"tcp", "tcp4", "tcp6"} {
			conn, err := g.Dial(t.Context(), network, net.JoinHostPort(host, four.port))
			if err == nil {
				conn.Close()
				t.Fatalf("%s %s was dialled", network, host)
			}
			if network == "tcp" {
				wantDenied(t, err)
			}
		}
	}
	for _, host := range []string{"2130706433", "2130706433.", "0177.0.0.1", "127.1"} { // Go's resolver takes none of them
		if conn, err := g.Dial(t.Context(), "tcp", host+":"+four.port); err == nil {
			conn.Close()
			t.Errorf("%s was dialled", host)
		}
	}
	socket, err := net.Listen("unix", filepath.Join(t.TempDir(), "s"))
	if err != nil {
		t.Fatal(err)
	}
	defer socket.Close()
	for network, addr := range map[string]string{"udp": "8.8.8.8:53", "unix": socket.Addr().String(),
		"ip4:icmp": "127.0.0.1"} {
		_, err := g.Dial(t.Context(), network, addr)
		wantDenied(t, err)
	}
	if n := four.others(t, "127.0.0.1"); n != 0 {
		t.Errorf("%d connections reached 127.0.0.1", n)
	}
	if six != nil {
		_, err := g.Dial(t.Context(), "tcp", "[::1]:"+six.port)
		wantDenied(t, err)
		if n := six.others(t, "::1"); n != 0 {
			t.Errorf("%d connections reached ::1", n)
		}
	}
}

func TestGuardRebinding(t *testing.T) {
	open := listen(t, "127.0.0.2", "0")
	private := listen(t, "127.0.0.1", open.port)
	names := dnstest.Start(t)
	names.Set("rebind.test", []string{"127.0.0.2"}, []string{"127.0.0.1"})
	g := &netguard.Guard{Allow: mustPrefixes(t, "127.0.0.2"), Resolver: names.Resolver()}

	conn, err := g.Dial(t.Context(), "tcp", "rebind.test:"+open.port)
	if err != nil {
		t.Fatalf("the first answer is allowed: %v", err)
	}
	conn.Close()
	_, err = g.Dial(t.Context(), "tcp", "rebind.test:"+open.port)
	wantDenied(t, err)
	if n := private.others(t, "127.0.0.1"); n != 0 {
		t.Errorf("%d connections reached the private address", n)
	}
	if n := open.others(t, "127.0.0.2"); n != 1 { // waits until the first connection is accepted
		t.Errorf("the allowed address saw %d connections, want 1", n)
	}
}

func TestGuardDialsTheAllowedAmongMany(t *testing.T) {
	open := listen(t, "127.0.0.2", "0")
	private := listen(t, "127.0.0.1", open.port)
	names := dnstest.Start(t)
	names.Set("many.test", []string{"127.0.0.1", "127.0.0.2", "10.0.0.1"})
	g := &netguard.Guard{Allow: mustPrefixes(t, "127.0.0.2"), Resolver: names.Resolver()}
	conn, err := g.Dial(t.Context(), "tcp", "many.test:"+open.port)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	if n := private.others(t, "127.0.0.1"); n != 0 {
		t.Errorf("%d connections reached the private address", n)
	}
}

func TestGuardFailsClosedWithoutAnAnswer(t *testing.T) {
	names := dnstest.Start(t)
	names.Set("broken.test", []string{})
	g := &netguard.Guard{Allow: mustPrefixes(t, "127.0.0.0/8"), Resolver: names.Resolver()}
	for _, host := range []string{"broken.test", "missing.test"} {
		var dnsErr *net.DNSError
		if _, err := g.Dial(t.Context(), "tcp", host+":80"); !errors.As(err, &dnsErr) {
			t.Errorf("%s: %v, want a DNS error", host, err)
		}
	}
}

func TestClientReturnsRedirectsAndUsesNoProxy(t *testing.T) {
	proxy := listen(t, "127.0.0.1", "0")
	t.Setenv("HTTP_PROXY", "http://127.0.0.1:"+proxy.port)
	t.Setenv("HTTPS_PROXY", "http://127.0.0.1:"+proxy.port)
	var hits atomic.Int32
	site := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		hits.Add(1)
		http.Redirect(w, r, "/next", http.StatusFound)
	}))
	defer site.Close()
	names := dnstest.Start(t)
	names.Set("site.test", []string{"127.0.0.1"})
	g := &netguard.Guard{Allow: mustPrefixes(t, "127.0.0.1"), Resolver: names.Resolver()}
	client := g.Client(5 * time.Second)
	defer client.CloseIdleConnections()
	u, _ := url.Parse(site.URL)
	res, err := client.Get("http://site.test:" + u.Port() + "/")
	if err != nil {
		t.Fatal(err)
	}
	res.Body.Close()
	if res.StatusCode != http.StatusFound || hits.Load() != 1 {
		t.Errorf("got %d after %d requests, want the 302 of the first", res.StatusCode, hits.Load())
	}
	if n := proxy.others(t, "127.0.0.1"); n != 0 {
		t.Errorf("%d connections reached the proxy", n)
	}
}

func TestClientRefuses(t *testing.T) {
	secure := httptest.NewUnstartedServer(http.NotFoundHandler())
	secure.Config.ErrorLog = log.New(io.Discard, "", 0) // it complains of our hanging up
	secure.StartTLS()
	defer secure.Close()
	large := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("X-Large", strings.Repeat("x", 100<<10))
	}))
	defer large.Close()
	var hits atomic.Int32
	fine := httptest.NewServer(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { hits.Add(1) }))
	defer fine.Close()
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	_, finePort, _ := net.SplitHostPort(fine.Listener.Addr().String())
	client := (&netguard.Guard{Allow: mustPrefixes(t, "127.0.0.1")}).Client(300 * time.Millisecond)
	defer client.CloseIdleConnections()
	for what, target := range map[string]string{
		"an unknown certificate": secure.URL,
		"large headers":          large.URL,
		"a server that hangs":    slow.URL,
		"userinfo":               "http://user:secret@127.0.0.1:" + finePort,
		"another scheme":         "ftp://127.0.0.1/",
		"an odd spelling":        "http://0x7f.1:" + finePort,
	} {
		res, err := client.Get(target)
		if err == nil {
			res.Body.Close()
			t.Errorf("%s: got %d", what, res.StatusCode)
		}
	}
	if hits.Load() != 0 {
		t.Errorf("%d refused requests arrived", hits.Load())
	}
	strict := (&netguard.Guard{}).Client(time.Second)
	if _, err := strict.Post(large.URL, "text/plain", strings.NewReader("x")); err == nil {
		t.Error("loopback was dialled")
	}
}

func TestGuardHonoursTheContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	g := &netguard.Guard{Allow: mustPrefixes(t, "127.0.0.1")}
	if _, err := g.Dial(ctx, "tcp", "127.0.0.1:1"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}
