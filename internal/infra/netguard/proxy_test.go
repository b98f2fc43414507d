package netguard_test

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/netguard/sockstest"
)

func TestProxyURLs(t *testing.T) {
	for text, want := range map[string]string{
		"socks5://proxy.example.com":                   "socks5://proxy.example.com:1080",
		" socks5://ann:s%40cret@Proxy.example.com:99/": "socks5://ann:xxxxx@proxy.example.com:99",
		"socks5://ann@[2001:db8::1]:1081":              "socks5://ann@[2001:db8::1]:1081",
		"socks5://0x7f.1:9050":                         "socks5://127.0.0.1:9050",
	} {
		p, err := netguard.ParseProxy(text)
		if err != nil || p.Masked() != want {
			t.Errorf("%s: %v, %v", text, p, err)
			continue
		}
		if again, err := netguard.ParseProxy(p.URL()); err != nil || again.URL() != p.URL() {
			t.Errorf("%s does not survive: %v, %v", p.URL(), again, err)
		}
	}
	for _, text := range []string{
		"", "proxy.example.com:1080", "http://proxy.example.com", "socks5h://proxy.example.com", "socks5://", "socks5:a",
		"socks5://h:0", "socks5://h:99999", "socks5://h/path", "socks5://h?q", "socks5://h#f", "socks5://:hidden@h",
		"socks5://a:hidden@b c", "socks5://" + strings.Repeat("u", 256) + ":hidden@h", "socks5://u:hidden" +
			strings.Repeat("p", 255) + "@h", "socks5://" + strings.Repeat("h", 9000),
	} {
		if p, err := netguard.ParseProxy(text); !errs.Is(err, errs.Invalid) || strings.Contains(err.Error(), "hidden") {
			t.Errorf("%.60q: %v, %v", text, p, err)
		}
	}
}

// echo says hello to every connection, and records where it came from.
func echo(t *testing.T) (addr string, from chan string) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	from = make(chan string, 10)
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			from <- conn.RemoteAddr().String()
			_, _ = io.WriteString(conn, "hello")
			conn.Close()
		}
	}()
	return l.Addr().String(), from
}

// A scope with a proxy decides as without: what it allows goes through the proxy, as an address; what it refuses is not
// sent to the proxy at all.
func TestScopeThroughProxy(t *testing.T) {
	target, from := echo(t)
	s := sockstest.Start(t, "ann", "secret")
	guard := &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	open := func(proxy string, guard *netguard.Guard, names ...string) *netguard.Scope {
		t.Helper()
		p, err := netguard.ParseProxy(proxy)
		if err != nil {
			t.Fatal(err)
		}
		var targets []netguard.Target
		for _, name := range names {
			to, err := netguard.ParseTarget(name)
			if err != nil {
				t.Fatal(err)
			}
			targets = append(targets, to)
		}
		scope, err := netguard.NewScope(targets, netguard.Limits{
			Deny: []netip.Prefix{netip.MustParsePrefix("10.0.0.0/8")}, Through: guard.Through(p),
		})
		if err != nil {
			t.Fatal(err)
		}
		return scope
	}
	proxy := "socks5://ann:secret@" + s.Addr
	scope := open(proxy, guard, "127.0.0.1", "localhost", "10.1.2.3", "169.254.169.254")
	_, port, _ := net.SplitHostPort(target)
	for _, addr := range []string{target, "localhost:" + port} {
		conn, err := scope.Dial(t.Context(), "tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		said, err := io.ReadAll(conn)
		if string(said) != "hello" || conn.RemoteAddr().String() != target || !s.Made(<-from) {
			t.Errorf("%q, %v, %s", said, err, conn.RemoteAddr())
		}
		conn.Close()
	}
	for _, addr := range []string{"127.0.0.2:80", "10.1.2.3:80", "169.254.169.254:80", "[::ffff:10.1.2.3]:80"} {
		if _, err := scope.Dial(t.Context(), "tcp", addr); !errs.Is(err, errs.Forbidden) {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if _, err := scope.Dial(t.Context(), "udp", target); !errs.Is(err, errs.Forbidden) {
		t.Errorf("UDP: %v", err)
	}
	if got := s.Asked(); len(got) != 2 || got[0] != target || got[1] != target {
		t.Errorf("the proxy was asked for %q", got)
	}
	if _, err := open(proxy, &netguard.Guard{}, "127.0.0.1").Dial(t.Context(), "tcp", target); !errs.Is(err, errs.Forbidden) {
		t.Errorf("a proxy on loopback: %v", err)
	}
	wrong := strings.Replace(proxy, "secret", "guess", 1)
	if _, err := open(wrong, guard, "127.0.0.1").Dial(t.Context(), "tcp", target); err == nil ||
		strings.Contains(err.Error(), "guess") {
		t.Errorf("a wrong password: %v", err)
	}
	if len(from) != 0 {
		t.Error("the target was reached another way")
	}
}

// What a proxy says about a target is not its own fault, and its own fault is named without its password.
func TestFaultsOfProxies(t *testing.T) {
	target, _ := echo(t)
	socks := sockstest.Start(t, "ann", "secret")
	web := sockstest.StartHTTP(t, "ann", "secret")
	page := httptest.NewServer(http.NotFoundHandler())
	t.Cleanup(page.Close)
	guard := &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	for _, c := range []struct {
		proxy, addr string
		fault       string // "": the target's
		dialled     bool
	}{
		{"socks5://ann:secret@" + socks.Addr, target, "", true},
		{"socks5h://ann:secret@" + socks.Addr, strings.Replace(target, "127.0.0.1", "localhost", 1), "", true},
		{"http://ann:secret@" + web.Addr, target, "", true},
		{"socks5://ann:secret@" + socks.Addr, "127.0.0.1:1", "", false},
		{"http://ann:secret@" + web.Addr, "127.0.0.1:1", "", false},
		{"socks5://ann:guess@" + socks.Addr, target, "authentication failed", false},
		{"http://ann:guess@" + web.Addr, target, "407", false},
		{"http://" + web.Addr, target, "407", false},
		{"socks5://ann:secret@127.0.0.1:1", target, "refused", false},
		{"http://ann:secret@127.0.0.1:1", target, "refused", false},
		{"http://ann:secret@" + page.Listener.Addr().String(), target, "404", false},
		{"socks5://ann:secret@" + target, target, "unexpected protocol version", false},
		{"socks5://ann:secret@10.0.0.1", target, "10.0.0.1", false},
	} {
		p, err := netguard.ParseAnyProxy(c.proxy)
		if err != nil {
			t.Fatal(err)
		}
		conn, err := guard.Through(p)(t.Context(), "tcp", c.addr)
		fault, isFault := errors.AsType[*netguard.ProxyFault](err)
		switch {
		case (err == nil) != c.dialled, isFault != (c.fault != ""):
			t.Errorf("%s to %s: %v", c.proxy, c.addr, err)
		case isFault && (!strings.Contains(fault.Error(), c.fault) || !strings.Contains(fault.Error(), p.Masked())):
			t.Errorf("%s to %s: %v", c.proxy, c.addr, err)
		case err != nil && (strings.Contains(err.Error(), "secret") || strings.Contains(err.Error(), "guess")):
			t.Errorf("it shows the password: %v", err)
		case conn != nil:
			if said, err := io.ReadAll(conn); string(said) != "hello" {
				t.Errorf("%s: %q, %v", c.proxy, said, err)
			}
			conn.Close()
		}
	}
}

// A proxy that looks names up is asked for those in scope only.
func TestNamesThroughProxy(t *testing.T) {
	target, _ := echo(t)
	s := sockstest.Start(t, "", "")
	p, err := netguard.ParseAnyProxy("socks5h://" + s.Addr)
	if err != nil {
		t.Fatal(err)
	}
	named, err := netguard.ParseTarget("localhost")
	if err != nil {
		t.Fatal(err)
	}
	guard := &netguard.Guard{Allow: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")}}
	resolver := &net.Resolver{PreferGo: true, Dial: func(context.Context, string, string) (net.Conn, error) {
		t.Error("a name was looked up here")
		return nil, net.ErrClosed
	}}
	scope, err := netguard.NewScope([]netguard.Target{named},
		netguard.Limits{Through: guard.Through(p), Names: true, Resolver: resolver})
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ := net.SplitHostPort(target)
	conn, err := scope.Dial(t.Context(), "tcp", "localhost:"+port)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
	for _, addr := range []string{"other.example:" + port, "127.0.0.1:" + port} {
		if _, err := scope.Dial(t.Context(), "tcp", addr); !errs.Is(err, errs.Forbidden) {
			t.Errorf("%s: %v", addr, err)
		}
	}
	if got := s.Asked(); len(got) != 1 || got[0] != "localhost:"+port {
		t.Errorf("the proxy was asked for %q", got)
	}
}
