package netguard_test

import (
	"context"
	"errors"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/netip"
	"net/url"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/errs"
	"github.com/vedette-sec/vedette/internal/netguard"
	"github.com/vedette-sec/vedette/internal/netguard/dnstest"
)

// trap is a listener that counts who comes in.
type trap struct {
	port    string
	accepts atomic.Int32
}

// listen opens a trap at ip, on this port or (with "0") on any.
func listen(t testing.TB, ip, port string) *trap {
	t.Helper()
	l, err := net.Listen("tcp", net.JoinHostPort(ip, port))
	if err != nil {
		t.Fatal(err)
	}
	_, port, _ = net.SplitHostPort(l.Addr().String())
	tr := &trap{port: port}
	done := make(chan struct{})
	go func() {
		defer close(done)
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			tr.accepts.Add(1)
			conn.Close()
		}
	}()
	t.Cleanup(func() { l.Close(); <-done })
	return tr
}

// others dials the trap once, so that everything before has been accepted, and tells
// how many others came.
func (tr *trap) others(t testing.TB, ip string) int32 {
	t.Helper()
	before := tr.accepts.Load()
	conn, err := net.Dial("tcp", net.JoinHostPort(ip, tr.port))
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	_ = conn.SetReadDeadline(time.Now().Add(5 * time.Second))
	_, _ = conn.Read(make([]byte, 1)) // the trap accepts in order, and hangs up
	return max(before, tr.accepts.Load()-1)
}

func mustPrefixes(t testing.TB, list ...string) []netip.Prefix {
	t.Helper()
	var out []netip.Prefix
	for _, s := range list {
		p, err := netguard.ParsePrefix(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, p)
	}
	return out
}

func wantDenied(t testing.TB, err error) *netguard.Denied {
	t.Helper()
	var d *netguard.Denied
	if !errors.As(err, &d) {
		t.Fatalf("got %v, want a *Denied", err)
	}
	if !errs.Is(err, errs.Forbidden) {
		t.Fatalf("%v is not Forbidden", err)
	}
	return d
}

func TestGuardDeniesEveryRange(t *testing.T) {
	cases := []string{ // rule 4b and the neighbours at each end of each range
		"0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255",
		"127.0.0.1", "127.255.255.255", "169.254.0.0", "169.254.169.254", "169.254.255.255",
		"172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.255", "192.0.2.0", "192.0.2.255",
		"192.88.99.0", "192.88.99.255", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255",
		"198.51.100.0", "198.51.100.255", "203.0.113.0", "203.0.113.255", "224.0.0.0", "239.255.255.255",
		"240.0.0.0", "255.255.255.254", "255.255.255.255", "168.63.129.16", "100.100.100.200",
		"::", "::1", "::2", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
		"::ffff:0:7f00:1", "64:ff9b::", "64:ff9b::8.8.8.8", "64:ff9b::ffff:ffff", "64:ff9b:1::", "64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
		"100::1", "2001::1", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "2001:2::1", "2001:1ff:ffff::1", "2001:db8::1",
		"2002::1", "2002:ffff::1", "3fff::1", "3fff:fff::1", "4000::1", "5f00::1", "8000::1", "fc00::1", "fdff::1", "fd00:ec2::254",
		"fe80::1", "febf::1", "fec0::1", "feff::1", "ff00::", "ff02::1", "1fff::1", "fe80::1%lo", "::1%lo",
	}
	var g netguard.Guard
	for _, ip := range cases {
		wantDenied(t, orMissing(g.Check(netip.MustParseAddr(ip)), ip))
	}
	wantDenied(t, g.Check(netip.Addr{}))
	for _, ip := range []string{
		"1.0.0.0", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.88.98.255", "192.88.100.0",
		"192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "203.0.114.0", "223.255.255.255",
		"168.63.129.15", "2000::1", "2001:200::1", "2001:db7::1", "2001:db9::1", "2003::1", "2606:4700::1111", "3ffe:ffff::1", "::ffff:8.8.8.8",
	} {
		if err := g.Check(netip.MustParseAddr(ip)); err != nil {
			t.Errorf("%s: %v, want it allowed", ip, err)
		}
	}
}

// orMissing turns a missing refusal into an error that names the address.
func orMissing(err error, ip string) error {
	if err == nil {
		return errors.New(ip + " is allowed")
	}
	return err
}

func TestGuardAllowList(t *testing.T) {
	cases := []struct {
		allow, ip string
		ok        bool
	}{
		{"10.0.0.0/8", "10.1.2.3", true},
		{"10.0.0.0/8", "::ffff:10.1.2.3", true},
		{"::ffff:10.0.0.0/104", "10.1.2.3", true},
		{"10.0.0.0/8", "192.168.0.1", false},
		{"10.0.0.0/8", "64:ff9b::10.1.2.3", false},
		{"10.1.2.3", "10.1.2.3", true},
		{"10.1.2.3", "10.1.2.4", false},
		{"169.254.0.0/16", "169.254.1.1", true},
		{"169.254.0.0/16", "169.254.169.254", false},
		{"169.254.169.254/31", "169.254.169.254", false},
		{"169.254.169.254/32", "169.254.169.254", true},
		{"169.254.169.254", "::ffff:169.254.169.254", true},
		{"169.254.169.254", "64:ff9b::169.254.169.254", false},
		{"0.0.0.0/0", "100.100.100.200", false},
		{"0.0.0.0/0", "168.63.129.16", false},
		{"168.63.129.16", "168.63.129.16", true},
		{"::/0", "fd00:ec2::254", false},
		{"fd00:ec2::254", "fd00:ec2::254", true},
		{"64:ff9b::/96", "64:ff9b::10.0.0.1", true},
		{"64:ff9b::/96", "64:ff9b::169.254.169.254", false},
		{"::/0", "64:ff9b:1:a9fe:a9:fe00::", false},    // RFC 6052, /48
		{"::/0", "64:ff9b:1:a9:fe:a9fe::", false},      // /56 … the four places are worked out in the RFC's table
		{"::/0", "64:ff9b:1::a9:fea9:fe00:0", false},   // /64
		{"::/0", "64:ff9b:1::a9fe:a9fe", false},        // /96
		{"::/0", "2002:a9fe:a9fe::1", false},           // 6to4
		{"::/0", "2001:0:0808:0808::5601:5601", false}, // Teredo: ^169.254.169.254
		{"::/0", "2001:0:a9fe:a9fe::1", false},         // Teredo server
		{"::/0", "::a9fe:a9fe", false},                 // IPv4-compatible
		{"::/0", "::ffff:0:a9fe:a9fe", false},          // SIIT
		{"::/0", "fe80::a9fe:a9fe", false},
		{"::/0", "::1", true},
	}
	for _, c := range cases {
		g := netguard.Guard{Allow: mustPrefixes(t, c.allow)}
		if err := g.Check(netip.MustParseAddr(c.ip)); (err == nil) != c.ok {
			t.Errorf("allow %s: %s gives %v, want allowed %v", c.allow, c.ip, err, c.ok)
		}
	}
}

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
	for _, network := range []string{"udp", "unix", "ip4:icmp"} {
		if conn, err := g.Dial(t.Context(), network, "127.0.0.1:"+four.port); err == nil {
			conn.Close()
			t.Errorf("%s was dialled", network)
		}
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
	if open.accepts.Load() != 1 {
		t.Errorf("the allowed address saw %d connections, want 1", open.accepts.Load())
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
	slow := httptest.NewServer(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }))
	defer slow.Close()
	_, slowPort, _ := net.SplitHostPort(slow.Listener.Addr().String())
	client := (&netguard.Guard{Allow: mustPrefixes(t, "127.0.0.1")}).Client(300 * time.Millisecond)
	defer client.CloseIdleConnections()
	for what, target := range map[string]string{
		"an unknown certificate": secure.URL,
		"large headers":          large.URL,
		"a server that hangs":    slow.URL,
		"userinfo":               "http://user:secret@127.0.0.1:" + slowPort,
		"another scheme":         "ftp://127.0.0.1/",
		"an odd spelling":        "http://0x7f.1:" + slowPort,
	} {
		res, err := client.Get(target)
		if err == nil {
			res.Body.Close()
			t.Errorf("%s: got %d", what, res.StatusCode)
		}
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

func TestParsePrefix(t *testing.T) {
	for in, want := range map[string]string{
		"10.0.0.0/8": "10.0.0.0/8", " 10.9.9.9/8 ": "10.0.0.0/8", "10.0.0.1": "10.0.0.1/32", "::1": "::1/128",
		"::ffff:10.0.0.1": "10.0.0.1/32", "::ffff:10.0.0.0/104": "10.0.0.0/8", "fd00::/8": "fd00::/8",
		"": "", "10.0.0.0/33": "", "example.com": "", "fe80::1%eth0": "", "10.0.0": "",
	} {
		p, err := netguard.ParsePrefix(in)
		switch {
		case want == "" && !errs.Is(err, errs.Invalid):
			t.Errorf("%q: got %v, %v, want it refused", in, p, err)
		case want != "" && (err != nil || p.String() != want):
			t.Errorf("%q: got %v, %v, want %s", in, p, err, want)
		}
	}
}
