package web_test

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"strings"
	"testing"

	"github.com/vedette-sec/vedette/internal/engine/proto/digest"
	"github.com/vedette-sec/vedette/internal/engine/proto/rawurl"
	"github.com/vedette-sec/vedette/internal/engine/proto/web"
)

// guarded answers 401 with a challenge until the Authorization line of a request
// contains what it wants, then 200. Each request's line is handed on.
func guarded(t *testing.T, challenges []string, want string) (rawurl.URL, <-chan string) {
	lines := make(chan string, 100)
	return listen(t, func(_ int, c net.Conn) {
		r := bufio.NewReader(c)
		for n := 0; ; n++ {
			text := request(r)
			if text == "" {
				return
			}
			_, line, _ := strings.Cut(text, "\r\nAuthorization: ")
			line, _, _ = strings.Cut(line, "\r\n")
			lines <- line
			if line != "" && strings.Contains(line, want) {
				io.WriteString(c, "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n")
				continue
			}
			fmt.Fprintf(c, "HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=\"x\"\r\nwww-authenticate: %s\r\nContent-Length: 6\r\n\r\nsecret", challenges[min(n, len(challenges)-1)])
		}
	}), lines
}

// The examples of RFC 7616, 3.9.1, and of RFC 2069 (as RFC 2617 computes it).
func TestDigestVectors(t *testing.T) {
	const params = `Digest realm="http-auth@example.org", qop="auth, auth-int", nonce="7ypf/xlj9XXwfDPEoM4URrv/xwf94BcCAzFZH4GiTo0v", opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS"`
	for name, c := range map[string]struct{ challenge, want string }{
		"MD5": {params + ", algorithm=MD5",
			`response="8ca523f5e9506fed4657c9700eebdbec", algorithm=MD5, opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS", cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", qop=auth, nc=00000001`},
		"SHA-256": {params + ", algorithm=SHA-256",
			`response="753927fa0e85d155564e2e272a28d1802ca10daf4496794697cf8db5856cb6c1", algorithm=SHA-256, opaque="FQhe/qaU925kfnzjCev0ciny7QMkPqMAFRtzCUYo5tdS", cnonce="f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ", qop=auth, nc=00000001`},
	} {
		address, lines := guarded(t, []string{c.challenge}, c.want)
		address.Path = "/dir/index.html"
		x, err := get(t, web.Config{}, web.Request{Address: address, Digest: &digest.Credentials{
			Username: "Mufasa", Password: "Circle of Life",
			Nonce: func() string { return "f2/wE4q74E6zIJEtWaHKaf5wv/H5QzzpXusqGemxURZJ" },
		}})
		<-lines
		if got := <-lines; err != nil || x.Status != 200 ||
			!strings.HasPrefix(got, `Digest username="Mufasa", realm="http-auth@example.org", nonce="7ypf/`) {
			t.Errorf("%s: %v %+v\n%s", name, err, x, got)
		}
	}
}

// A challenge is answered ahead until it is stale; a wrong password is tried once.
func TestDigestIsRemembered(t *testing.T) {
	address, lines := guarded(t, []string{`Digest realm="r", nonce="one", qop=auth`}, `nonce="one"`)
	c := newClient(t, web.Config{})
	credentials := &digest.Credentials{Username: `us"er`, Password: "p"}
	for range 3 {
		if x, err := c.Do(t.Context(), web.Request{Address: address, Digest: credentials}); err != nil || x.Status != 200 {
			t.Fatalf("%v %+v", err, x)
		}
	}
	if len(lines) != 4 {
		t.Errorf("%d requests for three answers", len(lines))
	}
	for _, want := range []string{"", "nc=00000001", "nc=00000002", "nc=00000003"} {
		if got := <-lines; want != "" && !strings.HasSuffix(got, want) || !strings.Contains(got, `username="us\"er"`) &&
			want != "" {
			t.Errorf("%q, want %s", got, want)
		}
	}
	for name, test := range map[string]struct {
		challenges []string
		requests   int
		status     int
	}{
		"stale": {[]string{`Digest realm="r", nonce="old"`, `Digest realm="r", nonce="old"`,
			`Digest realm="r", nonce="new", stale=TRUE`}, 4, 200},
		"wrong":             {[]string{`Digest realm="r", nonce="old"`}, 3, 401},
		"unknown algorithm": {[]string{`Digest realm="r", nonce="old", algorithm=SHA-512`}, 2, 401},
		"only auth-int":     {[]string{`Digest realm="r", nonce="old", qop="auth-int"`}, 2, 401},
		"no nonce":          {[]string{`Digest realm="r`}, 2, 401},
		"another scheme":    {[]string{`Negotiate`}, 2, 401},
	} {
		address, lines := guarded(t, test.challenges, `nonce="new"`)
		credentials := &digest.Credentials{Username: "u", Password: "p"}
		var x *web.Exchange
		for range 2 {
			var err error
			if x, err = c.Do(t.Context(), web.Request{Address: address, Digest: credentials}); err != nil {
				t.Fatal(err)
			}
		}
		if x.Status != test.status || len(lines) != test.requests {
			t.Errorf("%s: %d after %d requests", name, x.Status, len(lines))
		}
	}
}
