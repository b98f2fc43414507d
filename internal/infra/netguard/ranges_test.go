package netguard_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

func TestGuardDeniesEveryRange(t *testing.T) {
	cases := []string{ // rule 4b and the neighbours at each end of each range
		"0.0.0.0", "0.255.255.255", "10.0.0.0", "10.255.255.255", "100.64.0.0", "100.127.255.255",
		"127.0.0.1", "127.255.255.255", "169.254.0.0", "169.254.169.254", "169.254.255.255",
		"172.16.0.0", "172.31.255.255", "192.0.0.0", "192.0.0.255", "192.0.2.0", "192.0.2.255",
		"192.88.99.0", "192.88.99.255", "192.168.0.0", "192.168.255.255", "198.18.0.0", "198.19.255.255",
		"198.51.100.0", "198.51.100.255", "203.0.113.0", "203.0.113.255", "224.0.0.0", "239.255.255.255",
		"240.0.0.0", "255.255.255.254", "255.255.255.255", "168.63.129.16", "100.100.100.200",
		"::", "::1", "::2", "::7f00:1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:169.254.169.254",
		"::ffff:0:7f00:1", "64:ff9b::", "64:ff9b::8.8.8.8", "64:ff9b::ffff:ffff", "64:ff9b:1::",
		"64:ff9b:1:ffff:ffff:ffff:ffff:ffff",
		"100::1", "2001::1", "2001:0:ffff:ffff:ffff:ffff:ffff:ffff", "2001:2::1", "2001:1ff:ffff::1", "2001:db8::1",
		"2002::1", "2002:ffff::1", "3fff::1", "3fff:fff::1", "4000::1", "5f00::1", "8000::1", "fc00::1", "fdff::1",
		"fd00:ec2::254",
		"fe80::1", "febf::1", "fec0::1", "feff::1", "ff00::", "ff02::1", "1fff::1", "fe80::1%lo", "::1%lo",
	}
	var g netguard.Guard
	for _, ip := range cases {
		wantDenied(t, orMissing(g.Check(netip.MustParseAddr(ip)), ip))
	}
	wantDenied(t, g.Check(netip.Addr{}))
	for _, ip := range []string{
		"1.0.0.0", "8.8.8.8", "9.255.255.255", "11.0.0.0", "100.63.255.255", "100.128.0.0", "126.255.255.255", "128.0.0.0",
		"169.253.255.255", "169.255.0.0", "172.15.255.255", "172.32.0.0", "192.0.1.0", "192.0.3.0", "192.88.98.255",
		"192.88.100.0",
		"192.167.255.255", "192.169.0.0", "198.17.255.255", "198.20.0.0", "198.51.99.255", "203.0.114.0", "223.255.255.255",
		"168.63.129.15", "2000::1", "2001:200::1", "2001:db7::1", "2001:db9::1", "2003::1", "2606:4700::1111", "3ffe:ffff::1",
		"::ffff:8.8.8.8",
	} {
		if err := g.Check(netip.MustParseAddr(ip)); err != nil {
			t.Errorf("%s: %v, want it allowed", ip, err)
		}
	}
}

// Each range has its own reason: the wide ranges at the table's end do not stand in for
// the narrow ones.
func TestGuardGivesTheReason(t *testing.T) {
	for ip, want := range map[string]string{
		"255.255.255.255": "broadcast", "240.0.0.1": "reserved", "::": "the unspecified address", "::1": "loopback",
		"::7f00:1": "an IPv4 address inside IPv6", "::ffff:0:7f00:1": "an IPv4 address inside IPv6",
		"64:ff9b::1": "an IPv4 address inside IPv6", "64:ff9b:1::1": "an IPv4 address inside IPv6",
		"2001::1": "an IPv4 address inside IPv6",
		"2002::1": "an IPv4 address inside IPv6", "2001:10::1": "reserved for protocols",
		"2001:db8::1": "a documentation network",
		"fc00::1":     "a private network", "fe80::1": "link-local", "fec0::1": "site-local", "ff02::1": "multicast",
		"4000::1": "outside the IPv6 addresses in public use", "10.0.0.1": "a private network",
		"100.64.0.1": "a carrier's shared network",
	} {
		if d := wantDenied(t, (&netguard.Guard{}).Check(netip.MustParseAddr(ip))); d.Why != "it is "+want {
			t.Errorf("%s: %q, want it is %s", ip, d.Why, want)
		}
	}
}

// Neither a guard that allows every range nor a scope that names every range reaches a
// cloud's metadata address.
func TestMetadataIsNeverReachedByTheWay(t *testing.T) {
	g := &netguard.Guard{Allow: mustPrefixes(t, "0.0.0.0/0", "::/0")}
	s := mustScope(t, netguard.Limits{}, "0.0.0.0/0", "::/0", "any.test")
	for _, ip := range []string{
		"169.254.169.254", "169.254.170.2", "169.254.170.23", "169.254.0.23", "169.254.42.42", "168.63.129.16",
		"100.100.100.200",
		"100.96.0.96", "192.0.0.192", "fd00:ec2::254", "fd00:ec2::23", "fd20:ce::254", "fd00:42::42", "fe80::a9fe:a9fe",
		"fe80::a9fe:a9fe%lo",
	} {
		a := netip.MustParseAddr(ip)
		wantDenied(t, orMissing(g.Check(a), ip))
		if s.Refuses("any.test", a, 80) == "" {
			t.Errorf("a scope reaches %s", ip)
		}
		alone := &netguard.Guard{Allow: mustPrefixes(t, a.WithZone("").String())}
		if err := alone.Check(a); err != nil {
			t.Errorf("%s listed by itself: %v", ip, err)
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
