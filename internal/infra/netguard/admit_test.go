package netguard_test

import (
	"net/netip"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

func TestScopeAdmits(t *testing.T) {
	var seen denials
	s := mustScope(t, netguard.Limits{Deny: mustPrefixes(t, "10.9.0.0/16"), OnDenied: seen.add},
		"named.test", "port.test:8443", "*.wild.test", "127.0.0.2", "10.0.0.0/8")
	for _, c := range []struct {
		name, to string
		ok       bool
	}{
		{"named.test", "127.0.0.9:22", true},
		{"NAMED.test.", "127.0.0.9:22", true},
		{"named.test", "169.254.169.254:80", false},
		{"named.test", "10.9.1.1:80", false},
		{"named.test", "127.0.0.9:0", false},
		{"other.test", "127.0.0.9:22", false},
		{"other.test", "127.0.0.2:22", true}, // the address is a target by itself
		{"", "127.0.0.2:22", true},
		{"", "[::ffff:127.0.0.2]:22", true},
		{"127.0.0.2", "127.0.0.2:22", true},
		{"", "127.0.0.3:22", false},
		{"", "10.1.2.3:22", true},
		{"port.test", "192.0.2.1:8443", true},
		{"port.test", "192.0.2.1:443", false},
		{"a.wild.test", "8.8.8.8:53", true},
		{"a.wild.test", "192.168.0.1:53", false},
		{"not a name", "8.8.8.8:53", false},
	} {
		err := s.Admit(c.name, netip.MustParseAddrPort(c.to))
		if (err == nil) != c.ok {
			t.Errorf("%s at %s: %v", c.name, c.to, err)
		}
		if err != nil {
			wantDenied(t, err)
		}
	}
	if err := s.Admit("named.test", netip.AddrPort{}); err == nil {
		t.Error("what is no address was admitted")
	}
	if got := seen.take(); len(got) != 0 {
		t.Errorf("asking was reported: %v", got)
	}
}

func TestScopeExcludes(t *testing.T) {
	s := mustScope(t, netguard.Limits{Excludes: func(host string, port uint16) bool {
		return host == "out.test" ||
			host == "127.0.0.3" || port == 81
	}},
		"out.test", "in.test", "127.0.0.0/24")
	for _, c := range []struct {
		name, to string
		ok       bool
	}{
		{"out.test", "127.0.0.2:80", false},
		{"OUT.test.", "127.0.0.2:80", false},
		{"in.test", "127.0.0.2:80", true},
		{"in.test", "127.0.0.2:81", false},
		{"in.test", "127.0.0.3:80", true}, // where a name leads is for Deny
		{"", "127.0.0.3:80", false},
		{"", "[::ffff:127.0.0.3]:80", false},
		{"", "127.0.0.2:80", true},
	} {
		if err := s.Admit(c.name, netip.MustParseAddrPort(c.to)); (err == nil) != c.ok {
			t.Errorf("%s at %s: %v", c.name, c.to, err)
		}
	}
	for _, addr := range []string{"out.test:80", "127.0.0.3:80", "127.0.0.2:81"} {
		_, err := s.Dial(t.Context(), "tcp", addr)
		wantDenied(t, err)
	}
}
