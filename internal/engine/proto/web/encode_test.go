package web_test

import (
	"net/url"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

func TestEncoded(t *testing.T) {
	for in, want := range map[string]string{
		"http://h":                         "http://h",
		"http://h/a/../b//c/%2e%2E;x":      "http://h/a/../b//c/%2e%2E;x",
		"http://h/'(a)*!":                  "http://h/'(a)*!",
		`http://h/x"%22%3E(1)`:             "http://h/x%22%22%3E%281%29",
		`http://h/a\b`:                     "http://h/a%5Cb",
		"http://h/k/%zz(":                  "http://h/k/%25zz%28",
		"http://h/é":                       "http://h/%C3%A9",
		"http://h/a b":                     "http://h/a%20b",
		"http://h/x?":                      "http://h/x",
		"http://h/x?a=":                    "http://h/x?a",
		"http://h/x?a=1&b=&c":              "http://h/x?a=1&b&c",
		"http://h/x?=&a=1":                 "http://h/x?a=1",
		"http://h/x?&a=1&":                 "http://h/x?a=1",
		"http://h/x?a=1&&b=2":              "http://h/x?a=1&&b=2",
		"http://h/x?=1":                    "http://h/x?=1",
		"http://h/x?a=1&b=2&a=3":           "http://h/x?a=1&a=3&b=2",
		"http://h/x?a=b=c&d=%zz+%20 '\"<>": "http://h/x?a=b=c&d=%zz+%20+'\"<>",
		"http://h/x?a=%\u9326\x01":         "http://h/x?a=%%e9%8c%a6%01",
		"http://h/#/login?a=":              "http://h/#/login?a=",
		"http://h/x?a=#b":                  "http://h/x?a#b",
	} {
		a, err := web.ParseAddress(in)
		if err != nil {
			t.Fatal(err)
		}
		if got := a.Encoded().String(); got != want {
			t.Errorf("%q is told as %q, want %q", in, got, want)
		}
		if again := a.Encoded().Encoded().String(); again != want {
			t.Errorf("%q is told as %q the second time", in, again)
		}
	}
}

// A path is spelled as net/url spells it.
func FuzzEncoded(f *testing.F) {
	for _, s := range []string{"/a%2fb", `/"x`, "/%zz", "/é/[1]", "/a?b=&=c&b", "/;:@!$&'()*+,="} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, tail string) {
		a, err := web.ParseAddress("http://h/" + tail)
		if err != nil {
			return
		}
		got := a.Encoded()
		if again := got.Encoded(); again.Path != got.Path {
			t.Errorf("%q: %+v, then %+v", tail, got, again)
		}
		plain, err := url.PathUnescape(a.Path)
		if err != nil {
			plain = a.Path
		}
		if want := (&url.URL{Path: plain, RawPath: a.Path}).EscapedPath(); got.Path != want {
			t.Errorf("the path %q is %q, want %q", a.Path, got.Path, want)
		}
	})
}
