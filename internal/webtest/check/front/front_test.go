package front

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vedette-sec/vedette/internal/webtest/check/kit"
	"github.com/vedette-sec/vedette/internal/webtest/check/kittest"
	"github.com/vedette-sec/vedette/internal/webtest/client"
	"github.com/vedette-sec/vedette/internal/webtest/message"
	"github.com/vedette-sec/vedette/internal/webtest/proof"
)

// cache keeps what page says for GET, by what key says.
func cache(key func(r *http.Request) string, page func(r *http.Request) string) http.Handler {
	var mu sync.Mutex
	kept := map[string]string{}
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		w.Header().Set("Content-Type", "text/html")
		k := key(r)
		if k == "" {
			fmt.Fprint(w, page(r))
			return
		}
		if text, ok := kept[k]; ok {
			w.Header().Set("X-Cache", "HIT")
			fmt.Fprint(w, text)
			return
		}
		kept[k] = page(r)
		fmt.Fprint(w, kept[k])
	})
}

func TestPoisoning(t *testing.T) {
	linked := func(r *http.Request) string {
		host := r.Header.Get("X-Forwarded-Host")
		if host == "" {
			host = "own"
		}
		return `<script src="//` + host + `/a.js"></script>`
	}
	uri := func(r *http.Request) string { return r.URL.RequestURI() }
	for name, c := range map[string]struct {
		app   http.Handler
		found bool
	}{
		"weak":                 {cache(uri, linked), true},
		"told apart by header": {cache(func(r *http.Request) string { return uri(r) + r.Header.Get("X-Forwarded-Host") }, linked), false},
		"no cache":             {cache(func(*http.Request) string { return "" }, linked), false},
		"does not use it":      {cache(uri, func(*http.Request) string { return "hello" }), false},
		"query is no key":      {cache(func(r *http.Request) string { return r.URL.Path }, linked), false},
	} {
		lab := kittest.New(t, c.app)
		target := lab.Target(t, http.MethodGet, "/", "")
		found := lab.Run(t, poisoning(), target)
		if len(found) > 0 != c.found {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
		for _, f := range found {
			runner := proof.Runner{Send: lab.World.Client.Send}
			if out, err := runner.Run(t.Context(), f.Proof); err != nil || !out.Holds {
				t.Errorf("its proof does not hold: %s, %v", out.Failed, err)
			}
		}
		if plain := lab.Target(t, http.MethodGet, "/", ""); strings.Contains(string(plain.Response.Body), "example.org") {
			t.Errorf("%s: the page of everybody has our host in it", name)
		}
	}
}

func TestDeception(t *testing.T) {
	account := func(r *http.Request) string {
		if k, err := r.Cookie("user"); err == nil {
			return "<h1>Account</h1><p>hello " + k.Value + "</p><p>your orders</p><p>your address</p>"
		}
		return "<h1>Log in</h1>"
	}
	under := func(r *http.Request) string {
		if strings.HasPrefix(r.URL.Path, "/account") {
			return account(r)
		}
		return "<p>no such page</p>"
	}
	exact := func(r *http.Request) string {
		if r.URL.Path == "/account" {
			return account(r)
		}
		return "<p>no such page</p>"
	}
	files := func(r *http.Request) string {
		if strings.HasSuffix(r.URL.Path, ".css") {
			return r.URL.Path
		}
		return ""
	}
	never := func(*http.Request) string { return "" }
	for name, c := range map[string]struct {
		app   http.Handler
		found bool
	}{"weak": {cache(files, under), true}, "other pages": {cache(files, exact), false}, "no cache": {cache(never, under), false}} {
		lab := kittest.New(t, c.app)
		u := client.NewUser("anna")
		at, _ := url.Parse(lab.URL)
		u.SetCookies(at, []*http.Cookie{{Name: "user", Value: "anna"}})
		lab.World.Users = []*client.User{u}
		r, _ := message.New(http.MethodGet, lab.URL+"/account")
		lab.World.Pages = func() []*message.Request { return []*message.Request{r} }
		found := lab.Run(t, deception(), lab.Target(t, http.MethodGet, "/", ""))
		if len(found) > 0 != c.found {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}

// reads is how a server finds the end of a request.
type reads func(in *bufio.Reader, length int) error

func byLength(in *bufio.Reader, length int) error {
	_, err := io.CopyN(io.Discard, in, int64(length))
	return err
}

func byChunks(in *bufio.Reader, _ int) error {
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return err
		}
		var n int64
		if _, err := fmt.Sscanf(line, "%x", &n); err != nil {
			return nil //nolint:nilerr // a bad request is answered, too
		}
		if _, err := io.CopyN(io.Discard, in, n+2); err != nil || n == 0 {
			return err
		}
	}
}

// server answers when it has read a request with each reader in turn, as a proxy and an application do: the second reads
// what the first has passed on, and waits for ever for more.
func server(t *testing.T, first, second reads) string {
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
			go answer(conn, first, second)
		}
	}()
	return "http://" + l.Addr().String() + "/"
}

func answer(conn net.Conn, first, second reads) {
	defer conn.Close()
	in := bufio.NewReader(conn)
	length := 0
	for {
		line, err := in.ReadString('\n')
		if err != nil {
			return
		}
		_, _ = fmt.Sscanf(line, "Content-Length: %d", &length)
		if line == "\r\n" {
			break
		}
	}
	passed, to := io.Pipe()
	defer to.Close()
	go func() {
		defer passed.Close()
		if second(bufio.NewReader(passed), length) == nil {
			_, _ = conn.Write([]byte("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"))
			conn.Close()
		}
	}()
	if first(bufio.NewReaderSize(oneByOne{io.TeeReader(in, to)}, 16), length) != nil { // no more than it asks for
		return
	}
	_, _ = io.Copy(io.Discard, conn) // until the other side ends it
}

type oneByOne struct{ in io.Reader }

func (o oneByOne) Read(p []byte) (int, error) { return o.in.Read(p[:min(1, len(p))]) }

func TestSmuggling(t *testing.T) {
	for name, c := range map[string]struct {
		first, second reads
		want          string
	}{
		"length alone": {byLength, byLength, ""}, "chunks alone": {byChunks, byChunks, ""},
		"CL.TE": {byLength, byChunks, "CL.TE"}, "TE.CL": {byChunks, byLength, "TE.CL"},
	} {
		address := server(t, c.first, c.second)
		lab := kittest.New(t, http.NotFoundHandler())
		at, _ := url.Parse(address)
		check := smuggling(150 * time.Millisecond)
		if err := check.Site(t.Context(), lab.World, at); err != nil {
			t.Fatal(err)
		}
		found := lab.Findings()
		if c.want == "" && len(found) > 0 || c.want != "" && (len(found) != 1 || found[0].Payload != c.want || found[0].Confidence != kit.Proved) {
			t.Errorf("%s: %s", name, kittest.Titles(found))
		}
	}
}

// The front page that only a user sees is tested, too: its addresses of files begin with a slash.
func TestDeceptionOfTheFrontPage(t *testing.T) {
	var mu sync.Mutex
	asked := 0
	lab := kittest.New(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		mu.Lock()
		defer mu.Unlock()
		if r.URL.Path != "/" {
			asked++
			http.NotFound(w, r)
			return
		}
		if _, err := r.Cookie("sid"); err != nil {
			http.Error(w, "log in", http.StatusForbidden)
			return
		}
		fmt.Fprint(w, "<p>My money: 12</p>")
	}))
	target := lab.Target(t, http.MethodGet, "/", "")
	u := client.NewUser("anna")
	u.SetCookies(target.Request.URL, []*http.Cookie{{Name: "sid", Value: "1"}})
	lab.World.Users = []*client.User{u}
	lab.World.Pages = func() []*message.Request { return []*message.Request{target.Request} }
	if found := lab.Run(t, deception(), target); len(found) > 0 || asked != len(lists()["endings"]) {
		t.Errorf("found %s, asked for %d addresses", kittest.Titles(found), asked)
	}
}
