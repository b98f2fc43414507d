package targets_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/vedette-sec/vedette/internal/engine"
	"github.com/vedette-sec/vedette/internal/engine/targets"
	"github.com/vedette-sec/vedette/internal/infra/errs"
)

func TestParse(t *testing.T) {
	for in, want := range map[string]string{
		"http://Example.COM":         "http://example.com",
		"HTTPS://example.com/a?b#c":  "https://example.com/a?b",
		" example.com ":              "https://example.com",
		"example.com:80":             "http://example.com:80",
		"example.com:443":            "https://example.com:443",
		"example.com:8080/x":         "http://example.com:8080/x",
		"example.com:8443":           "https://example.com:8443",
		"example.com:500":            "https://example.com:500",
		"example.com?a=1":            "https://example.com?a=1",
		"192.0.2.1":                  "https://192.0.2.1",
		"::1":                        "https://[::1]",
		"[2001:DB8::1]:8080":         "http://[2001:db8::1]:8080",
		"http://[::ffff:1.2.3.4]/":   "http://[::ffff:1.2.3.4]/",
		"bücher.example":             "https://xn--bcher-kva.example",
		"a_b.example.":               "https://a_b.example.",
		"http://h/../a//%2e?x=1&x=2": "http://h/../a//%2e?x=1&x=2",
		"localhost":                  "https://localhost",
		`http://h/a\b?path=c:\d`:     `http://h/a\b?path=c:\d`,
		`h?path=c:\d`:                `https://h?path=c:\d`,
	} {
		got, err := targets.Parse(in)
		if err != nil || got.URL() != want || got.Input != strings.TrimSpace(in) {
			t.Errorf("%q: %q %v, want %q", in, got.URL(), err, want)
		}
	}
	for _, in := range []string{
		"", " ", "ftp://x", "http://", "://x", "http:///path", "user:pass@host", "http://a@b", "host:0", "host:65536",
		"host:", "host:x",
		"a b", "a\x00b", "a\nb", "http://[::1", "[::1%25eth0]", "fe80::1%eth0", "exa$mple.com", "-", "..", "a..b",
		"1.2.3.4.5", "127.1", "2130706433", "256.1.1.1",
		"http://h\\@evil/", `http://h\x`, `h\?x`, "javascript:alert(1)", strings.Repeat("a", 64) + ".example",
		"http://h/" + strings.Repeat("a", 2048), "\xff\xfe",
	} {
		if got, err := targets.Parse(in); !errs.Is(err, errs.Invalid) || errs.From(err).Param != "target" {
			t.Errorf("%q was taken for %q (%v)", in, got.URL(), err)
		}
	}
}

// What is accepted is a fixed point: its URL is read as itself.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"example.com", "http://h:80/a?b#c", "::1", "[::1]:1", "bücher.example/ü", "h%00",
		"http://a%2fb/", "０.example"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		got, err := targets.Parse(s)
		if err != nil {
			return
		}
		again, err := targets.Parse(got.URL())
		if err != nil || again.URL() != got.URL() {
			t.Errorf("%q gives %q, which gives %q (%v)", s, got.URL(), again.URL(), err)
		}
	})
}

func TestClean(t *testing.T) {
	for in, want := range map[string]string{"": "", "plain ü": "plain ü", "a\x00b": `a\x00b`, "\xff\xfeü": `\xff\xfeü`,
		"\ufffd": "\ufffd"} {
		if got := engine.Clean(in); got != want || !utf8.ValidString(got) {
			t.Errorf("%q: %q", in, got)
		}
	}
}
