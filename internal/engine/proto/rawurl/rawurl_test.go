package rawurl_test

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
)

func TestVariables(t *testing.T) {
	for in, want := range map[string]map[string]string{
		"http://localhost:9001/test/123": {"BaseURL": "http://localhost:9001/test/123", "RootURL": "http://localhost:9001",
			"Hostname": "localhost:9001", "Host": "localhost", "Port": "9001", "Path": "/test", "File": "123", "Scheme": "http"},
		"https://example.com": {"BaseURL": "https://example.com", "RootURL": "https://example.com",
			"Hostname": "example.com", "Port": "443", "Path": "", "File": "", "Scheme": "https"},
		"http://a.b.co.uk:81/x/y.php?q=1": {"BaseURL": "http://a.b.co.uk:81/x/y.php", "Hostname": "a.b.co.uk:81",
			"Port": "81", "Path": "/x", "File": "y.php", "Query": "?q=1"},
		"http://[::1]:8080/": {"Hostname": "[::1]:8080", "Host": "::1", "Port": "8080", "Path": "/",
			"File": "/"},
	} {
		a, err := rawurl.Parse(in)
		if err != nil {
			t.Fatal(err)
		}
		vars := a.Variables(false)
		for name, value := range want {
			if vars[name] != value {
				t.Errorf("%s: %s is %q, want %q", in, name, vars[name], value)
			}
		}
	}
	slash, _ := rawurl.Parse("http://h/p/")
	if got := slash.Variables(true)["BaseURL"]; got != "http://h/p" {
		t.Errorf("trimmed: %q", got)
	}
}

func TestParseRefuses(t *testing.T) {
	for _, in := range []string{"", "h", "/x", "ftp://h/", "http://", "http:///x", "http://u:p@h/", "http://h:x/",
		"http://[::1/", "http://h h/"} {
		if a, err := rawurl.Parse(in); err == nil {
			t.Errorf("%q was taken for %+v", in, a)
		}
	}
}

func TestResolve(t *testing.T) {
	from, _ := rawurl.Parse("http://h.example:81/a/b/c?q=1")
	for location, want := range map[string]string{
		"/x":                                  "http://h.example:81/x",
		"x":                                   "http://h.example:81/a/b/x",
		"x?y=1#z":                             "http://h.example:81/a/b/x?y=1",
		"../x":                                "http://h.example:81/a/x",
		"../../../x/./y/..":                   "http://h.example:81/x/",
		"?y=2":                                "http://h.example:81/a/b/c?y=2",
		"//other.example/x/../y":              "http://other.example/y",
		"https://other.example":               "https://other.example",
		"HTTPS://OTHER.example:443/X":         "https://other.example:443/X",
		"http://u:p@h.example@evil.example/x": "http://evil.example/x",
		"http://evil.example\\@h.example/":    "http://evil.example/@h.example/",
		" /blank/%zz ?a b ":                   "http://h.example:81/blank/%zz ?a b",
		"/http://x/":                          "http://h.example:81/http://x/",
		"x:y/z":                               "",
		"a/b:c":                               "http://h.example:81/a/b/a/b:c",
		"javascript:alert(1)":                 "",
		"ftp://h/":                            "",
		"http:/x":                             "",
		"http://":                             "",
		"http://h:port/":                      "",
		"":                                    "",
		"#top":                                "",
	} {
		to, ok := from.Resolve(location)
		if ok != (want != "") || ok && to.String() != want {
			t.Errorf("%q leads to %s, %v", location, to, ok)
		}
	}
	root, _ := rawurl.Parse("http://h")
	if to, _ := root.Resolve("x"); to.String() != "http://h/x" {
		t.Error(to)
	}
}

// FuzzParse: an address that is read can be read again, is the same then, and asks
// for something that fits into a request line.
func FuzzParse(f *testing.F) {
	for _, s := range []string{"http://h", "https://[::1]:8/%zz?a=b#c", "http://ü.example/ü?ü",
		"HTTP://A.b.co.uk.:81/x/../y;z?", "http://h:99999/", "http://u@h"} {
		f.Add(s, "/x")
	}
	f.Fuzz(func(t *testing.T, s, location string) {
		a, err := rawurl.Parse(s)
		if err != nil {
			return
		}
		again, err := rawurl.Parse(a.String())
		if err != nil || again != a && a.Query != "" {
			t.Errorf("%q: %+v, then %+v %v", s, a, again, err)
		}
		if strings.ContainsAny(a.Target(), " \r\n") || a.Target() == "" {
			t.Errorf("%q asks for %q", s, a.Target())
		}
		a.Variables(true)
		if to, ok := a.Resolve(location); ok {
			if _, err := rawurl.Parse(to.String()); err != nil {
				t.Errorf("%q leads from %q to %q", location, s, to)
			}
		}
	})
}
