package isolate

import (
	"context"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httputil"
	"os"
	"path/filepath"
	"sync"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/sandbox"
)

// Bounds of the proxy.
const (
	dialTime = 15 * time.Second
	maxLinks = 32 // connections at a time
)

// proxy is the HTTP proxy of one program: CONNECT, and plain HTTP by absolute addresses.
type proxy struct {
	folder, path string
	dial         func(ctx context.Context, network, addr string) (net.Conn, error)
	plain        *httputil.ReverseProxy
	server       *http.Server
	ctx          context.Context //nolint:containedctx // ends with the proxy
	stop         context.CancelFunc
	slots        chan struct{}
	links        sync.WaitGroup
}

// listen starts a proxy on a socket of the file system, which everybody who sees it may use: only the sandbox does.
func listen(
	ctx context.Context,
	dial func(ctx context.Context, network, addr string) (net.Conn, error),
) (*proxy, error) {
	folder, err := os.MkdirTemp(sandbox.Reachable(), "vedette-proxy-*")
	if err != nil {
		return nil, err
	}
	p := &proxy{folder: folder, path: filepath.Join(folder, "proxy"), dial: dial, slots: make(chan struct{}, maxLinks)}
	p.ctx, p.stop = context.WithCancel(ctx)
	l, err := net.Listen("unix", p.path) //nolint:noctx // it is closed by close
	if err == nil {
		err = errors.Join(os.Chmod(folder, 0o711), os.Chmod(p.path, 0o777)) //nolint:gosec // its name is secret
	}
	if err != nil {
		p.stop()
		return nil, errors.Join(err, os.RemoveAll(folder))
	}
	p.plain = &httputil.ReverseProxy{
		Rewrite:       func(*httputil.ProxyRequest) {},
		FlushInterval: -1,
		Transport: &http.Transport{DialContext: dial, DisableKeepAlives: true, DisableCompression: true,
			MaxResponseHeaderBytes: 256 << 10},
		ErrorHandler: func(w http.ResponseWriter, _ *http.Request, err error) { refuse(w, err) },
	}
	p.server = &http.Server{Handler: p, ReadHeaderTimeout: dialTime}
	p.links.Go(func() { _ = p.server.Serve(l) })
	return p, nil
}

func (p *proxy) close() {
	p.stop()
	_ = p.server.Close()
	p.links.Wait()
	_ = os.RemoveAll(p.folder)
}

func refuse(w http.ResponseWriter, err error) {
	http.Error(w, "The connection was refused: "+err.Error(), http.StatusForbidden)
}

// ServeHTTP implements http.Handler.
func (p *proxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	select {
	case p.slots <- struct{}{}:
		defer func() { <-p.slots }()
	default:
		http.Error(w, "Too many connections at a time.", http.StatusServiceUnavailable)
		return
	}
	switch {
	case r.Method == http.MethodConnect:
		p.connect(w, r)
	case r.URL.Scheme == "http" && r.URL.Host != "":
		p.plain.ServeHTTP(w, r)
	default:
		http.Error(w, "This is a proxy: send absolute addresses, or CONNECT.", http.StatusBadRequest)
	}
}

// connect links a connection of the program with one to where it wants.
func (p *proxy) connect(w http.ResponseWriter, r *http.Request) {
	ctx, cancel := context.WithTimeout(p.ctx, dialTime)
	defer cancel()
	to, err := p.dial(ctx, "tcp", r.Host)
	if err != nil {
		refuse(w, err)
		return
	}
	hijacker, ok := w.(http.Hijacker)
	if !ok {
		_ = to.Close()
		return
	}
	conn, buffered, err := hijacker.Hijack()
	if err != nil {
		_ = to.Close()
		return
	}
	_, err = conn.Write([]byte("HTTP/1.1 200 Connection established\r\n\r\n"))
	if waiting, _ := buffered.Peek(buffered.Reader.Buffered()); err == nil && len(waiting) > 0 {
		_, err = to.Write(waiting)
	}
	if err != nil {
		_, _ = conn.Close(), to.Close()
		return
	}
	stop := context.AfterFunc(p.ctx, func() { _, _ = conn.Close(), to.Close() })
	defer stop()
	pipe(conn, to)
}

// halfCloser is a connection of which one direction can be closed.
type halfCloser interface{ CloseWrite() error }

// pipe copies both ways until both have ended, and closes both.
func pipe(a, b net.Conn) {
	var both sync.WaitGroup
	copyTo := func(to, from net.Conn) {
		_, _ = io.Copy(to, from)
		if half, ok := to.(halfCloser); ok {
			_ = half.CloseWrite()
		}
	}
	both.Go(func() { copyTo(a, b) })
	copyTo(b, a)
	both.Wait()
	_, _ = a.Close(), b.Close()
}
