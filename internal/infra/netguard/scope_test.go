package netguard_test

import (
	"net"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"
	"time"

	"pgregory.net/rapid"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
	"github.com/vedette-sec/vedette/internal/infra/netguard/dnstest"
)

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
		{"127.0.0.2:1 127.0.0.2", "", at("127.0.0.2"), true},
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
		s := mustScope(t, netguard.Limits{Deny: deny, Resolver: names.Resolver(), OnDenied: seen.add},
			strings.Fields(c.targets)...)
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

// What a name brings to an address it resolves to.
func TestScopeReach(t *testing.T) {
	s, err := netguard.NewScope(mustTargets(t, "named.test", "*.wild.test", "*.narrow.test:443", "10.1.0.0/16"),
		netguard.Limits{
			// as an operator may write it
			Deny: []netip.Prefix{netip.MustParsePrefix("::ffff:10.1.2.0/120"), netip.MustParsePrefix("0.0.0.0/8")},
		})
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name, ip string
		port     uint16
		ok       bool
	}{
		{"named.test", "8.8.8.8", 80, true},
		{"named.test", "10.9.9.9", 80, true},
		{"named.test", "::1", 80, true}, // not the IPv4 address 0.0.0.1 in disguise
		{"named.test", "10.1.2.3", 80, false},
		{"named.test", "64:ff9b::10.1.2.3", 80, false},
		{"named.test", "ff02::1", 80, false},
		{"named.test", "255.255.255.255", 80, false},
		{"named.test", "::", 80, false},
		{"a.wild.test", "8.8.8.8", 80, true},
		{"a.wild.test", "2606:4700::1111", 80, true},
		{"a.wild.test", "10.1.0.1", 80, true},
		{"a.wild.test", "10.9.9.9", 80, false},
		{"a.wild.test", "127.0.0.1", 80, false},
		{"a.narrow.test", "8.8.8.8", 443, true},
		{"a.narrow.test", "8.8.8.8", 80, false},
		{"narrow.test", "8.8.8.8", 443, false},
		{"other.test", "8.8.8.8", 80, false},
	} {
		if why := s.Refuses(c.name, netip.MustParseAddr(c.ip), c.port); (why == "") != c.ok {
			t.Errorf("%s at %s port %d: %q, want allowed %v", c.name, c.ip, c.port, why, c.ok)
		}
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
	_ = sink.SetReadDeadline(time.Now().Add(time.Minute))
	if n, _, err := sink.ReadFrom(make([]byte, 8)); n != 1 || err != nil {
		t.Errorf("got %d bytes, %v", n, err)
	}
	_, err = s.Dial(t.Context(), "udp", "127.0.0.1:53")
	wantDenied(t, err)
}

func TestScopeAllowsURL(t *testing.T) {
	s := mustScope(t, netguard.Limits{Deny: mustPrefixes(t, "10.0.0.9")}, "site.test", "https://only.test:8443/x",
		"10.0.0.0/24", "*.wild.test", "169.254.169.254")
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
