package shot

import (
	"context"
	"io"
	"maps"
	"net"
	"net/http"
	"sync"
	"time"
)

// The bounds of what a browser fetches.
const (
	maxFetched = 32 << 20 // bytes through one connection
	dialTime   = 10 * time.Second
	linkTime   = 30 * time.Second // of one connection
	maxLinks   = 64               // connections at a time
)

// proxy is the HTTP proxy on loopback that the browser uses.
type proxy struct {
	dial   func(ctx context.Context, addr string) (net.Conn, error)
	server *http.Server
	listen net.Listener
	direct *http.Transport // for plain HTTP
	slots  chan struct{}
	ctx    context.Context
	stop   context.CancelFunc
	links  sync.WaitGroup
}

func listen(dial func(ctx context.Context, addr string) (net.Conn, error)) (*proxy, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0") //nolint:noctx // it is closed by close
	if err != nil {
		return nil, err
	}
	p := &proxy{dial: dial, listen: l, slots: make(chan struct{}, maxLinks)}
	p.ctx, p.stop = context.WithCancel(context.Background())
	p.direct = &http.Transport{
		DialContext:            func(ctx context.Context, _, addr string) (net.Conn, error) { return dial(ctx, addr) },
		DisableKeepAlives:      true,
		ResponseHeaderTimeout:  linkTime,
		MaxResponseHeaderBytes: 256 << 10,
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: dialTime}
	p.links.Go(func() { _ = p.server.Serve(l) })
	return p, nil
}

func (p *proxy) addr() string { return p.listen.Addr().String() }

func (p *proxy) close() {
	p.stop()
	_ = p.server.Close()
	p.direct.CloseIdleConnections()
	p.links.Wait()
}

// ServeHTTP handles one request of the browser.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	case <-p.ctx.Done():
		return
	}
	ctx, cancel := context.WithTimeout(r.Context(), linkTime)
	defer cancel()
	defer context.AfterFunc(p.ctx, cancel)()
	if r.Method == http.MethodConnect {
		p.tunnel(ctx, w, r.Host)
		return
	}
	p.forward(ctx, w, r)
}

// forward passes on a request over plain HTTP, if it only reads.
func (p *proxy) forward(ctx context.Context, w http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodGet && r.Method != http.MethodHead || r.URL.Scheme != "http" {
		http.Error(w, "only GET is passed on", http.StatusForbidden)
		return
	}
	out := r.Clone(ctx)
	out.RequestURI = ""
	out.Header.Del("Proxy-Connection")
	answer, err := p.direct.RoundTrip(out)
	if err != nil {
		http.Error(w, "not reached", http.StatusBadGateway)
		return
	}
	defer answer.Body.Close()
	maps.Copy(w.Header(), answer.Header)
	w.WriteHeader(answer.StatusCode)
	_, _ = io.Copy(w, io.LimitReader(answer.Body, maxFetched))
}

// tunnel connects the browser with a server, for HTTPS.
func (p *proxy) tunnel(ctx context.Context, w http.ResponseWriter, addr string) {
	dialling, cancel := context.WithTimeout(ctx, dialTime)
	there, err := p.dial(dialling, addr)
	cancel()
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
	defer context.AfterFunc(ctx, func() { _, _ = here.Close(), there.Close() })()
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
