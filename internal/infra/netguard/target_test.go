package netguard_test

import (
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

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
		"foo\xb3.com":                "",
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

// Whatever a target's text is, the scope made from it never admits what no scope may.
func FuzzParseTarget(f *testing.F) {
	for _, s := range []string{"example.com:80", "*.example.com", "10.0.0.0/8", "http://[::1]:80/", "0x7f.1", "::/0",
		"a://b@c:1"} {
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
