package netguard_test

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/vedette-sec/vedette/internal/errs"
	"github.com/vedette-sec/vedette/internal/netguard"
	"github.com/vedette-sec/vedette/internal/netguard/dnstest"
)

func mustTargets(t testing.TB, list ...string) []netguard.Target {
	t.Helper()
	var out []netguard.Target
	for _, s := range list {
		target, err := netguard.ParseTarget(s)
		if err != nil {
			t.Fatal(err)
		}
		out = append(out, target)
	}
	return out
}

func mustScope(t testing.TB, limits netguard.Limits, targets ...string) *netguard.Scope {
	t.Helper()
	s, err := netguard.NewScope(mustTargets(t, targets...), limits)
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// denials collects what a scope reports.
type denials struct {
	mu   sync.Mutex
	list []netguard.Denied
}

func (d *denials) add(one netguard.Denied) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.list = append(d.list, one)
}

func (d *denials) take() []netguard.Denied {
	d.mu.Lock()
	defer d.mu.Unlock()
	out := d.list
	d.list = nil
	return out
}

func TestScopeDecides(t *testing.T) {
	names := dnstest.Start(t)
	for name, addrs := range map[string][]string{
		"named.test":       {"127.0.0.2"},
		"sub.wild.test":    {"127.0.0.2"},
		"ten.wild.test":    {"10.0.0.1"},
		"mapped.wild.test": {"::ffff:10.0.0.1"},
		"meta.test":        {"169.254.169.254"},
		"meta6.test":       {"64:ff9b::169.254.169.254"},
		"zero.test":        {"0.0.0.0"},
		"wild.test":        {"127.0.0.2"},
		"other.test":       {"127.0.0.2"},
		"alias.test":       {"meta.test"},
	} {
		names.Set(name, addrs)
	}
	tr := listen(t, "127.0.0.2", "0")
	at := func(host string) string { return net.JoinHostPort(host, tr.port) }
	cases := []struct {
		targets string // space-separated
		deny    string
		dial    string
		ok      bool
	}{
		{"127.0.0.2", "", at("127.0.0.2"), true},
		{"127.0.0.2", "", at("::ffff:127.0.0.2"), true},
		{"127.0.0.2", "", at("0x7f.2"), true},
		{"0x7f.2", "", at("127.0.0.2"), true},
		{"127.0.0.0/8", "", at("127.0.0.2"), true},
		{"::ffff:127.0.0.0/104", "", at("127.0.0.2"), true},
		{"127.0.0.1", "", at("127.0.0.2"), false},
		{"", "", at("127.0.0.2"), false},
		{at("127.0.0.2"), "", at("127.0.0.2"), true},
		{"127.0.0.2:1", "", at("127.0.0.2"), false},
		{"127.0.0.2:1 127.0.0.0/24", "", at("127.0.0.2"), true},
		{"127.0.0.2 127.0.0.2:1", "", at("127.0.0.2"), true},
		{"127.0.0.2:1 " + at("127.0.0.2"), "", at("127.0.0.2"), true},
		{"127.0.0.2", "127.0.0.0/8", at("127.0.0.2"), false},
		{"127.0.0.2", "::ffff:127.0.0.0/104", at("127.0.0.2"), false},
		{"named.test", "", at("named.test"), true},
		{"NAMED.test.", "", at("named.test"), true},
		{"named.test", "", at("Named.Test."), true},
		{"named.test", "", at("127.0.0.2"), false},
		{"named.test", "127.0.0.2", at("named.test"), false},
		{"named.test:1", "", at("named.test"), false},
		{"named.test", "", at("other.test"), false},
		{"named.test", "", at("evilnamed.test"), false},
		{"127.0.0.2", "", at("named.test"), false},
		{"*.wild.test", "", at("sub.wild.test"), false},
		{"*.wild.test 127.0.0.2", "", at("sub.wild.test"), true},
		{"*.wild.test 127.0.0.2:1", "", at("sub.wild.test"), false},
		{"*.wild.test 127.0.0.2", "", at("wild.test"), false},
		{"*.wild.test", "", at("ten.wild.test"), false},
		{"*.wild.test", "", at("mapped.wild.test"), false},
		{"meta.test", "", at("meta.test"), false},
		{"meta6.test", "", at("meta6.test"), false},
		{"alias.test", "", at("alias.test"), false},
		{"zero.test", "", at("zero.test"), false},
		{"0.0.0.0", "", at("0.0.0.0"), false},
		{"::/0 0.0.0.0/0", "", "169.254.169.254:80", false},
		{"::/0 0.0.0.0/0", "", "[fd00:ec2::254]:80", false},
		{"::/0 0.0.0.0/0", "", "[::ffff:169.254.169.254]:80", false},
		{"169.254.169.254", "", "169.254.169.254:80", false},
		{"::/0 0.0.0.0/0", "", "[::]:80", false},
		{"::/0 0.0.0.0/0", "", "224.0.0.1:80", false},
		{"::/0 0.0.0.0/0", "", "255.255.255.255:80", false},
		{"::/0 0.0.0.0/0", "10.0.0.0/8", "[64:ff9b::10.0.0.1]:80", false},
		{"::/0 0.0.0.0/0", "10.0.0.0/8", "[2002:a00:1::]:80", false},
		{"127.0.0.2", "", "127.0.0.2", false},
		{"127.0.0.2", "", "127.0.0.2:http", false},
		{"127.0.0.2", "", "127.0.0.2:0", false},
		{"named.test", "", "na med.test:80", false},
	}
	for _, c := range cases {
		var seen denials
		var deny []netip.Prefix
		if c.deny != "" {
			deny = mustPrefixes(t, c.deny)
		}
		s := mustScope(t, netguard.Limits{Deny: deny, Resolver: names.Resolver(), OnDenied: seen.add}, strings.Fields(c.targets)...)
		before := tr.accepts.Load()
		conn, err := s.Dial(t.Context(), "tcp", c.dial)
		if c.ok {
			if err != nil {
				t.Errorf("targets %q deny %q: %s gives %v", c.targets, c.deny, c.dial, err)
				continue
			}
			_, _ = conn.Read(make([]byte, 1)) // the trap hangs up after it has counted
			conn.Close()
			continue
		}
		if err == nil {
			conn.Close()
			t.Errorf("targets %q deny %q: %s was dialled", c.targets, c.deny, c.dial)
			continue
		}
		d := wantDenied(t, err)
		if errs.From(err).Code != netguard.CodeOutOfScope {
			t.Errorf("%s: code %s", c.dial, errs.From(err).Code)
		}
		if got := seen.take(); len(got) != 1 || got[0].Addr != d.Addr || got[0].Why != d.Why {
			t.Errorf("%s: reported %v, returned %v", c.dial, got, d)
		}
		if n := tr.others(t, "127.0.0.2"); n != before {
			t.Errorf("targets %q: %s was refused after a packet left", c.targets, c.dial)
		}
	}
	if names.Asked("other.test") != 0 || names.Asked("evilnamed.test") != 0 {
		t.Error("a name out of scope was looked up")
	}
}

func TestScopePinsTheFirstAnswer(t *testing.T) {
	first := listen(t, "127.0.0.2", "0")
	second := listen(t, "127.0.0.1", first.port)
	names := dnstest.Start(t)
	names.Set("rebind.test", []string{"127.0.0.2"}, []string{"127.0.0.1"})
	s := mustScope(t, netguard.Limits{Resolver: names.Resolver()}, "rebind.test")
	var wg sync.WaitGroup
	for range 8 {
		wg.Go(func() {
			conn, err := s.Dial(t.Context(), "tcp", "rebind.test:"+first.port)
			if err != nil {
				t.Error(err)
				return
			}
			conn.Close()
		})
	}
	wg.Wait()
	if n := names.Asked("rebind.test"); n != 1 {
		t.Errorf("the name was looked up %d times, want once", n)
	}
	if n := second.others(t, "127.0.0.1"); n != 0 {
		t.Errorf("%d connections followed the second answer", n)
	}
}

func TestScopeTriesEachAllowedAddress(t *testing.T) {
	tr := listen(t, "127.0.0.2", "0")
	names := dnstest.Start(t)
	names.Set("many.test", []string{"127.0.0.3", "169.254.169.254", "127.0.0.2"}) // nothing listens at the first
	var seen denials
	s := mustScope(t, netguard.Limits{Resolver: names.Resolver(), OnDenied: seen.add}, "many.test")
	for _, network := range []string{"tcp", "tcp4"} {
		conn, err := s.Dial(t.Context(), network, "many.test:"+tr.port)
		if err != nil {
			t.Fatalf("%s: %v", network, err)
		}
		conn.Close()
		if got := seen.take(); len(got) != 1 || !strings.Contains(got[0].Why, "169.254.169.254") {
			t.Errorf("%s: reported %v, want the metadata address", network, got)
		}
	}
	if _, err := s.Dial(t.Context(), "tcp6", "many.test:"+tr.port); err == nil {
		t.Error("an IPv4 address was dialled over tcp6")
	}
	if _, err := s.Dial(t.Context(), "unix", "many.test:"+tr.port); err == nil {
		t.Error("a unix socket was dialled")
	}
}

func TestScopeDialsUDP(t *testing.T) {
	sink, err := net.ListenPacket("udp", "127.0.0.2:0")
	if err != nil {
		t.Fatal(err)
	}
	defer sink.Close()
	s := mustScope(t, netguard.Limits{}, "127.0.0.2")
	conn, err := s.Dial(t.Context(), "udp", sink.LocalAddr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write([]byte("x")); err != nil {
		t.Fatal(err)
	}
	_ = sink.SetReadDeadline(time.Now().Add(5 * time.Second))
	if n, _, err := sink.ReadFrom(make([]byte, 8)); n != 1 || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
	_, err = s.Dial(t.Context(), "udp", "127.0.0.1:53")
	wantDenied(t, err)
}

func TestScopeAsksAgainAfterAFailure(t *testing.T) {
	tr := listen(t, "127.0.0.2", "0")
	names := dnstest.Start(t)
	names.Set("late.test", []string{})
	s := mustScope(t, netguard.Limits{Resolver: names.Resolver()}, "late.test", "missing.test")
	var dnsErr *net.DNSError
	for _, name := range []string{"late.test", "missing.test"} {
		if _, err := s.Dial(t.Context(), "tcp", name+":"+tr.port); !errors.As(err, &dnsErr) {
			t.Fatalf("%s: got %v, want a DNS error", name, err)
		}
	}
	names.Set("late.test", []string{"127.0.0.2"})
	conn, err := s.Dial(t.Context(), "tcp", "late.test:"+tr.port)
	if err != nil {
		t.Fatal(err)
	}
	conn.Close()
}

// A name server that never answers holds a dial no longer than its time, or its caller.
func TestScopeGivesUp(t *testing.T) {
	silent, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer silent.Close()
	resolver := &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		return (&net.Dialer{}).DialContext(ctx, "udp", silent.LocalAddr().String())
	}}
	s := mustScope(t, netguard.Limits{Resolver: resolver, Timeout: 50 * time.Millisecond}, "slow.test")
	start := time.Now()
	if _, err := s.Dial(t.Context(), "tcp", "slow.test:80"); err == nil {
		t.Error("a dial without an answer worked")
	}
	if took := time.Since(start); took > 3*time.Second {
		t.Errorf("gave up after %s, want 50 ms", took)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := s.Dial(ctx, "tcp", "slow.test:80"); !errors.Is(err, context.Canceled) {
		t.Errorf("got %v, want context.Canceled", err)
	}
}

func TestScopeAllowsURL(t *testing.T) {
	s := mustScope(t, netguard.Limits{Deny: mustPrefixes(t, "10.0.0.9")}, "site.test", "https://only.test:8443/x", "10.0.0.0/24", "*.wild.test", "169.254.169.254")
	for raw, want := range map[string]bool{
		"http://site.test/":              true,
		"https://SITE.test:9999/a":       true,
		"ws://site.test/":                true,
		"https://only.test:8443/":        true,
		"https://only.test/":             false,
		"http://a.b.wild.test/":          true,
		"http://wild.test/":              false,
		"http://10.0.0.8/":               true,
		"http://0x0a000008/":             true,
		"http://[::ffff:10.0.0.8]:8080/": true,
		"http://10.0.0.9/":               false,
		"http://10.0.1.1/":               false,
		"http://169.254.169.254/":        false,
		"http://evil.test/":              false,
		"http://site.test@evil.test/":    false,
		"http://site.test.evil.test/":    false,
		"ftp://site.test/":               false,
		"http://site.test:0/":            false,
		"//site.test/":                   false,
		"javascript:alert(1)":            false,
		"http:///x":                      false,
	} {
		u, err := url.Parse(raw)
		if err != nil {
			t.Fatal(err)
		}
		if got := s.AllowsURL(u); got != want {
			t.Errorf("%s: %v, want %v", raw, got, want)
		}
	}
}

func TestParseTarget(t *testing.T) {
	for in, want := range map[string]string{
		"example.com":                "example.com",
		" Example.COM. ":             "example.com",
		"*.example.com":              "*.example.com",
		"*.example.com:443":          "*.example.com [443]",
		"example.com:8443":           "example.com [8443]",
		"example.com/admin":          "example.com",
		"http://example.com/a?b":     "example.com",
		"https://u:p@example.com:1/": "example.com [1]",
		"bücher.example":             "xn--bcher-kva.example",
		"192.0.2.7":                  "192.0.2.7/32",
		"192.0.2.7:80":               "192.0.2.7/32 [80]",
		"192.0.2.7/24":               "192.0.2.0/24",
		"0x7f.1":                     "127.0.0.1/32",
		"2130706433":                 "127.0.0.1/32",
		"::1":                        "::1/128",
		"[::1]:80":                   "::1/128 [80]",
		"http://[::ffff:10.0.0.1]/":  "10.0.0.1/32",
		"2001:db8::/32":              "2001:db8::/32",
		"localhost":                  "localhost",
		"":                           "",
		"*":                          "",
		"*.":                         "",
		"*.10.0.0.1":                 "",
		"192.0.2.0/33":               "",
		"example.com/24":             "",
		"example.com:0":              "",
		"example.com:99999":          "",
		"exam ple.com":               "",
		"http://":                    "",
		"a..b":                       "",
		"256.1.1.1":                  "",
		"foo\x00.com":                "",
		strings.Repeat("a", 3000):    "",
	} {
		got, err := netguard.ParseTarget(in)
		if want == "" {
			if !errs.Is(err, errs.Invalid) {
				t.Errorf("%.40q: got %v, %v, want it refused", in, got, err)
			}
			continue
		}
		if err != nil || written(got) != want {
			t.Errorf("%.40q: got %s, %v, want %s", in, written(got), err, want)
		}
	}
}

// written is a target in the short form of the test's table.
func written(t netguard.Target) string {
	out := t.Host
	if t.Subdomains {
		out = "*." + out
	}
	if t.Prefix.IsValid() {
		out = t.Prefix.String()
	}
	if len(t.Ports) > 0 {
		out += " [" + strconv.Itoa(int(t.Ports[0])) + "]"
	}
	return out
}

func TestNewScopeRefuses(t *testing.T) {
	p := netip.MustParsePrefix("10.0.0.0/8")
	for what, target := range map[string]netguard.Target{
		"nothing":                 {},
		"both":                    {Host: "a.test", Prefix: p},
		"port 0":                  {Host: "a.test", Ports: []uint16{0}},
		"a malformed host":        {Host: "a b"},
		"subdomains of addresses": {Host: "10.0.0.1", Subdomains: true},
	} {
		if _, err := netguard.NewScope([]netguard.Target{target}, netguard.Limits{}); !errs.Is(err, errs.Invalid) {
			t.Errorf("%s: %v, want Invalid", what, err)
		}
	}
	if _, err := netguard.NewScope(nil, netguard.Limits{Deny: make([]netip.Prefix, 1)}); !errs.Is(err, errs.Invalid) {
		t.Errorf("an empty denied range: %v, want Invalid", err)
	}
}

// A literal is in scope exactly when a target's range holds it and nothing forbids it.
func TestScopeAgreesWithItsRanges(t *testing.T) {
	metadata := netip.MustParseAddr("169.254.169.254")
	rapid.Check(t, func(rt *rapid.T) {
		octet := rapid.SampledFrom([]byte{0, 1, 10, 127, 128, 169, 254, 255})
		addr := rapid.Custom(func(rt *rapid.T) netip.Addr {
			if rapid.IntRange(0, 9).Draw(rt, "metadata") == 0 {
				return metadata
			}
			return netip.AddrFrom4([4]byte{octet.Draw(rt, "a"), octet.Draw(rt, "b"), octet.Draw(rt, "c"), octet.Draw(rt, "d")})
		})
		prefix := rapid.Custom(func(rt *rapid.T) netip.Prefix {
			return netip.PrefixFrom(addr.Draw(rt, "addr"), rapid.IntRange(0, 32).Draw(rt, "bits"))
		})
		named := rapid.SliceOfN(prefix, 0, 4).Draw(rt, "named")
		deny := rapid.SliceOfN(prefix, 0, 2).Draw(rt, "deny")
		a := addr.Draw(rt, "dialled")
		var targets []netguard.Target
		want := false
		for _, p := range named {
			targets = append(targets, netguard.Target{Prefix: p})
			want = want || p.Contains(a)
		}
		for _, p := range deny {
			want = want && !p.Contains(a)
		}
		first := a.As4()[0]
		want = want && a != metadata && first != 0 && first < 224 || want && first >= 240 && a.String() != "255.255.255.255"
		s, err := netguard.NewScope(targets, netguard.Limits{Deny: deny})
		if err != nil {
			rt.Fatal(err)
		}
		for _, host := range []string{a.String(), "::ffff:" + a.String()} {
			if got := s.AllowsURL(&url.URL{Scheme: "http", Host: net.JoinHostPort(host, "80")}); got != want {
				rt.Fatalf("named %v, deny %v: %s is allowed %v, want %v", named, deny, host, got, want)
			}
		}
	})
}

// Whatever a target's text is, the scope made from it never admits what no scope may.
func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"example.com:80", "*.example.com", "10.0.0.0/8", "http://[::1]:80/", "0x7f.1", "::/0", "a://b@c:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		target, err := netguard.ParseTarget(text)
		if err != nil {
			return
		}
		s, err := netguard.NewScope([]netguard.Target{target}, netguard.Limits{})
		if err != nil {
			t.Fatalf("%q was taken as a target and refused by the scope: %v", text, err)
		}
		if target.Prefix.IsValid() == (target.Host != "") {
			t.Fatalf("%q is a host and a range, or neither: %+v", text, target)
		}
		for _, host := range []string{"169.254.169.254", "[fd00:ec2::254]", "0.0.0.0", "[64:ff9b::a9fe:a9fe]", "224.0.0.1"} {
			if s.AllowsURL(&url.URL{Scheme: "http", Host: host}) {
				t.Fatalf("%q opens %s", text, host)
			}
		}
	})
}

func BenchmarkScopeAdmits(b *testing.B) {
	var targets []netguard.Target
	for i := range 100_000 {
		targets = append(targets, netguard.Target{Host: "h" + strconv.Itoa(i) + ".example.com"})
	}
	targets = append(targets, mustTargets(b, "10.0.0.0/8", "192.168.0.0/16", "2001:db8::/32")...)
	s, err := netguard.NewScope(targets, netguard.Limits{})
	if err != nil {
		b.Fatal(err)
	}
	for name, raw := range map[string]string{"name": "https://h99999.example.com/x", "address": "http://192.168.7.7/"} {
		u, _ := url.Parse(raw)
		b.Run(name, func(b *testing.B) {
			b.ReportAllocs()
			for b.Loop() {
				if !s.AllowsURL(u) {
					b.Fatal("refused")
				}
			}
		})
	}
}

func BenchmarkGuardCheck(b *testing.B) {
	var g netguard.Guard
	a := netip.MustParseAddr("2606:4700::1111")
	b.ReportAllocs()
	for b.Loop() {
		if g.Check(a) != nil {
			b.Fatal("refused")
		}
	}
}
