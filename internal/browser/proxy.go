package browser

import (
	"context"
	"crypto/subtle"
	"encoding/base64"
	"errors"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"sync"
	"time"
)

// The bounds of what pages fetch.
const (
	maxFetched = 32 << 20 // bytes through one connection, or of one plain response
	dialTime   = 15 * time.Second
	linkTime   = 2 * time.Minute // of one connection
	maxLinks   = 256             // connections at a time
)

// proxy is the HTTP proxy on loopback that the browser uses: CONNECT for all but plain HTTP. It serves those who know
// the secret of a page, and dials as that page may.
type proxy struct {
	server *http.Server
	listen net.Listener
	slots  chan struct{}
	ctx    context.Context //nolint:containedctx // ends with the proxy
	stop   context.CancelFunc
	links  sync.WaitGroup

	mu    sync.Mutex
	users map[string]*user // by name
}

type dialFunc = func(ctx context.Context, addr string) (net.Conn, error)

// user is one page, as the proxy knows it.
type user struct {
	password string
	dial     dialFunc
	failed   func(addr string, err error) // is told why there was no answer
	direct   *http.Transport              // for plain HTTP
}

func newProxy() (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed by close
	if err != nil {
		return nil, err
	}
	p := &proxy{listen: l, slots: make(chan struct{}, maxLinks), users: map[string]*user{}}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: dialTime}
	p.links.Go(func() { _ = p.server.Serve(l) })
	return p, nil
}

func (p *proxy) addr() string { return p.listen.Addr().String() }

func (p *proxy) close() {
	p.stop()
	_ = p.server.Close()
	p.links.Wait()
}

// add lets a page in, whose name is its password.
func (p *proxy) add(name string, dial dialFunc, failed func(addr string, err error)) {
	u := &user{password: name, dial: dial, failed: failed, direct: &http.Transport{
		DialContext:            func(ctx context.Context, _, addr string) (net.Conn, error) { return dial(ctx, addr) },
		ResponseHeaderTimeout:  linkTime,
		IdleConnTimeout:        dialTime,
		MaxIdleConnsPerHost:    8,
		MaxResponseHeaderBytes: 256 << 10,
		DisableCompression:     true,
	}}
	p.mu.Lock()
	defer p.mu.Unlock()
	p.users[name] = u
}

// remove shuts a page out.
func (p *proxy) remove(name string) {
	p.mu.Lock()
	u := p.users[name]
	delete(p.users, name)
	p.mu.Unlock()
	if u != nil {
		u.direct.CloseIdleConnections()
	}
}

// user is who asks; nil for a stranger.
func (p *proxy) user(r *http.Request) *user {
	code, ok := strings.CutPrefix(r.Header.Get("Proxy-Authorization"), "Basic ")
	text, err := base64.StdEncoding.DecodeString(code)
	name, password, _ := strings.Cut(string(text), ":")
	if !ok || err != nil {
		return nil
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	u := p.users[name]
	if u == nil || subtle.ConstantTimeCompare([]byte(u.password), []byte(password)) != 1 {
		return nil
	}
	return u
}

// ServeHTTP handles one request of the browser.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	u := p.user(r)
	if u == nil {
		w.Header().Set("Proxy-Authenticate", `Basic realm="pages"`)
		http.Error(w, "not for strangers", http.StatusProxyAuthRequired)
		return
	}
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-p.ctx.Done():
		return
	case <-r.Context().Done():
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), linkTime)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	if r.Method == http.MethodConnect {
		p.tunnel(ctx, u, w, r.Host)
		return
	}
	forward(ctx, u, w, r)
}

// hopByHop are the headers that concern one connection.
var hopByHop = []string{"Proxy-Connection", "Proxy-Authorization", "Proxy-Authenticate", "Connection", "Keep-Alive"}

// forward passes on a request over plain HTTP. A page sees no answer where there was none.
func forward(ctx context.Context, u *user, w http.ResponseWriter, r *http.Request) {
	if r.URL.Scheme != "http" || r.URL.Host == "" {
		http.Error(w, "only http is passed on", http.StatusForbidden)
		return
	}
	out := r.Clone(ctx)
	out.RequestURI = ""
	for _, name := range hopByHop {
		out.Header.Del(name)
	}
	answer, err := u.direct.RoundTrip(out)
	if err != nil {
		u.failed(hostPort(r.URL), err)
		panic(http.ErrAbortHandler) // the connection is closed
	}
	defer answer.Body.Close()
	if answer.StatusCode == http.StatusProxyAuthRequired { // would make the browser ask for another secret
		panic(http.ErrAbortHandler)
	}
	maps.Copy(w.Header(), answer.Header)
	for _, name := range hopByHop {
		w.Header().Del(name)
	}
	w.WriteHeader(answer.StatusCode)
	if _, err := copyFlushing(w, io.LimitReader(answer.Body, maxFetched)); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// copyFlushing copies what comes when it comes: a page may wait for a part of an answer that never ends.
func copyFlushing(w http.ResponseWriter, from io.Reader) (n int64, err error) {
	out := http.NewResponseController(w)
	buffer := make([]byte, 32<<10)
	for {
		read, err := from.Read(buffer)
		if read > 0 {
			if _, err := w.Write(buffer[:read]); err != nil {
				return n, err
			}
			n += int64(read)
			if err := out.Flush(); err != nil {
				return n, err
			}
		}
		if errors.Is(err, io.EOF) {
			return n, nil
		}
		if err != nil {
			return n, err
		}
	}
}

// tunnel connects the browser with a server, for HTTPS and WebSockets.
func (p *proxy) tunnel(ctx context.Context, u *user, w http.ResponseWriter, addr string) {
	there, err := u.dial(ctx, addr)
	if err != nil {
		http.Error(w, "not reached", http.StatusBadGateway)
		return
	}
	defer there.Close()
	here, buffered, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return
	}
	defer here.Close()
	if _, err := io.WriteString(here, "HTTP/1.1 200 OK\r\n\r\n"); err != nil {
		return
	}
	defer context.AfterFunc(p.ctx, func() { _, _ = here.Close(), there.Close() })()
	end := time.Now().Add(linkTime)
	_, _ = here.SetDeadline(end), there.SetDeadline(end)
	var group sync.WaitGroup
	group.Go(func() {
		_, _ = io.Copy(there, io.LimitReader(buffered, maxFetched))
		if t, ok := there.(*net.TCPConn); ok {
			_ = t.CloseWrite()
		}
	})
	_, _ = io.Copy(here, io.LimitReader(there, maxFetched))
	_ = here.Close()
	group.Wait()
}
