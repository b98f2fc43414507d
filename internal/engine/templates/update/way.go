package update

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httputil"
	"sync"
	"sync/atomic"
	"time"

	"github.com/vedette-sec/vedette/internal/infra/netguard"
)

// way is the only way to the network that git has over HTTP: a proxy on loopback that dials through the guard, so that
// neither a name server nor a redirect leads git to an address that the guard refuses.
type way struct {
	guard   *netguard.Guard
	server  *http.Server
	address string
	relay   *httputil.ReverseProxy
	refused atomic.Pointer[error] // the last dial that failed
	end     context.CancelFunc    // ends the tunnels
	open    context.Context       // of the tunnels: that of a request ends earlier
	serving sync.WaitGroup
}

func newWay(ctx context.Context, guard *netguard.Guard) (*way, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("listening for git: %w", err)
	}
	w := &way{guard: guard, address: listener.Addr().String()}
	w.open, w.end = context.WithCancel(ctx)
	silent := log.New(io.Discard, "", 0)
	w.relay = &httputil.ReverseProxy{
		Rewrite:   func(*httputil.ProxyRequest) {}, // it names its host itself
		Transport: &http.Transport{DialContext: w.dial, DisableKeepAlives: true},
		ErrorLog:  silent,
	}
	w.server = &http.Server{Handler: w, ReadHeaderTimeout: time.Minute, ErrorLog: silent,
		BaseContext: func(net.Listener) context.Context { return w.open }}
	w.serving.Go(func() { _ = w.server.Serve(listener) })
	return w, nil
}

func (w *way) url() string { return "http://" + w.address }

func (w *way) close() {
	w.end()
	_ = w.server.Close()
	w.serving.Wait()
}

func (w *way) dial(ctx context.Context, network, address string) (net.Conn, error) {
	conn, err := w.guard.Dial(ctx, network, address)
	if err != nil {
		w.refused.Store(&err)
	}
	return conn, err
}

// ServeHTTP connects a tunnel, or passes a plain request on.
func (w *way) ServeHTTP(out http.ResponseWriter, r *http.Request) {
	if r.Method != http.MethodConnect {
		if r.URL.Host == "" {
			http.Error(out, "a proxy for git", http.StatusBadRequest)
			return
		}
		w.relay.ServeHTTP(out, r)
		return
	}
	far, err := w.dial(r.Context(), "tcp", r.Host)
	if err != nil {
		http.Error(out, err.Error(), http.StatusBadGateway)
		return
	}
	near, buffered, err := http.NewResponseController(out).Hijack()
	if err != nil {
		_ = far.Close()
		return
	}
	stop := context.AfterFunc(w.open, func() { _ = errors.Join(near.Close(), far.Close()) })
	defer stop()
	if _, err := io.WriteString(near, "HTTP/1.1 200 Connection established\r\n\r\n"); err != nil {
		_ = errors.Join(near.Close(), far.Close())
		return
	}
	tunnel(near, far, buffered)
}

// tunnel copies both ways until both ends have finished.
func tunnel(near, far net.Conn, from io.Reader) {
	var both sync.WaitGroup
	both.Go(func() {
		_, _ = io.Copy(far, from)
		_ = far.Close()
	})
	_, _ = io.Copy(near, far)
	_ = near.Close()
	both.Wait()
}
