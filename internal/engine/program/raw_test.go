package program

import (
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// How paths are merged (template language 2.3).
func TestMerge(t *testing.T) {
	for _, c := range []struct {
		base, target string
		want, loose  string // request targets; loose is for requests sent byte by byte
	}{
		{"", "/x", "/x", "/x"},
		{"/", "/", "/", "/"},
		{"", "/", "", "/"},
		{"/app.jsp", "/", "/app.jsp", "/app.jsp"},
		{"/app.jsp", "", "/app.jsp", "/app.jsp"},
		{"/blog", "/admin", "/blog/admin", "/blog/admin"},
		{"/blog/", "/admin", "/blog/admin", "/blog/admin"},
		{"/blog/test", "/blog/test/x", "/blog/test/x", "/blog/test/x"},
		{"/blog/test/", "/blog", "/blog/test/blog", "/blog/test/blog"},
		{"/a/login", "/login", "/a/login", "/a/login"},
		{"?m=1", "/?n=2", "/?m=1&n=2", "/?m=1&n=2"},
		{"", "foo?x=y", "/foo?x=y", "foo?x=y"},
		{"?a=1", "foo?x=y", "/foo?a=1&x=y", "foo?a=1&x=y"},
		{"/p", "foo", "/p/foo", "/p/foo"},
		{"", "//dir/f", "//dir/f", "//dir/f"},
		{"", "/p/..;/q", "/p/..;/q", "/p/..;/q"},
		{"", "/%zz#frag", "/%zz", "/%zz#frag"},
		{"/app", "http://else.where/x?y=1", "/app/x?y=1", "/app/x?y=1"},
		{"/app", "https://else.where", "/app", "/app"},
		{"", "http://2852039166/x?y=1", "/http://2852039166/x?y=1", "/http://2852039166/x?y=1"},
		{"", "http://localhost/x", "/x", "/x"},
		{"", "http://h/x", "/x", "/x"},
		{"", "/?a", "/?a", "/?a"},
	} {
		base, err := rawurl.Parse("http://h" + c.base)
		if err != nil {
			t.Fatal(err)
		}
		path, query := merge(base, c.target, true)
		if got := withQuery(path, query); got != c.want && !(c.want == "/" && got == "") {
			t.Errorf("%q and %q: %q, want %q", c.base, c.target, got, c.want)
		}
		if got := mergeUnsafe(base, c.target, true); got != c.loose {
			t.Errorf("%q and %q, byte by byte: %q, want %q", c.base, c.target, got, c.loose)
		}
	}
	base, _ := rawurl.Parse("http://h/app?m=1")
	if path, query := merge(base, "/x?n=2", false); path != "/x" || query != "m=1&n=2" {
		t.Errorf("without merging: %s?%s", path, query)
	}
	if path, _ := merge(base, "/", false); path != "" {
		t.Errorf("the root without merging: %q", path)
	}
}

func withQuery(path, query string) string {
	if query != "" {
		path += "?" + query
	}
	return path
}

func TestReadMessage(t *testing.T) {
	m, err := readMessage(crlf("\n@Host: https://other:1\n@timeout: 90m\n@tls-sni: request.host\n@once\nPOST  /a HTTP/1.1\nHost: h:81\nA: b: c\nno colon\nContent-Type: multipart/form-data\nA: d\n\nbody\n"), false)
	if err != nil {
		t.Fatal(err)
	}
	if m.method != "POST" || m.target != "/a" || m.body != "body\r\n" || !strings.HasPrefix(m.text, "POST  /a") {
		t.Errorf("%+v", m)
	}
	want := []web.Header{{Name: "Host", Value: "h:81"}, {Name: "A", Value: "d"}, {Name: "no colon", Value: "b: c"},
		{Name: "Content-Type", Value: "multipart/form-data"}}
	for i, h := range m.headers {
		if h != want[i] {
			t.Errorf("header %d: %q, want %q", i, h, want[i])
		}
	}
	if n := m.annotations; n.timeout != 5*time.Minute || !n.once || n.serverName("h:81") != "h" ||
		n.host != "https://other:1" {
		t.Errorf("%+v", n)
	}
	if m, err := readMessage("GET / HTTP/1.1\r\nA: b\r\n\r\nbody\r\n\r\n", false); err != nil || m.body != "body\r\n" {
		t.Errorf("one line end is left out of a body: %q %v", m.body, err)
	}
	if m, err := readMessage("GET HTTP/1.1\r\nA: b", false); err != nil || m.target != "" || len(m.headers) != 1 {
		t.Errorf("%+v %v", m, err)
	}
	for _, text := range []string{"", "GET /\r\n\r\n", "nothing", "@once\r\n"} {
		if _, err := readMessage(text, false); err == nil {
			t.Errorf("%q is a request", text)
		}
		if _, err := readMessage(text, true); err != nil {
			t.Errorf("%q cannot be sent byte by byte: %v", text, err)
		}
	}
}

func TestMoved(t *testing.T) {
	at, _ := rawurl.Parse("http://h:8080/x")
	bare, _ := rawurl.Parse("http://h/x")
	for _, c := range []struct {
		note string
		at   rawurl.URL
		want string
	}{
		{"", at, "http://h:8080/x"},
		{"other", at, "http://other:8080/x"},
		{"other", bare, "http://other/x"},
		{"Other:1", at, "http://other:1/x"},
		{"https://other/", at, "https://other:8080/x"},
		{"HTTPS://other:2", at, "https://other:2/x"},
		{"[::1]", at, "http://[::1]:8080/x"},
	} {
		if got := (annotations{host: c.note}).addressFor(c.at).String(); got != c.want {
			t.Errorf("%s: %s, want %s", c.note, got, c.want)
		}
	}
}

// No text makes reading panic, and what is read is part of the text.
func FuzzReadMessage(f *testing.F) {
	f.Add("@Host: a\r\nGET /x?y HTTP/1.1\r\nHost: h\r\n\r\nbody", "/base?q=1")
	f.Add("GET HTTP/1.1\n", "")
	f.Add("GET foo#b HTTP/1.1\r\nA", "/")
	f.Add("\n@\n", "/a//b")
	f.Fuzz(func(t *testing.T, text, at string) {
		base, err := rawurl.Parse("http://h" + at)
		if err != nil {
			return
		}
		for _, loose := range []bool{false, true} {
			m, err := readMessage(text, loose)
			if err != nil {
				continue
			}
			if m.text[m.start:m.end] != m.target || !strings.Contains(text, m.body) || !strings.HasSuffix(text, m.text) {
				t.Errorf("%q: %+v", text, m)
			}
			path, _ := merge(base, m.target, true)
			if path != "" && path[0] != '/' {
				t.Errorf("%q and %q: %q", at, m.target, path)
			}
			mergeUnsafe(base, m.target, true)
			m.annotations.addressFor(base)
			m.annotations.serverName("h")
		}
	})
}
