package web_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// site answers by path: "STATUS LOCATION" redirects, with "SET" cookies; all else is 200.
func site(t *testing.T, pages map[string]string) (rawurl.URL, <-chan string) {
	seen := make(chan string, 100)
	return listen(t, func(_ int, c net.Conn) {
		r := bufio.NewReader(c)
		for text := request(r); text != ""; text = request(r) {
			seen <- text
			page, ok := pages[strings.Fields(text)[1]]
			if !ok {
				page = "200 OK\r\n"
			}
			fmt.Fprintf(c, "HTTP/1.1 %sContent-Length: 2\r\n\r\nok", page)
		}
	}), seen
}

func chainOf(t *testing.T, c *web.Client, req web.Request, p web.Policy) ([]*web.Exchange, error) {
	t.Helper()
	first, err := c.Do(t.Context(), req)
	if err != nil {
		t.Fatal(err)
	}
	return c.Follow(t.Context(), first, p)
}

// all follows wherever it leads.
var all = web.Policy{Mode: web.AllRedirects}

func statuses(chain []*web.Exchange) (text string) {
	for _, x := range chain {
		text += fmt.Sprint(x.Status, " ")
	}
	return strings.TrimSpace(text)
}

func TestPolicies(t *testing.T) {
	other, _ := site(t, nil)
	pages := map[string]string{"/a": "302 x\r\nLocation: /b\r\n",
		"/b": "301 x\r\nLocation: http://" + other.Host + "/c\r\n", "/loop": "303 x\r\nLocation: /loop\r\n",
		"/304": "304 x\r\nLocation: /a\r\n", "/tls": "302 x\r\nLocation: https://127.0.0.1:1/\r\n"}
	address, _ := site(t, pages)
	c := newClient(t, web.Config{})
	refuse := func(to rawurl.URL) bool { return to.Host != other.Host }
	for _, test := range []struct {
		path   string
		policy web.Policy
		want   string
	}{
		{"/a", web.Policy{}, "302"},
		{"/a", web.Policy{Mode: web.AllRedirects}, "302 301 200"},
		{"/a", web.Policy{Mode: web.HostRedirects}, "302 301"},
		{"/a", web.Policy{Mode: web.AllRedirects, Max: 1}, "302 301"},
		{"/a", web.Policy{Mode: web.AllRedirects, Allow: refuse}, "302 301"},
		{"/loop", web.Policy{Mode: web.AllRedirects}, strings.TrimSpace(strings.Repeat("303 ", 11))},
		{"/304", web.Policy{Mode: web.AllRedirects}, "304"},
		{"/tls", web.Policy{Mode: web.AllRedirects, SameScheme: true}, "302"},
	} {
		address.Path = test.path
		chain, err := chainOf(t, c, web.Request{Address: address}, test.policy)
		if err != nil || statuses(chain) != test.want {
			t.Errorf("%s %+v: %s %v", test.path, test.policy, statuses(chain), err)
		}
	}
	address.Path = "/tls"
	if chain, err := chainOf(t, c, web.Request{Address: address}, web.Policy{Mode: web.AllRedirects}); err == nil ||
		len(chain) != 1 {
		t.Errorf("a place that does not answer: %v %v", chain, err)
	}
	address.Path = "/a"
	stop := errors.New("stop")
	gates := 0
	gate := func(context.Context) error {
		if gates++; gates == 2 {
			return stop
		}
		return nil
	}
	if chain, err := chainOf(t, c, web.Request{Address: address},
		web.Policy{Mode: web.AllRedirects, Before: gate}); !errors.Is(err, stop) || len(chain) != 2 {
		t.Errorf("gate: %v %v", chain, err)
	}
}

// One first answer serves all who asked for it, whatever they follow.
func TestFirstHopIsShared(t *testing.T) {
	address, seen := site(t, map[string]string{"/a": "302 x\r\nLocation: /b\r\n"})
	address.Path = "/a"
	c := newClient(t, web.Config{})
	first, err := c.Do(t.Context(), web.Request{Address: address})
	if err != nil {
		t.Fatal(err)
	}
	for _, mode := range []web.RedirectMode{web.NoRedirects, web.AllRedirects, web.HostRedirects} {
		chain, err := c.Follow(t.Context(), first, web.Policy{Mode: mode})
		if err != nil || chain[0] != first || len(chain) != 1+min(int(mode), 1) {
			t.Errorf("%v: %v %v", mode, chain, err)
		}
	}
	if len(seen) != 3 {
		t.Errorf("%d requests", len(seen))
	}
}

// Methods and bodies change as with net/http's client.
func TestRedirectMethods(t *testing.T) {
	for _, test := range []struct {
		status       int
		method, want string
		body         bool
	}{
		{301, "POST", "GET", false}, {302, "PUT", "GET", false}, {303, "DELETE", "GET", false},
		{307, "POST", "POST", true}, {308, "PUT", "PUT", true}, {303, "GET", "GET", true}, {301, "GET", "GET", true},
	} {
		address, seen := site(t, map[string]string{"/a": fmt.Sprintf("%d x\r\nLocation: b?c\r\n", test.status)})
		address.Path = "/a"
		req := web.Request{Address: address, Method: test.method, NoDefaults: true,
			Headers: []web.Header{{"Content-Type", "x/y"}, {"A", "1"}}, Body: []byte("body")}
		if _, err := chainOf(t, newClient(t, web.Config{}), req, all); err != nil {
			t.Fatal(err)
		}
		<-seen
		want := test.want + " /b?c HTTP/1.1\r\nHost: " + address.Host + "\r\n"
		if test.body {
			want += "Content-Type: x/y\r\nA: 1\r\nReferer: " + address.String() + "\r\nContent-Length: 4\r\n\r\nbody"
		} else {
			want += "A: 1\r\nReferer: " + address.String() + "\r\n\r\n"
		}
		if got := <-seen; got != want {
			t.Errorf("%d %s\n got %q\nwant %q", test.status, test.method, got, want)
		}
	}
}

// What is for one host is not sent to the next: no header of the configuration but such as User-Agent, and none of the
// request that may be a secret. Cookies go where they belong.
func TestRedirectHeaders(t *testing.T) {
	secret := web.Config{Headers: []web.Header{{"X-Key", "k"}, {"X-Team", "t"}, {"Accept", "a/b"}}}
	for name, c := range map[string]struct{ location, want string }{
		"relative": {"/end", "Host: front.example\r\nAuthorization: a\r\nX-Api-Key: s\r\nGitlab-Token: g\r\nCookie: keep=1; new=1\r\nX: y\r\nReferer: URL\r\nX-Key: k\r\nX-Team: t\r\nAccept: a/b\r\n"},
		"absolute": {"http://HOST/end", "Host: HOST\r\nAuthorization: a\r\nX-Api-Key: s\r\nGitlab-Token: g\r\nCookie: keep=1; new=1\r\nX: y\r\nReferer: URL\r\nX-Key: k\r\nX-Team: t\r\nAccept: a/b\r\n"},
		"away":     {"http://localhost:PORT/end", "Host: localhost:PORT\r\nX: y\r\nReferer: URL\r\nAccept: a/b\r\n"},
	} {
		pages := map[string]string{}
		address, seen := site(t, pages)
		address.Path = "/a"
		fill := strings.NewReplacer("HOST", address.Host, "PORT", address.Port(), "URL", address.String()).Replace
		pages["/a"] = "302 x\r\nSet-Cookie: new=1; Path=/\r\nLocation: " + fill(c.location) + "\r\n"
		if _, err := chainOf(t, newClient(t, secret), web.Request{
			Address: address, Host: "front.example", NoDefaults: true,
			Headers: []web.Header{{"Authorization", "a"}, {"X-Api-Key", "s"}, {"Gitlab-Token", "g"}, {"Cookie", "keep=1; new=0"}, {"X", "y"}},
		}, all); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		<-seen
		if got, want := <-seen, "GET /end HTTP/1.1\r\n"+fill(c.want)+"\r\n"; got != want {
			t.Errorf("%s\n got %q\nwant %q", name, got, want)
		}
	}
}

// Not even the name of the site that a configuration asks for is sent to another host.
func TestRedirectWithAConfiguredHost(t *testing.T) {
	pages := map[string]string{}
	address, seen := site(t, pages)
	address.Path = "/a"
	pages["/a"] = "302 x\r\nLocation: http://localhost:" + address.Port() + "/end\r\n"
	c := newClient(t, web.Config{Headers: []web.Header{{"Host", "inside.example"}}})
	if _, err := chainOf(t, c, web.Request{Address: address}, all); err != nil {
		t.Fatal(err)
	}
	if first := <-seen; !strings.Contains(first, "\r\nHost: inside.example\r\n") {
		t.Errorf("the target is asked %q", first)
	}
	if second := <-seen; !strings.Contains(second, "\r\nHost: localhost:"+address.Port()+"\r\n") {
		t.Errorf("the other host is asked %q", second)
	}
}

// A jar gives cookies back to whom they are for, beside those of the request itself.
func TestJar(t *testing.T) {
	address, seen := site(t, map[string]string{"/set": "200 OK\r\nSet-Cookie: a=1; Path=/in\r\nset-cookie: b=2\r\nSet-Cookie: c=3; Domain=other.example\r\n", "/drop": "200 OK\r\nSet-Cookie: b=; Max-Age=0\r\n"})
	jar := web.NewJar()
	c := newClient(t, web.Config{})
	for _, step := range []struct{ path, own, want string }{
		{"/set", "", ""}, {"/in", "", "a=1; b=2"}, {"/out", "", "b=2"}, {"/out", "b=9; d=4", "b=9; d=4; b=2"},
		{"/drop", "", "b=2"}, {"/in", "", "a=1"},
	} {
		address.Path = step.path
		req := web.Request{Address: address, Jar: jar}
		if step.own != "" {
			req.Headers = []web.Header{{"Cookie", step.own}}
		}
		if _, err := c.Do(t.Context(), req); err != nil {
			t.Fatal(err)
		}
		_, got, _ := strings.Cut(<-seen, "\r\nCookie: ")
		if got, _, _ = strings.Cut(got, "\r\n"); got != step.want {
			t.Errorf("%s: %q, want %q", step.path, got, step.want)
		}
	}
	address.Path = "/in"
	if _, err := c.Do(t.Context(), web.Request{Address: address}); err != nil || strings.Contains(<-seen, "Cookie:") {
		t.Error("a request without a jar has cookies")
	}
}

// Raw bytes: a connection of their own, odd answers, and a reset that counts as one.
func TestRaw(t *testing.T) {
	const head = "GET /x HTTP/1.1\r\nHost: h\r\n\r\n"
	for name, c := range map[string]struct {
		raw, answer string
		readAll     bool
		status      int
		body        string
	}{
		"plain": {head, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef", false, 200, "abc"},
		"read all": {head, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcHTTP/1.1 404 N\r\n\r\n", true, 200,
			"abcHTTP/1.1 404 N\r\n\r\n"},
		"many statuses": {head, strings.Repeat("HTTP/1.1 302 x\r\n", 8) + "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabc",
			false, 200, "abc"},
		"gzip": {head, "HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + string(zipped([]byte("in"))), false,
			200, "in"},
		"HEAD": {"HEAD / HTTP/1.1\r\nHost: h\r\n\r\n", "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\n", false, 200,
			""},
		"reset":        {head, "", false, 400, ""},
		"reset, later": {head, "HTT", false, 400, ""},
	} {
		address := listen(t, func(_ int, conn net.Conn) {
			request(bufio.NewReader(conn))
			io.WriteString(conn, c.answer)
			if c.status == 400 {
				if len(c.answer) > 0 {
					conn.(*net.TCPConn).CloseWrite()
					return
				}
				reset(conn)
			}
		})
		cl := newClient(t, web.Config{})
		for range 2 {
			x, err := cl.Do(t.Context(), web.Request{Address: address, Raw: []byte(c.raw), ReadAll: c.readAll})
			if name == "reset, later" {
				if err == nil {
					t.Errorf("%s: the end of a connection is no reset: %+v", name, x)
				}
				continue
			}
			if err != nil || x.Status != c.status || string(x.Body) != c.body || string(x.Sent()) != c.raw || x.Curl() != "" {
				t.Errorf("%s: %v %+v", name, err, x)
			}
		}
		if s := cl.Stats(); s.Connections != 2 || s.Open != 0 {
			t.Errorf("%s: %+v", name, s)
		}
	}
}

// A body that goes on until the connection ends is over after a silence, too, and nothing
// of it is lost.
func TestReadAllOfAConnectionThatStays(t *testing.T) {
	address := listen(t, func(_ int, conn net.Conn) {
		request(bufio.NewReader(conn))
		io.WriteString(conn, "HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nabcdef")
		conn.Read(make([]byte, 1)) // until the client ends it
	})
	t.Parallel()
	cl := newClient(t, web.Config{Timeout: time.Second})
	x, err := cl.Do(t.Context(), web.Request{Address: address, Raw: []byte("GET / HTTP/1.1\r\n\r\n"), ReadAll: true})
	if err != nil || string(x.Body) != "abcdef" || x.Truncated {
		t.Errorf("%v %+v", err, x)
	}
}

// A redirect of raw bytes is followed with their header lines.
func TestRawRedirect(t *testing.T) {
	address, seen := site(t, map[string]string{"/a": "302 x\r\nLocation: /b\r\n"})
	raw := "POST /a HTTP/1.1\r\nhost: " + address.Host + "\r\nx-Odd: 1\r\nContent-Length: 2\r\n\r\nhi"
	if _, err := chainOf(t, newClient(t, web.Config{}), web.Request{Address: address, Raw: []byte(raw)}, all); err != nil {
		t.Fatal(err)
	}
	if got := <-seen; got != raw {
		t.Errorf("%q", got)
	}
	if got, want := <-seen, "GET /b HTTP/1.1\r\nhost: "+address.Host+"\r\nx-Odd: 1\r\nReferer: "+address.String()+
		"\r\n\r\n"; got != want {
		t.Errorf("\n got %q\nwant %q", got, want)
	}
}
