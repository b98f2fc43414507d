package web_test

import (
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// Paths reach the server as they were written, but for what no path can hold.
func TestWire(t *testing.T) {
	var got string
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r.RequestURI }))
	defer s.Close()
	for in, want := range map[string]string{
		"":                "/",
		"?a=b":            "/?a=b",
		"/a/../b/./c":     "/a/../b/./c",
		"//x//y":          "//x//y",
		"/%61%0D":         "/%61%0D",
		"/k/%zz%":         "/k/%25zz%25",
		"/a{}|\\^`\"<>":   "/a%7B%7D%7C%5C%5E%60%22%3C%3E",
		"/ü x?ü x":        "/%C3%BC%20x?%C3%BC+x",
		"/x?a=1&a=%zz&&b": "/x?a=1&a=%zz&&b",
		"/;a=1,2/:@!$":    "/;a=1,2/:@!$",
	} {
		a, err := rawurl.Parse(s.URL + in)
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
