package web_test

import (
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// TestWireBytes holds what is sent against exact bytes. HOST stands for host:port of
// the server.
func TestWireBytes(t *testing.T) {
	const defaults = "User-Agent: ua\r\nAccept: */*\r\nAccept-Language: en\r\nAccept-Encoding: gzip\r\n"
	for name, c := range map[string]struct {
		cfg  web.Config
		req  web.Request
		want string
	}{
		"plain": {req: web.Request{}, want: "GET / HTTP/1.1\r\nHost: HOST\r\n" + defaults + "\r\n"},
		"case and order": {req: web.Request{NoDefaults: true,
			Headers: []web.Header{{"x-LOWER", "1"}, {"A", "2"}, {"x-lower", " 3 "}}},
			want: "GET / HTTP/1.1\r\nHost: HOST\r\nx-LOWER: 1\r\nA: 2\r\nx-lower:  3 \r\n\r\n"},
		"host in its place": {req: web.Request{NoDefaults: true,
			Headers: []web.Header{{"A", "1"}, {"hOST", "other.example"}, {"B", "2"}}},
			want: "GET / HTTP/1.1\r\nA: 1\r\nhOST: other.example\r\nB: 2\r\n\r\n"},
		"host field wins": {req: web.Request{NoDefaults: true, Host: "field.example",
			Headers: []web.Header{{"Host", "x"}}}, want: "GET / HTTP/1.1\r\nHost: field.example\r\n\r\n"},
		"default port": {req: web.Request{NoDefaults: true, Host: "a.example:80"},
			want: "GET / HTTP/1.1\r\nHost: a.example\r\n\r\n"},
		"other default port": {req: web.Request{NoDefaults: true, Host: "a.example:443"},
			want: "GET / HTTP/1.1\r\nHost: a.example:443\r\n\r\n"},
		"own defaults": {req: web.Request{Headers: []web.Header{{"user-agent", "mine"}, {"ACCEPT", "a/b"},
			{"Accept-Language", ""}, {"accept-encoding", "br"}}},
			want: "GET / HTTP/1.1\r\nHost: HOST\r\nuser-agent: mine\r\nACCEPT: a/b\r\nAccept-Language: \r\naccept-encoding: br\r\n\r\n"},
		"no accept": {req: web.Request{NoAccept: true},
			want: "GET / HTTP/1.1\r\nHost: HOST\r\nUser-Agent: ua\r\nAccept-Encoding: gzip\r\n\r\n"},
		"head": {req: web.Request{Method: "HEAD", NoAccept: true},
			want: "HEAD / HTTP/1.1\r\nHost: HOST\r\nUser-Agent: ua\r\n\r\n"},
		"range": {req: web.Request{NoAccept: true, Headers: []web.Header{{"Range", "bytes=0-1"}}},
			want: "GET / HTTP/1.1\r\nHost: HOST\r\nRange: bytes=0-1\r\nUser-Agent: ua\r\n\r\n"},
		"fresh": {req: web.Request{NoAccept: true, Fresh: true},
			want: "GET / HTTP/1.1\r\nHost: HOST\r\nUser-Agent: ua\r\nAccept-Encoding: gzip\r\nConnection: close\r\n\r\n"},
		"target": {req: web.Request{NoDefaults: true, Target: "*", Method: "OPTIONS"},
			want: "OPTIONS * HTTP/1.1\r\nHost: HOST\r\n\r\n"},
		"odd target": {req: web.Request{NoDefaults: true, Target: "/a b/../%zz?x=\x80{}|"},
			want: "GET /a b/../%zz?x=\x80{}| HTTP/1.1\r\nHost: HOST\r\n\r\n"},
		"body": {req: web.Request{NoDefaults: true, Method: "POST", Body: []byte("a\x00b")},
			want: "POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 3\r\n\r\na\x00b"},
		"empty body": {req: web.Request{NoDefaults: true, Method: "POST"},
			want: "POST / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 0\r\n\r\n"},
		"delete": {req: web.Request{NoDefaults: true, Method: "DELETE"},
			want: "DELETE / HTTP/1.1\r\nHost: HOST\r\n\r\n"},
		"wrong length": {req: web.Request{NoDefaults: true, Method: "PUT",
			Headers: []web.Header{{"content-length", "77"}, {"A", "1"}}, Body: []byte("abc")},
			want: "PUT / HTTP/1.1\r\nHost: HOST\r\ncontent-length: 3\r\nA: 1\r\n\r\nabc"},
		"get with body": {req: web.Request{NoDefaults: true, Body: []byte("abc")},
			want: "GET / HTTP/1.1\r\nHost: HOST\r\nContent-Length: 3\r\n\r\nabc"},
		"chunked": {req: web.Request{NoDefaults: true, Method: "POST",
			Headers: []web.Header{{"Transfer-Encoding", "Chunked"}, {"Content-Length", "5"}},
			Body:    []byte("hello, chunks, sixteen!")},
			want: "POST / HTTP/1.1\r\nHost: HOST\r\nTransfer-Encoding: Chunked\r\n\r\n17\r\nhello, chunks, sixteen!\r\n0\r\n\r\n"},
		"odd method": {req: web.Request{NoDefaults: true, Method: "PURGE"}, want: "PURGE / HTTP/1.1\r\nHost: HOST\r\n\r\n"},
		"configured headers win": {cfg: web.Config{Headers: []web.Header{{"x-team", "ours"}, {"Host", "front.example"}}},
			req:  web.Request{NoDefaults: true, Headers: []web.Header{{"X-Team", "theirs"}, {"B", "1"}}},
			want: "GET / HTTP/1.1\r\nHost: front.example\r\nB: 1\r\nx-team: ours\r\n\r\n"},
		"raw": {req: web.Request{Raw: []byte("GET /a\\..\\b%zz HTTP/1.1\r\nhost:  x\r\nhost: y\r\nNo Colon\r\n\r\n")},
			want: "GET /a\\..\\b%zz HTTP/1.1\r\nhost:  x\r\nhost: y\r\nNo Colon\r\n\r\n"},
		"raw, configured headers": {cfg: web.Config{Headers: []web.Header{{"X-Team", "ours"}}},
			req:  web.Request{Raw: []byte("GET / HTTP/1.1\r\nA: 1\r\nHost: x\r\nB: 2\r\n\r\n")},
			want: "GET / HTTP/1.1\r\nA: 1\r\nHost: x\r\nX-Team: ours\r\nB: 2\r\n\r\n"},
		"raw without host": {cfg: web.Config{Headers: []web.Header{{"X-Team", "ours"}}},
			req: web.Request{Raw: []byte("GET / HTTP/1.0\r\n\r\nHost: body\r\n")}, want: "GET / HTTP/1.0\r\n\r\n"},
	} {
		address, seen := recording(t)
		c.req.Address = address
		x, err := get(t, c.cfg, c.req)
		if err != nil {
			t.Errorf("%s: %v", name, err)
			continue
		}
		want := strings.ReplaceAll(c.want, "HOST", address.Host)
		if got := <-seen; got != want {
			t.Errorf("%s\n got %q\nwant %q", name, got, want)
		}
		if got := string(x.Sent()); !strings.HasPrefix(got, want) {
			t.Errorf("%s: said to be sent\n got %q\nwant %q", name, got, want)
		}
	}
}

// A value that comes from a server must not become a second request.
func TestLineBreaksAreRefused(t *testing.T) {
	address, seen := recording(t)
	for name, req := range map[string]web.Request{
		"value": {Headers: []web.Header{{"A", "b\r\nC: d"}}}, "name": {Headers: []web.Header{{"A\nB", "c"}}},
		"target": {Target: "/ HTTP/1.1\r\n\r\nGET /two"},
		"method": {Method: "GET / HTTP/1.1\r\nA: b\r\n\r\nGET"}, "host": {Host: "h\r\nA: b"},
		"nul": {Headers: []web.Header{{"A", "\x00"}}},
	} {
		req.Address = address
		if x, err := get(t, web.Config{}, req); err == nil {
			t.Errorf("%s: sent %q", name, x.Sent())
		} else if (&web.Request{Method: "GET"}).RetrySafe(err) {
			t.Errorf("%s: %v would be tried again", name, err)
		}
	}
	if len(seen) > 0 {
		t.Errorf("the server got %q", <-seen)
	}
}

func TestCurl(t *testing.T) {
	address, _ := recording(t)
	address.Path, address.Query = "/x", "a=1"
	x, err := get(t, web.Config{}, web.Request{Address: address, Method: "POST", Body: []byte("it's=1"),
		Headers: []web.Header{{"a-x", "1"}, {"B", "2"}}})
	want := `curl -X 'POST' -d 'it'\''s=1' -H 'Accept: */*' -H 'Accept-Language: en' -H 'B: 2' -H 'User-Agent: ua' -H 'a-x: 1' 'http://` + address.Host + `/x?a=1'`
	if err != nil || x.Curl() != want {
		t.Errorf("%v\n got %s\nwant %s", err, x.Curl(), want)
	}
}
