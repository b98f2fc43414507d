package web

import (
	"slices"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
)

// TestNames: each way to ask for another site is seen, and the address's own name in any spelling is not another.
func TestNames(t *testing.T) {
	at, err := rawurl.Parse("https://shop.example:8443/a")
	if err != nil {
		t.Fatal(err)
	}
	header := func(name, value string) Request { return Request{Headers: []Header{{name, value}}} }
	raw := func(lines ...string) Request { return Request{Raw: []byte(strings.Join(lines, "\r\n") + "\r\n\r\n")} }
	for _, c := range []struct {
		r    Request
		want string // by spaces
	}{
		{Request{}, ""},
		{header("Host", "shop.example"), ""},
		{header("host", "SHOP.example.:8443"), ""},
		{header("Host", "other.example"), "other.example"},
		{header("Host", "other.example:80"), "other.example"},
		{header("Host", "[2001:db8::1]:80"), "2001:db8::1"},
		{header("Host", "a'b<c>"), ""},
		{Request{Host: "other.example"}, "other.example"},
		{Request{SNI: "inner.example"}, "inner.example"},
		{Request{Target: "http://user@other.example:81/x"}, "other.example"},
		{Request{Target: "/redirect?to=http://other.example/"}, ""},
		{header("X-Forwarded-Host", "one.example, two.example"), "one.example two.example"},
		{header("Forwarded", `for=192.0.2.1;host="other.example:80";proto=http, host=next.example`), "other.example next.example"},
		{header("X-Original-Host", "other.example"), "other.example"},
		{header("Referer", "http://other.example/"), ""},
		{raw("GET / HTTP/1.1", "Host: shop.example"), ""},
		{raw("GET / HTTP/1.1", "Host:other.example"), "other.example"},
		{raw("GET http://other.example/x HTTP/1.1", "Host: shop.example"), "other.example"},
		{raw("CONNECT other.example:443 HTTP/1.1", "Host: shop.example"), "other.example"},
		{raw("POST / HTTP/1.1", "Host: shop.example", "Transfer-Encoding: chunked", "", "0", "", "GET / HTTP/1.1",
			"Host: inner.example"), "inner.example"},
	} {
		c.r.Address = at
		if got := (&Client{}).Names(&c.r); strings.Join(got, " ") != c.want {
			t.Errorf("%+v names %q, want %q", c.r, got, c.want)
		}
	}
	own := &Client{cfg: Config{Headers: []Header{{"host", "mine.example"}}}}
	if got := own.Names(&Request{Address: at}); !slices.Equal(got, []string{"mine.example"}) {
		t.Errorf("a header of the configuration names %q", got)
	}
}

func FuzzNames(f *testing.F) {
	f.Add("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", "b.example:80")
	f.Add("CONNECT [::1]:1 HTTP/1.1\n", "host=\"c\"")
	f.Fuzz(func(t *testing.T, raw, value string) {
		at, _ := rawurl.Parse("http://shop.example")
		for _, r := range []Request{{Raw: []byte(raw)}, {Headers: []Header{{"Host", value}, {"Forwarded", value}}, SNI: value}} {
			r.Address = at
			for _, name := range (&Client{}).Names(&r) {
				if name == "" || strings.ContainsAny(name, " /@\r\n") || strings.EqualFold(name, "shop.example") {
					t.Errorf("%q, %q: the name %q", raw, value, name)
				}
			}
		}
	})
}
