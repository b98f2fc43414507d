package hostpattern

import (
	"net/netip"
	"strings"
	"testing"
)

func TestPatterns(t *testing.T) {
	for _, c := range []struct {
		patterns []string
		out, in  string // targets, by spaces
	}{
		{[]string{"*.staging.example.com"}, "a.staging.example.com https://B.Staging.example.com:8443/x",
			"staging.example.com example.com"},
		{[]string{"10.0.0.0/8", "192.0.2.7"}, "10.1.2.3 http://10.0.0.1:80/ 192.0.2.7:443",
			"11.0.0.1 192.0.2.70 [2001:db8::1]:80"},
		{[]string{"2001:db8::/32"}, "[2001:db8::1]:80 2001:db8::2", "2001:db9::1"},
		{[]string{"+prod-*.x", "+api.x", "*.staging.x"}, "prod-web.staging.x other.x", "prod-web.x api.x"},
		{[]string{"a.example.com:8080"}, "http://a.example.com:8080/p", "http://a.example.com/p"},
		{[]string{"a*b*c"}, "abc axxbyyc", "ab abcd"},
	} {
		p, err := Parse(c.patterns)
		if err != nil {
			t.Fatal(err)
		}
		for target := range strings.FieldsSeq(c.out) {
			if !p.Excludes(target) {
				t.Errorf("%v let %s in", c.patterns, target)
			}
		}
		for target := range strings.FieldsSeq(c.in) {
			if p.Excludes(target) {
				t.Errorf("%v leave %s out", c.patterns, target)
			}
		}
	}
}

func FuzzPattern(f *testing.F) {
	f.Add("*.example.com", "http://a.example.com:80/x")
	f.Add("+10.0.0.0/8", "10.0.0.1")
	f.Add("a*****b", strings.Repeat("a", 300))
	f.Fuzz(func(t *testing.T, pattern, target string) {
		p, err := Parse([]string{pattern})
		if err == nil {
			p.Excludes(target)
		}
		if a, err := netip.ParseAddr(target); err == nil && a.Zone() == "" {
			if all, err := Parse([]string{"0.0.0.0/0", "::/0"}); err != nil || !all.Excludes(target) {
				t.Errorf("%s is in no range", target)
			}
		}
	})
}
