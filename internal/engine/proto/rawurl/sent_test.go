package rawurl_test

import (
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
)

// The right side is what nuclei 3.11.0 sends, and what it reports as matched-at.
func TestSent(t *testing.T) {
	for in, want := range map[string]string{
		"":                                 "",
		"/":                                "/",
		"/a?b=1&c=2":                       "/a?b=1&c=2",
		"/?srid=&action=x&url=":            "/?srid&action=x&url",
		"/?a=1&b=2&a=3":                    "/?a=1&a=3&b=2",
		"/?&a=1&":                          "/?a=1",
		"/x?=":                             "/x",
		"/?":                               "/",
		"/?a==b":                           "/?a==b",
		"/?a=%zz%20":                       "/?a=%zz%20",
		"/?q=a b'\"<\u9326>":               "/?q=a+b'\"<%e9%8c%a6>",
		`/?a="<>'|\^[]{}`:                  `/?a="<>'|\^[]{}`,
		"/.env/\\":                         "/.env/%5C",
		`/q/"onmouseover="alert(1)"`:       "/q/%22onmouseover=%22alert%281%29%22",
		"/%2e%2e/..;/(x)":                  "/%2e%2e/..;/(x)",
		"/a(b)!c*d'e,f=g@h:i&j+k$l[m];~":   "/a(b)!c*d'e,f=g@h:i&j+k$l[m];~",
		"/b%20c(d)/a[b]|":                  "/b%20c%28d%29/a%5Bb%5D%7C",
		`/%2e%2e/"`:                        "/../%22",
		`/%2f"x`:                           "//%22x",
		`/%zz"`:                            "/%25zz%22",
		"/%zz/%20":                         "/%25zz/%2520",
		"/a%":                              "/a%25",
		"/a%2":                             "/a%252",
		"/k/%zz":                           "/k/%25zz",
		"/{x}|`^<>":                        "/%7Bx%7D%7C%60%5E%3C%3E",
		`/a\b`:                             "/a%5Cb",
		"/%5C%7B%0d%0aX":                   "/%5C%7B%0d%0aX",
		`/%c3%bc"`:                         "/%C3%BC%22",
		"/ü":                               "/%C3%BC",
		"/a b":                             "/a%20b",
		"/a\x01\tb\x7f":                    "/a%01%09b%7F",
		"//x/../y":                         "//x/../y",
		"/?list[ordering]=&x=updatexml(0)": "/?list[ordering]&x=updatexml(0)",
	} {
		a, err := rawurl.Parse("http://h" + in)
		if err != nil {
			t.Fatal(err)
		}
		got := a.Sent()
		if got.String() != "http://h"+want || got.Sent() != got {
			t.Errorf("%s: %s, want %s", in, got, want)
		}
		target := got.Target()
		if want == "" {
			want = "/"
		}
		if target != want {
			t.Errorf("%s: asks for %s, want %s", in, target, want)
		}
	}
}
