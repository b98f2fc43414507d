package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

func TestVariables(t *testing.T) {
	for in, want := range map[string]map[string]string{
		"http://localhost:9001/test/123":  {"BaseURL": "http://localhost:9001/test/123", "RootURL": "http://localhost:9001", "Hostname": "localhost:9001", "Host": "localhost", "Port": "9001", "Path": "/test", "File": "123", "Scheme": "http"},
		"https://example.com":             {"BaseURL": "https://example.com", "RootURL": "https://example.com", "Hostname": "example.com", "Port": "443", "Path": "", "File": "", "Scheme": "https"},
		"http://a.b.co.uk:81/x/y.php?q=1": {"BaseURL": "http://a.b.co.uk:81/x/y.php", "Hostname": "a.b.co.uk:81", "Port": "81", "Path": "/x", "File": "y.php", "Query": "?q=1"},
		"http://[::1]:8080/":              {"Hostname": "[::1]:8080", "Host": "::1", "Port": "8080", "Path": "/", "File": "/"},
	} {
		a, err := web.ParseAddress(in)
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
	slash, _ := web.ParseAddress("http://h/p/")
	if got := slash.Variables(true)["BaseURL"]; got != "http://h/p" {
		t.Errorf("trimmed: %q", got)
	}
}

func TestParseAddressRefuses(t *testing.T) {
	for _, in := range []string{"", "h", "/x", "ftp://h/", "http://", "http:///x", "http://u:p@h/", "http://h:x/", "http://[::1/", "http://h h/"} {
		if a, err := web.ParseAddress(in); err == nil {
			t.Errorf("%q was taken for %+v", in, a)
		}
	}
}

// Paths reach the server as they were written.
func TestWire(t *testing.T) {
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r.RequestURI }))
	defer s.Close()
	for in, want := range map[string]string{
		"":                "/",
		"?a=b":            "/?a=b",
		"/a/../b/./c":     "/a/../b/./c",
		"//x//y":          "//x//y",
		"/%61%0D%zz%":     "/%61%0D%25zz%25",
		"/a{}|\\^`\"<>":   "/a{}|\\^`\"<>",
		"/ü x?ü x":        "/%C3%BC%20x?%C3%BC+x",
		"/x?a=1&a=%zz&&b": "/x?a=1&a=%zz&&b",
		"/;a=1,2/:@!$":    "/;a=1,2/:@!$",
	} {
		a, err := web.ParseAddress(s.URL + in)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := get(t, web.Config{}, web.Request{Address: a}); err != nil {
			t.Errorf("%q: %v", in, err)
		}
		if got != want {
			t.Errorf("%q arrives as %q, want %q", in, got, want)
		}
	}
}
