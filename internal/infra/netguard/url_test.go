package netguard_test

import (
	"errors"
	"net/netip"
	"net/url"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/infra/errs"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// What CheckURL refuses, by the code of the refusal.
var refusedURLs = map[string][]string{
	netguard.CodeBlocked: {
		"http://127.0.0.1/", "http://127.0.0.1:8080/hook", "https://127.0.0.1./", "http://127.1/", "http://0x7f.1/",
		"http://0X7F.0x1/",
		"http://2130706433/", "http://0x7f000001/", "http://017700000001/", "http://0177.0.0.1/", "http://0177.0.0.01/",
		"http://127.0.0x1/",
		"http://[::1]/", "http://[::ffff:127.0.0.1]/", "http://[::ffff:7f00:1]:80/", "http://[0:0:0:0:0:ffff:127.0.0.1]/",
		"http://[::127.0.0.1]/",
		"http://[64:ff9b::10.0.0.1]/", "http://[2002:7f00:1::]/", "http://[fe80::1]/", "http://[fd00:ec2::254]/",
		"http://[::]/",
		"http://10.0.0.1/", "http://172.16.0.1/", "http://192.168.0.1/", "http://169.254.169.254/latest/meta-data/",
		"http://0/", "http://0x/", "http://0.0.0.0/",
		"http://100.100.100.200/", "http://168.63.129.16/", "http://255.255.255.255/", "http://3232235777/",
		"http://0xc0a80101/",
		"http://localhost/", "http://LOCALHOST:80/", "http://localhost./", "http://app.localhost/",
		"http://ｌｏｃａｌｈｏｓｔ/",
		"http://１２７.０.０.１/", "http://127。0。0。1/", "http://①②⑦.0.0.1/",
		"http://%EF%BC%91%EF%BC%92%EF%BC%97.0.0.1/", "http://metadata.google.internal/",
	},
	"invalid_url": {
		"", "example.com", "//example.com/", "/hook", "http:", "http://", "http:///hook", "http:example.com", "http://:80/",
		"http://?x",
		"ftp://example.com/", "file:///etc/passwd", "gopher://example.com/", "javascript:alert(1)", "unix:///run/x",
		"HTTPX://example.com",
		"http://user@example.com/", "http://user:pass@example.com/", "http://@example.com/", "http://127.0.0.1@example.com/",
		"http://example.com:0/", "http://example.com:65536/", "http://example.com:/", "http://example.com:-1/",
		"http://example.com:http/", "http://example.com:+80/",
		"http://example..com/", "http://.example.com/", "http://example.com../", "http://127.0.0.1../",
		"http://exa mple.com/", "http://example.com\n/", " http://example.com/",
		"http://exam\x00ple.com/", "http://example.com/\xff", "http://256.0.0.1/", "http://1.2.3.4.5/", "http://1.2.3.4.0/",
		"http://1.2.3.4.0.0/", "http://4294967296/", "http://0x100000000/", "http://08.0.0.1/",
		"http://example.0x/", "http://a.1/", "http://8.8.8.8./", "http://0x08080808/", "http://134744072/",
		"http://[2606:4700::1%25lo]/", "http://[fe80::1%25eth0]/",
		"http://" + strings.Repeat("a", 64) + ".com/", "http://" + strings.Repeat("a.", 127) + "com/",
		"http://example.com/" + strings.Repeat("a", 2048),
		"http://exa%6dple.com/", "http://example%80.com/", "http://example\uFFFD.com/", "http://xn--zn7c/",
		"http://[127.0.0.1/", "http://*.example.com/", "http://exam<ple.com/",
	},
}

func TestCheckURLRefuses(t *testing.T) {
	var g netguard.Guard
	for code, list := range refusedURLs {
		for _, raw := range list {
			u, err := g.CheckURL(raw)
			var e *errs.Error
			if !errors.As(err, &e) {
				t.Errorf("%.80q gives %v, %v, want an *errs.Error", raw, u, err)
				continue
			}
			if e.Kind != errs.Invalid || e.Code != code || e.Param != "" {
				t.Errorf("%.80q: kind %s, code %s, param %q; want invalid, %s, none (%s)", raw, e.Kind, e.Code, e.Param, code,
					e.Message)
			}
			if len(e.Message) > 250 || !strings.HasSuffix(e.Message, ".") {
				t.Errorf("%.80q: message %q is not a short sentence", raw, e.Message)
			}
		}
	}
}

func TestCheckURLTakes(t *testing.T) {
	for raw, want := range map[string]string{
		"https://example.com/hook?a=b":      "https://example.com/hook?a=b",
		"HTTP://EXAMPLE.com":                "http://example.com",
		"http://example.com:8080/":          "http://example.com:8080/",
		"http://example.com./":              "http://example.com/",
		"http://my_host.example.com/":       "http://my_host.example.com/",
		"http://r3---sn-x.example.com/":     "http://r3---sn-x.example.com/",
		"http://bücher.example/":            "http://xn--bcher-kva.example/",
		"http://intranet/":                  "http://intranet/",
		"http://8.8.8.8:80/":                "http://8.8.8.8:80/",
		"http://[2606:4700::1111]/":         "http://[2606:4700::1111]/",
		"http://[2606:4700::1111]:8443/x":   "http://[2606:4700::1111]:8443/x",
		"http://[::ffff:8.8.8.8]/":          "http://[::ffff:8.8.8.8]/",
		"http://127.0.0.1.example.com/":     "http://127.0.0.1.example.com/",
		"http://0x7f.example.com/":          "http://0x7f.example.com/",
		"http://localhost.example.com/":     "http://localhost.example.com/",
		"https://example.com/@user:pass/#f": "https://example.com/@user:pass/#f",
	} {
		u, err := (&netguard.Guard{}).CheckURL(raw)
		if err != nil {
			t.Errorf("%s: %v", raw, err)
		} else if u.String() != want {
			t.Errorf("%s came back as %s, want %s", raw, u, want)
		}
	}
}

func TestCheckURLFollowsTheAllowList(t *testing.T) {
	six := &netguard.Guard{Allow: mustPrefixes(t, "::1")}
	if _, err := six.CheckURL("http://app.localhost/"); err != nil {
		t.Errorf("localhost with ::1 allowed: %v", err)
	}
	g := &netguard.Guard{Allow: mustPrefixes(t, "127.0.0.0/8", "10.0.0.7")}
	for _, raw := range []string{"http://127.0.0.1:9000/", "http://localhost:9000/", "http://[::ffff:127.0.0.1]/",
		"http://10.0.0.7/"} {
		if _, err := g.CheckURL(raw); err != nil {
			t.Errorf("%s: %v", raw, err)
		}
	}
	for _, raw := range []string{"http://10.0.0.8/", "http://[::1]/", "http://0x7f.1/", "http://169.254.169.254/"} {
		if _, err := g.CheckURL(raw); err == nil {
			t.Errorf("%s is taken", raw)
		}
	}
}

// Whatever is taken has a scheme, a host and no secret; is taken again, the same; and
// holds no address that the guard refuses.
func FuzzCheckURL(f *testing.F) {
	for _, list := range refusedURLs {
		for _, raw := range list {
			f.Add(raw)
		}
	}
	f.Add("https://example.com:8443/hook?a=b#c")
	f.Add("http://[::ffff:8.8.8.8]/")
	f.Fuzz(func(t *testing.T, raw string) {
		var g netguard.Guard
		u, err := g.CheckURL(raw)
		if err != nil {
			if !errs.Is(err, errs.Invalid) {
				t.Fatalf("%q: %v is not Invalid", raw, err)
			}
			return
		}
		if u.Scheme != "http" && u.Scheme != "https" || u.Hostname() == "" || u.User != nil {
			t.Fatalf("%q was taken as %q", raw, u)
		}
		again, err := g.CheckURL(u.String())
		if err != nil || again.Host != u.Host {
			t.Fatalf("%q was taken as %q, and that as %v, %v", raw, u, again, err)
		}
		for _, c := range u.Host {
			if c <= ' ' || c > '~' || strings.ContainsRune("@/\\?#%<>\"", c) {
				t.Fatalf("%q has the host %q", raw, u.Host)
			}
		}
		checkLiteral(t, raw, u)
	})
}

// checkLiteral reads the host with the standard library alone.
func checkLiteral(t *testing.T, raw string, u *url.URL) {
	t.Helper()
	a, err := netip.ParseAddr(u.Hostname())
	if err != nil {
		if last := u.Hostname()[strings.LastIndexByte(u.Hostname(), '.')+1:]; last[0] >= '0' && last[0] <= '9' &&
			strings.Trim(last, "0123456789") == "" {
			t.Fatalf("%q was taken, and %q may be an address to somebody", raw, u.Host)
		}
		return
	}
	if !open(a) {
		t.Fatalf("%q was taken, and %s is not public", raw, a)
	}
}

// open is a second opinion on which addresses are public, by other means.
func open(a netip.Addr) bool {
	a = a.WithZone("").Unmap()
	if !a.IsGlobalUnicast() || a.IsPrivate() || a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() ||
		a.IsUnspecified() {
		return false
	}
	b := a.AsSlice()
	word := func(i int) int { return int(b[i])<<8 | int(b[i+1]) }
	if a.Is4() {
		switch {
		case b[0] == 0, b[0] >= 240, b[0] == 100 && b[1]>>6 == 1, b[0] == 198 && b[1]&^1 == 18,
			word(0) == 192<<8 && (b[2] == 0 || b[2] == 2), word(0) == 192<<8|88 && b[2] == 99,
			word(0) == 198<<8|51 && b[2] == 100, word(0) == 203<<8 && b[2] == 113, a.String() == "168.63.129.16":
			return false
		}
		return true
	}
	switch {
	case b[0]>>5 != 1, word(0) == 0x2002, word(0) == 0x2001 && (word(2) < 0x200 || word(2) == 0xdb8), word(0) == 0x3fff &&
		b[2]>>4 == 0:
		return false
	}
	return true
}

// Whatever address a dialer is about to dial, the hook lets it pass only if it is public.
func FuzzControl(f *testing.F) {
	for _, s := range []string{"127.0.0.1:80", "[::ffff:10.0.0.1]:80", "8.8.8.8:53", "[2001:db8::1]:1", "[fe80::1%lo]:80",
		"localhost:80", ":80", "", "0x7f.1:80", "[2606:4700::1]:443", "168.63.129.16:80"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, address string) {
		if (&netguard.Guard{}).Control(address) != nil {
			return
		}
		if ap, err := netip.ParseAddrPort(address); err != nil || !open(ap.Addr()) {
			t.Fatalf("%q passes", address)
		}
	})
}

// The classification agrees with the second opinion on every address, v4 and v6.
func FuzzCheck(f *testing.F) {
	for _, s := range []string{"10.0.0.1", "8.8.8.8", "::1", "2001:1ff::", "2001:200::", "64:ff9b::1", "3fff:1000::",
		"::ffff:127.0.0.1"} {
		f.Add(netip.MustParseAddr(s).AsSlice())
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		a, ok := netip.AddrFromSlice(raw)
		if !ok {
			return
		}
		if err := (&netguard.Guard{}).Check(a); (err == nil) != open(a) {
			t.Fatalf("%s: %v, the second opinion says open %v", a, err, open(a))
		}
	})
}
