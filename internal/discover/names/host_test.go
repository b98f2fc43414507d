package names

import (
	"strings"
	"testing"
)

func TestClean(t *testing.T) {
	label := strings.Repeat("a", 63)
	for in, want := range map[string]string{
		"Example.COM.": "example.com", "*.example.com": "example.com", "_sip._tcp.example.com": "_sip._tcp.example.com",
		"münchen.de": "xn--mnchen-3ya.de", label + ".de": label + ".de",
		"": "", ".": "", "a..b": "", ".a": "", "a b.de": "", "a/b": "", "a@b.de": "", "a:80": "", label + "a.de": "",
		"m\xff.de": "", "é:80": "", strings.Repeat(label+".", 4) + "de": "",
	} {
		got, ok := normalizeHost(in)
		if got != want || ok != (want != "") {
			t.Errorf("%q: %q %v, want %q", in, got, ok, want)
		}
	}
}

func TestDomainOf(t *testing.T) {
	c := Config{Domains: []string{"example.com", "dev.example.com"}}
	for host, want := range map[string]string{
		"a.example.com": "example.com", "a.dev.example.com": "dev.example.com", "dev.example.com": "dev.example.com",
		"anexample.com": "", "example.org": "",
	} {
		if got := c.domainOf(host); got != want {
			t.Errorf("%s belongs to %q, want %q", host, got, want)
		}
	}
	if got := (&Config{}).domainOf("a.b.c.de"); got != "c.de" {
		t.Errorf("without domains: %q", got)
	}
}
