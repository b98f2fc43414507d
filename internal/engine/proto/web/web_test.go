package web_test

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// answering gives a dial function whose connections read one request and answer with
// these bytes; then they close.
func answering(raw []byte) func(context.Context, string, string) (net.Conn, error) {
	return func(context.Context, string, string) (net.Conn, error) {
		here, there := net.Pipe()
		go func() {
			defer there.Close()
			seen := make([]byte, 0, 4096)
			buf := make([]byte, 4096)
			for !bytes.Contains(seen, []byte("\r\n\r\n")) {
				n, err := there.Read(buf)
				if seen = append(seen, buf[:n]...); err != nil {
					return
				}
			}
			there.Write(raw)
		}()
		return here, nil
	}
}

func get(t testing.TB, cfg web.Config, req web.Request) (*web.Response, error) {
	t.Helper()
	if cfg.Timeout == 0 {
		cfg.Timeout = 5 * time.Second
	}
	c := web.New(cfg)
	defer c.Close()
	if req.Address.Host == "" {
		req.Address = web.Address{Scheme: "http", Host: "h", Path: "/"}
	}
	chain, err := c.Do(t.Context(), req, false, nil)
	if err != nil {
		return nil, err
	}
	return chain[len(chain)-1], nil
}

func zipped(data []byte) []byte {
	var b bytes.Buffer
	w := gzip.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func deflated(data []byte) []byte {
	var b bytes.Buffer
	w := zlib.NewWriter(&b)
	w.Write(data)
	w.Close()
	return b.Bytes()
}

func TestBodies(t *testing.T) {
	bomb := zipped(make([]byte, 64<<20))
	for name, c := range map[string]struct {
		raw       string
		want      string
		truncated bool
	}{
		"length":          {"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", "abc", false},
		"to the end":      {"HTTP/1.1 200 OK\r\n\r\nabcdef", "abcdef", false},
		"chunked":         {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n0\r\n\r\n", "abc", false},
		"breaks off":      {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", "abc", true},
		"bad chunk":       {"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n", "abc", true},
		"gzip":            {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + string(zipped([]byte("inside"))), "inside", false},
		"deflate":         {"HTTP/1.1 200 OK\r\nContent-Encoding: deflate\r\n\r\n" + string(deflated([]byte("inside"))), "inside", false},
		"no gzip at all":  {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nplain", "plain", false},
		"half a gzip":     {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + string(zipped([]byte("inside"))[:18]), "insid", true},
		"gzip bomb":       {"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + string(bomb), string(make([]byte, 1<<20)), true},
		"too long":        {"HTTP/1.1 200 OK\r\nContent-Length: 99999999999\r\n\r\n" + strings.Repeat("x", 1<<20+1), strings.Repeat("x", 1<<20), true},
		"no body allowed": {"HTTP/1.1 204 No Content\r\n\r\nabc", "", false},
	} {
		got, err := get(t, web.Config{Dial: answering([]byte(c.raw)), MaxBody: 1 << 20}, web.Request{})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		body := string(got.Body)
		if name == "half a gzip" && strings.HasPrefix("inside", body) {
			body = c.want // how much of it comes out is the decoder's business
		}
		if body != c.want || got.Truncated != c.truncated {
			t.Errorf("%s: %d bytes, truncated %v", name, len(got.Body), got.Truncated)
		}
	}
}

// A body without end is cut at the bound, at once, and its connection is given up.
func TestEndlessBody(t *testing.T) {
	ended := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		defer close(ended)
		for {
			if _, err := w.Write(make([]byte, 32<<10)); err != nil {
				return
			}
		}
	}))
	defer s.Close()
	address, _ := web.ParseAddress(s.URL)
	got, err := get(t, web.Config{MaxBody: 1 << 20, Timeout: time.Minute}, web.Request{Address: address})
	if err != nil || len(got.Body) != 1<<20 || !got.Truncated {
		t.Errorf("%v %+v", err, got)
	}
	select {
	case <-ended:
	case <-time.After(5 * time.Second):
		t.Error("the server is still sending")
	}
}

func TestBrokenServers(t *testing.T) {
	many := "HTTP/1.1 200 OK\r\n" + strings.Repeat("X-A: b\r\n", 100_000) + "\r\n"
	for name, raw := range map[string]string{
		"nothing": "", "no http": "SSH-2.0-OpenSSH_9\r\n", "cut status": "HTTP/1.1 20", "cut header": "HTTP/1.1 200 OK\r\nA: b", "too many headers": many,
		"bad length": "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\n", "endless 1xx": strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 1000),
	} {
		if got, err := get(t, web.Config{Dial: answering([]byte(raw))}, web.Request{}); err == nil {
			t.Errorf("%s: %+v", name, got)
		} else if web.Reason(err) == "" {
			t.Errorf("%s: no reason", name)
		}
	}
}

// No server keeps a request longer than the bounds say, at whatever point it stops.
func TestDeadlines(t *testing.T) {
	const timeout = 100 * time.Millisecond
	for name, raw := range map[string]string{"nothing": "", "half a header": "HTTP/1.1 200 OK\r\nA: ", "half a body": "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc"} {
		var silent []net.Conn
		dial := func(context.Context, string, string) (net.Conn, error) {
			here, there := net.Pipe()
			silent = append(silent, there)
			go func() {
				there.Read(make([]byte, 1)) // an answer before the question would be another failure
				go io.Copy(io.Discard, there)
				io.WriteString(there, raw)
			}()
			return here, nil
		}
		start := time.Now()
		_, err := get(t, web.Config{Dial: dial, Timeout: timeout}, web.Request{})
		if took := time.Since(start); took > 10*timeout {
			t.Errorf("%s took %v", name, took)
		}
		if name != "half a body" && web.Reason(err) != "timed out" {
			t.Errorf("%s: %v", name, err)
		}
		for _, c := range silent {
			c.Close()
		}
	}
	hanging := func(ctx context.Context, _, _ string) (net.Conn, error) { <-ctx.Done(); return nil, ctx.Err() }
	if _, err := get(t, web.Config{Dial: hanging, Timeout: timeout}, web.Request{}); web.Reason(err) != "timed out" {
		t.Errorf("dial: %v", err)
	}
}

func TestFollowIsAsked(t *testing.T) {
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/end" {
			http.Redirect(w, r, "/end?from="+r.URL.Path, http.StatusFound)
		}
	}))
	defer s.Close()
	address, _ := web.ParseAddress(s.URL + "/a")
	for _, allow := range []bool{true, false} {
		asked := ""
		got, err := get(t, web.Config{Follow: func(from, to *url.URL) bool { asked = from.Path + ">" + to.RequestURI(); return allow }},
			web.Request{Address: address, Redirects: web.AllRedirects})
		if err != nil || asked != "/a>/end?from=/a" || (got.Status == 200) != allow {
			t.Errorf("allow %v: asked %q, %+v %v", allow, asked, got, err)
		}
	}
}

// What is secret for one host is not told to the next; cookies go where they belong.
func TestRedirectHeaders(t *testing.T) {
	var second http.Header
	other := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { second = r.Header }))
	defer other.Close()
	_, port, _ := net.SplitHostPort(strings.TrimPrefix(other.URL, "http://"))
	elsewhere := "http://localhost:" + port
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		switch r.URL.Path {
		case "/here":
			http.SetCookie(w, &http.Cookie{Name: "new", Value: "1", Path: "/"})
			http.Redirect(w, r, "/there", http.StatusFound)
		case "/there":
			second = r.Header
		default:
			http.Redirect(w, r, elsewhere, http.StatusFound)
		}
	}))
	defer s.Close()
	headers := []web.Header{{Name: "Authorization", Value: "secret"}, {Name: "Cookie", Value: "a=1; new=0"}, {Name: "X-Other", Value: "x"}}
	for path, want := range map[string][3]string{"/here": {"secret", "new=1; a=1", "x"}, "/away": {"", "", "x"}} {
		address, _ := web.ParseAddress(s.URL + path)
		if _, err := get(t, web.Config{}, web.Request{Address: address, Headers: headers, Redirects: web.AllRedirects}); err != nil {
			t.Fatal(err)
		}
		if got := [3]string{second.Get("Authorization"), second.Get("Cookie"), second.Get("X-Other")}; got != want {
			t.Errorf("%s: %q, want %q", path, got, want)
		}
	}
}

func TestGateStops(t *testing.T) {
	stop := errors.New("stop")
	c := web.New(web.Config{Dial: answering(nil)})
	defer c.Close()
	_, err := c.Do(t.Context(), web.Request{Address: web.Address{Scheme: "http", Host: "h"}}, false, func(context.Context) error { return stop })
	if !errors.Is(err, stop) {
		t.Error(err)
	}
}

func TestConfiguredHeadersWin(t *testing.T) {
	var got http.Header
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { got = r.Header }))
	defer s.Close()
	address, _ := web.ParseAddress(s.URL)
	if _, err := get(t, web.Config{Headers: []web.Header{{Name: "x-team", Value: "ours"}}, UserAgent: "ua"},
		web.Request{Address: address, Headers: []web.Header{{Name: "X-Team", Value: "theirs"}, {Name: "Accept", Value: "a/b"}}}); err != nil {
		t.Fatal(err)
	}
	if got.Get("X-Team") != "ours" || got.Get("User-Agent") != "ua" || got.Get("Accept") != "a/b" || got.Get("Accept-Language") != "en" {
		t.Errorf("%v", got)
	}
}

// Connections are kept: ten requests in a row use one, ten fresh ones ten.
func TestReuse(t *testing.T) {
	dials := 0
	s := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) { fmt.Fprint(w, "ok") }))
	defer s.Close()
	c := web.New(web.Config{Dial: func(ctx context.Context, network, addr string) (net.Conn, error) {
		dials++
		return (&net.Dialer{}).DialContext(ctx, network, addr)
	}})
	defer c.Close()
	address, _ := web.ParseAddress(s.URL)
	for _, fresh := range []bool{false, true} {
		dials = 0
		for range 10 {
			if _, err := c.Do(t.Context(), web.Request{Address: address}, fresh, nil); err != nil {
				t.Fatal(err)
			}
		}
		if want := map[bool]int{false: 1, true: 10}[fresh]; dials != want {
			t.Errorf("fresh %v: %d connections", fresh, dials)
		}
	}
}

// Whatever a server sends, reading it ends within the bounds, and what is read can be
// shown.
func FuzzResponse(f *testing.F) {
	for _, s := range []string{
		"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", "HTTP/1.0 301 x\r\nLocation: /\r\n\r\n", "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n0\r\nT: x\r\n\r\n",
		"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n\x1f\x8b", "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n",
		"HTTP/1.1 200 OK\r\nSet-Cookie: a=b\r\nSet-Cookie: \x00\r\n\r\n", "HTTP/9.9 999 \r\n\r\n", "\r\n\r\n",
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		c := web.New(web.Config{Dial: answering(raw), MaxBody: 1 << 10, Timeout: time.Second})
		defer c.Close()
		chain, _ := c.Do(t.Context(), web.Request{Address: web.Address{Scheme: "http", Host: "h"}, Redirects: web.AllRedirects, MaxRedirects: 3}, true, nil)
		for _, r := range chain {
			if len(r.Body) > 1<<10 {
				t.Errorf("%d bytes of body", len(r.Body))
			}
			view := r.View()
			for _, part := range []string{"status_code", "content_type", "a", "tls_version", "location"} {
				view.Named(part)
			}
			if got := r.Dump(512); len(got) > 512 {
				t.Errorf("a dump of %d bytes", len(got))
			}
		}
	})
}
