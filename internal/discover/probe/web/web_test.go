package web_test

import (
	"bytes"
	"compress/gzip"
	"context"
	"fmt"
	"io"
	"net"
	"net/url"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"

	"github.com/andybalholm/brotli"

	"github.com/vedette-sec/vedette/internal/discover/probe/web"
	"github.com/vedette-sec/vedette/internal/infra/membudget"
	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// serve answers each connection by its request line, in raw bytes; a channel holds a
// connection until the test is over.
func serve(t testing.TB, answer func(conn net.Conn, path string)) *url.URL {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	go func() {
		for {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			go func() {
				defer conn.Close()
				b := make([]byte, 4096)
				n, err := conn.Read(b)
				if err != nil {
					return
				}
				if words := strings.Fields(string(b[:n])); len(words) > 1 {
					answer(conn, words[1])
				}
			}()
		}
	}()
	return &url.URL{Scheme: "http", Host: l.Addr().String(), Path: "/"}
}

// client waits longer than a busy machine takes for what these servers do send.
func client() *web.Client { return patient(time.Minute) }

func patient(timeout time.Duration) *web.Client {
	return &web.Client{Timeout: timeout, Dial: func(ctx context.Context, addr string) (net.Conn, error) {
		if strings.HasPrefix(addr, "outside.test") {
			return nil, &netguard.Denied{Addr: addr, Why: "it is not in scope"}
		}
		return (&net.Dialer{}).DialContext(ctx, "tcp", addr)
	}}
}

// raw answers everything with the same bytes.
func raw(s string) func(net.Conn, string) {
	return func(c net.Conn, _ string) { _, _ = c.Write([]byte(s)) }
}

// forever sends s, then more again and again.
func forever(s, more string) func(net.Conn, string) {
	return func(c net.Conn, _ string) {
		_, err := c.Write([]byte(s))
		for err == nil {
			_, err = c.Write([]byte(more))
		}
	}
}

// slowly sends a byte at a time and never ends.
func slowly(s string) func(net.Conn, string) {
	return func(c net.Conn, _ string) {
		for i := 0; ; i++ {
			b := byte('a')
			if i < len(s) {
				b = s[i]
			}
			if _, err := c.Write([]byte{b}); err != nil {
				return
			}
			if i >= len(s) {
				time.Sleep(5 * time.Millisecond) // this is what the server does to us
			}
		}
	}
}

func gzipped(n int) string {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	zeros := make([]byte, 1<<16)
	for range n >> 16 {
		_, _ = w.Write(zeros)
	}
	w.Close()
	return b.String()
}

func brotlied(s string) string {
	var b bytes.Buffer
	w := brotli.NewWriter(&b)
	_, _ = w.Write([]byte(s))
	w.Close()
	return b.String()
}

func TestBrokenAndHostileServers(t *testing.T) {
	const ok = "HTTP/1.1 200 OK\r\n"
	bomb := gzipped(100 << 20)
	waiting := map[string]bool{"a slow body": true, "a slow header": true, "a tarpit": true} // only time ends these
	for name, c := range map[string]struct {
		answer func(net.Conn, string)
		status int // 0: no visit
		title  string
		note   string
	}{
		"plain": {raw(ok + "Content-Type: text/html\r\nContent-Length: 19\r\n\r\n<title>Hi</title>xx"), 200,
			"Hi", ""},
		"bare line feeds":      {raw("HTTP/1.0 404\nContent-Type: text/html\n\n<title>Hi</title>"), 404, "Hi", ""},
		"no reason, no header": {raw("HTTP/1.1 200\r\n\r\n<title>Hi"), 200, "Hi", ""},
		"no version":           {raw("HTTP 200 fine\r\n\r\n<title>Hi"), 200, "Hi", ""},
		"no header at all":     {raw("<!DOCTYPE html><title>Old</title>"), 200, "Old", "without a header"},
		"broken field lines": {raw(ok + "nonsense\r\n: empty\r\nA : b\r\n folded\r\n\r\n<title>Hi</title>"), 200, "Hi",
			""},
		"interim answers": {raw("HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early\r\nLink: x\r\n\r\n" + ok +
			"\r\n<title>Hi"), 200, "Hi", ""},
		"endless interim": {forever("", "HTTP/1.1 100 Continue\r\n\r\n"), 0, "", ""},
		"not HTTP":        {raw("220 mail ESMTP\r\n"), 0, "", ""},
		"nothing":         {raw(""), 0, "", ""},
		"short body": {raw(ok + "Content-Length: 1000\r\n\r\n<title>Hi</title>"), 200, "Hi",
			"shorter than announced"},
		"negative length": {raw(ok + "Content-Length: -5\r\n\r\n<title>Hi</title>"), 200, "Hi", ""},
		"chunks": {raw(ok +
			"Transfer-Encoding: chunked\r\n\r\n7;x=y\r\n<title>\r\na\r\nHi</title>\r\n0\r\n\r\n"), 200, "Hi", ""},
		"not really chunks": {raw(ok + "Transfer-Encoding: chunked\r\n\r\n<title>Hi</title>"), 200, "Hi", ""},
		"a huge chunk": {raw(ok + "Transfer-Encoding: chunked\r\n\r\n7fffffffffffffff\r\n<title>Hi</title>"), 200,
			"Hi", "broke off"},
		"a chunk line no end": {forever(ok+"Transfer-Encoding: chunked\r\n\r\n7\r\n<title>\r\n", "1"), 200, "",
			"broke off"},
		"10 MB title": {raw(ok + "\r\n<title>" + strings.Repeat("T", 10<<20) + "</title>"), 200,
			strings.Repeat("T", 512), "longer than a mebibyte"},
		"terminal escapes": {raw(ok + "\r\n<title>a\x1b]0;owned\x07b\x00\u202ec\u009b31m&#27;[2J&lt;script&gt;</title>"),
			200, "a]0;ownedbc31m[2J<script>", ""},
		"script in the title": {raw(ok + "\r\n<title><script>alert(1)</script></title>"), 200, "<script>alert(1)</script>",
			""},
		"title of a drawing": {raw(ok + "Content-Type: text/html\r\n\r\n<svg><title>no</title></svg><title>yes</title>"),
			200, "yes", ""},
		"windows-1251": {raw(ok +
			"Content-Type: text/html; charset=windows-1251\r\n\r\n<title>\xcf\xf0\xe8\xe2\xe5\xf2</title>"), 200, "Привет",
			""},
		"Shift_JIS by meta": {raw(ok +
			"Content-Type: text/html\r\n\r\n<meta charset=Shift_JIS><title>\x93\xfa\x96{</title>"), 200, "\u65e5\u672c", ""},
		"UTF-16": {raw(ok +
			"Content-Type: text/html\r\n\r\n\xff\xfe<\x00t\x00i\x00t\x00l\x00e\x00>\x00H\x00i\x00"), 200, "Hi", ""},
		"Latin-1 undeclared": {raw(ok + "Content-Type: text/html\r\n\r\n<title>caf\xe9 cr\xe8me</title><p>abc"), 200,
			"café crème", ""},
		"unknown character set": {raw(ok + "Content-Type: text/html; charset=klingon\r\n\r\n<title>Hi</title>"), 200, "Hi",
			""},
		"gzip bomb": {raw(ok + "Content-Encoding: gzip\r\nContent-Type: text/html\r\n\r\n" + bomb), 200, "",
			"unpacks to more"},
		"brotli": {raw(ok + "Content-Encoding: br\r\n\r\n" + brotlied("<title>Hi</title>")), 200, "Hi", ""},
		"brotli bomb": {raw(ok + "Content-Encoding: br\r\n\r\n" + brotlied(strings.Repeat("a", 10<<20))), 200, "",
			"unpacks to more"},
		"broken brotli": {raw(ok + "Content-Encoding: br\r\n\r\n<title>Hi</title>"), 200, "",
			"cannot be unpacked whole"},
		"broken gzip": {raw(ok + "Content-Encoding: gzip\r\nContent-Type: text/html\r\n\r\n<title>Hi</title>"), 200,
			"Hi", ""},
		"100,000 fields":   {raw(ok + strings.Repeat("X-A: b\r\n", 100_000) + "\r\n<title>Hi</title>"), 0, "", ""},
		"2,500 fields":     {raw(ok + strings.Repeat("X-A: b\r\n", 2500) + "\r\n<title>Hi</title>"), 200, "Hi", ""},
		"an endless field": {forever(ok+"X-A: ", strings.Repeat("a", 4096)), 0, "", ""},
		"an endless body": {forever(ok+"\r\n<title>Hi</title>", strings.Repeat("a", 4096)), 200, "Hi",
			"longer than a mebibyte"},
		"a slow body":   {slowly(ok + "Content-Type: text/html\r\n\r\n<title>Hi</title>"), 200, "Hi", "broke off"},
		"a slow header": {slowly(ok + "X: "), 200, "", "broke off"},
		"a tarpit":      {func(c net.Conn, _ string) { _, _ = c.Read(make([]byte, 1)) }, 0, "", ""},
		"a circle":      {raw("HTTP/1.1 302 Found\r\nLocation: /\r\n\r\n"), 302, "", "circle"},
		"out of scope": {raw("HTTP/1.1 301 Moved\r\nLocation: http://outside.test/x\r\n\r\n"), 301, "",
			"out of scope"},
		"no web address": {raw("HTTP/1.1 301 Moved\r\nLocation: javascript:alert(1)\r\n\r\n"), 301, "",
			"does not lead to a web address"},
		"a spiral": {func(c net.Conn, path string) {
			_, _ = fmt.Fprintf(c, "HTTP/1.1 302 Found\r\nLocation: %sx\r\n\r\n", path)
		}, 302, "", "more than 10 redirects"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			visitor := client()
			if waiting[name] {
				visitor = patient(2 * time.Second)
			}
			start := time.Now()
			v, err := visitor.Visit(t.Context(), serve(t, c.answer))
			if took := time.Since(start); took > 50*time.Second {
				t.Errorf("took %s", took)
			}
			if c.status == 0 {
				if err == nil {
					t.Errorf("visited: %+v", v.Asset)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			if v.Asset.StatusCode != c.status || v.Asset.Title != c.title {
				t.Errorf("status %d, title %q", v.Asset.StatusCode, v.Asset.Title)
			}
			notes := strings.Join(v.Asset.Notes, "\n")
			if c.note == "" && notes != "" || !strings.Contains(notes, c.note) {
				t.Errorf("notes %q, want %q", notes, c.note)
			}
			if len(v.Asset.Body) > 64<<10 || len(v.Asset.Headers) > 100 || !utf8.ValidString(v.Asset.Body) {
				t.Errorf("%d bytes of body, %d fields", len(v.Asset.Body), len(v.Asset.Headers))
			}
		})
	}
}

func TestRedirectsAreFollowedAndCounted(t *testing.T) {
	u := serve(t, func(c net.Conn, path string) {
		switch path {
		case "/":
			_, _ = c.Write([]byte("HTTP/1.1 301 Moved\r\nLocation: b\r\n\r\n"))
		case "/b":
			_, _ = c.Write([]byte("HTTP/1.1 302 Found\r\nLocation: http://outside.test:81/\r\nServer: last\r\n\r\n"))
		}
	})
	v, err := client().Visit(t.Context(), u)
	if err != nil {
		t.Fatal(err)
	}
	a := v.Asset
	if !slices.Equal(a.Chain, []string{"301", "302"}) || a.Webserver != "last" || a.URL != u.String() ||
		a.Redirect != u.String()+"b" {
		t.Errorf("%+v", a)
	}
	if len(v.Denied) != 1 || v.Denied[0].URL != "http://outside.test:81/" || v.Denied[0].Why == "" {
		t.Errorf("denied %v", v.Denied)
	}
	stays := client()
	stays.Stay = true
	if v, err = stays.Visit(t.Context(), u); err != nil || !slices.Equal(v.Asset.Chain, []string{"301"}) ||
		v.Asset.StatusCode != 301 || v.Asset.Redirect != u.String()+"b" || len(v.Denied) != 0 {
		t.Errorf("%+v %v", v, err)
	}
}

// TestOneConnectionForAPageAndItsIcon: it is kept when the end of the answer is certain,
// and when it was wrongly kept the icon is asked for on another.
func TestOneConnectionForAPageAndItsIcon(t *testing.T) {
	const page, icon = "<title>Hi</title>", "HTTP/1.1 200 OK\r\nContent-Length: 4\r\n\r\nicon"
	for name, c := range map[string]struct {
		fields, body string
		hangsUp      bool // the server, after each answer
		conns        int32
	}{
		"length":              {"Content-Length: 17", page, false, 1},
		"chunks":              {"Transfer-Encoding: chunked", "11\r\n" + page + "\r\n0\r\n\r\n", false, 1},
		"it hangs up":         {"Content-Length: 17", page, true, 2},
		"it says so":          {"Connection: Close\r\nContent-Length: 17", page, false, 2},
		"more than announced": {"Content-Length: 17", page + "HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nwrong", false, 2},
		"trailers":            {"Transfer-Encoding: chunked", "11\r\n" + page + "\r\n0\r\nA: b\r\n\r\n", false, 2},
		"no end":              {"X: y", page, true, 2},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var conns atomic.Int32
			u := serve(t, func(conn net.Conn, path string) {
				conns.Add(1)
				for b := make([]byte, 4096); ; {
					answer := icon
					if path == "/" {
						answer = "HTTP/1.1 200 OK\r\nContent-Type: text/html\r\n" + c.fields + "\r\n\r\n" + c.body
					}
					_, _ = conn.Write([]byte(answer))
					n, err := 0, io.EOF
					if !c.hangsUp {
						n, err = conn.Read(b)
					}
					if err != nil {
						return
					}
					path = strings.Fields(string(b[:n]))[1]
				}
			})
			v, err := client().Visit(t.Context(), u)
			if err != nil || v.Asset.Title != "Hi" || v.Asset.Favicon != web.Hash([]byte("icon")) {
				t.Errorf("%+v, %v", v, err)
			}
			if n := conns.Load(); n != c.conns {
				t.Errorf("%d connections, want %d", n, c.conns)
			}
		})
	}
}

// Nothing is left of a thousand visits.
func TestVisitsLeaveNothing(t *testing.T) {
	u := serve(t, raw("HTTP/1.1 200 OK\r\n\r\n<title>Hi</title>"))
	before := runtime.NumGoroutine()
	for range 200 {
		if _, err := client().Visit(t.Context(), u); err != nil {
			t.Fatal(err)
		}
	}
	for deadline := time.Now().Add(time.Minute); runtime.NumGoroutine() > before+2; runtime.Gosched() {
		if time.Now().After(deadline) {
			t.Fatalf("%d goroutines, %d before", runtime.NumGoroutine(), before)
		}
	}
}

func TestHashIsTheSearchEnginesOne(t *testing.T) {
	// As templates have it: mmh3(base64_py("…")).
	for icon, want := range map[string]string{"not really an image": "576441543"} {
		if got := web.Hash([]byte(icon)); got != want {
			t.Errorf("%q: %s, want %s", icon, got, want)
		}
	}
}

func TestCDN(t *testing.T) {
	for want, got := range map[string]string{
		"cloudflare": web.CDN(map[string]string{"cf-ray": "1-FRA"}, nil, nil),
		"cloudfront": web.CDN(nil, []string{"d1.cloudfront.net."}, nil),
		"fastly":     web.CDN(map[string]string{"x-served-by": "cache-fra-1"}, nil, nil),
		"":           web.CDN(map[string]string{"server": "nginx"}, []string{"evilcloudfront.net"}, nil),
	} {
		if got != want {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

func FuzzReadPage(f *testing.F) {
	for _, s := range []string{"<title>Hi</title>", "<link rel=icon href=data:,x>", "<base href=//x/><a href=y>",
		"<svg><title>x", "\xff\xfe<\x00", "<title>&#x1b;[2J\u202e"} {
		f.Add([]byte(s), "text/html; charset=utf-8")
		f.Add([]byte(s), "text/html; charset=gb18030")
	}
	at, _ := url.Parse("http://a.test/b")
	f.Fuzz(func(t *testing.T, body []byte, kind string) {
		p := web.ReadPage(body, kind)
		if len(p.Title) > 512 || !utf8.ValidString(p.Title) || len(p.Links) > 1000 {
			t.Fatalf("title %q, %d links", p.Title, len(p.Links))
		}
		for _, c := range p.Title {
			if unicode.IsControl(c) || unicode.Is(unicode.Cf, c) {
				t.Fatalf("title %q", p.Title)
			}
		}
		for _, l := range append(p.Links, p.Icon) {
			if u := p.Resolve(at, l); u != nil && (u.Hostname() == "" || u.Scheme != "http" && u.Scheme != "https") {
				t.Fatalf("%q leads to %s", l, u)
			}
		}
	})
}

func FuzzAnswer(f *testing.F) {
	for _, s := range []string{"HTTP/1.1 200 OK\r\nA: b\r\n\r\nx",
		"HTTP/1.1 200\nTransfer-Encoding: chunked\n\n3\nabc\n0\n\n", "ICY 200", "<html>", "HTTP/1.1 100 x\r\n\r\n"} {
		f.Add([]byte(s))
	}
	u := &url.URL{Scheme: "http", Host: "a.test"}
	f.Fuzz(func(t *testing.T, b []byte) {
		c := &web.Client{Timeout: time.Second, Dial: func(context.Context, string) (net.Conn, error) {
			here, there := net.Pipe()
			go func() {
				defer there.Close()
				_, _ = there.Read(make([]byte, 4096))
				_, _ = there.Write(b)
			}()
			return here, nil
		}}
		a, err := c.Get(t.Context(), u)
		if err == nil && (a.Status < 100 || len(a.Body) > 1<<20 || len(a.Fields) > 2000) {
			t.Fatalf("status %d, %d bytes, %d fields", a.Status, len(a.Body), len(a.Fields))
		}
	})
}

// The bodies of answers are counted while they are in use: without memory a body is cut, small ones never wait, and a
// visit gives back what it held.
func TestBodiesWaitForMemory(t *testing.T) {
	page := func(body string) string {
		return fmt.Sprintf("HTTP/1.1 200 OK\r\nContent-Type: text/html\r\nContent-Length: %d\r\n\r\n%s", len(body), body)
	}
	const long = 900 << 10 // bytes; more than one read takes before memory is asked for
	u := serve(t, func(c net.Conn, path string) {
		_, _ = io.WriteString(c, page(strings.Repeat("x", map[string]int{"/": long, "/small": 1000}[path])))
	})
	small := *u
	small.Path = "/small"
	c := client()
	c.Memory = membudget.New(4 << 20) // 3 of long bodies: one
	held, err := c.Get(t.Context(), u)
	if err != nil || held.Cut != "" {
		t.Fatalf("%v %+v", err, held)
	}
	hurried := patient(200 * time.Millisecond)
	hurried.Memory = c.Memory
	if a, err := hurried.Get(t.Context(), u); err != nil || a.Cut == "" || len(a.Body) >= long {
		t.Errorf("without memory: %v %d bytes, %q", err, len(a.Body), a.Cut)
	}
	if a, err := hurried.Get(t.Context(), &small); err != nil || a.Cut != "" {
		t.Errorf("a small page: %v %q", err, a.Cut)
	}
	held.Release()
	for range 3 {
		if v, err := c.Visit(t.Context(), u); err != nil || v.Asset.ContentLength != long || len(v.Asset.Notes) > 0 {
			t.Fatalf("%v %+v", err, v)
		}
	}
	runtime.KeepAlive(held)
}
