package webtool

import (
	"strings"
	"testing"
)

func TestCodec(t *testing.T) {
	const token = "eyJhbGciOiJIUzI1NiIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0."
	for _, c := range []struct {
		a          codecArgs
		want, fail string
	}{
		{codecArgs{Do: "base64_encode", Text: "a b?"}, "YSBiPw==", ""},
		{codecArgs{Do: "base64_decode", Text: "YSBiPw"}, "a b?", ""},
		{codecArgs{Do: "base64_decode", Text: "_-8="}, "bytes: ffef", ""},
		{codecArgs{Do: "base64_decode", Text: "!"}, "", "text: illegal base64"},
		{codecArgs{Do: "url_encode", Text: "a b&<"}, "a+b%26%3C", ""},
		{codecArgs{Do: "url_decode", Text: "a+b%26"}, "a b&", ""},
		{codecArgs{Do: "url_decode", Text: "%zz"}, "", "text: invalid URL escape"},
		{codecArgs{Do: "html_encode", Text: "<a>"}, "&lt;a&gt;", ""},
		{codecArgs{Do: "html_decode", Text: "&#39;&lt;"}, "'<", ""},
		{codecArgs{Do: "hex_encode", Text: "az"}, "617a", ""},
		{codecArgs{Do: "hex_decode", Text: "0x61 7a"}, "az", ""},
		{codecArgs{Do: "jwt_sign", Text: `{"sub":"1"}`, Algorithm: "none", KeyID: "k"},
			"eyJhbGciOiJub25lIiwia2lkIjoiayIsInR5cCI6IkpXVCJ9.eyJzdWIiOiIxIn0.", ""},
		{codecArgs{Do: "jwt_sign", Text: "x"}, "", "no object of JSON"},
		{codecArgs{Do: "jwt_decode", Text: "a.b"}, "", "three parts"},
		{codecArgs{Do: "rot13", Text: "a"}, "", `there is no "rot13"`},
	} {
		got, err := codec(c.a)
		if c.fail == "" && (err != nil || got != c.want) || c.fail != "" && (err == nil || !strings.Contains(err.Error(), c.fail)) {
			t.Errorf("%+v: %q, %v; want %q%s", c.a, got, err, c.want, c.fail)
		}
	}
	signed, err := codec(codecArgs{Do: "jwt_sign", Text: `{"sub":"1"}`, Key: "secret"})
	if err != nil || !strings.HasPrefix(signed, token) {
		t.Fatal(signed, err)
	}
	for key, want := range map[string]string{"secret": "signed with the key: true", "other": "signed with the key: false",
		"": "signature: 43 characters"} {
		if got, err := codec(codecArgs{Do: "jwt_decode", Text: "Bearer " + signed, Key: key}); err != nil ||
			!strings.HasSuffix(got, want) || !strings.Contains(got, `claims: {"sub":"1"}`) {
			t.Errorf("%q: %q, %v", key, got, err)
		}
	}
}

// TestRequests holds what the tools read of a request, and what they refuse.
func TestRequests(t *testing.T) {
	r, err := request{Method: "post", URL: "http://store.example.com", Body: `{"a": 1}`}.message()
	if err != nil || r.Method != "POST" || r.URL.Path != "/" || r.Header.Get("Content-Type") != "application/json" {
		t.Errorf("%+v, %v", r, err)
	}
	if !hasPlace(r, "body json value a") || hasPlace(r, "query parameter a") {
		t.Error(places(r))
	}
	for _, text := range []string{"", "/a", "ftp://store.example.com/", "http://", "http://[::1"} {
		if _, err := (request{URL: text}).message(); err == nil || !strings.Contains(err.Error(), "url: ") {
			t.Errorf("%q: %v", text, err)
		}
	}
	for _, tool := range (&Tools{}).All() {
		if (tool.Requests == nil) != tool.Passive || len(tool.Description) < 100 {
			t.Errorf("%s: %+v", tool.Name, tool)
		}
	}
}
