package web_test

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"strings"
	"testing"

	"github.com/andybalholm/brotli"
	"github.com/klauspost/compress/zlib"
	"github.com/klauspost/compress/zstd"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

func compressed(w io.WriteCloser, b *bytes.Buffer, data string) string {
	io.WriteString(w, data)
	w.Close()
	return b.String()
}

func deflated(data string) string {
	var b bytes.Buffer
	return compressed(zlib.NewWriter(&b), &b, data)
}

func brotlied(data string) string {
	var b bytes.Buffer
	return compressed(brotli.NewWriter(&b), &b, data)
}

func zstded(data string) string {
	var b bytes.Buffer
	w, _ := zstd.NewWriter(&b)
	return compressed(w, &b, data)
}

// odd are answers, right and wrong, and what is read from them.
var odd = map[string]struct {
	raw       string
	method    string
	status    int
	body      string
	truncated bool
	reused    bool // the connection carries the next exchange
}{
	"length": {raw: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", status: 200, body: "abc",
		reused: true},
	"bytes left over": {raw: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", status: 200, body: "abc"},
	"to the end":      {raw: "HTTP/1.1 200 OK\r\n\r\nabcdef", status: 200, body: "abcdef"},
	"chunked":         {raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n2;ext=1\r\nde\r\n0\r\nT: x\r\nU: y\r\n\r\n", status: 200, body: "abcde", reused: true},
	"chunked, upper case": {raw: "HTTP/1.1 200 OK\r\nTRANSFER-ENCODING: Chunked\r\n\r\nA\r\n0123456789\r\n0\r\n\r\n",
		status: 200, body: "0123456789", reused: true},
	"chunked, LF only": {raw: "HTTP/1.1 200 OK\nTransfer-Encoding: chunked\n\n3\nabc\n0\n\n", status: 200, body: "abc",
		reused: true},
	"chunked and length": {raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 5\r\n\r\n3\r\nabc\r\n0\r\n\r\n", status: 200, body: "abc"},
	"bad chunk": {raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\nzz\r\n", status: 200,
		body: "abc", truncated: true},
	"bad chunk end": {raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabcdef\r\n0\r\n\r\n",
		status: 200, body: "abc", truncated: true},
	"huge chunk": {raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nffffffffffffffffff\r\nabc",
		status: 200, truncated: true},
	"negative chunk": {raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n-3\r\nabc", status: 200,
		truncated: true},
	"no last chunk": {raw: "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n3\r\nabc\r\n", status: 200,
		body: "abc", truncated: true},
	"breaks off": {raw: "HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nabc", status: 200, body: "abc",
		truncated: true},
	"LF only":   {raw: "HTTP/1.1 200 OK\nContent-Length: 3\n\nabc", status: 200, body: "abc", reused: true},
	"no reason": {raw: "HTTP/1.1 404\r\nContent-Length: 3\r\n\r\nabc", status: 404, body: "abc", reused: true},
	"odd status": {raw: "HTTP/1.1 1999 Far out\r\nContent-Length: 3\r\n\r\nabc", status: 1999, body: "abc",
		reused: true},
	"blank lines first": {raw: "\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", status: 200, body: "abc",
		reused: true},
	"lower case": {raw: "http/1.1 200 ok\r\ncontent-length: 3\r\n\r\nabc", status: 200, body: "abc",
		reused: true},
	"two status lines": {raw: "HTTP/1.1 200 OK\r\nHTTP/1.1 403 Forbidden\r\nContent-Length: 3\r\n\r\nabc", status: 403,
		body: "abc", reused: true},
	"HTTP/1.0": {raw: "HTTP/1.0 200 OK\r\nContent-Length: 3\r\n\r\nabc", status: 200, body: "abc"},
	"HTTP/1.0 kept": {raw: "HTTP/1.0 200 OK\r\nConnection: Keep-Alive\r\nContent-Length: 3\r\n\r\nabc", status: 200,
		body: "abc", reused: true},
	"close": {raw: "HTTP/1.1 200 OK\r\nConnection: foo, Close\r\nContent-Length: 3\r\n\r\nabc", status: 200,
		body: "abc"},
	"HEAD": {raw: "HTTP/1.1 200 OK\r\nContent-Length: 30\r\n\r\n", method: "HEAD", status: 200,
		reused: true},
	"204":             {raw: "HTTP/1.1 204 No Content\r\n\r\n", status: 204, reused: true},
	"204 with bytes":  {raw: "HTTP/1.1 204 No Content\r\n\r\nabc", status: 204},
	"304":             {raw: "HTTP/1.1 304 Not Modified\r\nContent-Length: 5\r\n\r\n", status: 304, reused: true},
	"interim":         {raw: "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 103 Early Hints\r\nLink: x\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc", status: 200, body: "abc", reused: true},
	"switching":       {raw: "HTTP/1.1 101 Switching Protocols\r\nUpgrade: x\r\n\r\nframes", status: 101},
	"bad length":      {raw: "HTTP/1.1 200 OK\r\nContent-Length: x\r\n\r\nabc", status: 200, body: "abc"},
	"negative length": {raw: "HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\nabc", status: 200, body: "abc"},
	"two lengths": {raw: "HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 3\r\n\r\nabc", status: 200,
		body: "abc", reused: true},
	"two other lengths": {raw: "HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 3\r\n\r\nabc", status: 200,
		body: "abc"},
	"no colon": {raw: "HTTP/1.1 200 OK\r\ngarbage\r\n: empty\r\nContent-Length : 3\r\n\r\nabc", status: 200,
		body: "abc", reused: true},
	"gzip": {raw: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + string(zipped([]byte("inside"))),
		status: 200, body: "inside"},
	"deflate": {raw: "HTTP/1.1 200 OK\r\nContent-Encoding: Deflate\r\n\r\n" + deflated("inside"), status: 200,
		body: "inside"},
	"brotli": {raw: "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\n" + brotlied("inside"), status: 200,
		body: "inside"},
	"zstd": {raw: "HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\n" + zstded("inside"), status: 200,
		body: "inside"},
	"no gzip at all":   {raw: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nplain", status: 200, body: "plain"},
	"no brotli at all": {raw: "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\n\r\nplain", status: 200, body: "plain"},
	"no zstd at all":   {raw: "HTTP/1.1 200 OK\r\nContent-Encoding: zstd\r\n\r\nplain", status: 200, body: "plain"},
	"unknown encoding": {raw: "HTTP/1.1 200 OK\r\nContent-Encoding: rot13\r\n\r\ncynva", status: 200, body: "cynva"},
	"half a gzip": {raw: "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" +
		half(zipped([]byte(strings.Repeat("inside", 2000)))), status: 200, body: "inside", truncated: true},
	"GBK": {raw: "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=GBK\r\n\r\n\xc4\xe3\xba\xc3",
		status: 200, body: "\u4f60\u597d"},
	"GB2312": {raw: "HTTP/1.1 200 OK\r\nContent-Type: text/html;charset=\"gb2312\"; x=y\r\n\r\n\xc4\xe3",
		status: 200, body: "\u4f60"},
	"windows-1251": {raw: "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=windows-1251\r\n\r\n\xcf\xf0\xe8",
		status: 200, body: "При"},
	"latin 1 stays": {raw: "HTTP/1.1 200 OK\r\nContent-Type: text/html; charset=iso-8859-1\r\n\r\n\xe4", status: 200,
		body: "\xe4"},
}

func half(b []byte) string { return string(b[:len(b)*2/3]) }

func TestOddAnswers(t *testing.T) {
	for name, want := range odd {
		address := listen(t, func(n int, c net.Conn) {
			r := bufio.NewReader(c)
			for i := 0; request(r) != ""; i++ {
				raw := want.raw
				if n > 0 || i > 0 {
					raw = "HTTP/1.1 299 second\r\nContent-Length: 0\r\n\r\n"
				}
				io.WriteString(c, raw)
				if n == 0 && i == 0 && !want.reused {
					return
				}
			}
		})
		c := newClient(t, web.Config{})
		x, err := c.Do(t.Context(), web.Request{Address: address, Method: want.method})
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		body := string(x.Body)
		if name == "half a gzip" && strings.HasPrefix(body, "insideinside") {
			body = want.body // how much of it comes out is the decoder's business
		}
		if x.Status != want.status || body != want.body || x.Truncated != want.truncated {
			t.Errorf("%s: %d %q, truncated %v", name, x.Status, x.Body, x.Truncated)
		}
		if second, err := c.Do(t.Context(), web.Request{Address: address}); err != nil || second.Status != 299 {
			t.Errorf("%s: the next answer: %v %v", name, second, err)
		}
		if reused := c.Stats().Connections == 1; reused != want.reused {
			t.Errorf("%s: reused %v", name, reused)
		}
	}
}

func TestNoAnswer(t *testing.T) {
	for name, c := range map[string]struct {
		raw  string
		kind web.Kind
	}{
		"nothing":      {"", web.KindClosed},
		"ssh":          {"SSH-2.0-OpenSSH_9\r\n", web.KindMalformed},
		"a page":       {"<html>HTTP/0.9</html>", web.KindMalformed},
		"cut status":   {"HTTP/1.1 20", web.KindClosed},
		"cut header":   {"HTTP/1.1 200 OK\r\nA: b", web.KindClosed},
		"no number":    {"HTTP/1.1 OK\r\n\r\n", web.KindMalformed},
		"glued number": {"HTTP/1.1 200OK\r\n\r\n", web.KindMalformed},
		"endless 1xx":  {strings.Repeat("HTTP/1.1 100 Continue\r\n\r\n", 1000), web.KindMalformed},
		"blank lines":  {strings.Repeat("\r\n", 100_000), web.KindMalformed},
		"long header":  {"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("b", 2<<20), web.KindMalformed},
	} {
		address := answering(t, c.raw, true)
		x, err := get(t, web.Config{MaxHead: 1 << 20}, web.Request{Address: address})
		var e *web.Error
		if !errors.As(err, &e) || e.Kind != c.kind {
			t.Errorf("%s: %v %v", name, x, err)
		}
		if web.Reason(err) == "" || !(&web.Request{Method: "GET"}).RetrySafe(err) ||
			(&web.Request{Method: "POST"}).RetrySafe(err) {
			t.Errorf("%s: %q", name, web.Reason(err))
		}
		if (&web.Request{Raw: []byte("GET / HTTP/1.1\r\n\r\n")}).RetrySafe(err) {
			t.Errorf("%s: raw bytes that a server got are sent twice", name)
		}
	}
}

// The head is printed as net/http prints it.
func TestHeadIsAsNetHTTPPrintsIt(t *testing.T) {
	for name, raw := range map[string]string{
		"sorted":            "HTTP/1.1 200 OK\r\nx-b: 1\r\nServer: s\r\nX-A: 2\r\nx-b: 0\r\nContent-Length: 3\r\n\r\nabc",
		"to the end":        "HTTP/1.1 200 OK\r\nServer: s\r\n\r\nabc",
		"no body":           "HTTP/1.1 200 OK\r\nServer: s\r\nContent-Length: 0\r\n\r\n",
		"chunked":           "HTTP/1.1 200 OK\r\nServer: s\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n",
		"204":               "HTTP/1.1 204 No Content\r\nServer: s\r\n\r\n",
		"304":               "HTTP/1.1 304 Not Modified\r\nEtag: x\r\n\r\n",
		"HTTP/1.0":          "HTTP/1.0 301 Moved\r\nLocation: /\r\nContent-Length: 1\r\n\r\nx",
		"HTTP/1.0 kept":     "HTTP/1.0 200 OK\r\nConnection: keep-alive\r\nContent-Length: 1\r\n\r\nx",
		"close":             "HTTP/1.1 500 Oops\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
		"HTTP/1.0 close":    "HTTP/1.0 200 OK\r\nConnection: close\r\nContent-Length: 1\r\n\r\nx",
		"close and more":    "HTTP/1.1 200 OK\r\nConnection: close, x\r\nA: b\r\n\r\nx",
		"no reason":         "HTTP/1.1 404\r\nContent-Length: 1\r\n\r\nx",
		"folded":            "HTTP/1.1 200 OK\r\nA: b\r\n  c\r\n\td\r\nContent-Length: 0\r\n\r\n",
		"blanks":            "HTTP/1.1 200 OK\r\nA:b  \r\nC:\r\nContent-Length: 0\r\n\r\n",
		"unknown encodings": "HTTP/1.1 200 OK\r\nContent-Encoding: x\r\nContent-Length: 1\r\n\r\nx",
		"gzip unasked":      "HTTP/1.1 200 OK\r\nContent-Encoding: br\r\nContent-Length: 1\r\n\r\nx",
	} {
		res, err := http.ReadResponse(bufio.NewReader(strings.NewReader(raw)), nil)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		want, err := httputil.DumpResponse(res, false)
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		x, err := get(t, web.Config{}, web.Request{Address: answering(t, raw, true)})
		if err != nil || string(x.Head()) != string(want) {
			t.Errorf("%s: %v\n got %q\nwant %q", name, err, x.Head(), want)
		}
	}
}

// A body that came as gzip because the client asked for it looks as if it had not, as
// in net/http; one that the request itself asked for does not.
func TestGzipIsInvisible(t *testing.T) {
	address := answering(t, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nServer: s\r\n\r\n"+
		string(zipped([]byte("inside"))), true)
	for _, own := range []bool{false, true} {
		req := web.Request{Address: address}
		want := "HTTP/1.1 200 OK\r\nServer: s\r\n\r\n"
		if own {
			req.Headers = []web.Header{{"Accept-Encoding", "gzip"}}
			want = "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Encoding: gzip\r\nServer: s\r\n\r\n"
		}
		x, err := get(t, web.Config{}, req)
		if err != nil || string(x.Head()) != want || string(x.Body) != "inside" {
			t.Errorf("%v %q %q", err, x.Head(), x.Body)
		}
		if _, has := x.Named("content_encoding"); has != own {
			t.Errorf("content_encoding: %v", has)
		}
	}
}

func TestNamed(t *testing.T) {
	address := answering(t, "HTTP/1.1 302 Found\r\nLocation: /x\r\nX-Two: a\r\nx-two: b\r\nContent-Length: 3\r\nSet-Cookie: SID=abc; Path=/\r\nset-cookie: other=1\r\nTransfer-Encoding: identity\r\n\r\nabc", true)
	x, err := get(t, web.Config{}, web.Request{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]any{
		"status_code": 302, "content_length": 3, "location": "/x", "x_two": "a b", "set_cookie": "SID=abc; Path=/ other=1",
		"sid": "abc", "other": "1",
		"type": "http", "matched": "http://" + address.Host + "/", "ip": "127.0.0.1", "body": "abc",
		"header": string(x.Head()), "all_headers": string(x.Head()),
		"response": string(x.Head()) + "abc", "request": string(x.Sent()), "curl-command": x.Curl(),
		"transfer_encoding": nil, "X-Two": nil, "Location": nil, "SID": nil, "tls_version": nil, "nothing": nil, "": nil,
	} {
		if got, ok := x.Named(name); got != want || ok != (want != nil) {
			t.Errorf("%s: %v %v, want %v", name, got, ok, want)
		}
	}
	if d, ok := x.Named("duration"); !ok || d.(float64) <= 0 || d.(float64) > 5 {
		t.Errorf("duration: %v", d)
	}
	if len(x.Fields()) != 7 || x.Fields()[2].Name != "x-two" || x.Header("LOCATION") != "/x" {
		t.Errorf("%q", x.Fields())
	}
}
